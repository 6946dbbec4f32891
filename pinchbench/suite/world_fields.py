"""Reading the keys of a task's head about the agent's world: services, abilities, clock, timeline (pure)."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from pinchbench.model.task import Turn
from pinchbench.model.task_programs import MAX_SERVICES, MODEL_PORT, SERVICE_LIMIT_S, Service
from pinchbench.model.timeline import NEED_GATEWAY, Ability, Advance, ChatMessage, Interrupt, ServiceEvent
from pinchbench.suite.yaml_nodes import YamlNode, misspelt

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from pinchbench.model.timeline import TimelineEvent
    from pinchbench.suite.reading import FieldReader

DEFAULT_OWNER = "sam"
ASSISTANT = "assistant"  # the agent's own name in a chat
FIRST_YEAR, LAST_YEAR = 2000, 2099
MOST_CALLS = 1000  # of the model, before an interrupt
NEEDS_GATEWAY = "chat, automations or subagents among the `abilities`"

# What a step can be, and the keys that it may have besides.
_STEPS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {"message": ("from",), "interrupt": ("after_calls",), "advance": (), "advance_to": (), "service": ("path", "body")}
)
LOWEST_PORT, HIGHEST_PORT = 1024, 65535  # those below are for root
MAX_LIMIT_S = 600.0  # until a service is ready
_SERVICE_KEYS = ("name", "command", "port", "folder", "ready", "limit", "env")
_SERVICE_NAME = re.compile(r"[a-z][a-z0-9_-]{0,39}")
_NAME = re.compile(r"[a-z][a-z0-9-]{0,39}")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d)?(Z|[+-]\d\d:\d\d)?")
_SPAN = re.compile(r"((?P<days>\d{1,6})d)? ?((?P<hours>\d{1,6})h)? ?((?P<minutes>\d{1,6})m)? ?((?P<seconds>\d{1,6})s)?")
_LONGEST = timedelta(days=366)
_PATH = re.compile(r"/[!-~]*")


@dataclass(frozen=True, kw_only=True, slots=True)
class World:
    """What a task's head says about what the agent can do, and what happens around it.

    `opening` is what the prompt is to an agent in a gateway, which the turns of the timeline follow; None without one.
    """

    abilities: tuple[Ability, ...]
    starts_at: float | None
    timezone: str
    opening: ChatMessage | None
    steps: tuple[Turn, ...]

    def turns(self, stated: tuple[Turn, ...]) -> tuple[Turn, ...]:
        """Return the task's turns, given those that it states without a timeline."""
        return (
            stated if self.opening is None else (*(replace(turn, event=self.opening) for turn in stated), *self.steps)
        )


def read_world(reader: FieldReader, fields: Mapping[str, YamlNode], services: Collection[str]) -> World:
    """Return what the fields of a head say, in a task that has these services; what can't be used is a problem."""
    return _WorldReader(reader, fields, services).read()


class _WorldReader:
    """Reads one head. `_now` is the earliest simulated time at which the next step can happen."""

    def __init__(self, reader: FieldReader, fields: Mapping[str, YamlNode], services: Collection[str]) -> None:
        self._reader = reader
        self._fields = fields
        self._services = services
        self._problem = reader.problem
        self._zone: tzinfo = UTC
        self._owner = DEFAULT_OWNER
        self._now: float | None = None

    def read(self) -> World:
        abilities = self._abilities()
        timezone = self._timezone()
        clock, timeline = self._fields.get("clock"), self._fields.get("timeline")
        starts_at = self._now = None if clock is None else self._time("clock", clock)
        items = self._reader.items(self._fields, "timeline")
        if NEED_GATEWAY.isdisjoint(abilities):
            if timeline is not None:
                self._problem(timeline, f"a timeline needs {NEEDS_GATEWAY}")
            return World(abilities=abilities, starts_at=starts_at, timezone=timezone, opening=None, steps=())
        self._owner = self._name("owner", self._fields.get("owner"))
        steps: list[Turn] = []
        for item in items:
            after_service = bool(steps) and isinstance(steps[-1].event, ServiceEvent)
            if step := self._step(item, after_service=after_service):
                steps.append(step)
        opening = ChatMessage(sender=self._owner, is_owner=True)
        return World(abilities=abilities, starts_at=starts_at, timezone=timezone, opening=opening, steps=tuple(steps))

    def _abilities(self) -> tuple[Ability, ...]:
        given = {item.text or "": item for item in self._reader.items(self._fields, "abilities")}
        meant = dict(misspelt(given, known=tuple(Ability)))
        for name, item in given.items():
            if name not in tuple(Ability):
                hint = f"did you mean `{meant[name]}`?" if name in meant else f"there are {', '.join(Ability)}"
                self._problem(item, f"the ability {name[:50]!r} is not known: {hint}")
        return tuple(ability for ability in Ability if ability in given)

    def _timezone(self) -> str:
        node = self._fields.get("timezone")
        if node is None:
            return ""
        name = node.text or ""
        try:
            self._zone = ZoneInfo(name)
        except (ValueError, KeyError, OSError):  # OSError: the name of a folder of zones
            self._problem(node, f"`timezone` {name[:50]!r} is not a time zone known here, such as Europe/Berlin")
        return name

    def _time(self, key: str, node: YamlNode) -> float | None:
        """Return a time in seconds since the epoch; None if it has problems."""
        text = node.text or ""
        try:
            time = datetime.fromisoformat(text) if _TIME.fullmatch(text) else None
        except ValueError:  # such as 30 February
            time = None
        if time is None or not FIRST_YEAR <= time.year <= LAST_YEAR:
            self._problem(node, f"`{key}` must be a time such as 2026-03-02T07:30, from {FIRST_YEAR} to {LAST_YEAR}")
            return None
        if time.tzinfo is None:
            time = time.replace(tzinfo=self._zone)
            ahead, later = (time.replace(fold=fold).utcoffset() or timedelta() for fold in (0, 1))
            if ahead < later:
                self._problem(
                    node, f"`{key}`: {text} does not exist in {self._zone}, where clocks are put forward then"
                )
                return None
            if ahead > later:
                self._problem(
                    node, f"`{key}`: {text} comes twice in {self._zone}; add the offset, as in {time.isoformat()}"
                )
                return None
        return time.timestamp()

    def _name(self, key: str, node: YamlNode | None) -> str:
        if node is None:
            return self._owner
        name = node.text or ""
        if not _NAME.fullmatch(name) or name == ASSISTANT:
            rule = "1 to 40 small letters, digits or `-`, the first a letter"
            self._problem(node, f"`{key}` must be a name, {rule}, and not {ASSISTANT!r}")
        return name

    def _step(self, item: YamlNode, *, after_service: bool) -> Turn | None:
        fields = item.fields or {}
        kinds = [key for key in _STEPS if key in fields]
        if len(kinds) != 1:
            self._problem(item, f"a step of the timeline must be a mapping with exactly one of {', '.join(_STEPS)}")
            return None
        [kind] = kinds
        self._reader.mapping(item, f"a step `{kind}`", known=(kind, *_STEPS[kind]))
        if kind == "interrupt" and after_service:
            self._problem(item, "`interrupt` must follow what the agent works on: a message, `advance` or `interrupt`")
        event, prompt = self._event(kind, fields), ""
        if isinstance(event, ChatMessage | Interrupt):
            prompt = (fields[kind].text or "").strip()
            if not prompt:
                self._problem(item, f"`{kind}` must be a text")
        return None if event is None else Turn(prompt=prompt, event=event)

    def _event(self, kind: str, fields: Mapping[str, YamlNode]) -> TimelineEvent | None:
        match kind:
            case "message":
                sender = self._name("from", fields.get("from"))
                return ChatMessage(sender=sender, is_owner=sender == self._owner)
            case "interrupt":
                calls = self._reader.whole(fields, "after_calls", 1, low=1, high=MOST_CALLS)
                return Interrupt(sender=self._owner, after_calls=calls)
            case "service":
                return self._service_event(fields)
            case _:
                if "clock" not in self._fields:
                    self._problem(fields[kind], f"`{kind}` needs a `clock`: the time at which the task begins")
                return self._advance_by(fields[kind]) if kind == "advance" else self._advance_to(fields[kind])

    def _advance_by(self, node: YamlNode) -> Advance | None:
        found = _SPAN.fullmatch(node.text or "")
        parts = {unit: int(number) for unit, number in (found.groupdict() if found else {}).items() if number}
        span = timedelta(**parts)
        if not timedelta() < span <= _LONGEST:
            self._problem(node, f"`advance` must be a time such as 2d 4h or 90m, and at most {_LONGEST.days}d")
            return None
        if self._now is not None:
            self._now += span.total_seconds()
        return Advance(by_s=span.total_seconds())

    def _advance_to(self, node: YamlNode) -> Advance | None:
        time = self._time("advance_to", node)
        if time is None:
            return None
        if self._now is not None and time <= self._now:
            self._problem(node, "`advance_to` must be later than the time that the steps before it have reached")
            return None
        if self._now is not None and time - self._now > _LONGEST.total_seconds():
            self._problem(node, f"`advance_to` must be at most {_LONGEST.days} days later than the steps before it")
        self._now = time
        return Advance(to_s=time)

    def _service_event(self, fields: Mapping[str, YamlNode]) -> ServiceEvent | None:
        name, path, body = fields["service"], fields.get("path"), fields.get("body")
        if name.text not in self._services:
            self._problem(name, f"the task has no service {name.text!r}")
        if path is None or path.text is None or not _PATH.fullmatch(path.text):
            self._problem(path or name, "`path` of a service's event must be the path of a URL, such as /mails")
        if body is not None and not isinstance(body.value, dict):
            self._problem(body, "`body` must map names to values")
        value = body.value if body is not None and isinstance(body.value, dict) else {}
        return ServiceEvent(service=name.text or "", path=(path.text if path else None) or "", body=value)


def read_services(fields: FieldReader, items: Sequence[YamlNode]) -> tuple[tuple[Service, ...], tuple[int, ...]]:
    """Return the services of a list, and each one's line; what can't be used is a problem.

    The sources of their folders are still relative and unchecked.
    """
    if len(items) > MAX_SERVICES:
        fields.problem(items[MAX_SERVICES], f"a task has at most {MAX_SERVICES} services")
    found: list[Service] = []
    for item in items:
        service = _service(fields, item)
        if service.port and (reason := port_problem(service.port, found)):
            fields.problem((item.fields or {})["port"], reason)
        if any(one.name == service.name for one in found):
            fields.problem(item, f"two services have the name {service.name!r}")
        found.append(service)
    return tuple(found), tuple(map(fields.line, items))


def port_problem(port: int, others: Iterable[Service]) -> str:
    """Return why a service can't have a port with other services; empty if it can."""
    if not LOWEST_PORT <= port <= HIGHEST_PORT:
        return f"`port` must be a whole number from {LOWEST_PORT} to {HIGHEST_PORT}"
    if port == MODEL_PORT:
        return f"the port {port} is the one of the model"
    return f"two services have the port {port}" if any(one.port == port for one in others) else ""


def _service(fields: FieldReader, item: YamlNode) -> Service:
    values = fields.mapping(item, "a service", known=_SERVICE_KEYS)
    name = fields.text(values, "name")
    if not _SERVICE_NAME.fullmatch(name):
        rule = "1 to 40 small letters, digits, `_` or `-`, the first a letter"
        fields.problem(values.get("name", item), f"`name` of a service must be {rule}")
    command = [one.text for one in values.get("command", item).items or ()]
    if not command or None in command or not command[0]:
        fields.problem(values.get("command", item), "`command` must be a list of texts: [python3, serve.py]")
    if "port" not in values:
        fields.problem(item, port_problem(0, ()))
    ready = fields.text(values, "ready")
    if ready and not _PATH.fullmatch(ready):
        fields.problem(values["ready"], "`ready` must be the path of a URL, such as /health")
    return Service(
        name=name,
        command=tuple(word or "" for word in command),
        port=fields.whole(values, "port", 0, low=LOWEST_PORT, high=HIGHEST_PORT),
        folder=Path(fields.place(values["folder"], "folder")) if "folder" in values else None,
        ready=ready,
        limit_s=fields.above_zero(values, "limit", SERVICE_LIMIT_S, high=MAX_LIMIT_S, unit=" of seconds"),
        env=fields.env(values),
    )
