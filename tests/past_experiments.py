"""Experiments that have ended, written to disk: runs whose conversations of a task are alike up to some message."""

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from past_runs import Made, PlannedRun, random_trials, write_run
from pinchbench.experiment.experiment_record import ExperimentFiles, RecordedExperiment, RecordedVariant, write_record

ABILITIES = {"default": 0.6, "high": 0.7, "older": 0.6, "small": 0.4, "large": 0.75}
PRICES_USD = {"default": 0.01, "high": 0.025, "older": 0.011, "small": 0.002, "large": 0.05}
EASY = 3  # one task in so many is solved by all variants
COMMANDS = ("ls", "cat notes.md", "python3 report.py", "git log --oneline", "wc -l data.csv", "grep -n total data.csv")


def conversation(task_id: str, variant: str, repetition: int, *, steps: int = 6, words: int = 60) -> str:
    """A transcript whose first steps are the task's, for every model, and whose others are the trial's own."""
    shared, own = random.Random(task_id), random.Random(f"{task_id} {variant} {repetition}")
    alike = own.randint(0, steps)
    usage = {"totalTokens": 900}
    told = {"role": "assistant", "provider": "mock", "model": variant, "usage": usage}
    messages: list[dict[str, object]] = [{"role": "user", "content": f"Please see to {task_id}: write report.md."}]
    for number in range(steps):
        source = shared if number < alike else own
        command = source.choice(COMMANDS)
        text = " ".join(source.choice(("the", "file", "holds", "sum", "rows", "of")) for _ in range(words))
        content = [
            {"type": "text", "text": text},
            {"type": "toolCall", "id": f"call_{number}", "name": "exec", "arguments": {"command": command}},
        ]
        messages += [
            {**told, "content": content, "stopReason": "toolUse"},
            {
                "role": "toolResult",
                "toolCallId": f"call_{number}",
                "toolName": "exec",
                "content": [{"type": "text", "text": f"{command}\n" + text[:200]}],
                "isError": False,
            },
        ]
    messages.append({**told, "content": [{"type": "text", "text": "report.md is written."}], "stopReason": "stop"})
    return "".join(
        json.dumps({"type": "message", "timestamp": f"2026-01-02T03:02:{n:02d}Z", "message": one}) + "\n"
        for n, one in enumerate(messages)
    )


def write_variants(
    folder: Path,
    *,
    tasks: int,
    repetitions: int,
    variants: Mapping[str, float] = ABILITIES,
    trouble: float = 0.05,
    names: Sequence[str] = (),
) -> ExperimentFiles:
    """Write the runs and the record of an experiment; `variants` maps names to abilities in 0-1, `names` are tasks'.

    Every third task is solved whenever it is graded.
    """
    recorded = []
    for number, (name, ability) in enumerate(variants.items()):
        made = random_trials(tasks=tasks, repetitions=repetitions, ability=ability, seed=number, trouble=trouble)
        trials = {
            task_id: tuple(
                _told(one, task_id, name, n, is_easy=place % EASY == 0) for n, one in enumerate(own, start=1)
            )
            for place, (task_id, own) in enumerate(zip(names or made, made.values(), strict=True), start=1)
        }
        run = PlannedRun(
            trials=trials,
            model=f"example/{name}",
            run_id=f"20260102-030000-{number + 1:04x}",
            slots=4,
            config={"thinking": "high"} if name == "high" else {},
        )
        write_run(folder, run)
        recorded.append(RecordedVariant(name=name, run=run.name, config={}, differs={"model": run.model}))
    files = ExperimentFiles(output_dir=folder, name="models_20260102-030000-0000")
    files.folder.mkdir()
    record = RecordedExperiment(
        name="models",
        experiment_id="20260102-030000-0000",
        created_at=0.0,
        seed=1,
        concurrency=4,
        variants=tuple(recorded),
    )
    write_record(files, record, failed={})
    return files


def _told(made: Made, task_id: str, variant: str, repetition: int, *, is_easy: bool) -> Made:
    cost = made.tokens / 1000 * PRICES_USD.get(variant, 0.01)
    score = 1.0 if is_easy and made.score is not None else made.score
    return replace(made, score=score, cost_usd=cost, transcript=conversation(task_id, variant, repetition))
