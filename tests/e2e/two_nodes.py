"""Plays real OpenClaw on two nodes of a Ray cluster and on one machine; see `cluster.alone`.

`two_nodes.py FOLDER RELEASE` writes what was seen to `seen.json`.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from cluster.alone import play
from cluster.three_nodes import nothing_left, run_to_end, start_cluster
from pinchbench.llm.demo.script import ScriptedTurn
from pinchbench.llm.demo.scripted_model import scripted_model
from pinchbench.model.trial import TrialKey
from pinchbench.suite.solution import ToolStep
from real_openclaw import TaskFile, write_suite

NODES = 2
KEY_NAME = "KEY_OF_THE_MODEL"
OWN_MODEL = {"own model on nodes": ("--cluster=ray",), "own model here": ()}
NOTES = "The soup has nine grains."
CHECK = """
from pathlib import Path

def grade(transcript, workspace_path):
    seen, notes = (Path(workspace_path, name).read_text() for name in ("seen.txt", "notes.txt"))
    return {"copied": float(seen == notes)}
"""
TASKS = [
    TaskFile(
        task_id=f"task_{name}",
        turns=[("Copy the notes.", [("exec", {"command": "cat notes.txt > seen.txt"})], f"Copied for {name}.")],
        timeout_s=600,
        check=CHECK,
    )
    for name in ("a", "b")
]


def result(folder: Path) -> dict[str, object]:
    """What the result in a folder says of each trial, without times."""
    [path] = folder.glob("*.json")
    data = json.loads(path.read_text("utf-8"))
    names = ("reason", "attempt", "transcript_length", "tool_calls", "level", "node")
    return {
        "trials": {
            task["task_id"]: {name: run.get(name) for run in task["runs"] for name in names} for task in data["tasks"]
        },
        "scores": {task["task_id"]: task["score"] for task in data["tasks"]},
        "calls": [run["wire"]["calls"] for task in data["tasks"] for run in task["runs"]],
    }


async def play_all(folder: Path, release: str) -> dict[str, object]:
    """Run on the nodes and here, then replay on the nodes what was recorded there."""
    seen: dict[str, object] = {}
    (folder / "files").mkdir()
    (folder / "files" / "notes.txt").write_text(NOTES, encoding="utf-8")
    (folder / "skills" / "salt").mkdir(parents=True)
    skill = "---\nname: pinch-salt\ndescription: Season a soup with nine grains.\n---\n\nCount them aloud.\n"
    (folder / "skills" / "salt" / "SKILL.md").write_text(skill, encoding="utf-8")
    suite = write_suite(folder / "suite", TASKS)
    for place, more in (("cluster", ["--cluster=ray"]), ("machine", [])):
        argv = [
            "run",
            "--model=demo/oracle",
            f"--tasks-dir={suite}",
            f"--openclaw={release}",
            f"--output-dir={folder / place}",
            f"--run-root={folder / 'runs'}",
            f"--skills={folder / 'skills'}",
            f"--workspace-files={folder / 'files'}",
            f"--concurrency={NODES}",
            "--no-report",
        ]
        code = await run_to_end(*argv, *more, log=folder / f"{place}.log")
        seen[place] = {"code": code, **result(folder / place)}
    [run] = (folder / "cluster").glob("*/journal.jsonl")
    argv = ["replay", str(run.parent), f"--openclaw={release}", f"--run-root={folder / 'runs'}", "--cluster=ray"]
    code = await run_to_end(*argv, log=folder / "replayed.log")
    seen["replayed"] = {"code": code, **result(run.parent.parent / "replays")}
    seen |= {place: await with_own_model(folder, suite, place, *more) for place, more in OWN_MODEL.items()}
    await nothing_left(folder)
    return seen


async def with_own_model(folder: Path, suite: Path, place: str, *more: str) -> dict[str, object]:
    """Run one trial with a model that listens on the loopback of this machine; what it was asked is in the result."""
    key = TrialKey(task_id=TASKS[0].task_id, repetition=1)
    [(_, steps, answer)] = TASKS[0].turns
    async with scripted_model() as model:
        turn = ScriptedTurn(steps=tuple(ToolStep(tool=tool, args=args) for tool, args in steps), answer=answer)
        model.play("own", turn)
        argv = [
            "run",
            "--model=local/own",
            f"--base-url={model.base_url('own')}",
            f"--api-key-env={KEY_NAME}",
            f"--tasks-dir={suite}",
            f"--suite={key.task_id}",
            f"--workspace-files={folder / 'files'}",
            f"--output-dir={folder / place}",
            f"--run-root={folder / 'runs'}",
            "--no-report",
        ]
        code = await run_to_end(*argv, *more, log=folder / f"{place}.log")
        asked = model.asked["own"]
    return {"code": code, "asked": asked, **result(folder / place)}


if __name__ == "__main__":
    os.environ[KEY_NAME] = "sk-of-the-model"  # on the nodes too
    start_cluster(NODES)
    play(play_all, Path(sys.argv[1]), sys.argv[2])
