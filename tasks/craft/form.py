"""The tasks' generators, and fresh forms of tasks: the same work on other data, made from a seed."""

import json
import re
from hashlib import sha256
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

MARK = re.compile(r'^    expected = json\.loads\(\s*r""".*"""\s*\)$', re.MULTILINE)
SOURCE = re.compile(r"^ *(?:- source|folder): *(\S+) *$", re.MULTILINE)  # of files in the workspace, or of a service


def generators(suite: Path) -> dict[str, ModuleType]:
    """Return the `generate.py` of each task that has one, by the task's id. Those with `SEED` make fresh forms."""
    return {path.parent.name: generator(path.parent) for path in sorted(suite.glob("task_*/generate.py"))}


def generator(task: Path) -> ModuleType:
    """Return the generator in a task's folder, as a module with the name of the task."""
    spec = spec_from_file_location(task.name, task / "generate.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def with_expected(text: str, values: object) -> str:
    """Return a task's text with its values replaced. Raises ValueError unless there is one place for them."""
    data = json.dumps(values, ensure_ascii=True, separators=(",", ":"), sort_keys=True)
    text, count = MARK.subn(lambda _: f'    expected = json.loads(\n        r"""{data}"""\n    )', text)
    if count != 1:
        raise ValueError(f"{count} lines begin with `expected = json.loads`, not one")
    return text


def seed_of(task: str, seed: int) -> int:
    """Return the seed of one task's files in a form: another for each task, and far from those of the public form."""
    return int(sha256(f"{task} {seed}".encode()).hexdigest()[:12], 16)


def expected_texts(suite: Path) -> dict[Path, str]:
    """Return the text of each task whose generator works out what is right, with these values in its check.

    They come from the decisions that made the files, never from reading the files again.
    """
    paths = {
        suite / task / "task.md": module for task, module in generators(suite).items() if hasattr(module, "expected")
    }
    return {path: with_expected(path.read_text(encoding="utf-8"), module.expected()) for path, module in paths.items()}


def changed_by(suite: Path, seed: int) -> dict[str, tuple[bool, bool]]:
    """Return by task whether another seed changes what the agent is given, files or particulars, and the right answer."""
    return {
        task: (
            module.files(seed) != module.files() or bool(swaps_of(module, seed)),
            module.expected(seed) != module.expected(),
        )
        for task, module in generators(suite).items()
        if hasattr(module, "expected")
    }


def swaps_of(module: ModuleType, seed: int) -> dict[str, str]:
    """Return what stands in the public form, and what in this one instead, of the task's particulars that differ.

    Raises ValueError if the particulars can't be told apart.
    """
    if not hasattr(module, "particulars"):
        return {}
    before, after = module.particulars(module.SEED), module.particulars(seed)
    if len(set(before)) != len(before) or len(before) != len(after):
        raise ValueError(f"{module.__name__}: its particulars are not one list of different texts")
    return {old: new for old, new in zip(before, after, strict=True) if old != new}


def swapped(text: str, swaps: dict[str, str]) -> str:
    """Return a text with all particulars replaced at once; a word or number is replaced only where it stands alone."""
    if not swaps:
        return text
    pieces = (
        (r"(?<!\w)" if old[0].isalnum() else "") + re.escape(old) + (r"(?!\w)" if old[-1].isalnum() else "")
        for old in sorted(swaps, key=len, reverse=True)
    )
    return re.sub("|".join(pieces), lambda found: swaps[found[0]], text)


def form_files(module: ModuleType, suite: Path, seed: int) -> dict[str, bytes]:
    """Return all files of one task by their places in its folder; with the module's own seed, the public form."""
    swaps = swaps_of(module, seed)
    found: list[str] = []
    home = suite / module.__name__
    text = (home / "task.md").read_text(encoding="utf-8")
    fresh = module.files(seed)
    made = {f"files/{place}": data for place, data in fresh.items()}
    public = fresh if seed == module.SEED else module.files(module.SEED)
    for source in SOURCE.findall(text):
        top = home / "files" / source
        for path in sorted(top.rglob("*") if top.is_dir() else [top]):
            place = path.relative_to(home / "files").as_posix()
            if path.is_file() and place not in public and "__pycache__" not in path.parts:
                found.append(path.read_text(encoding="utf-8"))
                made[f"files/{place}"] = swapped(found[-1], swaps).encode()
    solution = (home / "solution.yaml").read_text(encoding="utf-8")
    if missing := [old for old in swaps if not any(old in one for one in (*found, text, solution))]:
        raise ValueError(f"{module.__name__}: {missing} are none of its particulars: they stand nowhere")
    text = swapped(text, swaps)
    if hasattr(module, "expected"):
        text = with_expected(text, module.expected(seed))
    return made | {
        "task.md": text.encode(),
        "solution.yaml": swapped(solution, swaps).encode(),
    }


def write_form(suite: Path, seed: int, folder: Path, needed: list[str]) -> None:
    """Write a fresh form of the needed tasks, or of all if none of these has one, as a suite, into a folder."""
    able = {task: module for task, module in generators(suite).items() if hasattr(module, "SEED")}
    tasks = able.keys() & needed or able.keys()
    for task in tasks:
        for place, data in form_files(able[task], suite, seed_of(task, seed)).items():
            path = folder / task / place
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
    # The manifest names only what is there.
    lines = (suite / "manifest.yaml").read_text(encoding="utf-8").splitlines()
    kept = [line for line in lines if not line.startswith("  - ") or line.removeprefix("  - ").strip() in tasks]
    heads = [line for place, line in enumerate(kept) if not line.endswith(":") or kept[place + 1 : place + 2] > [" "]]
    (folder / "manifest.yaml").write_text("\n".join(heads) + "\n", encoding="utf-8")
