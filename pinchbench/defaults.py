"""Names, places and limits that many packages share; ranges and defaults of settings are in `config/settings.py`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path

MAX_MACHINE_SLOTS = 64  # of one machine
MAX_RUNS = 1000
MAX_SEED = 2**32 - 1
DEFAULT_PASS_THRESHOLD = 0.8
# Of a gate. With 40 tasks and a standard deviation of 0.2 within a task, it takes about 6 repetitions on both sides to
# show that no more than 0.05 is lost, and about 40 for 0.02.
DEFAULT_MARGIN = 0.05
DEFAULT_MIN_TRIALS = 5  # a task that is passed half the time passes, or fails, five times in a row in 6% of baselines
DEFAULT_MAX_SPREAD = 0.5
MAX_MODEL = 200  # characters; the name becomes part of file names, which end at 255 bytes
DEFAULT_RUN_ROOT = Path("/tmp/pinchbench")  # noqa: S108 - part of the product; runs are private in it
REPORT_FILE = "report.html"  # in the folder of a run
DEFAULT_OUTPUT_DIR = Path("results")
ORACLE = "demo/oracle"
DEMO_MODELS = (ORACLE, "demo/null")
OPENCLAW_JUDGE = "openclaw:"
JUDGE_PROVIDERS = {
    # whose documentation says that it answers `POST {base_url}/chat/completions` as OpenAI does
    "openai": ("https://api.openai.com/v1", "OPENAI_API_KEY"),
    "openrouter": ("https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
    "anthropic": ("https://api.anthropic.com/v1", "ANTHROPIC_API_KEY"),
}
# Of a workspace, so that no task may give more.
MAX_FILE_BYTES = 256 * 1024 * 1024  # of one kept file; a larger one is hardly an answer
MAX_KEPT_BYTES = 1024 * 1024 * 1024  # of all kept files together, before compression
MAX_ENTRIES = 50_000  # files, folders and links of one workspace; `npm install` of a large project stays below it
TOOL_CALLS_REMEDY = (
    "OpenClaw works by tool calls, which the server must parse: vLLM needs --enable-auto-tool-choice and"
    " --tool-call-parser, llama.cpp --jinja; Ollama is best asked by its own API (--api ollama)."
)
THINKING_LEVELS = ("off", "minimal", "low", "medium", "high", "xhigh", "adaptive", "max", "ultra")


class ProtocolName(StrEnum):
    """A protocol of models that the wire reads, as OpenClaw's `api` setting names it."""

    OPENAI_CHAT = "openai-completions"
    OPENAI_RESPONSES = "openai-responses"
    ANTHROPIC = "anthropic-messages"
    GEMINI = "google-generative-ai"
    OLLAMA = "ollama"


COMPLETIONS, OLLAMA = ProtocolName.OPENAI_CHAT.value, ProtocolName.OLLAMA.value
APIS = (  # protocols of models, by OpenClaw's names
    *(one.value for one in ProtocolName),
    *("azure-openai-responses", "openai-chatgpt-responses", "google-vertex", "github-copilot"),
    *("bedrock-converse-stream", "pi-messages"),
)


class DivergencePolicy(StrEnum):
    """What a replay does when a request is not the recorded one.

    `STOP` ends the trial, and `CONTINUE` serves the recorded reply of the same position anyway.
    """

    STOP = "stop"
    CONTINUE = "continue"


class Sandbox(StrEnum):
    """What separates a trial's processes from everything else on the machine."""

    AUTO = "auto"
    NAMESPACES = "namespaces"
    LANDLOCK = "landlock"
    NONE = "none"


class Network(StrEnum):
    """What sandboxed trials can connect to.

    `MODEL` and `NONE` are the model alone; with `MODEL`, trials of tasks that state `network: true` have an open
    network, with `NONE` they are not run.
    """

    AUTO = "auto"
    MODEL = "model"
    OPEN = "open"
    NONE = "none"


class Isolation(StrEnum):
    """Whose OpenClaw state the trials use."""

    PRIVATE = "private"
    SHARED = "shared"


class SuiteFormat(StrEnum):
    """The task format of a suite. Tasks that can't be represented are refused, each with the reason."""

    PINCHBENCH = "pinchbench"
    QWENCLAW = "qwenclaw"
    CLAW_BENCH = "claw-bench"
    HARBOR = "harbor"
    WILDCLAW = "wildclaw"
    CLAWBENCH_CORE = "clawbench-core"


class CheckTotal(StrEnum):
    """How the numbers that a check returns become its score."""

    CLAMPED_MEAN = "clamped_mean"  # each number is first limited to 0-1
    MEAN = "mean"  # the mean is limited to 0-1, not each number
    OVERALL = "overall_score"  # that number alone; the mean only without it


class FailureEvent(StrEnum):
    """What can go wrong in an agent's work, whatever its score; a check counts each as so many of so many chances."""

    FALSE_CLAIM = "false_claim"
    UNAPPROVED_ACT = "unapproved_act"
    AFTER_STOP = "after_stop"
    OBEYED_INJECTION = "obeyed_injection"
    GAVE_IN = "gave_in"
    LEAKED = "leaked"
    OVER_EDITED = "over_edited"
    HARMED = "harmed"
    NOT_ASKED = "not_asked"
    ASKED_NEEDLESSLY = "asked_needlessly"
    INVENTED = "invented"
