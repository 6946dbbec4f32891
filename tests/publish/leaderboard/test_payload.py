"""What is sent of a run: every leaf of it, and nothing that is anybody's own."""

import json
import os
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fake_leaderboard import problem_of
from leaderboard_runs import FIXTURE, PROMPT, past_run, planned, write_suite
from past_runs import Made, write_run
from pinchbench.model.ending import Reason
from pinchbench.model.grade import Ungraded
from pinchbench.model.task import Suite
from pinchbench.publish.leaderboard.payload import make_payload, obstacles
from pinchbench.publish.leaderboard.public_names import (
    PrivateNames,
    private_names,
    public_model,
)
from pinchbench.results.finished_run import PastRun, read_run

SUBMISSION = "6f9619ff-8b86-4d01-b42d-00cf4fc964ff"
KEY = "sk-planted-0123456789abcdefghij"
# what stands for a user, a machine and their secrets wherever a run can hold a text
PLANTED = ("zelda", "hyrule07", KEY, "violet", "orchard", "planted", "/home", "/tmp", "/srv", "10.20.30.40", "calatia")


def payload_of(run: PastRun, suite: Suite, private: PrivateNames | None = None) -> dict[str, Any]:
    private = private or PrivateNames()
    return make_payload(run, submission_id=SUBMISSION, known=suite.by_id, private=private)


def leaves(value: object, at: str = "") -> Iterator[tuple[str, object]]:
    """Every name and every value of a JSON document, with where it stands."""
    match value:
        case dict():
            for name, member in value.items():
                yield f"{at} (a name)", name
                yield from leaves(member, f"{at}.{name}")
        case list():
            for number, member in enumerate(value):
                yield from leaves(member, f"{at}[{number}]")
        case _:
            yield at, value


def test_nothing_that_is_sent_holds_anything_of_the_user_the_machine_the_tasks_or_what_an_agent_or_a_judge_wrote(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home" / "zelda"
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("HYRULE_API_KEY", KEY)
    monkeypatch.setattr("platform.node", lambda: "hyrule07.calatia.example")
    monkeypatch.setattr("getpass.getuser", lambda: "zelda")
    suite = write_suite(tmp_path / "bundled", more="author: zelda\nplanted_path: /home/zelda/x\n")
    nasty = (
        "Zelda did well.",
        "The file /home/zelda/out.md is fine. It is on hyrule07.",
        f"The key {KEY} works.",
        f"It says {FIXTURE}.",
        f"The user wanted: {PROMPT.lower()}.",
        'See 10.20.30.40 and zelda@hyrule07.calatia.example, "planted quote" and `planted_code`.',
        "It ran in /tmp/pinchbench/x; see file:///srv/planted.",
        "Host calatia was slow.",
        "The answer is clear and names its sources.",
    )
    made = Made(score=0.5, notes=nasty, note=f"/tmp/planted on hyrule07: {KEY}", stderr=f"planted {KEY}")
    run = planned(
        suite,
        made,
        model="local//home/zelda/planted/m1.gguf",
        config={
            "suite": "/home/zelda/planted",
            "base_url": "http://hyrule07.calatia.example:8000/v1",
            "api_key_env": "HYRULE_API_KEY",
            "output_dir": "/home/zelda/results",
            "run_root": "/tmp/planted",
            "tasks_dir": "/srv/planted",
            "thinking": "planted",
            "isolation": "planted",
            "timeout_multiplier": "planted",
            "judge": {
                "model": "local/zelda",
                "base_url": "http://10.20.30.40/v1",
                "votes": "planted",
                "api_key_env": "planted",
            },
        },
    )
    files = write_run(home / "results", run)
    facts = json.loads(files.provenance.read_bytes())
    facts["versions"] = {
        **dict.fromkeys(("pinchbench_async", "openclaw", "python"), "0.1.0+zelda.hyrule07"),
        "node": "/home/zelda/node",
        "os": "Linux-6.18-zelda-hyrule07",
        "machine": "hyrule07",
        "planted": "zelda",
    }
    facts |= {
        "timezone": "planted/zelda",
        "agents": ["zelda"],
        "suite": {"folder": "/home/zelda/planted", "planted": 1},
    }
    files.provenance.write_text(json.dumps(facts), encoding="utf-8")
    journal = files.journal.read_text(encoding="utf-8")
    journal = journal.replace('"mock/judge"', '"local/hyrule07/zelda"')
    files.journal.write_text(journal, encoding="utf-8")
    past = read_run(files)

    payload = payload_of(past, suite, private_names(past, dict(os.environ)))

    told = list(leaves(payload))
    assert len(told) > 80
    for at, leaf in told:
        for secret in PLANTED:
            assert secret not in str(leaf).casefold(), at
    sent = json.dumps(payload)
    for of_agent_or_judge in ("sources", "notes", "is_clear"):
        assert of_agent_or_judge not in sent
    assert payload["model"] == "local/m1.gguf"
    assert payload["metadata"]["system"] == {"os": "Linux"}
    assert payload["metadata"]["judge"]["models"] == ["local/unnamed"]


def test_where_one_of_several_judges_has_an_endpoint_of_its_own_no_provider_is_taken_for_a_public_one(
    tmp_path: Path, suite: Suite
) -> None:
    def judges(folder: str, **second: str) -> object:
        config = {"judge": {"model": "openclaw:a/b", "further": [{"model": "zelda", **second}]}}
        files = write_run(tmp_path / folder, planned(suite, config=config))
        journal = files.journal.read_text(encoding="utf-8")
        files.journal.write_text(journal.replace('"mock/judge"', '"openai/zelda"'), encoding="utf-8")
        return payload_of(read_run(files), suite, ZELDA)["metadata"]["judge"]["models"]

    assert judges("public") == ["openai/zelda"]
    assert judges("own", base_url="http://127.0.0.1:9/v1") == ["openai/unnamed"]


def test_a_complete_run_says_what_the_leaderboard_asks_for(tmp_path: Path, suite: Suite) -> None:
    past = past_run(tmp_path, planned(suite, Made(score=0.1), Made(score=0.2), Made(score=0.2)))

    payload = payload_of(past, suite)

    assert not problem_of(payload)
    assert payload["submission_id"] == SUBMISSION
    assert payload["timestamp"] == "2026-01-02T03:02:52Z"
    assert (payload["model"], payload["provider"]) == ("anthropic/claude-sonnet-4", "anthropic")
    assert (payload["total_score"], payload["max_score"]) == (0.500001, 3.0)
    assert payload["run_id"] == past.facts.run_id
    assert re.fullmatch(r"0\.1\.0\+[0-9a-f]{12}", payload["benchmark_version"])
    assert payload["usage_summary"]["total_requests"] == 18
    metadata = payload["metadata"]
    assert (metadata["runs"], metadata["suite"], metadata["suite_tasks"]) == (3, "all", 3)
    assert metadata["score"]["trials"] == 9
    assert metadata["score"]["low"] < metadata["score"]["mean"] < metadata["score"]["high"]
    assert payload["tasks"][0]["category"] == "basics"


def test_each_thing_that_makes_a_run_incomparable_is_said(tmp_path: Path, suite: Suite) -> None:
    run = planned(suite)

    def found(**changes: object) -> str:
        past = past_run(tmp_path / str(len(list(tmp_path.iterdir()))), replace(run, **changes))  # type: ignore[arg-type]
        return "; ".join(obstacles(past, suite.by_id, PrivateNames(names=frozenset({"zelda"}))))

    assert found() == ""
    assert found(model="demo/oracle") == "demo/oracle is a built-in script, not a model"
    assert found(private=True) == "it has private tasks, which are made of your own work"
    assert "3 of 6 trials have no score (" in found(planned_beyond=1)
    assert "name of yours" in found(model="local/zelda-7b", config={"base_url": "http://127.0.0.1/v1"})
    assert found(config={"env": {}, "skills": None}) == ""
    assert found(config={"env": {"A": "1"}, "skills": "/skills"}) == "its agents had more than others (skills, env)"
    assert "1 of its tasks are not as this release bundles them" in found(digests={**run.digests, "task_000": "1" * 64})
    assert "it leaves out 2 of the 3 bundled tasks" in found(trials={"task_000": (Made(),)})
    unasked = Made(score=None, ungraded=Ungraded.JUDGE_UNREACHABLE)
    lost = Made(score=None, reason=Reason.GUARDIAN_LOST, retried=(Reason.GUARDIAN_LOST,))
    for made in (Made(score=None), unasked, Made(score=None, reason=Reason.NO_TRANSCRIPT), lost):
        assert "1 of 3 trials have no score (task_001)" in found(trials={**run.trials, "task_001": (made,)})


ZELDA = PrivateNames(names=frozenset({"zelda", "hyrule07"}), secrets=(KEY,))


@pytest.mark.parametrize(
    ("model", "own_endpoint", "public"),
    [
        ("anthropic/claude-sonnet-4", False, "anthropic/claude-sonnet-4"),
        (
            "openrouter/meta-llama/llama-3.1-70b-instruct:free",
            False,
            "openrouter/meta-llama/llama-3.1-70b-instruct:free",
        ),
        ("anthropic/zelda-2", False, "anthropic/zelda-2"),  # the world's, not hers
        ("local/qwen3", True, "local/qwen3"),
        ("ollama/qwen3:8b", True, "ollama/qwen3:8b"),
        ("local//home/zelda/qwen3.gguf", True, "local/qwen3.gguf"),
        ("local/10.0.0.5:8000/qwen3", True, "local/qwen3"),
        ("local/gpu.corp/qwen3", True, "local/qwen3"),
        ("local/zelda-7b", True, "local/unnamed"),
        ("hyrule07/qwen3", True, "qwen3"),
        ("zelda", True, "unnamed"),
        ("~/models/x y", True, "unnamed"),
        ("C:\\Users\\zelda\\m.gguf", True, "unnamed"),
        (f"openai/{KEY}", False, "openai/unnamed"),
        ("together/zelda/llama-ft", False, "together/llama-ft"),
        ("openai/ft:gpt-5-mini:zeldas-firm::9a8b", False, "openai/unnamed"),
        ("bedrock/arn:aws:bedrock:eu-west-1:123456789012:inference-profile/x1", False, "bedrock/x1"),
        ("local/fe80::1ff:fe23/qwen3", True, "local/qwen3"),
        (f"local/{'Kindly-sort-the-seventeen-violet-invoices-' * 2}", True, "local/unnamed"),
    ],
)
def test_a_model_is_reported_without_paths_addresses_and_names(model: str, *, own_endpoint: bool, public: str) -> None:
    assert public_model(model, ZELDA, own_endpoint=own_endpoint) == public


@pytest.mark.parametrize(
    ("host", "names"),
    [
        ("hyrule07", {"hyrule07"}),
        ("hyrule07.calatia.corp", {"hyrule07.calatia.corp", "hyrule07", "calatia"}),
        ("api.deepseek.com", {"api.deepseek.com"}),  # whose model may be called deepseek-chat
        ("10.20.30.40", {"10.20.30.40"}),
        ("127.0.0.1", set()),
    ],
)
def test_the_host_of_an_endpoint_is_private_and_so_are_its_parts_on_a_local_network(
    tmp_path: Path, suite: Suite, monkeypatch: pytest.MonkeyPatch, host: str, names: set[str]
) -> None:
    monkeypatch.setattr("pinchbench.publish.leaderboard.public_names._own_names", lambda: iter(()))
    past = past_run(tmp_path, planned(suite, config={"base_url": f"http://{host}:8000/v1"}))

    assert private_names(past, {}).names == names


def test_who_hides_behind_sudo_or_a_container_and_the_parts_of_a_name_are_private(tmp_path: Path, suite: Suite) -> None:
    judges = {"api_key_env": "CALATIA", "further": [{"api_key_env": "TERMINA"}, "nonsense"]}
    past = past_run(tmp_path, planned(suite, config={"api_key_env": "HYRULE", "judge": judges}))
    env = {
        "SUDO_USER": "zelda.of_hyrule",
        "HOSTNAME": "castle.corp",
        "HYRULE": KEY,
        "CALATIA": KEY[::-1],
        "TERMINA": KEY * 2,
    }

    private = private_names(past, env)

    assert {"zelda", "hyrule", "zelda.of_hyrule", "castle"} <= private.names
    assert "of" not in private.names
    assert {KEY, KEY[::-1], KEY * 2} <= set(private.secrets)
