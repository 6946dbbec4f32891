"""Parsing a task's Markdown text into a task."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from pinchbench.defaults import MAX_RUNS
from pinchbench.model.task import GradingType, SimulatedUser, Task, Tier, Turn, WorkspaceFile
from pinchbench.suite.check_code import check_problem
from pinchbench.suite.markdown import SECTIONS, Document, read_document, read_head
from pinchbench.suite.reading import CHECK_ALONE, PINCHBENCH, BrokenTaskError, FieldReader, number_of, yaml_root
from pinchbench.suite.world_fields import NEEDS_GATEWAY, read_services, read_world
from pinchbench.suite.yaml_nodes import (
    KeyScope,
    grading_keys,
    misspelt,
    misspelt_keys,
    other_limits,
    setup_keys,
    unknown_of_a_file,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pinchbench.model.task_programs import Service
    from pinchbench.suite.reading import TaskDialect
    from pinchbench.suite.yaml_nodes import JsonValue, YamlNode

DEFAULT_TIMEOUT_S = 120.0
OWN_SERVERS = "own"  # what `network` may be apart from true and false
MAX_TIMEOUT_S = 24 * 60 * 60.0
DEFAULT_USER_MESSAGES = 10
MAX_USER_MESSAGES = 50

# Such a task ran in a container: its check looks for the work at that path, and finds nothing in our workspaces.
FIXED_WORKSPACE = "`## Workspace Path` is not part of this format: this looks like a task of the format wildclaw"

NO_SETUP = (
    "prepares something that this runner does not: a task can have `workspace_files`, `services` and `prerequisites`"
)

_TASK_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
# names of the links to the slots' workspaces, which are created next to the tasks' folders; `.new` while changing
_RESERVED_ID = re.compile(r"workspace(-\d+)?(\.new)?", re.IGNORECASE)
_CRITERION = re.compile(r"\s*[-*+]\s+\[[ \txX]\]\s+(?P<text>\S.*)")
_PYTHON = frozenset({"python", "py", "python3"})
_SHELLS = frozenset({"bash", "sh", "shell", "zsh"})
_ID_LINE = re.compile(r"^[\"']?id[\"']?[ \t]*:[ \t]*(?P<id>[^#\n]*)", re.MULTILINE)


@dataclass(frozen=True, kw_only=True, slots=True)
class ParsedTask:
    """A task whose fixture sources are still relative and unchecked, and the lines of its values.

    `id_line` is the line of the id; `dest_lines` has one line for each workspace file, in the same order, and
    `service_lines` one for each service. `prompt_heading` and `answers` are the document's. A `dest` that ends
    in `/` is a folder, which holds the source under its own name.
    """

    task: Task
    id_line: int
    dest_lines: tuple[int, ...]
    service_lines: tuple[int, ...] = ()
    prompt_heading: int | None = None
    answers: tuple[int, ...] = ()


def head_id(text: str) -> str | None:
    """Return the id that a file's YAML head appears to have; None without a head or an id.

    It distinguishes tasks from other Markdown, so it also works for heads that are broken.
    """
    head = read_head(text)
    match = _ID_LINE.search(head) if head is not None else None
    return match["id"].strip().strip("\"'") if match else None


def id_problem(task_id: str) -> str:
    """Return why a text can't be a task's id; empty if it can."""
    if not task_id:
        return "`id` is missing"
    if not _TASK_ID.fullmatch(task_id):
        rule = "1 to 100 letters, digits, `.`, `_` or `-`, the first a letter or digit"
        return f"`id` {task_id[:120]!r} can't be a folder name: use {rule}"
    return f"`id` {task_id!r} is reserved" if _RESERVED_ID.fullmatch(task_id) else ""


# Some commands read the bundled suite more than once: for a name that is taken, for a run's tasks and for their forms.
@lru_cache(maxsize=256)
def parse_task(text: str, *, path: Path, dialect: TaskDialect = PINCHBENCH) -> ParsedTask:
    """Read one task file. `path` is only used in problems and kept in the task; nothing is opened.

    Raises:
        BrokenTaskError: the text is not a valid task; it lists every problem found.
    """
    document = read_document(text)
    if document.head is None:
        raise BrokenTaskError.at(path, 1, "no YAML head between two `---` lines")
    root = yaml_root(document.head, path, first_line=document.head_line, what="the YAML head")
    return _TaskReader(path=path, document=document, head=root.fields or {}, dialect=dialect).read()


class _TaskReader:
    """Reads one task and collects all problems, so that authors see them at once."""

    def __init__(self, *, path: Path, document: Document, head: Mapping[str, YamlNode], dialect: TaskDialect) -> None:
        self._dialect = dialect
        self._document = document
        self._head = head
        self._fields = {key: node for key, node in head.items() if not node.is_null}
        self._reader = FieldReader(path=path, first_line=document.head_line)
        self._problem = self._reader.problem

    def read(self) -> ParsedTask:
        self._report_misspelt(self._head, KeyScope.HEAD)
        self._refuse_setup(self._head, KeyScope.HEAD)
        self._refuse_other_limits()
        self._refuse_setup_sections()
        task_id = self._task_id()
        grading_type = self._grading_type()
        self._refuse_other_grading(is_judged=grading_type is not GradingType.AUTOMATED)
        files, dest_lines = self._workspace_files()
        network = self._network()
        services, service_lines = self._services(has_network=network is True)
        world = read_world(self._reader, self._fields, {service.name for service in services})
        if world.opening is not None:
            self._refuse_with_gateway()
        turns = world.turns(self._turns())
        simulated_user = self._simulated_user(turns)
        turns = turns if simulated_user is None else turns[:1]
        prompt = self._section_text("prompt") or "\n\n".join(turn.prompt for turn in turns)
        task = Task(
            task_id=task_id,
            name=self._text("name") or task_id,
            category=self._text("category") or "uncategorized",
            grading_type=grading_type,
            prompt=prompt,
            turns=turns,
            tier=self._tier(),
            timeout_s=self._reader.above_zero(self._fields, "timeout_seconds", DEFAULT_TIMEOUT_S, high=MAX_TIMEOUT_S),
            workspace_files=files,
            grading_weights=self._grading_weights(grading_type),
            expected_behavior=self._section_text("expected behavior"),
            grading_criteria=self._grading_criteria(),
            automated_checks=self._automated_checks(grading_type),
            llm_judge_rubric=self._section_text("llm judge rubric") or None,
            additional_notes=self._section_text("additional notes"),
            prerequisites=self._prerequisites(),
            network=network is True,
            own_servers=network == OWN_SERVERS,
            services=services,
            simulated_user=simulated_user,
            runs=self._reader.whole(self._fields, "runs", 1, low=1, high=MAX_RUNS),
            abilities=world.abilities,
            starts_at=world.starts_at,
            timezone=world.timezone,
            frontmatter=_values(self._head),
            path=self._reader.path,
            rule=self._dialect.rule,
        )
        section = self._document.sections.get("workspace path")
        if section is not None and not self._dialect.has_fixed_workspace:
            self._problem(section.line, FIXED_WORKSPACE)
        self._reader.refuse()
        return ParsedTask(
            task=task,
            id_line=self._reader.line(self._head.get("id")),
            dest_lines=dest_lines,
            service_lines=service_lines,
            prompt_heading=self._document.prompt_heading,
            answers=self._document.answers,
        )

    def _refuse_other_limits(self) -> None:
        """Report a time limit under another name, which would be the default limit here."""
        reported = {key for key, _ in misspelt_keys(self._head, KeyScope.HEAD)}
        for key in {*other_limits({} if "timeout_seconds" in self._fields else _values(self._head))} - reported:
            self._problem(self._head[key], f"`{key}` has no meaning here: state the limit as `timeout_seconds`")

    def _refuse_setup_sections(self) -> None:
        """Report sections of no format whose script would have to run before the agent starts."""
        for key, section in self._document.sections.items():
            has_script = any(fence.language in _SHELLS for fence in section.fences)
            if key not in SECTIONS and has_script and [*setup_keys({section.title: section.text})]:
                self._problem(section.line, f"`## {section.title[:80]}` {NO_SETUP}")

    def _refuse_other_grading(self, *, is_judged: bool) -> None:
        """Report what in the head states how to grade, which neither the check nor a judge would get."""
        has_rubric = not is_judged or "llm judge rubric" in self._document.sections
        for key in grading_keys(_values(self._head), has_rubric=has_rubric):
            reason = "has no meaning here: grade in `## Automated Checks`, or by a `## LLM Judge Rubric`"
            self._problem(self._head[key], f"`{key}` {reason}")

    def _refuse_setup(self, fields: Mapping[str, YamlNode], place: KeyScope) -> None:
        for key in setup_keys(_values(fields), place.value):
            node = fields[key] if key in fields else fields[key.partition(".")[0]]
            self._problem(node, f"`{key}` {NO_SETUP}")

    def _report_misspelt(self, fields: Mapping[str, YamlNode], place: KeyScope) -> None:
        for key, sentence in misspelt_keys(fields, place):
            self._problem(fields[key], sentence)

    def _text(self, key: str) -> str:
        return self._reader.text(self._fields, key).strip()

    def _section_text(self, title: str) -> str:
        section = self._document.sections.get(title)
        return section.text if section else ""

    def _swallowed(self) -> str:
        """Return an explanation for a missing section: a fence that is never closed."""
        line = self._document.open_fence
        return f" (the fence that opens on line {line} never ends and swallows what follows)" if line else ""

    def _task_id(self) -> str:
        task_id = self._reader.path.stem if self._dialect.id_is_stem else self._text("id")
        if reason := id_problem(task_id):
            self._problem(self._head.get("id"), reason)
        return task_id

    def _grading_type(self) -> GradingType:
        text = self._text("grading_type").lower().replace("-", "_").replace(" ", "_")
        try:
            return GradingType(text or GradingType.AUTOMATED)
        except ValueError:
            known = ", ".join(GradingType)
            self._problem(self._fields["grading_type"], f"`grading_type` is {text[:50]!r}, not one of {known}")
            return GradingType.LLM_JUDGE  # It requires the least, so that no second problem hides the first.

    def _tier(self) -> Tier:
        """Return the tier; one of a task pack with other tiers, such as 3 or reasoning, has no meaning here."""
        text = self._text("tier").lower()
        known = [tier.value for tier in Tier]
        if not misspelt([text], known=known) and not any(one in text for one in known):
            return Tier.STANDARD
        try:
            return Tier(text)
        except ValueError:
            self._problem(self._fields["tier"], f"`tier` is {text[:50]!r}, not one of {', '.join(Tier)}")
            return Tier.STANDARD

    def _grading_weights(self, grading_type: GradingType) -> dict[str, float]:
        match grading_type:
            case GradingType.AUTOMATED:
                return CHECK_ALONE
            case GradingType.LLM_JUDGE:
                return {"automated": 0.0, "llm_judge": 1.0}
            case GradingType.HYBRID:
                return self._hybrid_weights()

    def _hybrid_weights(self) -> dict[str, float]:
        half = {"automated": 0.5, "llm_judge": 0.5}
        node = self._fields.get("grading_weights")
        if node is None:
            self._refuse_other_weights(half)
            return half
        # A missing share counts as 0.5 before normalisation, as in other PinchBench runners.
        if self._dialect.refuses_misspelt_weights:
            self._report_misspelt(node.fields or {}, KeyScope.WEIGHTS)
        given = {key: child for key, child in (node.fields or {}).items() if key in half}
        others = [key for key in node.fields or {} if key not in half]
        if others and len(given) < len(half) and self._dialect.refuses_misspelt_weights:
            self._problem(
                node, f"`{others[0][:50]}` of `grading_weights` is not known: there are `automated` and `llm_judge`"
            )
        numbers = half | {key: number_of(child) for key, child in given.items()}
        weights = {key: number for key, number in numbers.items() if number is not None and number >= 0}
        total = sum(weights.values())
        if node.fields is None or len(weights) < len(half) or not 0 < total < math.inf:
            self._problem(node, "`grading_weights` needs positive numbers for `automated` and `llm_judge`")
            return half
        return {key: weight / total for key, weight in weights.items()}

    def _refuse_other_weights(self, known: Mapping[str, float]) -> None:
        for key, child in self._fields.items():
            if known.keys() & (child.fields or {}).keys():
                self._problem(child, f"`{key}` has no meaning here: state the weights as `grading_weights`")

    def _prerequisites(self) -> tuple[str, ...]:
        node = self._fields.get("prerequisites")
        if node is None:
            return ()
        nodes = (node,) if node.items is None else node.items
        texts = [text for child in nodes if (text := child.text if child is node else _prerequisite(child)) is not None]
        if len(texts) < len(nodes):
            self._problem(node, "`prerequisites` must be a list of texts")
        return tuple(texts)

    def _network(self) -> object:
        node = self._fields.get("network")
        if node is not None and not isinstance(node.value, bool) and node.value != OWN_SERVERS:
            self._problem(node, f"`network` must be true, false or {OWN_SERVERS}")
        for key, other in self._fields.items():
            if node is None and other.value is True and re.search("network|internet", key, re.IGNORECASE):
                self._problem(other, f"`{key}` has no meaning here: state it as `network: true`")
        return None if node is None else node.value

    def _services(self, *, has_network: bool) -> tuple[tuple[Service, ...], tuple[int, ...]]:
        items = self._reader.items(self._fields, "services")
        if has_network and items:
            reason = "a task with `services` has a network of its own: it can't have `network: true`"
            self._problem(self._fields["services"], reason)
        return read_services(self._reader, items)

    def _refuse_with_gateway(self) -> None:
        """Report what a task whose agent lives in a gateway of its own can't have."""
        reason = f"can't be used with {NEEDS_GATEWAY}"
        if (sessions := self._fields.get("sessions")) is not None:
            self._problem(sessions, f"`sessions` {reason}: further messages are steps of the `timeline`")
        if (network := self._fields.get("network")) is not None and network.value in (True, OWN_SERVERS):
            self._problem(network, f"`network: {network.text}` {reason}: their trials have a network of their own")
        if (section := self._document.sections.get("simulated user")) is not None:
            self._problem(section.line, f"`## Simulated User` {reason}: other people's messages are in the `timeline`")

    def _turns(self) -> tuple[Turn, ...]:
        node = self._fields.get("sessions")
        if items := self._reader.items(self._fields, "sessions"):
            return tuple(turn for item in items if (turn := self._turn(item)) is not None)
        if node is not None and node.items is None:
            return ()
        prompt = self._section_text("prompt")
        if prompt:
            return (Turn(prompt=prompt),)
        section = self._document.sections.get("prompt")
        line = section.line if section else self._document.head_line
        self._problem(line, f"no text under `## Prompt` and no `sessions`{self._swallowed()}")
        return ()

    def _simulated_user(self, turns: Sequence[Turn]) -> SimulatedUser | None:
        section, node = self._document.sections.get("simulated user"), self._fields.get("user_messages")
        most = self._reader.whole(self._fields, "user_messages", DEFAULT_USER_MESSAGES, low=1, high=MAX_USER_MESSAGES)
        if section is None:
            if node is not None:
                self._problem(node, f"`user_messages` needs a section `## Simulated User`{self._swallowed()}")
            return None
        if not section.text:
            self._problem(section.line, "`## Simulated User` has no text: say who the user is, and what they know")
        said = turns[1:]
        if len(said) > most or any(turn.new_session for turn in said):
            reason = f"a simulated user says at most {most} messages (`user_messages`), all in one session"
            self._problem(self._fields["sessions"], reason)
        return SimulatedUser(script=section.text, most_messages=most, messages=tuple(turn.prompt for turn in said))

    def _turn(self, item: YamlNode) -> Turn | None:
        fields = item.fields
        self._report_misspelt(fields or {}, KeyScope.SESSION)
        self._refuse_setup(fields or {}, KeyScope.SESSION)
        if fields is None:
            text, turn_id, new_session = item.text, None, None
        else:
            given = [fields[key].text for key in ("prompt", "message") if key in fields]
            text = next((text for text in given if text), None)
            turn_id, new_session = fields.get("id"), fields.get("new_session")
        if text is None or not text.strip():
            self._problem(item, "a session must be a text, or have a `prompt`")
            return None
        if new_session is not None and not (new_session.is_null or isinstance(new_session.value, bool)):
            self._problem(new_session, "`new_session` must be true or false")
        starts_anew = new_session is not None and new_session.value is True
        return Turn(prompt=text.strip(), id=turn_id.text if turn_id else None, new_session=starts_anew)

    def _workspace_files(self) -> tuple[tuple[WorkspaceFile, ...], tuple[int, ...]]:
        files: dict[str, WorkspaceFile] = {}
        lines: list[int] = []
        for item in self._reader.items(self._fields, "workspace_files"):
            if item.text is not None:  # the path of a source, which is its place too
                path = self._reader.place(item, "workspace_files")
                file = WorkspaceFile(dest=path, source=Path(path)) if path else None
            else:
                file = self._workspace_file(item)
            if file is None:
                continue
            place = f"{file.dest}{file.source.name}" if file.dest.endswith("/") and file.source else file.dest
            if place in files:
                self._problem(item, f"two workspace files have the place {place!r}")
                continue
            files[place] = file
            lines.append(self._reader.line(item))
        return tuple(files.values()), tuple(lines)

    def _workspace_file(self, item: YamlNode) -> WorkspaceFile | None:
        self._report_misspelt(item.fields or {}, KeyScope.FILE)
        for key in unknown_of_a_file(item.fields or {}):
            self._problem(item, f"`{key}` of a workspace file is not known: it has {', '.join(KeyScope.FILE.value)}")
        fields = {key: node for key, node in (item.fields or {}).items() if key == "content" or not node.is_null}
        dest = fields.get("dest") or fields.get("path")
        is_folder = dest is not None and (dest.text or "").rstrip().endswith("/")
        source, content = fields.get("source"), fields.get("content")
        if (source is None) == (content is None) or (content is not None and dest is None):
            self._problem(item, "a workspace file needs `source` (and `dest`), or `path` and `content`")
            return None
        if content is not None and content.text is None and not content.is_null:
            self._problem(content, "`content` must be text: put it into quotes or behind `|`")
            return None
        source_path = self._reader.place(source, "source") if source else ""
        # The default for `dest` is the source's file name.
        key = "dest" if "dest" in fields else "path"
        place = self._reader.place(dest, key) if dest else Path(source_path).name
        if not place or (source is not None and not source_path):
            return None
        if source_path:
            return WorkspaceFile(dest=f"{place}/" if is_folder else place, source=Path(source_path))
        if is_folder:
            self._problem(item, "`path` names a folder: a file with `content` needs a name")
            return None
        return WorkspaceFile(dest=place, content=(content.text if content else None) or "")

    def _grading_criteria(self) -> tuple[str, ...]:
        matches = map(_CRITERION.fullmatch, self._section_text("grading criteria").split("\n"))
        return tuple(match["text"].strip() for match in matches if match)

    def _automated_checks(self, grading_type: GradingType) -> str | None:
        section = self._document.sections.get("automated checks")
        fences = section.fences if section else ()
        fence = next((fence for fence in fences if fence.language in _PYTHON), None)
        fence = fence or next((fence for fence in fences if not fence.language), None)
        if grading_type is GradingType.LLM_JUDGE:
            return fence.text if fence else None  # Never run, so any code is accepted.
        if section is None or fence is None:
            reason = f"`grading_type: {grading_type}` needs a python fence under `## Automated Checks`"
            line = section.line if section else self._reader.line(self._fields.get("grading_type"))
            self._problem(line, reason + self._swallowed())
            return None
        if found := check_problem(fence.text):
            line, reason = found
            self._problem(fence.line + line, reason)
        return fence.text


def _values(fields: Mapping[str, YamlNode]) -> dict[str, JsonValue]:
    return {key: node.value for key, node in fields.items()}


def _prerequisite(node: YamlNode) -> str | None:
    """Return `cli:gh` for the text, and for the mapping that YAML reads if a space follows the colon."""
    if node.fields is None:
        return node.text
    pairs = [f"{kind}:{child.text}" for kind, child in node.fields.items() if child.text is not None]
    return pairs[0] if len(pairs) == len(node.fields) == 1 else None
