"""An examination with a fake OpenClaw, a judge on loopback and a user of its own."""

from pathlib import Path

import pytest
from anyio import fail_after

from fake_judge import failing, fake_judge, good, not_json
from fakes import MODEL, calls, fake_openclaw, make_suite, with_models
from pinchbench.doctor import machine_findings
from pinchbench.doctor.examination import DoctorConfig, examine
from pinchbench.model.finding import Finding, Level
from processes import living

LIMIT_S = 60
KEY = "sk-0123456789abcdef-THIS-IS-NOBODYS-KEY"


def _config(folder: Path, program: Path | None = None, **options: object) -> DoctorConfig:
    program = program or fake_openclaw(folder / "fake")
    suite = make_suite(folder, {"task_a": "Hi"})  # the bundled one takes a while to read
    places = {"output_dir": folder / "out", "run_root": folder / "runs", "openclaw": str(program), "tasks_dir": suite}
    return DoctorConfig(**{**places, **options})  # type: ignore[arg-type]


async def _examine(config: DoctorConfig) -> tuple[dict[str, Finding], list[str]]:
    """The findings by subject, which were shown one by one."""
    reported: list[Finding] = []
    said: list[str] = []
    with fail_after(LIMIT_S):
        found = await examine(config, show=reported.append, say=said.append)
    assert list(found) == reported
    return {one.subject: one for one in found}, said


async def test_a_fit_machine_answers_and_nothing_is_left_behind(tmp_path: Path) -> None:
    program = fake_openclaw(tmp_path / "fake", store="sqlite")

    found, said = await _examine(_config(tmp_path, program, model=MODEL))

    assert found["model"].level is Level.OK, found["model"]
    assert "answered through OpenClaw" in found["model"].said
    assert "2026.9.6" in found["OpenClaw"].said
    assert any(f"Asking {MODEL}" in one for one in said)
    assert list((tmp_path / "runs").iterdir()) == []
    assert not (tmp_path / "out").exists()
    assert living(tmp_path) == []


async def test_a_built_in_model_answers_from_its_own_server_whatever_a_judge_lacks(tmp_path: Path) -> None:
    judges = ({"model": "openai/gpt-5"},)
    found, _ = await _examine(_config(tmp_path, model="demo/oracle", judges=judges))

    assert found["judge's key"].level is Level.PROBLEM
    assert found["model"].level is Level.OK, found["model"]
    assert "$" not in found["model"].said
    assert "needs none" in found["key"].said
    assert list((tmp_path / "runs").iterdir()) == []


async def test_an_openclaw_that_makes_no_home_is_reported_in_its_own_words(tmp_path: Path) -> None:
    program = fake_openclaw(tmp_path / "fake", add_fails="no more agents today")

    for model in (MODEL, "demo/oracle"):
        found, _ = await _examine(_config(tmp_path, program, model=model))

        assert found["model"].level is Level.PROBLEM
        assert "no more agents today" in found["model"].said
        assert "bug" not in found["model"].do
        assert list((tmp_path / "runs").iterdir()) == []


async def test_an_agent_that_does_not_start_is_reported_with_what_to_try(tmp_path: Path) -> None:
    program = _saying(tmp_path / "fake", "scenario: mutter_early Unknown model\nscenario: exit_early 1")

    found, _ = await _examine(_config(tmp_path, program, model=MODEL))

    assert found["model"].level is Level.PROBLEM
    assert "agent_not_started" in found["model"].said
    assert "Unknown model" in found["model"].said
    assert "by hand" in found["model"].do


async def test_offline_nobody_is_asked(tmp_path: Path) -> None:
    config = _config(tmp_path, model=MODEL, judges=({"model": "j", "base_url": "http://127.0.0.1:9/v1"},), offline=True)

    found, said = await _examine(config)

    assert said == []
    assert "--offline" in found["model"].said
    assert "judge" not in found


async def test_no_key_reaches_a_finding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = _saying(tmp_path / "fake", f"scenario: refused 401 the key {KEY} is wrong\nscenario: silent")
    monkeypatch.setenv("MOCK_API_KEY", KEY)
    monkeypatch.setenv("JUDGE_KEY", KEY[::-1])

    async with fake_judge(failing(401, f"no such key: {KEY[::-1]} or {KEY}")) as judge:
        options = {"judges": ({"model": "j1", "base_url": judge.base_url, "api_key_env": "JUDGE_KEY"},)}
        found, said = await _examine(_config(tmp_path, program, model=MODEL, **options))

    assert found["model"].level is Level.PROBLEM
    assert "refused the key" in found["model"].do
    assert found["judge"].level is Level.PROBLEM
    assert "Check the key in JUDGE_KEY" in found["judge"].do
    assert "MOCK_API_KEY in the environment" in found["key"].said
    whole = repr((found, said))
    for key in (KEY, KEY[::-1]):
        assert not any(key[at : at + 12] in whole for at in range(len(key) - 12))


async def test_a_key_in_the_place_of_a_model_is_not_said_either(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MOCK_API_KEY", KEY)

    found, said = await _examine(_config(tmp_path, model=f"mock/{KEY}"))

    assert "Asking mock/[key] one question" in said[0]
    assert KEY[:12] not in repr((found, said))


def _saying(folder: Path, message: str) -> Path:
    """A fake OpenClaw that plays `message` whatever it is asked."""
    program = fake_openclaw(folder)
    real = program.with_name("real")
    program.rename(real)
    program.write_text(
        f"""#!/bin/sh
for one; do
  shift
  case $one in --message=*) one='--message={message}';; esac
  set -- "$@" "$one"
done
exec {real} "$@"
""",
        encoding="utf-8",
    )
    program.chmod(0o755)
    return program


async def test_an_endpoint_is_asked_directly_first_and_then_through_openclaw(tmp_path: Path) -> None:
    async with fake_judge() as endpoint:
        config = _config(tmp_path, model="mock/m1", base_url=endpoint.base_url)
        with fail_after(LIMIT_S):
            found = await examine(config, show=lambda _: None, say=lambda _: None)

    said = [one.said for one in found if one.subject == "model"]
    assert "answered through OpenClaw" in said[-1]
    assert endpoint.requests[0].json["model"] == "m1"
    assert any("128,000 tokens are a guess" in one for one in said)


async def test_an_agent_that_fails_at_an_endpoint_of_the_users_is_reported_with_its_last_line(tmp_path: Path) -> None:
    program = _saying(tmp_path / "fake", "scenario: mutter_early Unknown model\nscenario: exit_early 1")

    async with fake_judge(good()) as endpoint:
        found, _ = await _examine(_config(tmp_path, program, model="mock/m1", base_url=endpoint.base_url))

    assert found["model"].level is Level.PROBLEM
    assert "Unknown model" in found["model"].said
    assert found["model"].do == "Was its reply empty? Look at the server's log."  # OpenClaw by hand knows no such model


async def test_an_endpoint_that_refuses_is_reported_in_its_own_words_and_openclaw_is_spared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", KEY)
    async with fake_judge(failing(404, "no such model: m1")) as endpoint:
        options = {"model": "mock/m1", "base_url": endpoint.base_url, "api_key_env": "MY_KEY"}
        found, _ = await _examine(_config(tmp_path, None, **options))

    assert found["model"].level is Level.PROBLEM
    assert "no such model: m1" in found["model"].said
    assert found["model"].do == f"Check --model: {endpoint.base_url}/models lists its models."
    assert "judge" not in found["model"].said.lower()
    assert ["agent"] not in [call[:1] for call in calls(tmp_path / "fake" / "bin" / "openclaw")]


async def test_a_judge_that_answers_is_well_and_a_web_page_is_no_judge(tmp_path: Path) -> None:
    program = fake_openclaw(tmp_path / "fake")
    async with fake_judge() as good, fake_judge(not_json()) as odd:
        well, _ = await _examine(_config(tmp_path, program, judges=({"model": "j1", "base_url": good.base_url},)))
        unwell, _ = await _examine(_config(tmp_path, program, judges=({"model": "j1", "base_url": odd.base_url},)))

    assert well["judge"].level is Level.OK
    assert unwell["judge"].level is Level.PROBLEM
    assert "web page" in unwell["judge"].said
    assert len(good.requests) == 1


async def test_an_openclaw_judge_is_left_to_a_run(tmp_path: Path) -> None:
    found, _ = await _examine(_config(tmp_path, judges=({"model": f"openclaw:{MODEL}"},)))

    assert found["judge"].level is Level.NOTE
    assert "is an OpenClaw agent" in found["judge"].said


async def test_a_missing_openclaw_is_one_problem_and_the_other_checks_go_on(tmp_path: Path) -> None:
    found, said = await _examine(_config(tmp_path, tmp_path / "nowhere", model=MODEL))

    assert [one.subject for one in found.values() if one.level is Level.PROBLEM] == ["OpenClaw"]
    assert {"memory", "run root", "key", "servers"} <= set(found)
    assert "Not asked" in found["model"].said
    assert said == []


async def test_settings_that_a_run_would_refuse_are_findings(tmp_path: Path) -> None:
    options = {"model": "mock/m1", "base_url": "http://127.0.0.1:9/v1", "api_key_env": "NOT_SET_ANYWHERE"}
    config = _config(tmp_path, None, **options, judges=({"model": "openai/gpt-5"},))

    found, said = await _examine(config)

    assert found["key"].level is Level.PROBLEM
    assert "NOT_SET_ANYWHERE" in found["key"].said
    assert "OPENAI_API_KEY" in found["judge's key"].said
    assert found["model"].level is Level.NOTE
    assert said == []


async def test_names_that_openclaw_does_not_know_are_problems_and_nobody_is_asked(tmp_path: Path) -> None:
    program = with_models(fake_openclaw(tmp_path / "fake"))
    options = {"model": "mock/m1-larg", "judges": ({"model": "openclaw:m1-large"},)}

    found, said = await _examine(_config(tmp_path, program, **options))
    offline, _ = await _examine(_config(tmp_path, program, model="mock/m1-larg", offline=True))

    assert "--judge m1-large: it names no provider" in found["model name"].said
    assert "did you mean mock/m1-large" in offline["model name"].said
    assert found["model"].said == found["judge"].said == "Not asked: see its name."
    assert said == []
    assert {call[0] for call in calls(program)} == {"--version"}


async def test_a_state_of_openclaw_that_can_not_be_read_is_one_problem(tmp_path: Path, user: Path) -> None:
    (user / ".openclaw").mkdir()
    (user / ".openclaw" / "openclaw.json").write_text("{{{", encoding="utf-8")

    found, _ = await _examine(_config(tmp_path, model=MODEL, offline=True))

    assert [one.subject for one in found.values() if one.level is Level.PROBLEM] == ["key"]
    assert "can't be read" in found["key"].said


async def test_a_check_that_breaks_is_a_finding_and_costs_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def breaks(_slots: int) -> Finding:
        raise ZeroDivisionError("no reason")

    monkeypatch.setattr(machine_findings, "find_limits", breaks)

    found, _ = await _examine(_config(tmp_path, offline=True))

    assert "ZeroDivisionError: no reason" in found["limits"].said
    assert found["limits"].level is Level.PROBLEM
    assert found["run root"].level is Level.OK
