"""The script by which a model plays the user of a past conversation, where the user corrected the agent (pure)."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

QUESTIONS = 2  # of the agent, to which the user may reply besides their own messages
_CORRECTS = re.compile(
    r"\W*(?:no|nope|not|wrong|actually|sorry|still|i (?:meant|said|asked)|you (?:forgot|missed)|that'?s (?:not|wrong)"
    r"|nein|nicht|falsch|doch|non|faux)\b",
    re.IGNORECASE,
)
_SCRIPT = """\
You are the person who wrote the first message. You wrote the messages below to another agent, one after each of its
answers. Send them to this agent in this order, one at a time.

- Send a request as it is, once the agent has answered.
- A correction was about a mistake of the other agent. If the answers show that this agent has not made it, skip the
  correction. Otherwise send it, in words that fit this agent's answer; you need not be sure that it made the mistake.

If the agent asks something, answer from these messages. You know nothing else, and correct nothing else. You are done
when each message has been sent or skipped.

"""


def user_script(messages: Sequence[str], corrections: Collection[int]) -> str:
    """Return the script of the messages after the first; empty if none is a correction.

    `corrections` are the places, from 1, of those that the conversation itself shows to be corrections. Others are
    corrections if they begin as one does.
    """
    is_correction = [place in corrections or bool(_CORRECTS.match(one)) for place, one in enumerate(messages, 1)]
    if not any(is_correction):
        return ""
    # as JSON, a message is one line, which can't begin another section
    lines = (
        f"{place}. {'Correction' if corrects else 'Request'}: {json.dumps(one)}\n"
        for place, (one, corrects) in enumerate(zip(messages, is_correction, strict=True), 1)
    )
    return _SCRIPT + "".join(lines)
