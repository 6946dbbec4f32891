"""A link to a node that makes every trial at once, if it is not told otherwise."""

import hashlib
import time
from dataclasses import dataclass, field
from importlib.metadata import version

import anyio

from pinchbench.cluster.host import DISTRIBUTION
from pinchbench.cluster.messages import (
    Begin,
    End,
    Ended,
    FrameReader,
    FromNode,
    NodeLostError,
    NodeReady,
    Seen,
    StartTrial,
    ToNode,
    decode_to_node,
    encode,
)
from pinchbench.model.ending import Reason
from pinchbench.model.outcome import Outcome
from pinchbench.model.usage import Usage
from pinchbench.results.node_times import Hardware

HARDWARE = Hardware(processor="Some CPU", cpus=8, memory_bytes=16 * 2**30, kernel="Linux 6.1")
READY = NodeReady(
    folder="/node",
    versions={},
    digests={},
    unmet={},
    sandbox="none",
    network="auto",
    agents=["main", "main"],
    hardware=HARDWARE,
)
FILES = {"stdout.log": b"said\n", "transcript.jsonl": b'{"a": 1}\n' * 1000}


@dataclass
class FakeLink:
    """What it is given is in `sent`; `lost` makes every further call fail."""

    files: dict[str, bytes] = field(default_factory=lambda: dict(FILES))
    answer: FromNode = READY
    is_silent: bool = False
    reason: Reason = Reason.COMPLETED
    sent: list[ToNode] = field(default_factory=list)
    events_put: list[bytes] = field(default_factory=list)
    changed: anyio.Event = field(default_factory=anyio.Event)
    lost: bool = False
    ended: bool = False
    closed: bool = False
    release: str = version(DISTRIBUTION)
    ahead_s: float = 0.0
    has_token: bool = True

    def put(self, message: FromNode) -> None:
        self.events_put.append(encode(message))
        self.changed.set()

    async def send(self, frames: bytes) -> None:
        if self.lost:
            raise NodeLostError("the link is down")
        for message in FrameReader().feed(frames):
            self.take(decode_to_node(message))

    def take(self, decoded: ToNode) -> None:
        self.sent.append(decoded)
        match decoded:
            case Begin():
                self.put(self.answer)
            case StartTrial() if not self.is_silent:
                self.put(Seen(slot=decoded.slot, method="activity", text="works", usage=Usage(requests=1)))
                self.end(decoded)
            case End():
                self.ended = True
                self.changed.set()

    def end(self, start: StartTrial | None = None) -> None:
        """End a trial: the one that was started last, if none is given."""
        start = start or next(one for one in reversed(self.sent) if isinstance(one, StartTrial))
        self.put(Ended(slot=start.slot, outcome=self.outcome(start)))

    def lose(self) -> None:
        self.lost = True
        self.changed.set()

    def outcome(self, start: StartTrial) -> Outcome:
        stated = {name: hashlib.sha256(data).hexdigest() for name, data in FILES.items()}
        evidence = f"trials/{start.key.task_id}/{start.key.repetition}"
        return Outcome(key=start.key, reason=self.reason, digest="d", evidence=evidence, files=stated)

    async def events(self, after: int) -> list[bytes] | None:
        while not self.events_put[after:]:
            if self.lost:
                raise NodeLostError("the link is down")
            if self.ended:
                return None
            self.changed = anyio.Event()
            await self.changed.wait()
        return self.events_put[after:]

    async def read(self, path: str, offset: int, size: int) -> bytes:
        if (name := path.rpartition("/")[2]) not in self.files:
            raise FileNotFoundError(path)
        return self.files[name][offset : offset + size]

    async def about(self) -> tuple[str, float, bool]:
        return self.release, time.time() + self.ahead_s, self.has_token

    async def close(self) -> None:
        self.closed = True
