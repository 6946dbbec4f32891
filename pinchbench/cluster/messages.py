"""The messages between the runner and its program on a node, and their frames."""

from __future__ import annotations

import msgspec

from pinchbench.chat.endpoint import Message, Reply  # noqa: TC001 - msgspec reads the annotations
from pinchbench.defaults import SuiteFormat  # noqa: TC001 - as above
from pinchbench.model.outcome import Outcome  # noqa: TC001 - as above
from pinchbench.model.trial import TrialKey  # noqa: TC001 - as above
from pinchbench.model.usage import Usage  # noqa: TC001 - as above
from pinchbench.results.node_times import Hardware  # noqa: TC001 - as above

LENGTH_BYTES = 4
MAX_FRAME_BYTES = 64 * 1024 * 1024  # far more than any message: a longer one is not ours


class SentSuite(msgspec.Struct, frozen=True, kw_only=True):
    """A suite of the run; `folder` is the number of its folder among those that are sent, None for the bundled one."""

    name: str
    format: SuiteFormat
    folder: int | None


class RelayAsked(msgspec.Struct, frozen=True, kw_only=True):
    """The endpoint of the run is one that only the runner reaches: lead to it, and listen on this address for that."""

    url: str
    address: str


class Begin(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The first message to a node: set up slots for a run.

    `config` holds its options by name; `suites` and `tasks`, which are ids, stand for those that select tasks. The
    files that it reads follow as `InputPart`s if `sends_inputs`; otherwise it reads none but those of the bundled
    suite. `name` is that of the run's folder. `has_budget`: usage is needed at once although the options set no budget.
    `user_model` names the model that plays simulated users, which the runner asks; empty if none does.
    """

    config: dict[str, object]
    suites: tuple[SentSuite, ...]
    tasks: tuple[str, ...]
    run_id: str
    name: str
    node: int
    slots: int
    sends_inputs: bool
    has_budget: bool = False
    relay: RelayAsked | None = None
    user_model: str = ""


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
    shows_output: bool


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


class RelayOpened(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The node leads to the runner's endpoint: connect to this port of its address, with this secret."""

    port: int
    secret: bytes
    certificate: str


class NodeReady(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The slots are set up.

    Attributes:
        folder: where the evidence is, on the node.
        versions: the releases of what takes part.
        digests: those of the tasks, by id.
        unmet: what tasks lack here, by id, as sentences.
        sandbox: the level of the trials' sandbox.
        network: what they can connect to.
        agents: the agents' names in OpenClaw, by slot.
        hardware: what the node is made of.
    """

    folder: str
    versions: dict[str, str]
    digests: dict[str, str]
    unmet: dict[str, str]
    sandbox: str
    network: str
    agents: list[str]
    hardware: Hardware


class Activity(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """What an agent does, and what its transcript says that it has used so far."""

    slot: int
    text: str
    usage: Usage


class Output(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """A line of an agent's output."""

    slot: int
    stream: str
    text: str


class Waits(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """A model call failed, and is made again in so many seconds."""

    slot: int
    text: str
    next_s: float


class RateLimited(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The provider rejected a model call as too many requests."""

    slot: int


class Used(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """What the wire has seen a trial use so far."""

    slot: int
    usage: Usage


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
FromNode = (
    Told
    | Refused
    | RelayOpened
    | NodeReady
    | Activity
    | Output
    | Waits
    | RateLimited
    | Used
    | UserAsked
    | UserDropped
    | Ended
)

_encoder = msgspec.msgpack.Encoder()
_to_node = msgspec.msgpack.Decoder(ToNode)
_from_node = msgspec.msgpack.Decoder(FromNode)


def encode(message: ToNode | FromNode) -> bytes:
    """Return a message as bytes, without a frame."""
    return _encoder.encode(message)


def decode_to_node(data: bytes) -> ToNode:
    """Decode a message to a node. Raises msgspec.MsgspecError."""
    message: ToNode = _to_node.decode(data)
    return message


def decode_from_node(data: bytes) -> FromNode:
    """Decode a message from a node. Raises msgspec.MsgspecError."""
    message: FromNode = _from_node.decode(data)
    return message


def frame(data: bytes) -> bytes:
    """Return bytes with their length before them."""
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
