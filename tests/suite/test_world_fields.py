"""Services, abilities, clock and timeline of a head: what they become, and what is wrong with them, with its line."""

from datetime import datetime
from pathlib import Path

import pytest

from made_tasks import task_text
from pinchbench.errors import SuiteError
from pinchbench.model.task import Turn
from pinchbench.model.task_programs import Service
from pinchbench.model.timeline import Ability, Advance, ChatMessage, Interrupt, ServiceEvent
from pinchbench.suite.loading import load_suite, read_suite
from pinchbench.suite.parse import parse_task
from pinchbench.suite.reading import BrokenTaskError
from suite_packs import put

PATH = Path("task.md")
CHAT = "abilities: [chat]"
CLOCK = f"{CHAT}\nclock: 2026-03-28T07:30\ntimezone: Europe/Berlin"
SERVICE = "services: [{name: mail, command: [./mail], port: 9000}]"
SAM = ChatMessage(sender="sam", is_owner=True)


def text(head: str) -> str:
    return task_text(f"id: task_x\n{head}", prompt="Good morning.")


def steps(head: str, *items: str) -> tuple[Turn, ...]:
    lines = "".join(f"\n  - {item}" for item in items)
    first, *rest = parse_task(text(f"{head}\ntimeline:{lines}"), path=PATH).task.turns
    assert first.prompt == "Good morning."
    return tuple(rest)


def problems(head: str) -> list[tuple[int, str]]:
    with pytest.raises(BrokenTaskError) as caught:
        parse_task(text(head), path=PATH)
    return [(problem.line, problem.reason) for problem in caught.value.problems]


def at(local: str) -> float:
    return datetime.fromisoformat(local).timestamp()


def test_a_timeline_follows_the_prompt_which_is_the_owners_first_message() -> None:
    head = f"{CLOCK}\nowner: kim\n{SERVICE}"
    task = parse_task(
        text(
            f"""{head}
timeline:
  - message: Remind me at eight.
  - interrupt: Stop!
    after_calls: 5
  - advance: 1d 30m
  - service: mail
    path: /in?a=b
    body: {{from: bob, n: 1}}
  - advance_to: 2026-03-29T09:30
  - message: Can I join?
    from: bob-2"""
        ),
        path=PATH,
    ).task
    kim = ChatMessage(sender="kim", is_owner=True)
    assert task.turns == (
        Turn(prompt="Good morning.", event=kim),
        Turn(prompt="Remind me at eight.", event=kim),
        Turn(prompt="Stop!", event=Interrupt(sender="kim", after_calls=5)),
        Turn(prompt="", event=Advance(by_s=24.5 * 3600)),
        Turn(prompt="", event=ServiceEvent(service="mail", path="/in?a=b", body={"from": "bob", "n": 1})),
        Turn(prompt="", event=Advance(to_s=at("2026-03-29T09:30+02:00"))),
        Turn(prompt="Can I join?", event=ChatMessage(sender="bob-2", is_owner=False)),
    )
    assert (task.starts_at, task.timezone) == (at("2026-03-28T07:30+01:00"), "Europe/Berlin")
    assert (task.prompt, task.needs_gateway) == ("Good morning.", True)


def test_without_a_timeline_the_prompt_alone_is_an_event_and_only_in_a_gateway() -> None:
    assert parse_task(text("abilities: [subagents, chat]"), path=PATH).task.turns == (
        Turn(prompt="Good morning.", event=SAM),
    )
    task = parse_task(
        text("abilities: [memory, browser, memory]\nclock: 2026-01-01T00:00\nowner: A Team"), path=PATH
    ).task
    assert task.abilities == (Ability.BROWSER, Ability.MEMORY)
    assert (task.turns, task.starts_at) == ((Turn(prompt="Good morning."),), at("2026-01-01T00:00Z"))
    assert (task.needs_gateway, task.needs_namespaces) == (False, True)


@pytest.mark.parametrize(
    ("written", "span_s"),
    [
        ("23h", 82_800),
        ("40d", 3_456_000),
        ("2d 4h", 187_200),
        ("2d4h", 187_200),
        ("90m 5s", 5405),
        ("366d", 31_622_400),
    ],
)
def test_a_span_is_days_hours_minutes_and_seconds(written: str, span_s: float) -> None:
    [step] = steps(CLOCK, f"advance: {written}")
    assert step.event == Advance(by_s=span_s)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("2026-10-25T03:00", "2026-10-25T03:00+01:00"),  # an hour after clocks went back
        ("2026-10-25T02:30+02:00", "2026-10-25T00:30Z"),
        ("2026-10-25T02:30+01:00", "2026-10-25T01:30Z"),
        ("2026-03-29T00:30Z", "2026-03-29T01:30+01:00"),
    ],
)
def test_a_time_is_local_unless_it_has_an_offset(written: str, meant: str) -> None:
    [step] = steps(CLOCK, f"advance_to: {written}")
    assert step.event == Advance(to_s=at(meant))


@pytest.mark.parametrize(
    ("head", "line", "reason"),
    [
        ("abilities: chat", 3, "`abilities` must be a list"),
        ("abilities:\n  - chat\n  - subagent", 5, "the ability 'subagent' is not known: did you mean `subagents`?"),
        ("abilities: [telepathy]", 3, "is not known: there are chat, automations, subagents, browser, memory, images"),
        ("abilities: [[chat]]", 3, "the ability '' is not known"),
        ("abilitie: [chat]", 3, "did you mean `abilities`?"),
        ("clock: noon", 3, "`clock` must be a time such as 2026-03-02T07:30"),
        ("clock: 2026-02-30T07:30", 3, "`clock` must be a time"),
        ("clock: 1999-12-31T07:30", 3, "from 2000 to 2099"),
        ("clock: [2026]", 3, "`clock` must be a time"),
        ("timezone: Europe/Berlin\nclock: 2026-03-29T02:30", 4, "02:30 does not exist in Europe/Berlin"),
        ("timezone: Europe/Berlin\nclock: 2026-10-25T02:30", 4, "comes twice in Europe/Berlin; add the offset"),
        ("timezone: Mars/Base", 3, "`timezone` 'Mars/Base' is not a time zone"),
        ("timezone: ../etc", 3, "is not a time zone"),
        ("timezone: Europe", 3, "is not a time zone"),
        ("abilities: [memory]\ntimeline: []", 4, "a timeline needs chat, automations or subagents among"),
        (f"{CHAT}\ntimeline: {{a: b}}", 4, "`timeline` must be a list"),
        (f"{CHAT}\ntimeline:\n  - hello", 5, "must be a mapping with exactly one of message, interrupt, advance"),
        (f"{CHAT}\ntimeline:\n  - {{message: a, interrupt: b}}", 5, "exactly one of"),
        (f"{CHAT}\ntimeline:\n  - {{message: a, form: bob}}", 5, "did you mean `from`?"),
        (f"{CHAT}\ntimeline:\n  - {{message: a, after_calls: 2}}", 5, "`after_calls` of a step `message` is not known"),
        (f"{CHAT}\ntimeline:\n  - {{message: ' '}}", 5, "`message` must be a text"),
        (f"{CHAT}\ntimeline:\n  - {{message: a, from: Bob}}", 5, "`from` must be a name"),
        (f"{CHAT}\ntimeline:\n  - {{message: a, from: assistant}}", 5, "and not 'assistant'"),
        (f"{CHAT}\nowner: Sam B", 4, "`owner` must be a name"),
        (f"{CHAT}\ntimeline:\n  - {{interrupt: a, after_calls: 0}}", 5, "`after_calls` must be a whole number from 1"),
        (f"{CHAT}\ntimeline:\n  - {{interrupt: a, after_calls: true}}", 5, "`after_calls` must be a whole number"),
        (f"{CHAT}\ntimeline:\n  - {{advance: 1d}}", 5, "`advance` needs a `clock`"),
        (f"{CLOCK}\ntimeline:\n  - {{advance: 0d}}", 7, "`advance` must be a time such as 2d 4h"),
        (f"{CLOCK}\ntimeline:\n  - {{advance: 367d}}", 7, "at most 366d"),
        (f"{CLOCK}\ntimeline:\n  - {{advance: 4h 2d}}", 7, "`advance` must be a time"),
        (f"{CLOCK}\ntimeline:\n  - {{advance_to: 2026-03-28T07:30}}", 7, "must be later than the time"),
        (f"{CLOCK}\ntimeline:\n  - {{advance: 2d}}\n  - {{advance_to: 2026-03-30T08:00}}", 8, "must be later"),
        (f"{CLOCK}\ntimeline:\n  - {{advance_to: 2028-03-30T08:00}}", 7, "at most 366 days later"),
        (f"{CHAT}\ntimeline:\n  - {{service: mail, path: /a}}", 5, "the task has no service 'mail'"),
        (f"{SERVICE}\n{CHAT}\ntimeline:\n  - {{service: mail}}", 6, "`path` of a service's event must be the path"),
        (f"{SERVICE}\n{CHAT}\ntimeline:\n  - {{service: mail, path: /a, body: [1]}}", 6, "`body` must map names"),
        (f"{SERVICE}\n{CHAT}\ntimeline:\n  - {{service: mail, path: /a}}\n  - {{interrupt: b}}", 7, "must follow what"),
        (f"{CHAT}\nsessions: [a]", 4, "`sessions` can't be used with chat, automations or subagents"),
        (f"{CHAT}\nnetwork: true", 4, "`network: true` can't be used with chat"),
        (f"{CHAT}\nnetwork: own", 4, "`network: own` can't be used with chat"),
    ],
)
def test_what_cannot_be_used_is_a_problem_with_its_line(head: str, line: int, reason: str) -> None:
    found = problems(head)
    assert any(at == line and reason in said for at, said in found), found


def test_a_simulated_user_is_refused_in_a_gateway() -> None:
    with pytest.raises(BrokenTaskError, match="`## Simulated User` can't be used with chat"):
        parse_task(text(CHAT) + "\n## Simulated User\n\nYou are Ada.\n", path=PATH)


SERVICES = """
    id: task_a
    {more}services:
      - {{name: db, command: [./db], port: 9000}}
      - {service}
"""
FORGE = "{name: forge, command: [python3, forge.py], folder: forge, port: 8020, ready: /health, limit: 5, env: {A: 1}}"


def write(folder: Path, service: str = FORGE, more: str = "") -> Path:
    put(folder / "assets" / "forge" / "forge.py", "print()\n")
    (folder / "assets" / "plain.txt").write_text("x", encoding="utf-8")
    (folder / "task_a.md").write_text(task_text(SERVICES.format(service=service, more=more)), encoding="utf-8")
    return folder


def test_services_are_read_and_their_folders_found_and_part_of_the_digest(tmp_path: Path) -> None:
    [task] = load_suite(write(tmp_path)).suite.tasks
    assert task.services == (
        Service(name="db", command=("./db",), port=9000),
        Service(
            name="forge",
            command=("python3", "forge.py"),
            port=8020,
            folder=(tmp_path / "assets" / "forge").resolve(),
            ready="/health",
            limit_s=5.0,
            env={"A": "1"},
        ),
    )
    put(tmp_path / "assets" / "forge" / "forge.py", "print(1)\n")
    [changed] = load_suite(tmp_path).suite.tasks
    assert changed.digest != task.digest


@pytest.mark.parametrize(
    ("service", "reason"),
    [
        ("web", "a service must be a mapping"),
        ("{name: Web, command: [a], port: 8020}", "`name` of a service must be"),
        ("{command: [a], port: 8020}", "`name` of a service must be"),
        ("{name: db, command: [a], port: 8020}", "two services have the name 'db'"),
        ("{name: web, command: python3 a.py, port: 8020}", "`command` must be a list of texts"),
        ("{name: web, command: [[a]], port: 8020}", "`command` must be a list of texts"),
        ("{name: web, port: 8020}", "`command` must be a list of texts"),
        ("{name: web, command: [a]}", "`port` must be a whole number from 1024"),
        ("{name: web, command: [a], port: 80}", "`port` must be a whole number from 1024"),
        ("{name: web, command: [a], port: true}", "`port` must be a whole number from 1024"),
        ("{name: web, command: [a], port: 9000}", "two services have the port 9000"),
        ("{name: web, command: [a], port: 18080}", "the port 18080 is the one of the model"),
        ("{name: web, command: [a], port: 8020, ready: health}", "`ready` must be the path of a URL"),
        ("{name: web, command: [a], port: 8020, ready: '/a b'}", "`ready` must be the path of a URL"),
        ("{name: web, command: [a], port: 8020, limit: 0}", "`limit` must be a number of seconds"),
        ("{name: web, command: [a], port: 8020, limit: soon}", "`limit` must be a number of seconds"),
        ("{name: web, command: [a], port: 8020, env: [A]}", "`env` must map names to texts"),
        ("{name: web, command: [a], port: 8020, folder: ../x}", "`folder` '../x' holds `..`"),
        ("{name: web, command: [a], port: 8020, folder: gone}", "the source 'gone' is missing"),
        ("{name: web, command: [a], port: 8020, folder: plain.txt}", "'plain.txt' is not a folder"),
        ("{name: web, command: [a], port: 8020, reday: /}", "`reday` of a service is not known: did you mean `ready`?"),
        ("{name: web, command: [a], port: 8020, user: me}", "`user` of a service is not known"),
    ],
)
def test_what_is_wrong_with_a_service_is_reported_with_its_line(tmp_path: Path, service: str, reason: str) -> None:
    problems = read_suite(write(tmp_path, service)).problems
    assert [(one.path.name, one.line) for one in problems if reason in one.reason] == [("task_a.md", 5)], problems


def test_services_and_an_open_network_exclude_each_other(tmp_path: Path) -> None:
    with pytest.raises(SuiteError, match="can't have `network: true`"):
        load_suite(write(tmp_path, more="network: true\n    "))
