"""Where tests stand: `pinchbench/a/b.py` has `tests/a/test_b.py`, so that a newcomer finds them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pinchbench

if TYPE_CHECKING:
    from collections.abc import Mapping

PACKAGE = Path(pinchbench.__file__).parent
TESTS = Path(__file__).parent
# Modules that the tests of others cover, by folder. The list is to become shorter: a new module has a test file.
WITHOUT_A_FILE: Mapping[str, tuple[str, ...]] = {
    "": (
        "defaults",
        "errors",
        "events",
    ),
    # values without behaviour of their own: test_combine.py, tests/suite/formats and tests/doctor
    "model": (
        "finding",
        "score_rule",
        "task_programs",
    ),
    "authoring": ("results",),
    "authoring/attack": ("results",),
    "chat": ("endpoint", "openai_api"),  # test_http.py
    "config": ("chat",),  # test_judge.py and test_user_model.py
    # click commands and their parts: the other tests in tests/cli call them as a user does
    "cli": (
        "completing",
        "deferred",
        "export",
        "history",
        "judge",
        "openclaw",
        "options",
        "output",
        "program",
        "register",
        "regrade",
        "replay",
        "report",
        "resume",
        "run",
        "sections",
        "suite",
        "tasks",
        "upload",
        "verify",
    ),
    # what those commands do: as above
    "cli/actions": (
        "altered",
        "annotate",
        "baseline",
        "clean",
        "compare",
        "ctl",
        "doctor",
        "experiment",
        "experiment_plan",
        "export",
        "export_columns",
        "gate",
        "gate_options",
        "judge_check",
        "history",
        "judge_options",
        "openclaw",
        "openclaw_exec",
        "openclaw_models",
        "register",
        "regrade",
        "replay",
        "report",
        "resume",
        "run",
        "run_benchmark",
        "run_plan",
        "running",
        "serve",
        "packs",
        "suite",
        "tasks",
        "tasks_check",
        "tasks_new",
        "tasks_stats",
        "tasks_tiers",
        "upload",
        "user_options",
        "verify",
        "watch",
        "wire",
    ),
    # a program and what it answers: test_host.py and test_ray_cluster.py
    "cluster": (
        "link",
        "node",
    ),
    "demo": ("completion",),
    # test_doctor.py
    "doctor": (
        "live_calls",
        "tasks",
    ),
    "experiment": (
        "order",
        "page",
        "record",
    ),
    # test_archive.py
    "files": (
        "archive_restore",
        "archive_texts",
        "archive_write",
    ),
    # what a check is made of: test_checks.py and test_hostile_checks.py
    "grading": (
        "check_chance",
        "check_child",
        "check_limits",
    ),
    # what a judge is made of: test_judge.py and the others in tests/grading/judge
    "grading/judge": (
        "blocks",
        "criteria",
        "evidence",
        "record",
    ),
    # test_upload.py, test_account.py and test_payload.py
    "leaderboard": (
        "client",
        "eligible",
        "known",
        "privacy",
        "register",
        "submission",
    ),
    # test_agent.py
    "openclaw": (
        "conversation",  # tests/runner/test_simulated_user.py
        "key_places",
        "progress",
    ),
    # test_private.py, test_gateway.py and tests/runner/test_shared.py
    "openclaw/homes": (
        "added_agents",
        "shared",
        "user_state",
    ),
    "preflight": (
        "ask",
        "question",
    ),
    # a guardian and a process that forks them are tested whole: test_guardian.py, test_prepared.py, test_supervise.py
    "process": (
        "guardian_link",
        "memory",
        "output",
        "prepared_process",
    ),
    "process/guardian": (
        "guard",
        "line",
        "tree",
        "usage",
    ),
    "process/prepared": ("call",),
    "report": (
        "caused_by_agent",
        "replayed",
        "suites",
    ),
    # a test file for each format
    "report/export": (
        "inspect_samples",
        "rows",
        "session_slices",
        "whole_file",
        "whole_folder",
    ),
    # test_page.py and the tests in a browser
    "report/html": (
        "axes",
        "compare",
        "document",
        "plots",
        "rows",
        "section",
        "svg",
        "trial_page",
    ),
    # test_live.py, test_summary.py and tests/cli
    "report/terminal": (
        "lines",
        "plan",
    ),
    # records and values that their readers' tests write and read
    # test_control.py in tests/report, test_run_commands.py in tests/runner/ctl, test_suite_again.py in tests/runner,
    # and test_aggregate.py
    "results": ("control_json", "finished_run", "suites", "task_trials", "totals", "user_totals"),
    # test_comparison.py
    "results/compare": (
        "json",
        "samples",
        "verdict",
    ),
    # test_journal.py
    "results/journal": (
        "control_records",
        "lock",
        "records",
        "recovery",
        "told",
    ),
    # test_run_commands.py
    "runner/ctl": ("status",),
    # the steps of a run: test_run.py, test_resume.py, test_grading.py and test_gateway.py
    "runner": (
        "assembly",
        "clean",
        "control",
        "graders",
        "judging",
        "local_slots",
        "prepare",
        "provenance",
        "recorder",
        "recordings",
        "regrade",
        "replay",
        "run_context",
        "set_up",
        "sharing",
        "slot",
        "slot_pool",
        "user_recording",  # test_simulated_user.py
        "stored_config",
        "wire_facts",
        "worker",
    ),
    "runner/scheduling": ("plan",),
    # test_app.py and test_site_in_browser.py
    "serve": ("pages",),
    # parts of the reader: test_parse.py, test_load.py and tests/fuzz/test_suites.py
    "suite": (
        "bundled",
        "check_code",
        "dialect",
        "fixtures",
        "keys",
        "manifest",
        "markdown",
        "pack_folder",
        "paths",
        "reader",
        "spelling",
        "task_text",
        "template",
        "toml_text",
        "yaml_nodes",
    ),
    # test_load.py
    "suite/formats": (
        "core_completion",  # test_clawbench_core.py
        "core_user",
        "harbor_config",  # test_harbor.py
        "markdown_folder",
        "pinchbench",
    ),
    "transcript": ("lines",),
    "wire": (
        "certificates",
        "lease",
        "relay",
    ),
    "wire/protocols": ("values",),
}


def test_a_module_has_a_test_file_of_its_name() -> None:
    modules = [path.relative_to(PACKAGE) for path in PACKAGE.rglob("*.py") if not path.name.startswith("__")]
    without = {path for path in modules if not (TESTS / path.parent / f"test_{path.name}").exists()}
    known = {Path(folder, f"{name}.py") for folder, names in WITHOUT_A_FILE.items() for name in names}

    assert without - known == set(), "write a test file of that name"
    assert known - without == set(), "remove these from WITHOUT_A_FILE: they are gone, or have a test file"
