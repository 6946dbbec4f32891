"""The bundled suite, read once in each process: many modules of tests look at its tasks, some while imported."""

from __future__ import annotations

from types import MappingProxyType

from pinchbench.suite.loading import bundled_tasks_dir, load_suite

ROOT = bundled_tasks_dir()
SUITE = load_suite(ROOT).suite
TASKS = MappingProxyType({task.task_id: task for task in SUITE.tasks})
