"""Kept replies: found again by everything that went in, and never in the way."""

import json
import stat
from dataclasses import replace
from pathlib import Path

import pytest
from anyio import create_task_group

from pinchbench.grading.judge import kept_replies
from pinchbench.grading.judge.kept_replies import JudgeCache, cache_key
from pinchbench.grading.judge.prompt import Question
from pinchbench.model.usage import Usage

KEY = "0" * 64
USAGE = Usage(requests=1, total_tokens=7, cost_usd=0.5)
QUESTION = Question(system="s", material="m", criteria=(), cut=())
ENDPOINT: dict[str, object] = {"model": "m1", "base_url": "http://127.0.0.1:1/v1"}


def key(question: Question = QUESTION, *, model: str = "m1", schema: str = "object", vote: int = 1) -> str:
    return cache_key(question, {"type": schema}, endpoint={**ENDPOINT, "model": model}, vote=vote)


def names(folder: Path) -> list[str]:
    return [one.name for one in folder.iterdir()]


async def test_a_reply_is_found_again_with_what_it_had_cost(tmp_path: Path) -> None:
    await JudgeCache(tmp_path / "deep" / "cache").put(KEY, "Grüße 🦀", usage=USAGE, model="m1")
    kept = await JudgeCache(tmp_path / "deep" / "cache").get(KEY)

    assert kept is not None
    assert (kept.key, kept.text, kept.usage, kept.model) == (KEY, "Grüße 🦀", USAGE, "m1")
    assert kept.at > 0


async def test_a_cache_is_private(tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    await JudgeCache(folder).put(KEY, "x", usage=USAGE, model="m1")

    [file] = names(folder)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE((folder / file).stat().st_mode) == 0o600


def test_everything_that_goes_in_makes_another_key(monkeypatch: pytest.MonkeyPatch) -> None:
    keys = {
        key(),
        key(replace(QUESTION, system="S")),
        key(replace(QUESTION, material="M")),
        key(replace(QUESTION, system="", material="sm")),
        key(model="m2"),
        key(schema="array"),
        key(vote=2),
    }
    assert key() == key()
    monkeypatch.setattr(kept_replies, "PROMPT_VERSION", "another")
    assert len(keys | {key()}) == 8
    assert all(len(one) == 64 and one.isalnum() for one in keys)


@pytest.mark.parametrize(
    "damage",
    [
        b"",
        b"{",
        b"[]",
        b"\xff\x00",
        b'{"key": 1}',
        b"[" * 100_000,
        json.dumps({"key": "f" * 64, "text": "x", "usage": {}, "model": "", "at": 0}).encode(),  # another's
    ],
)
async def test_a_damaged_file_counts_as_absent_and_is_replaced(tmp_path: Path, damage: bytes) -> None:
    cache = JudgeCache(tmp_path)
    (tmp_path / f"{KEY}.json").write_bytes(damage)
    assert (await cache.get(KEY)) is None
    await cache.put(KEY, "x", usage=USAGE, model="m1")
    assert (await cache.get(KEY)) is not None


@pytest.mark.parametrize("changed", [{"text": "y"}, {"digest": ""}, {"total": 1.0}])
async def test_a_reply_that_was_changed_since_counts_as_absent(tmp_path: Path, changed: dict[str, object]) -> None:
    await JudgeCache(tmp_path).put(KEY, "x", usage=USAGE, model="m1")
    file = tmp_path / f"{KEY}.json"
    file.write_text(json.dumps({**json.loads(file.read_bytes()), **changed}), encoding="utf-8")
    assert await JudgeCache(tmp_path).get(KEY) is None


async def test_a_place_that_cannot_be_written_loses_the_reply_and_nothing_else(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("", encoding="utf-8")
    cache = JudgeCache(blocked / "cache")
    await cache.put(KEY, "x", usage=USAGE, model="m1")
    assert await cache.get(KEY) is None

    occupied = JudgeCache(tmp_path / "cache")
    (tmp_path / "cache" / f"{KEY}.json").mkdir(parents=True)
    await occupied.put(KEY, "x", usage=USAGE, model="m1")
    assert await occupied.get(KEY) is None
    assert names(tmp_path / "cache") == [f"{KEY}.json"]  # no half-written file stays


async def test_runs_may_share_a_cache_at_once(tmp_path: Path) -> None:
    one, two = JudgeCache(tmp_path / "cache"), JudgeCache(tmp_path / "cache")

    async def use(cache: JudgeCache) -> None:
        for _ in range(20):
            await cache.put(KEY, "x" * 10_000, usage=USAGE, model="m1")
            kept = await cache.get(KEY)
            assert kept is not None
            assert kept.text == "x" * 10_000

    async with create_task_group() as group:
        for cache in (one, two, one, two):
            group.start_soon(use, cache)
    assert names(tmp_path / "cache") == [f"{KEY}.json"]
