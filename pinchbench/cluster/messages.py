"""The connection between the runner and its program on a node: its messages and their frames."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from itertools import chain, count
from typing import TYPE_CHECKING, Literal, Protocol, TypeVar

import msgspec
from anyio import fail_after

from pinchbench.config.served import ServedModel
from pinchbench.decoding import msgpack_decoder
from pinchbench.defaults import SuiteFormat  # noqa: TC001 - msgspec reads the annotations
from pinchbench.llm.openai_api import (
    Message,  # noqa: TC001 - msgspec reads the annotations
    Reply,  # noqa: TC001 - msgspec reads the annotations
)
from pinchbench.model.outcome import Outcome  # noqa: TC001 - msgspec reads the annotations
from pinchbench.model.trial import TrialKey  # noqa: TC001 - msgspec reads the annotations
from pinchbench.model.usage import Usage
from pinchbench.results.node_times import Hardware  # noqa: TC001 - msgspec reads the annotations

if TYPE_CHECKING:
    from collections.abc import Awaitable, Mapping, Sequence


LENGTH_BYTES = 4
MAX_FRAME_BYTES = 64 * 1024 * 1024  # far more than any message: a longer one is not ours


class SentSuite(msgspec.Struct, frozen=True, kw_only=True):
    """A suite of the run; `folder` is the number of its folder among those that are sent, None for the bundled one."""

    name: str
    format: SuiteFormat
    folder: int | None


class Begin(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The first message to a node: set up slots for a run."""

    config: dict[str, object]  # its options by name; `suites` and `tasks` stand for those that select tasks
    suites: tuple[SentSuite, ...]
    tasks: tuple[str, ...]  # their ids
    run_id: str
    name: str  # of the run's folder
    node: int
    slots: int
    sends_inputs: bool  # whether files follow as `InputPart`s; otherwise it reads those of the bundled suite alone
    has_budget: bool = False  # whether usage is needed at once although the options set no budget
    user_model: str = ""  # the one that plays simulated users, which the runner asks; empty if none does


class InputPart(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """A part of the archive of the files that the run reads; the last one is empty."""

    data: bytes


class Beat(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The runner lives."""


class StartTrial(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Make an attempt at a trial in a slot, from 1 on this node."""

    slot: int
    key: TrialKey
    attempt: int


class Stop(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """End the running trials in an orderly way; with `hurry`, at once."""

    hurry: bool = False


class EndTrial(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """End the trial that runs in a slot in an orderly way."""

    slot: int


class UserReplied(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """What the model said that plays simulated users, to a question of this number."""

    number: int
    reply: Reply


class UserFailed(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The model said nothing to a question; `why` is a sentence, and the rest as in `ChatError`."""

    number: int
    why: str
    calls: int
    usage: Usage
    cost_usd: float | None


class Forget(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The evidence in this folder, relative to that of the run, has arrived: remove it, and the workspace."""

    evidence: str
    workspace: str


class End(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """End, and leave nothing."""


class Told(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """A sentence for the user."""

    text: str


class Refused(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The node can't take part, or has failed; a whole sentence."""

    why: str


class NodeReady(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The slots are set up."""

    folder: str  # where the evidence is, on the node
    versions: dict[str, str]  # the releases of what takes part
    digests: dict[str, str]  # those of the tasks, by id
    unmet: dict[str, str]  # what tasks lack here, by id, as sentences
    sandbox: str  # the level of the trials' sandbox
    network: str  # what they can connect to
    served: ServedModel = ServedModel()  # what OpenClaw has to know of a model of an endpoint, with what that reports
    agents: list[str]  # the agents' names in OpenClaw, by slot
    hardware: Hardware  # what the node is made of


class Seen(msgspec.Struct, frozen=True, kw_only=True, tag=True, omit_defaults=True):
    """What is seen of a running trial: a call of a method of `TrialEvents`, with the arguments that it has."""

    slot: int
    method: Literal["activity", "output", "waits", "rate_limited", "used"]
    text: str = ""
    usage: Usage = Usage()
    stream: str = ""
    next_s: float = 0.0


class UserAsked(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """A question to the model that plays simulated users; `number` is its own on this node."""

    number: int
    conversation: tuple[Message, ...]
    schema: dict[str, object]


class UserDropped(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Nobody waits for the answer to a question any more."""

    number: int


class Ended(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """An attempt has ended; what its files hold is final."""

    slot: int
    outcome: Outcome


ToNode = Begin | InputPart | Beat | StartTrial | Stop | EndTrial | UserReplied | UserFailed | Forget | End
FromNode = Told | Refused | NodeReady | Seen | UserAsked | UserDropped | Ended

encode = msgspec.msgpack.Encoder().encode  # without a frame
decode_to_node = msgpack_decoder(ToNode).decode  # raises msgspec.MsgspecError
decode_from_node = msgpack_decoder(FromNode).decode


def frame(message: ToNode | FromNode) -> bytes:
    """Return a message with its length before it."""
    data = encode(message)
    return len(data).to_bytes(LENGTH_BYTES, "big") + data


class FrameReader:
    """Splits a stream of bytes into the frames in it; what is incomplete waits for the rest."""

    def __init__(self) -> None:
        """Nothing has come yet."""
        self._held = bytearray()

    def feed(self, data: bytes) -> list[bytes]:
        """Take what has come, and return the frames that are whole now. Raises ValueError for one that is too long."""
        self._held += data
        whole: list[bytes] = []
        while len(self._held) >= LENGTH_BYTES:
            length = int.from_bytes(self._held[:LENGTH_BYTES], "big")
            if length > MAX_FRAME_BYTES:
                raise ValueError(f"a message of {length} bytes")
            if len(self._held) < LENGTH_BYTES + length:
                break
            whole.append(bytes(self._held[LENGTH_BYTES : LENGTH_BYTES + length]))
            del self._held[: LENGTH_BYTES + length]
        return whole


T = TypeVar("T")

LEASE_S = 20.0  # without an answer; a call takes a second at most, and milliseconds beyond


class NodeLostError(Exception):
    """A call to a node was not answered, and will not be.

    `used` is what the attempt that ran there is known to have used: its tokens were paid for.
    """

    def __init__(self, why: str, used: Usage = Usage()) -> None:
        """`why` is a part of a sentence."""
        super().__init__(why)
        self.used = used


class NodeLink(Protocol):
    """The connection to the program of a node; see `NodeHost`. Every call may raise NodeLostError."""

    async def send(self, frames: bytes) -> None:
        """Pass messages on to the program, each in its frame."""

    async def events(self, after: int) -> list[bytes] | None:
        """Return the messages from the program beyond the first `after`; None at its end."""

    async def read(self, path: str, offset: int, size: int) -> bytes:
        """Return a part of a file. Raises OSError too."""

    async def about(self) -> tuple[str, float, bool]:
        """Return the node's release of this program, its time in seconds since the epoch (UTC), and `has_token`."""

    async def close(self) -> None:
        """Let the node go; its program ends, with all that it started. Raises nothing."""


@dataclass(frozen=True, kw_only=True, slots=True)
class NodeInfo:
    """A node of a cluster."""

    id: str  # the cluster's own, which no other node ever has
    name: str  # that of its host, or what the user reads instead if several nodes have that
    cpus: float
    memory_bytes: float  # for programs
    is_draining: bool = False  # whether it goes soon


class Cluster(Protocol):
    """A cluster that this process is connected to."""

    async def nodes(self) -> Sequence[NodeInfo]:
        """Return the nodes that live, named by their hosts. Raises ClusterError."""

    async def start(self, node: NodeInfo, *, cpus: float, memory_bytes: int) -> NodeLink:
        """Reserve a part of a node and start its program there. Raises NodeUnavailableError."""


async def within_lease(call: Awaitable[T]) -> T:
    """Await a call to a node for as long as it is given. Raises NodeLostError when there is no answer."""
    try:
        with fail_after(LEASE_S):
            return await call
    except TimeoutError as error:
        raise NodeLostError(f"it did not answer for {LEASE_S:.0f} s") from error


SHORTEST = 6  # characters of an id


def name_nodes(nodes: Sequence[NodeInfo], known: Mapping[str, str]) -> list[NodeInfo]:
    """Return nodes, named by their hosts so far, with names of which no two are the same.

    `known` are the ids of the nodes that have had a name before, by name, empty where nobody knows: those nodes keep
    their names, and no other node gets one of these.
    """
    hosts = Counter(node.name for node in nodes)
    names = {node_id: name for name, node_id in known.items() if node_id}
    taken = set(known)
    named: list[NodeInfo] = []
    for node in nodes:
        name = names.get(node.id)
        if name is None:
            is_clear = hosts[node.name] == 1 and node.name not in taken
            name = node.name if is_clear else _with_id(node, taken)
            taken.add(name)
        named.append(replace(node, name=name))
    return named


def _with_id(node: NodeInfo, taken: set[str]) -> str:
    """Return a node's host with as little of its id as makes a name that is not taken."""
    short = (f"{node.name}-{node.id[:length]}" for length in range(min(SHORTEST, len(node.id)), len(node.id) + 1))
    numbered = (f"{node.name}-{node.id}-{number}" for number in count(2))  # where another host is called just so
    return next(name for name in chain(short, numbered) if name not in taken)
