"""PinchBench async: how good is a model as the brain of an OpenClaw agent?

The public Python API. `run_benchmark` runs a suite, `resume` goes on with a run and `regrade` grades one again;
`open_agent` gives an
`OpenClawAgent`, whose `execute_task` runs one task. All are for anyio; see their docstrings for what they raise and
what a cancellation does.
"""

from __future__ import annotations

TYPE_CHECKING = False  # as `typing` has it, which costs each guardian milliseconds to import

if TYPE_CHECKING:
    from pinchbench.config.asked_models import JudgeConfig
    from pinchbench.config.rerun_configs import RegradeConfig, ResumeConfig
    from pinchbench.config.run_config import RunConfig
    from pinchbench.defaults import Isolation
    from pinchbench.errors import PinchBenchError
    from pinchbench.files.user_data import bundled_tasks_dir
    from pinchbench.model.ending import Ending, Reason, Status, Stop
    from pinchbench.model.grade import Grade, Ungraded
    from pinchbench.model.outcome import Outcome
    from pinchbench.model.task import Task
    from pinchbench.model.trial import TrialKey
    from pinchbench.model.usage import Usage
    from pinchbench.openclaw.agent import OpenClawAgent
    from pinchbench.openclaw.task_result import TaskResult
    from pinchbench.results.finished_run import Result
    from pinchbench.results.result_json import Aggregate, read_aggregate
    from pinchbench.runner.again.grade_again import regrade
    from pinchbench.runner.again.rerun import resume
    from pinchbench.runner.run_benchmark import run_benchmark
    from pinchbench.runner.setup.make_homes import open_agent
    from pinchbench.suite.loading import load_suite

__all__ = [
    "Aggregate", "Ending", "Grade", "Isolation", "JudgeConfig", "OpenClawAgent", "Outcome", "PinchBenchError",
    "Reason", "RegradeConfig", "Result", "ResumeConfig", "RunConfig", "Status", "Stop", "Task", "TaskResult",
    "TrialKey", "Ungraded", "Usage", "bundled_tasks_dir", "load_suite", "open_agent", "read_aggregate", "regrade",
    "resume", "run_benchmark",
]  # fmt: skip

_HOMES = {
    "pinchbench.config.asked_models": ("JudgeConfig",),
    "pinchbench.config.rerun_configs": ("RegradeConfig", "ResumeConfig"),
    "pinchbench.config.run_config": ("RunConfig",),
    "pinchbench.errors": ("PinchBenchError",),
    "pinchbench.defaults": ("Isolation",),
    "pinchbench.model.ending": ("Ending", "Reason", "Status", "Stop"),
    "pinchbench.model.grade": ("Grade", "Ungraded"),
    "pinchbench.model.outcome": ("Outcome",),
    "pinchbench.model.task": ("Task",),
    "pinchbench.model.trial": ("TrialKey",),
    "pinchbench.model.usage": ("Usage",),
    "pinchbench.openclaw.agent": ("OpenClawAgent",),
    "pinchbench.openclaw.task_result": ("TaskResult",),
    "pinchbench.results.result_json": ("Aggregate", "read_aggregate"),
    "pinchbench.runner.run_benchmark": ("run_benchmark",),
    "pinchbench.results.finished_run": ("Result",),
    "pinchbench.runner.again.grade_again": ("regrade",),
    "pinchbench.runner.again.rerun": ("resume",),
    "pinchbench.runner.setup.make_homes": ("open_agent",),
    "pinchbench.files.user_data": ("bundled_tasks_dir",),
    "pinchbench.suite.loading": ("load_suite",),
}


def __getattr__(name: str) -> object:
    """Import a public name when it is first used: `pinchbench-async --help` needs none of them."""
    from importlib import import_module  # noqa: PLC0415 - only who uses a public name needs it

    for module, names in _HOMES.items():
        if name in names:
            return getattr(import_module(module), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
