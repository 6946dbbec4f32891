"""A user's conversations as candidates for tasks: what can be rebuilt and graded, and which stand for the rest."""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from pinchbench.authoring.history.conversations import Conversation, conversations_of
from pinchbench.authoring.history.proposals import Proposal, proposals_of
from pinchbench.authoring.history.rebuild import Restored, restore
from pinchbench.authoring.history.stored_sessions import stored_sessions
from pinchbench.authoring.history.workspace_past import WorkspacePast

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


MOST_SUGGESTED = 12
DAY_S = 86_400.0
MONTH_S = 30 * DAY_S
EMPTY_REASON = "nothing in it settles what is right: no file of it was kept or corrected, and no test was repaired"


@dataclass(frozen=True, kw_only=True, slots=True)
class Candidate:
    """A conversation that may become a task.

    `obstacles` are clauses that say why it is left out; none for one that can be used. `group` numbers the kind of
    request, whose `share` of all requests is in 0-1, and which comes `monthly` times in 30 days.
    """

    conversation: Conversation
    restored: Restored
    proposals: Sequence[Proposal]
    obstacles: Sequence[str] = ()
    group: int = 0
    share: float = 0.0
    monthly: float = 0.0
    is_suggested: bool = False


def find_history(
    state: Path,
    *,
    config: Mapping[str, object],
    agent: str = "",
    since: float,
    until: float,
    memory: bool = False,
    skills: bool = False,
) -> tuple[Sequence[Candidate], Sequence[str]]:
    """Read a user's conversations that began after `since`, in seconds since the epoch. Blocks; writes nothing.

    Returns the newest first, and a sentence on each session that could not be read. `until` is the end of the period
    from which monthly rates are computed.

    `config` is the user's OpenClaw config, which names the agents' workspaces: files are read nowhere else. Raises
    ConfigError as `stored_sessions`.
    """
    found: list[Conversation] = []
    problems: list[str] = []
    for session in stored_sessions(state, agent=agent, since=since):
        if session.problem:
            problems.append(f"{session.agent}/{session.session_id}: {session.problem}.")
        found += [one for one in conversations_of(session) if one.began_at >= since]
    found.sort(key=lambda one: one.began_at, reverse=True)
    own = workspaces_of(config, state)
    pasts: dict[str, WorkspacePast] = {}
    candidates: list[Candidate] = []
    for conversation in found:
        workspace = conversation.workspace
        is_own = bool(workspace) and Path(workspace) in own
        past = pasts.setdefault(workspace, WorkspacePast(folder=Path(workspace if is_own else "/nonexistent")))
        restored = restore(conversation, past, memory=memory, skills=skills)
        proposals = proposals_of(conversation, restored)
        obstacles = [*conversation.obstacles]
        if workspace and not is_own:
            obstacles.append("its workspace is not one that your OpenClaw's config names")
        if restored.lost:
            obstacles.append(f"files that are gone: {restored.coverage}")
        if not proposals and not obstacles:
            obstacles.append(EMPTY_REASON)
        candidates.append(
            Candidate(conversation=conversation, restored=restored, proposals=proposals, obstacles=obstacles)
        )
    return _suggested(_without_clashes(candidates), since=since, until=until), problems


def workspaces_of(config: Mapping[str, object], state: Path) -> frozenset[Path]:
    """Return the folders in which the agents of a config work, and the default ones below the state folder (pure)."""
    agents = _members(config.get("agents"))
    listed = agents.get("list")
    entries = [*(listed if isinstance(listed, list) else ()), *_members(agents.get("entries")).values()]
    named = [
        _members(agents.get("defaults")).get("workspace"),
        *(_members(entry).get("workspace") for entry in entries),
    ]
    folders = {Path(name).expanduser() for name in named if isinstance(name, str) and name}
    return frozenset(folders | {state / "workspace"} | set(state.glob("workspace-*")))


def _members(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {}


def _without_clashes(candidates: Sequence[Candidate]) -> Iterator[Candidate]:
    """Yield the candidates; those whose files another conversation changed at the same time get an obstacle."""
    for one in candidates:
        clash = any(
            other is not one
            and other.conversation.workspace == one.conversation.workspace
            and other.conversation.began_at <= one.conversation.ended_at
            and one.conversation.began_at <= other.conversation.ended_at
            and other.restored.left.keys() & one.restored.left.keys()
            for other in candidates
        )
        why = "another conversation changed its files at the same time"
        yield replace(one, obstacles=[*one.obstacles, why]) if clash else one


def _suggested(candidates: Iterator[Candidate], *, since: float, until: float) -> tuple[Candidate, ...]:
    """Add groups and shares, and suggest one candidate of each group, beginning with the most frequent requests."""
    found = tuple(candidates)
    groups = cluster([one.conversation for one in found])
    sizes = Counter(groups)
    first = min((one.conversation.began_at for one in found), default=until)
    span_s = max(DAY_S, until - max(since, first))
    chosen: set[int] = set()
    for group, _ in sizes.most_common():
        usable = [place for place, one in enumerate(found) if groups[place] == group and not one.obstacles]
        if usable and len(chosen) < MOST_SUGGESTED:
            chosen.add(
                max(usable, key=lambda place: (sum(map(bool, (p.point for p in found[place].proposals))), -place))
            )
    return tuple(
        replace(
            one,
            group=group,
            share=sizes[group] / len(found),
            monthly=sizes[group] * MONTH_S / span_s,
            is_suggested=place in chosen,
        )
        for place, (one, group) in enumerate(zip(found, groups, strict=True))
    )


ALIKE = 0.3  # cosine of two requests' features from which on they are of one kind
_WORD = re.compile(r"[^\W\d_]{3,}")
_SUFFIX = re.compile(r"\.([A-Za-z]\w{0,4})\b")


def cluster(conversations: Sequence[Conversation]) -> tuple[int, ...]:
    """Return the number of each conversation's group, from 0; similar ones have the same.

    They are similar if they have words of the prompt, kinds of files and tools in common; what many have counts less.
    """
    features = [_features(conversation) for conversation in conversations]
    spread = Counter(name for one in features for name in one)
    total = len(features)
    vectors = [_unit({name: math.log(1 + total / spread[name]) for name in one}) for one in features]
    leaders: list[Mapping[str, float]] = []
    groups: list[int] = []
    for vector in vectors:
        likeness = [sum(value * leader.get(name, 0.0) for name, value in vector.items()) for leader in leaders]
        best = max(range(len(likeness)), key=likeness.__getitem__, default=-1)
        if best < 0 or likeness[best] < ALIKE:
            best = len(leaders)
            leaders.append(vector)
        groups.append(best)
    return tuple(groups)


def _features(conversation: Conversation) -> set[str]:
    prompt = conversation.turns[0].prompt[:2000]
    words = {word.lower() for word in _WORD.findall(prompt)}
    words.update(f".{suffix.lower()}" for suffix in _SUFFIX.findall(prompt))
    words.update(f"tool {name}" for name in conversation.tools)
    return words


def _unit(vector: Mapping[str, float]) -> Mapping[str, float]:
    length = math.sqrt(sum(value * value for value in vector.values())) or 1.0
    return {name: value / length for name, value in vector.items()}
