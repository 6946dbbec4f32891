"""The web's replies to a conversation as files of its task, whose trials can't reach the web (pure)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinchbench.authoring.history.conversations import WEB_TOOLS

if TYPE_CHECKING:
    from pinchbench.authoring.history.conversations import Conversation
    from pinchbench.transcripts import Message

INDEX = "recorded_web/index.md"
# What follows the prompt: an agent without web tools can't know that the pages are there.
NOTE = f"\n\n(You can't reach the web. `{INDEX}` lists pages and searches whose replies were saved as files.)"


def recorded_web(conversation: Conversation) -> dict[str, bytes]:
    """Return a file for each page and search, with the last reply to it as it was, and the index; none without any."""
    replies: dict[tuple[str, str], Message] = {}
    for turn in conversation.turns:
        for call, result in turn.calls:
            asked = " ".join(str(call.arguments.get("url") or call.arguments.get("query") or "").split())
            key = (call.name.lower(), asked)
            if key[0] in WEB_TOOLS and result is not None and not (result.is_error and key in replies):
                replies[key] = result
    files: dict[str, bytes] = {}
    lines = ["# Recorded replies of the web\n\n"]
    for number, ((tool, asked), reply) in enumerate(replies.items(), 1):
        files[f"recorded_web/{number:02}.txt"] = reply.text.encode("utf-8", "replace")
        lines.append(f"- {number:02}.txt: {tool} {asked}{' (failed)' if reply.is_error else ''}\n")
    return {**files, INDEX: "".join(lines).encode("utf-8", "replace")} if files else {}
