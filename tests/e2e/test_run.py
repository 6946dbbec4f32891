"""Trials side by side on real OpenClaw: nobody sees another's, everything adds up, nothing is left."""

import json
from pathlib import Path

import pytest
from msgspec import structs

from pinchbench import Reason, Usage, run_benchmark
from pinchbench.llm.demo.scripted_model import COST
from pinchbench.model.outcome import Outcome
from pinchbench.openclaw.command import OpenClaw
from pinchbench.process.leftovers import find_marked
from real_openclaw import TaskFile, UserHome, newest_release, run_config

pytestmark = [pytest.mark.real_openclaw, pytest.mark.long]

WORDS = ("amber", "birch", "coral", "grove", "harbor")
LONG = "The quick brown fox counts its steps. " * 6000  # 228 kB: more than one argument can hold


def _tasks() -> list[TaskFile]:
    plain = [
        TaskFile(
            task_id=f"task_{word}",
            turns=[
                (
                    f"Please keep the word {word} in a file.",
                    [
                        ("write", {"path": f"{word}.txt", "content": word}),
                        ("exec", {"command": f"cat {word}.txt && pwd && ls"}),
                    ],
                    f"The word is {word}.",
                )
            ],
        )
        for word in WORDS[:3]
    ]
    long = TaskFile(
        task_id="task_grove",
        turns=[(f"The word is grove. {LONG}", [("write", {"path": "grove.txt", "content": "grove"})], "grove")],
    )
    sessions = TaskFile(
        task_id="task_harbor",
        turns=[
            ("Remember harbor.", [("write", {"path": "harbor.txt", "content": "harbor"})], "Noted harbor."),
            ("And now?", [("exec", {"command": "echo again >> harbor.txt"})], "Still harbor."),
            ("A new day for harbor.", [("read", {"path": "harbor.txt"})], "It says harbor."),
        ],
        new_session=frozenset({2}),
    )
    return [*plain, long, sessions]


@newest_release
async def test_five_trials_on_four_slots_stay_apart_and_add_up(
    openclaw: OpenClaw, home: UserHome, tmp_path: Path
) -> None:
    before = home.snapshot()
    config = run_config(tmp_path, openclaw, _tasks(), concurrency=4, infra_retries=0)

    result = await run_benchmark(config)

    assert {str(one.key): one.reason for one in result.outcomes} == {f"task_{word}": Reason.COMPLETED for word in WORDS}
    assert {one.slot for one in result.outcomes} == {1, 2, 3, 4}
    for outcome in result.outcomes:
        word = outcome.key.task_id.removeprefix("task_")
        text = (result.folder / outcome.evidence / "transcript.jsonl").read_text(encoding="utf-8")
        assert [other for other in WORDS if other in text] == [word]
        workspace = tmp_path / "runs" / result.run_id / outcome.key.task_id
        assert outcome.workspace == str(workspace)
        assert [path.name for path in workspace.iterdir()] == [f"{word}.txt"]
        assert outcome.store == ("jsonl" if openclaw.version == "2026.6.5" else "sqlite")
        assert outcome.level == "namespaces"
        assert outcome.usage is not None
        assert _as_dict(outcome.usage) == pytest.approx(_as_dict(_usage_of_the_wire(outcome)))
    grove = next(one for one in result.outcomes if one.key.task_id == "task_grove")
    assert LONG.strip() in "".join(_user_texts(result.folder / grove.evidence / "transcript.jsonl"))
    harbor = next(one for one in result.outcomes if one.key.task_id == "task_harbor")
    assert len(harbor.session_ids) == 2
    assert (tmp_path / "runs" / result.run_id / "task_harbor" / "harbor.txt").read_text() == "harboragain\n"
    assert _as_dict(result.data.usage) == pytest.approx(
        _as_dict(sum(map(_usage_of_the_wire, result.outcomes), Usage()))
    )
    assert find_marked(result.run_id) == []
    assert home.snapshot() == before


def _usage_of_the_wire(outcome: Outcome) -> Usage:
    """The usage that the wire saw, at the prices that OpenClaw was given."""
    assert outcome.wire is not None
    used = outcome.wire.usage
    prices = (used.input_tokens, COST["input"]), (used.output_tokens, COST["output"])
    cached = used.cache_read_tokens, COST["cacheRead"]
    return structs.replace(used, cost_usd=sum(tokens * usd for tokens, usd in (*prices, cached)) / 1e6)


def _as_dict(usage: Usage) -> dict[str, float]:
    return {name: getattr(usage, name) for name in Usage.__struct_fields__}


def _user_texts(transcript: Path) -> list[str]:
    """What the agent was sent; both forms of content occur."""
    texts: list[str] = []
    for line in transcript.read_text(encoding="utf-8").split("\n"):
        message = json.loads(line).get("message", {}) if line else {}
        content = message.get("content") if message.get("role") == "user" else []
        texts += [content] if isinstance(content, str) else [part.get("text", "") for part in content or []]
    return texts
