"""Whose doing a failed model call is: that of the model, which is counted, or of its provider (pure).

The HTTP status decides where it can. Words decide only between the situations of `SITUATIONS`, in their order.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from pinchbench.json_values import PAGE_MARK

OF_THE_REQUEST = frozenset({400, 403, 413, 422, 424, 451, 500})
"""Statuses that the content of a request can cause; of others, whatever words follow, account, rate or time is one."""
BAD_REQUEST, TOO_LARGE, SERVER_ERROR = 400, 413, 500
STATUS = re.compile(r"^(?:HTTP |status )?([45]\d\d)\b|^[\w. -]{0,60}\b([45]\d\d): ", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True, slots=True)
class Situation:
    """A situation in which a call fails.

    Attributes:
        name: what happened, as the reference names it.
        source: servers and providers that use these words.
        is_models: whether that is the model's doing: what it wrote, or how long it let its conversation become.
        pattern: matches the provider's words and codes.
        with_500: whether that also holds for status 500, with which some servers refuse a request.
    """

    name: str
    source: str = ""
    is_models: bool
    pattern: re.Pattern[str]
    with_500: bool = False


_IN_CONVERSATION = r"(?:messages|input|contents)\b[\w.\[\]]*\b"  # the path of a field


def _words(*alternatives: str) -> re.Pattern[str]:
    return re.compile("|".join(alternatives), re.IGNORECASE)


SITUATIONS = (
    Situation(
        name="page of a proxy in place of a reply",
        source="Cloudflare, nginx, firewalls, portals",
        is_models=False,
        pattern=_words(rf"^{PAGE_MARK}"),
    ),
    Situation(
        name="chat template that refuses OpenClaw's messages",
        source="llama.cpp, vLLM, LM Studio, Ollama, text-generation-inference",
        is_models=False,
        pattern=_words(
            r"\bjinja|\btemplate_?error\b|\braise_exception\b|\bundefinederror\b",
            r"^(?!.*(?:exceed|too long|longer than|context)).*\bchat.template\b",
            r"\broles? must alternate|\b(?:system|tool) role (?:is )?not supported|\broles are supported\b",
            r"\b(?:unexpected|unsupported|invalid|unknown) (?:message )?role\b|only get item pairs from a mapping",
            r"\bat row \d+, column \d+",
        ),
    ),
    Situation(
        name="tool call that the server cannot parse",
        source="Groq, Ollama, llama.cpp, vLLM, Gemini, Mistral, Anthropic, OpenClaw",
        is_models=True,
        with_500=True,
        pattern=_words(
            r"\btool_use_failed\b|failed to call a function|tool call validation failed|model called a tool",
            r"\bpars(?:e|ing) (?:the )?(?:tool[ _]calls?|function call|input at pos)\b|tool[ _]call parsing",
            r"\bharmony ?error\b|unexpected tokens remaining in message header|expecting start token",
            r"\bmalformed.?function.?call\b|output_parse_failed|\bxml syntax error on line\b",
            # OpenClaw's own, which decide where there is no wire
            r"\b(?:malformed|invalid|completed) tool call\b(?! id)|terminal tool-call|tool-call argument buffer",
            # what a model wrote is sent again as a part of the conversation
            r"\bfunction name\b.{0,80}\b(?:must be|empty)",
            rf"{_IN_CONVERSATION}"
            r"(?:arguments|(?:tool_?use|function(?:_call|_response)?)\.(?:name|input))\b|\binput\[\d+\]\.name\b",
            r"\btool_use\W+ids? must be unique|duplicate.{0,30}\btool.?(?:call|use)|tool_call_id.{0,30}\bduplicate",
            r"found multiple \W?tool_result|\barguments\b.{0,45}\bjson\b|\btool_calls?\b.{0,20}\bname\b",
            # Python's and C++'s: OpenClaw's own JSON is valid
            r": line \d+ column \d+ \(char \d+\)|json\.exception\.parse_error",
            r"\b(?:function|tool.?call)\b.{0,2}\b(?:call )?arguments\b",  # of which a schema has none
            r"\bmodel (?:produced|generated)\b.{0,40}\b(?:invalid|not match|not be parsed)",
        ),
    ),
    Situation(
        name="content filter",
        source="Azure, OpenAI and Qwen behind a proxy that makes it 500",
        is_models=True,
        with_500=True,
        pattern=_words(
            r"^(?!.*\b(?:service|endpoint|internal|timed?.?out|unavailable)\b)(?:.*\W)?(?:content_filter|"
            r"content_policy_violation|data_?inspection_?failed|responsibleaipolicyviolation)\b",
            r"\bsafety_check_type_|\bcontent violates usage guidelines\b|\bwas filtered due to\b",
            r"\b(?:blocked|filtered) by (?:(?:the|our|its) )?content.?(?:filter|polic)",
        ),
    ),
    Situation(
        name="throttling",
        source="Bedrock, OpenAI, Groq (413 for tokens per minute), Google",
        is_models=False,
        pattern=_words(
            r"throttl|rate.{0,3}limit|\btoo many (?:concurrent |connections|requests)",
            r"please wait\b|overloaded|slow.?down|\bbusy\b",
            r"(?:requests?|messages?) limit|(?:number of|pending|in.?flight|active) (?:\S+ )?requests|\bqueue",
            r"\bper.?(?:second|minute|min|hour|day)\b|\b[rt]p[md]\b|\b(?:dai|hour|week|month)ly\b|\btoday\b",
            r"(?:at|over|at max) capacity|capacity exceeded|resource.?(?:has been )?exhausted|concurren",
            r"try again (?:later|in|shortly)|retry (?:in|after)\b|high demand",
            r"频率|限流|限速|并发|繁忙|访问量|稍后|次数",
        ),
    ),
    Situation(
        name="account or budget",
        source="OpenAI, OpenRouter, LiteLLM, Anthropic, Google",
        is_models=False,
        pattern=_words(
            r"\bquota\b|(?<!\bno )\bcredits?\b(?! card)|\bbilling\b|\bbalance\b",
            r"\bpayment\b|(?<!thinking.)\bbudget|exceeded.?budget",
            r"\bspend(?:ing)?\b.{0,10}(?:cap|limit)|key limit|api.?key(?! id)|unauthori[sz]ed|permission",
            r"\busage limit|\bfree (?:usage|tier|plan)|\b(?:must|need to) (?:accept|agree|be verified)",
            r"余额|额度|欠费|充值|配额|封禁|停用|冻结",
            r"\b(?:account|organi[sz]ation|project)\b.{0,60}(?:suspend|disabl|terminat|bann|deactivat|block|flag|violat)",
        ),
    ),
    Situation(
        name="time-out",
        source="Cloudflare, nginx, OpenRouter, Ollama",
        is_models=False,
        pattern=_words(
            r"too long to|took (?:too long|longer)|\btimed?.?out\b",
            r"\btimeout|deadline|\bidle\b|context cancel+ed|aborted|\btime limit|超时",
            r"wall.?clock|(?:execution|life)\s?time|exceed\w*.{0,30}\b\d+ ?(?:m?s|sec\w*|min\w*)\b",
        ),
    ),
    Situation(
        name="server out of memory, crashed or unavailable",
        source="Ollama, llama.cpp, vLLM, proxies",
        is_models=False,
        pattern=_words(
            r"\bv?ram\b|\bmemory\b|kv.?cache|\boom\b|cuda|\ballocat|resource limitation|enginecore",
            r"unexpectedly stopped|\bengine (?:is )?dead|unavailable|not available",
            r"connection (?:error|refused|reset)|bad gateway|disconnected",
            r"(?:moderation|safety|inspection|filter\w*) (?:service|system|endpoint).{0,20}(?:fail|error|down|return)",
            r"fail\w* to (?:run|call|reach|perform).{0,30}\b(?:moderation|safety|guardrail|filter)",
            r"(?:服务|系统).{0,8}(?:不可用|异常|错误)",
        ),
    ),
    Situation(
        name="limit of the reply's length that OpenClaw asked for",
        source="OpenAI, vLLM",
        is_models=False,
        pattern=_words(
            r"^(?!.*\binputs? tokens).*max_(?:\w+_)?tokens'? (?:is too large|must|should|cannot|can't|has to)",
            r"^(?!.*\binput tokens).*max_(?:\w+_)?tokens.{0,20} at (?:least|most)",
            r"^(?!.*(?:context|input|prompt)).*(?:max_(?:\w+_)?tokens|maxoutputtokens|output tokens)",
            r"\bmaximum tokens you requested|\btokens requested for output",
        ),
    ),
    Situation(
        name="text too long for a field of the conversation",
        source="OpenAI",
        is_models=True,
        pattern=_words(rf"{_IN_CONVERSATION}(?:content|text|output|data)'?: .{{0,40}}(?:too (?:long|large)|exceed)"),
    ),
    Situation(
        name="field that OpenClaw wrote",
        source="OpenAI, Anthropic, Azure",
        is_models=False,
        pattern=_words(
            r"\bprompt_cache_key\b|(?:\.|call_)id'?: |(?:should|does not) match pattern|string_(?:above|below)_m",
            r"unrecogni[sz]ed request argument|extra inputs? (?:is|are) not permitted|does not support",
            r"(?:un(?:supported|known|expected|recogni[sz]ed)|extra) (?:parameter|value|argument|field|name|key)s?\b",
            r"\btools?(?:\.\d|\[\d|')|input_schema|invalid schema|\.metadata\b|safety.?setting|window too small",
            r"\binvalid '(?!messages|input|contents|prompt)[\w.\[\]]+': ",
        ),
    ),
    Situation(
        name="context overflow",
        source="OpenAI, Anthropic, Google, xAI, GLM, Kimi, Qwen, Mistral, llama.cpp, vLLM, LM Studio, LiteLLM",
        is_models=True,
        with_500=True,
        pattern=_words(
            r"context_length_exceeded|exceed_context_size|context_?window_?exceeded|request_too_large|prompt_too_long",
            r"\bmodel_length\b",
            r"\b1261\b|max(?:imum)? (?:context|prompt|input|model|sequence|allowed)[\w ]{0,20} ?(?:length|characters)",
            r"\bmax_(?:context|prompt|input|seq)|context_?length_?err|\btokens?[ _]limit(?:_reached)?\b",
            r"\b(?:n_ctx|max_seq_len|max_model_len|(?:input|prompt) token count)\b",
            r"exceed\w*.{0,40}\b(?:context|model token limit|maximum number of tokens)",
            r"exceed\w*.{0,40}\bmax(?:imum)? (?:input|prompt|length)",
            r"\b(?:prompt|inputs?|context|conversation|sequence|(?:prompt|input|request(?:ed)?|total) tokens?)\b.{0,60}"
            r"\b(?:exceed\w*|(?:long|great|larg|few|short)er than|(?:less|more) than)\b.{0,60}"
            r"(?:context|limit|max|length|\d)",
            r"\bcontext (?:length|size|window|limit)\b.{0,30}\b(?:exceed\w*|reached|overflow\w*|full)",
            r"context.?overflow|\b(?:prompt|input) is too long|\bcontext\b.{0,40}\bfits?\b",
            r"\btokens?\b.{0,60}\b(?:exceeds?|over|above) (?:the|\d).{0,20}(?:limit|max|\d)",
            r"reduce (?:the length|your prompt)|range of input length|tokens to keep from the initial prompt",
            r"keep the first \d+ tokens|messages resulted in",
            r"\bis too large to process\b|too many tokens: |`?inputs`? tokens \+",
            r"(?:上下文|输入|token).{0,12}(?:超|过长)|超.{0,12}长|长度.{0,4}超",
            r"(?:请求|内容|文本|对话).{0,8}过[大长]",
        ),
    ),
    Situation(
        name="content filter",
        source="Azure, OpenAI, Anthropic, Google, Qwen, DeepSeek, xAI, GLM, Kimi, OpenRouter",
        is_models=True,
        pattern=_words(
            r"content.?(?:management|filter|policy|moderation|safety|exists risk|violat)",
            r"data_?inspection|responsibleai",
            r"\bflagged\b|\bmoderation\b|\bsafety\b|\bguardrail|\binappropriate\b|prohibited|\bharm(?:ful|_category)",
            r"\bunsafe\b|usage (?:policy|policies|guidelines)|(?:polic(?:y|ies)|guidelines|terms).{0,20}violat",
            r"violat.{0,40}(?:polic|guideline|terms)|\binvalid_prompt\b|sensitive.?(?:content|words?|information)",
            r"_sensitive\b|(?:reason: |anthropic )(?:sensitive|refusal|block|violation|spii)|censor",
            r"\b(?:prompt|input|output|content|text)\b.{0,12} blocked\b|\bblocked (?:input|output|content)",
            r"not compliant|prompt.?injection|jailbreak|recitation",
            r"敏感|不安全|风险|违反|违规|违禁|不合规|审核|high risk|\b1301\b",
        ),
    ),
    Situation(
        name="context overflow",
        source="Bedrock, GitHub, Google, proxies",
        is_models=True,
        pattern=_words(
            r"\b(?:prompt|input|request|messages?|conversation|context|payload|body|entity|content|text)s?\b"
            r"(?!.{0,9}(?:header|ur[il]\b|id\b)).{0,60}\b(?:too (?:long|large|big|many)|exceeds?|exceeded)\b",
            r"too many (?:input |prompt )?tokens|max(?:imum)? length|context (?:length|window|limit)",
        ),
    ),
)
UNKNOWN = Situation(name="anything else", source="all", is_models=False, pattern=_words())
BY_STATUS = Situation(
    name="status that no content of a request causes", source="all", is_models=False, pattern=_words()
)
REQUEST_TOO_LARGE = SITUATIONS[-1]


def situation_of(words: str, status: int = 0) -> Situation:
    """Return the situation of a failed call.

    Args:
        words: the provider's message, after its type and code.
        status: the HTTP status; a stream that has begun with 200 may name another one in its error, and OpenClaw puts
            it first.
    """
    if status < BAD_REQUEST:
        found = STATUS.search(words)
        status = int(found[1] or found[2]) if found else 0
    if status >= BAD_REQUEST and status not in OF_THE_REQUEST:
        return BY_STATUS
    if status == TOO_LARGE and words.startswith(PAGE_MARK):
        return REQUEST_TOO_LARGE
    for one in SITUATIONS:
        if (status != SERVER_ERROR or one.with_500 or not one.is_models) and one.pattern.search(words):
            return one
    return REQUEST_TOO_LARGE if status == TOO_LARGE else UNKNOWN
