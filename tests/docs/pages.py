"""The pages of the documentation, and the commands in them."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted({*DOCS.rglob("*.md"), *ROOT.glob("*.md"), ROOT / "tasks" / "README.md"} - {ROOT / "CHANGELOG.md"})


def named(page: Path) -> str:
    """A page's path in the repository."""
    return str(page.relative_to(ROOT))


def fences(page: Path, language: str) -> list[str]:
    """The code blocks of a language."""
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def commands(page: Path, language: str = "console") -> list[str]:
    """Each `$ pinchbench-async …` of a page, without what the shell does with it."""
    lines = [
        line
        for fence in fences(page, language)
        for line in re.findall(r"pinchbench-async(?: .*)?$", fence, re.MULTILINE)
    ]
    return [re.split(r"\s#\s|\)$| >> | \| ", line)[0].rstrip() for line in lines]
