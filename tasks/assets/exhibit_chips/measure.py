"""Says what a program is worth: `python3 measure.py EXHIBIT PROGRAM`, such as `python3 tapes/measure.py loom loom.py`."""

import ast
import builtins
import csv
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
FUNCTIONS = set(
    "abs all any bin bool bytearray bytes chr dict divmod enumerate filter float hex int iter len list map max min next oct ord pow "
    "print range repr reversed round set slice sorted str sum tuple zip True False None".split()
)
METHODS = set(
    "add append bit_count bit_length clear copy count decode discard encode endswith extend find from_bytes get hex index insert "
    "isdigit items join keys ljust lower lstrip partition pop remove replace reverse rfind rjust rsplit rstrip setdefault sort split "
    "splitlines startswith strip swapcase title to_bytes translate update upper values zfill".split()
)
REFUSED = (ast.Import, ast.ImportFrom, ast.ClassDef, ast.Match, ast.With, ast.AsyncFor, ast.AsyncWith, ast.AsyncFunctionDef)
FORBIDDEN = (set(dir(builtins)) | {"copyright", "credits", "exit", "help", "license", "quit"}) - FUNCTIONS
STEPS = ((1.0, 1.0), (1.03, 0.9), (1.08, 0.8), (1.15, 0.7), (1.25, 0.6), (1.4, 0.5), (1.7, 0.4), (2.5, 0.3), (5.0, 0.2), (20.0, 0.1))
SECONDS = 5


def refused(program):
    """Return what a program may not contain, or nothing."""
    for node in ast.walk(ast.parse(program)):
        if isinstance(node, REFUSED):
            return f"line {node.lineno}: {type(node).__name__}"
        if isinstance(node, ast.Attribute) and node.attr not in METHODS:
            return f"line {node.lineno}: .{node.attr}"
        for name in (getattr(node, "id", ""), getattr(node, "name", ""), getattr(node, "arg", "")):
            if isinstance(name, str) and (name in FORBIDDEN or "__" in name):
                return f"line {node.lineno}: {name}"
    return ""


def main(exhibit, path):
    program = Path(path).read_bytes()
    if what := refused(program.decode()):
        print(f"not allowed: {what}")
        return
    try:
        done = subprocess.run([sys.executable, "-I", "-S", path], capture_output=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        print(f"takes more than {SECONDS} seconds")
        return
    tape = (HERE / f"{exhibit}.txt").read_bytes()
    if done.returncode or done.stdout != tape:
        same = next((place for place, (one, two) in enumerate(zip(done.stdout, tape)) if one != two), min(len(done.stdout), len(tape)))
        print(f"wrong: exit code {done.returncode}, {len(done.stdout)} bytes of {len(tape)}, the first {same} are right")
        return
    with open(HERE / "sizes.csv", newline="") as file:
        known = {row["exhibit"]: int(row["bytes"]) for row in csv.DictReader(file)}[exhibit]
    points = next((points for times, points in STEPS if len(program) <= known * times), 0.0)
    print(f"right: {len(program)} bytes, {len(program) / known:.3f} times {known}: {points} points")


if __name__ == "__main__":
    main(*sys.argv[1:])
