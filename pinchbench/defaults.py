"""The ranges, defaults and names of options; all that `--help` has to import."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path

MAX_CONCURRENCY = 1024  # of all nodes of a cluster
MAX_MACHINE_SLOTS = 64  # of one machine
MAX_RUNS = 1000
MAX_REQUESTS = 1000
MAX_PROBES = 1000  # trials from one point at which probes are sent to the next
MAX_TIMEOUT_MULTIPLIER = 100.0
MAX_VOTES = 25
MAX_JUDGE_CONCURRENCY = 64
MAX_INFRA_RETRIES = 20
MAX_RETRY_DELAY_S = 3600.0
MAX_SEED = 2**32 - 1
DEFAULT_PASS_THRESHOLD = 0.8
# Of a gate. With 40 tasks and a standard deviation of 0.2 within a task, it takes about 6 repetitions on both sides to
# show that no more than 0.05 is lost, and about 40 for 0.02.
DEFAULT_MARGIN = 0.05
DEFAULT_MIN_TRIALS = 5  # a task that is passed half the time passes, or fails, five times in a row in 6 % of baselines
DEFAULT_MAX_SPREAD = 0.5
# Of a trial. One of the core suite uses at most 1.26 GiB, 34 tasks and 4 MiB of home (2026.9.6): the rest is for what
# agents build and run.
DEFAULT_MAX_MEMORY = 8.0  # GiB
DEFAULT_MAX_PROCESSES = 2048
DEFAULT_MAX_DISK = 10.0  # GiB
LEAST_MAX_MEMORY, LEAST_MAX_PROCESSES, LEAST_MAX_DISK = 2.0, 200, 0.1
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
THINKING_LEVELS = ("off", "minimal", "low", "medium", "high", "xhigh", "adaptive", "max", "ultra")


class DivergencePolicy(StrEnum):
    """What a replay does when a request is not the recorded one.

    `STOP` ends the trial, `CONTINUE` serves the recorded reply of the same position anyway, and `LIVE` asks a model
    from there on.
    """

    STOP = "stop"
    CONTINUE = "continue"
    LIVE = "live"


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
    """Whose OpenClaw state the trials use, and how many share one."""

    AUTO = "auto"
    PRIVATE = "private"
    GATEWAY = "gateway"
    SHARED = "shared"


class SuiteFormat(StrEnum):
    """The task format of a suite. Tasks that can't be represented are refused, each with the reason."""

    PINCHBENCH = "pinchbench"
    QWENCLAW = "qwenclaw"
    CLAW_BENCH = "claw-bench"
    HARBOR = "harbor"
    WILDCLAW = "wildclaw"
    CLAW_EVAL = "claw-eval"
    CLAWBENCH_CORE = "clawbench-core"
