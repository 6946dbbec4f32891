"""A model that is asked for what a user says, and does what a test wants."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from anyio import Event, sleep_forever

from pinchbench.llm.openai_api import ChatError, Message, Reply


@dataclass
class FakeEndpoint:
    """A model that says one thing, or fails, or stays silent until `is_dropped`."""

    says: Reply | ChatError | None
    model: str = "user-1"
    asked: list[tuple[Sequence[Message], Mapping[str, object]]] = field(default_factory=list)
    was_asked: Event = field(default_factory=Event)
    is_dropped: Event = field(default_factory=Event)

    def describe(self) -> Mapping[str, object]:
        return {}

    async def ask(self, conversation: Sequence[Message], schema: Mapping[str, object]) -> Reply:
        self.asked.append((conversation, schema))
        self.was_asked.set()
        try:
            match self.says:
                case Reply():
                    return self.says
                case ChatError():
                    raise self.says
                case None:
                    await sleep_forever()
        finally:
            self.is_dropped.set()
        raise AssertionError
