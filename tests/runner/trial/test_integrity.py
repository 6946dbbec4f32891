"""What an agent attempted is read from its tool calls and kept in its ledger; canaries are found in what it leaves."""

import json
from pathlib import Path

import pytest

from fakes import fake_openclaw, run_config
from pinchbench.defaults import Network
from pinchbench.files.archive_write import keep_workspace
from pinchbench.model.ending import Reason
from pinchbench.model.facts import Integrity
from pinchbench.results.evidence_files import Evidence
from pinchbench.results.result_json import read_aggregate
from pinchbench.runner.run_benchmark import run_benchmark
from pinchbench.runner.trial.integrity import find_contamination, read_integrity
from pinchbench.sandbox.ledger import Facts
from pinchbench.wire.exchange import Exchange
from pinchbench.wire.recording import RecordingWriter

OWN = ("/workspace", "/state", "/home/agent")


def _evidence(folder: Path, *calls: tuple[str, dict[str, object]]) -> Evidence:
    content = [
        {"type": "toolCall", "id": f"call_{number}", "name": name, "arguments": arguments}
        for number, (name, arguments) in enumerate(calls)
    ]
    lines = [
        {"type": "message", "message": {"role": "user", "content": "Do it."}},
        {"type": "message", "message": {"role": "assistant", "content": content}},
    ]
    evidence = Evidence(folder=folder)
    evidence.transcript.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return evidence


def test_ordinary_work_is_clean_and_leaves_no_ledger(tmp_path: Path) -> None:
    evidence = _evidence(tmp_path, ("exec", {"command": "ls /workspace"}), ("write", {"path": "a.txt", "content": "x"}))

    facts = read_integrity(evidence, Network.MODEL, Facts(own_dirs=OWN))

    assert (facts.integrity, facts.attempts, facts.network) == (Integrity.CLEAN, (), "model")
    assert not evidence.ledger.exists()


def test_attempts_are_named_and_kept(tmp_path: Path) -> None:
    evidence = _evidence(
        tmp_path, ("exec", {"command": "cat /root/.ssh/id_rsa"}), ("read", {"path": "/srv/suite/solution.yaml"})
    )

    facts = read_integrity(evidence, Network.MODEL, Facts(own_dirs=OWN, lookups=("example.org",)))

    assert facts.integrity is Integrity.PROBED
    assert facts.attempts == (
        "attempted path: /root/.ssh/id_rsa",
        "attempted path: /srv/suite/solution.yaml",
        "attempted destination: example.org",
    )
    kept = [json.loads(line) for line in evidence.ledger.read_text(encoding="utf-8").splitlines()]
    assert [one["target"] for one in kept] == ["/root/.ssh/id_rsa", "/srv/suite/solution.yaml", "example.org"]


CANARY = f"pinchbench-canary-{0x1D8B37:032x}"


def evidence_with(folder: Path, *, said: str = "", asked: tuple[str, ...] = (), files: dict[str, str]) -> Evidence:
    """What an attempt leaves."""
    evidence = Evidence(folder=folder / "evidence")
    evidence.folder.mkdir()
    evidence.transcript.write_text(said, encoding="utf-8")
    with RecordingWriter(evidence.wire) as writer:
        for number, request in enumerate(asked, start=1):
            exchange = Exchange(
                number=number, began_at=0.0, provider="mock", method="POST", path="/v1", request=request.encode()
            )
            writer.append(exchange)
    workspace = folder / "workspace"
    workspace.mkdir()
    for name, text in files.items():
        (workspace / name).write_text(text, encoding="utf-8")
    keep_workspace(workspace, evidence.workspace)
    return evidence


@pytest.mark.parametrize(
    ("said", "asked", "files", "where"),
    [
        (f'{{"text": "{CANARY}"}}\n', ("hello",), {}, "the transcript"),
        ("{}\n", ("x" * 200, "x" * 100 + f"\\n{CANARY}\\n" + "x" * 100), {}, "a request to the model"),
        ("{}\n", (), {"answer.txt": "x" * 3_000_000 + CANARY}, "the workspace"),
        ("{}\n", (), {CANARY: ""}, "the workspace"),
    ],
)
def test_a_canary_is_found_in_each_place(
    tmp_path: Path, said: str, asked: tuple[str, ...], files: dict[str, str], where: str
) -> None:
    evidence = evidence_with(tmp_path, said=said, asked=asked, files=files)

    assert find_contamination(evidence).startswith(f"{where} holds {CANARY}, ")


def test_evidence_without_a_canary_is_not_contaminated(tmp_path: Path) -> None:
    halves = CANARY[:30], CANARY[30:]  # of two requests
    evidence = evidence_with(tmp_path, said="{}\n", asked=halves, files={"a": "pinchbench-canary-", "b": CANARY[18:]})

    assert not find_contamination(evidence)


async def test_a_contaminated_trial_is_excluded_and_counted_next_to_the_mean_and_not_retried(tmp_path: Path) -> None:
    program = fake_openclaw(tmp_path)
    config = run_config(tmp_path, program, {"task_a": f"scenario: write_file notes.txt {CANARY}", "task_b": "hi"})

    result = await run_benchmark(config)

    told = {one.key.task_id: (one.reason, one.attempt) for one in result.outcomes}
    assert told == {"task_a": (Reason.CONTAMINATED, 1), "task_b": (Reason.COMPLETED, 1)}
    data = read_aggregate(result.path)
    assert (data.left_out.untrusted, data.left_out.infrastructure, data.counts.left_out) == (1, 0, 1)
    assert [one.task_id for one in data.possibly_caused_by_agent.trials] == ["task_a"]
    assert (result.unfinished, result.complete) == (0, False)
