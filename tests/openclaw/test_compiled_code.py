"""The compiled code that sandboxed turns read: made by one turn of ours, put into place whole, or not at all."""

from collections.abc import Callable
from pathlib import Path

import pytest

from pinchbench.openclaw import compiled_code as module
from pinchbench.openclaw.command import OpenClaw
from pinchbench.openclaw.compiled_code import compiled_code
from pinchbench.sandbox.levels import Level


@pytest.fixture
def openclaw(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> OpenClaw:
    """Install a package that has a Node, and give the test a cache of its own."""
    monkeypatch.setenv("PINCHBENCH_CACHE", str(tmp_path / "cache"))
    program, node = tmp_path / "openclaw" / "openclaw.mjs", tmp_path / "node" / "node"
    for path in (program, program.with_name("package.json"), node):
        path.parent.mkdir(exist_ok=True)
        path.touch(mode=0o755)
    return OpenClaw(program=program, version="2026.9.6", path_first=(node.parent,))


@pytest.fixture
def turns(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], list[Path]]:
    """Return a function that lets turns end with a problem; its list gets the folder that each of them filled."""

    def let_end(problem: str) -> list[Path]:
        filled: list[Path] = []

        async def play(_openclaw: OpenClaw, _level: Level, _folder: Path, *, compiled: Path, **_: object) -> str:
            (compiled / "module").write_bytes(b"compiled")
            filled.append(compiled)
            return problem

        monkeypatch.setattr(module, "play_demo_turn", play)
        return filled

    return let_end


def _unheard(sentence: str) -> None:
    pytest.fail(sentence)


async def _found(
    openclaw: OpenClaw, level: Level = Level.NAMESPACES, tell: Callable[[str], None] = _unheard
) -> Path | None:
    return await compiled_code(openclaw, level, env={}, set_up=lambda _: None, tell=tell)


async def test_one_turn_fills_the_cache_of_a_release_for_all_later_runs(
    openclaw: OpenClaw, turns: Callable[[str], list[Path]]
) -> None:
    filled = turns("")

    first, second = await _found(openclaw), await _found(openclaw)

    assert first is not None
    assert first == second
    assert (first / "module").read_bytes() == b"compiled"
    assert len(filled) == 1
    assert not filled[0].parent.exists()
    assert await _found(openclaw, Level.LANDLOCK) != first  # paths are others there
    openclaw.program.with_name("package.json").write_text("{}", encoding="utf-8")
    assert await _found(openclaw) != first  # another build of the release
    assert len(filled) == 3


async def test_a_turn_that_fails_is_reported_and_leaves_nothing_so_that_the_next_run_tries_again(
    openclaw: OpenClaw, turns: Callable[[str], list[Path]], tmp_path: Path
) -> None:
    turns("exit code 1")
    told = list[str]()

    assert await _found(openclaw, tell=told.append) is None

    [sentence] = told
    assert "exit code 1" in sentence
    assert [path for path in (tmp_path / "cache").rglob("*") if path.is_file()] == []
    turns("")
    assert await _found(openclaw) is not None


async def test_a_run_that_comes_second_takes_what_the_first_has_put_there(
    openclaw: OpenClaw, turns: Callable[[str], list[Path]], monkeypatch: pytest.MonkeyPatch
) -> None:
    turns("")
    put = module._put

    def put_late(compiled: Path, place: Path) -> None:
        place.mkdir()
        (place / "module").write_bytes(b"of the first")
        put(compiled, place)

    monkeypatch.setattr(module, "_put", put_late)

    found = await _found(openclaw)

    assert found is not None
    assert (found / "module").read_bytes() == b"of the first"
