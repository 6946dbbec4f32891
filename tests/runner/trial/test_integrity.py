"""What an agent attempted is read from its tool calls, told with the trial and kept in its ledger."""

import json
from pathlib import Path

from pinchbench.defaults import Network
from pinchbench.model.facts import Integrity
from pinchbench.results.evidence_files import Evidence
from pinchbench.runner.trial.integrity import read_integrity
from pinchbench.sandbox.ledger import Facts

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
