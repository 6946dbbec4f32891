"""A reply is put together from pieces."""

from pinchbench.model.usage import Usage
from pinchbench.wire.protocols.call_facts import Message, Role, ToolCall
from pinchbench.wire.protocols.reply_builder import ReplyBuilder


def test_id_and_name_of_a_call_count_as_said_last_and_arguments_add_up() -> None:
    reply = ReplyBuilder()
    reply.call(0).update(call_id="a", name="read", arguments="{")
    reply.call(0).update(call_id="b", name="write", arguments="}")

    calls = (ToolCall(id="b", name="write", arguments="{}"),)
    assert reply.facts().message == Message(role=Role.ASSISTANT, tool_calls=calls)


def test_only_content_of_a_stream_has_a_time() -> None:
    reply = ReplyBuilder()
    reply.at_s = 1.0
    reply.add_text("")
    reply.at_s = 2.0
    reply.add_reasoning("hm")
    reply.at_s = 3.0
    reply.add_text("a")
    reply.at_s = 4.0

    assert (reply.facts().first_content_s, reply.facts().last_content_s) == (2.0, 3.0)


def test_usage_that_is_reported_again_keeps_the_cost() -> None:
    reply = ReplyBuilder()
    reply.report_usage(Usage(output_tokens=1), 0.5)
    reply.report_usage(Usage(output_tokens=2))
    reply.report_usage(None, 0.7)

    assert reply.facts().usage == Usage(output_tokens=2, cost_usd=0.5)
    assert reply.facts().cost_usd == 0.5


def test_usage_of_no_tokens_replaces_no_other() -> None:
    reply = ReplyBuilder()
    reply.report_usage(Usage())
    assert reply.facts().usage == Usage()

    reply.report_usage(Usage(output_tokens=2))
    reply.report_usage(Usage(), 0.5)

    assert reply.facts().usage == Usage(output_tokens=2, cost_usd=0.5)
