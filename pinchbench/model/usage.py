"""What the calls of a model used: tokens and their cost."""

from __future__ import annotations

import msgspec


class Usage(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What the model calls of a transcript used. Tokens are counts, `cost_usd` is as OpenClaw priced it.

    OpenClaw prices a model whose price it does not know at 0; `known_cost_usd` is what to show.
    """

    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    total_tokens: int = 0
    cost_usd: float = 0.0

    @property
    def has_tokens(self) -> bool:
        """Whether any tokens were reported; some servers report none."""
        return bool(self.total_tokens or self.input_tokens or self.output_tokens)

    @property
    def prompt_tokens(self) -> int:
        """The tokens of all prompts, cached ones included."""
        return self.input_tokens + self.cache_read_tokens + self.cache_write_tokens

    @property
    def known_cost_usd(self) -> float | None:
        """The cost; None where a model replied and its price, or what it used, is not known."""
        return None if (self.requests or self.has_tokens) and not self.cost_usd else self.cost_usd

    def cost_at(self, prices: tuple[float, float]) -> float:
        """Return the cost in USD at these prices of a million tokens, of input and of output."""
        return (self.prompt_tokens * prices[0] + self.output_tokens * prices[1]) / 1e6

    def __add__(self, other: Usage) -> Usage:
        """Sum field by field."""
        return Usage(
            requests=self.requests + other.requests,
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cache_read_tokens=self.cache_read_tokens + other.cache_read_tokens,
            cache_write_tokens=self.cache_write_tokens + other.cache_write_tokens,
            total_tokens=self.total_tokens + other.total_tokens,
            cost_usd=self.cost_usd + other.cost_usd,
        )

    def completed_by(self, seen: Usage) -> Usage:
        """Return what the provider reported, `seen`, where OpenClaw has stored fewer calls than were made.

        OpenClaw stores no summary of a compaction and only the last run of an automation. The calls that it has not
        stored are priced as those that it has, by their tokens on average, unless the provider names the cost.
        """
        if seen.requests <= self.requests or seen.total_tokens <= self.total_tokens:
            return self
        priced = self.cost_usd * seen.total_tokens / self.total_tokens if self.total_tokens else 0.0
        return msgspec.structs.replace(seen, cost_usd=max(priced, seen.cost_usd))

    def at_least(self, other: Usage) -> Usage:
        """Return the larger value of each field: what two witnesses of the same calls have seen together."""
        return Usage(**{name: max(getattr(self, name), getattr(other, name)) for name in self.__struct_fields__})
