"""The code of a check: whether it can run, which modules it imports, and the canaries in checks and solutions."""

from __future__ import annotations

import ast
import re
import secrets
import symtable
import sys
import warnings
from functools import lru_cache
from inspect import CO_COROUTINE
from types import CodeType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator
    from pathlib import Path


def check_problem(code: str) -> tuple[int, str] | None:
    """Return the line (from 1, within the code) and the reason why a check can't run; None if it can."""
    try:
        # Nearly every check defines it with `def`, and parsing a second time takes as long as the first.
        grades = [one for one in _inner(_compiled(code)) if one.co_name == "grade"]
        if grades and grades[-1].co_flags & CO_COROUTINE:
            reason = "`grade` is asynchronous, and nothing would await it: write `def grade`"
            return grades[-1].co_firstlineno, reason
        if grades:
            is_usual = (grades[-1].co_argcount, grades[-1].co_kwonlyargcount) == (len(_GIVEN), 0)
            asked = "" if is_usual else _not_given(code, grades[-1].co_firstlineno)
            reason = f"`grade` needs `{asked}`, which this runner does not give: it calls `grade({', '.join(_GIVEN)})`"
            return (grades[-1].co_firstlineno, reason) if asked else None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            names = symtable.symtable(code, "<check>", "exec")
    except SyntaxError as error:
        lines = code.count("\n") + 1
        return min(max(error.lineno or 1, 1), lines), f"the check is not valid Python: {error.msg}"
    except (ValueError, RecursionError, MemoryError, OverflowError) as error:
        return 1, f"the check is not valid Python: {str(error) or type(error).__name__}"
    grade = names.lookup("grade") if "grade" in names.get_identifiers() else None
    if grade is None or not (grade.is_assigned() or grade.is_imported()):
        return 1, "the check defines no function `grade(transcript, workspace_path)`"
    return None


_GIVEN = ("transcript", "workspace_path")  # to a check, by name or else in this order; and `chat`, if it asks for it


def _not_given(code: str, line: int) -> str:
    """Return the first parameter without a default for which the `grade` on a line gets no value; empty if none."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        nodes = ast.walk(ast.parse(code))
    takes = next((one.args for one in nodes if isinstance(one, ast.FunctionDef) and one.lineno == line), None)
    if takes is None:  # with a decorator, which may take other parameters
        return ""
    ordered = [one.arg for one in (*takes.posonlyargs, *takes.args)]
    needed = ordered[: len(ordered) - len(takes.defaults)]
    by_name = [one.arg for one, value in zip(takes.kwonlyargs, takes.kw_defaults, strict=True) if value is None]
    by_name += needed if {*_GIVEN} <= {*ordered, *by_name} else needed[len(_GIVEN) :]
    return next((one for one in by_name if one not in (*_GIVEN, "chat")), "")


@lru_cache(maxsize=1)  # whether a check can run and what it needs are asked in turn
def _compiled(code: str) -> CodeType:
    with warnings.catch_warnings():
        # Warnings, such as for an invalid escape in a regular expression, must not reach the terminal.
        warnings.simplefilter("ignore")
        return compile(code, "<check>", "exec", dont_inherit=True)


def _inner(code: CodeType) -> Iterator[CodeType]:
    return (one for one in code.co_consts if isinstance(one, CodeType))


def _names(code: CodeType) -> set[str]:
    """Return all names in compiled code; of a dotted one, such as an imported module's, the first part."""
    return {name.partition(".")[0] for name in code.co_names}.union(*map(_names, _inner(code)))


def imported_modules(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """Yield the first parts of the modules that those of these nodes import that are import statements, or calls.

    Imports relative to a package are omitted.
    """
    for node in nodes:
        match node:
            case ast.Import():
                yield from (alias.name.partition(".")[0] for alias in node.names)
            case ast.ImportFrom() if node.module and not node.level:
                yield node.module.partition(".")[0]
            case ast.Call(
                func=ast.Name(id="__import__" | "import_module") | ast.Attribute(attr="import_module"),
                args=[ast.Constant(value=str(name)), *_],
            ) if not name.startswith("."):
                yield name.partition(".")[0]
            case _:
                pass


# Packages that are no agent's own. A check that does without one, if it is missing, grades the same work differently.
PACKAGES = frozenset(
    {
        *("numpy", "pandas", "scipy", "statsmodels", "sklearn", "matplotlib", "yaml", "jsonschema", "tabulate"),
        *("openpyxl", "xlrd", "docx", "pptx", "odf", "PIL", "cv2", "bs4", "lxml", "requests", "httpx", "chardet"),
        *("pypdf", "PyPDF2", "pdfplumber", "pdfminer", "fitz", "icalendar", "dateutil", "pytz", "duckdb", "networkx"),
    }
)
_CATCHES_IMPORTS = frozenset({"ImportError", "ModuleNotFoundError", "Exception", "BaseException"})
_CHANGES_PATH = re.compile(r"\bsys\.path\b|\bsyspath_prepend\b|\baddsitedir\b")
_GAP = r"(?:[ \t]|\\\r?\n)+"
_CALL = re.compile("__import__|import_module")
_MAY_IMPORT = re.compile(
    rf"\bfrom{_GAP}([\w.]+){_GAP}import\b|\bimport{_GAP}((?:[^\\\n;#\"']|\\\r?\n)+)"
    r"|\b(?:__import__|import_module)\s*\(\s*[\"']([\w.]+)"
)


def needed_modules(code: str, *, own: Collection[str] = ()) -> tuple[str, ...]:
    """Return the modules that code needs besides Python's and its `own`; none for code that is not valid.

    An import that may fail is no need, unless it is one of PACKAGES without another import in its place. Where code
    changes `sys.path`, what its functions import may be the agent's.
    """
    may_need = _names_after_import(code) - sys.stdlib_module_names
    if not may_need:
        return ()
    try:
        # Most of them are in comments and texts. The name of a module is a text too where a call imports it.
        if not _CALL.search(code) and may_need.isdisjoint(_names(_compiled(code))):
            return ()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError):
        return ()
    nodes = list(ast.walk(tree))
    imports = [(node, name) for node in nodes for name in imported_modules([node])]
    imports = [(node, name) for node, name in imports if name not in sys.stdlib_module_names and name not in own]
    if not imports:
        return ()
    guards = [node for node in nodes if isinstance(node, ast.Try) and any(map(_catches_imports, node.handlers))]
    alternatives = _within(handler for guard in guards for handler in guard.handlers)
    guarded = _within(one for guard in guards for one in guard.body)
    with_import = [guard for guard in guards if any(imported_modules(_all_within(guard.handlers)))]
    replaced = _within(one for guard in with_import for one in guard.body)
    changes_path = _CHANGES_PATH.search(code) is not None
    inner_nodes = _within(node for node in nodes if isinstance(node, ast.FunctionDef))

    def is_needed(node: ast.AST, name: str) -> bool:
        if id(node) in alternatives or id(node) in replaced:
            return False
        return name in PACKAGES or not (id(node) in guarded or (changes_path and id(node) in inner_nodes))

    return tuple(sorted({name for node, name in imports if is_needed(node, name)}))


def _all_within(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    return (inner for node in nodes for inner in ast.walk(node))


def _within(nodes: Iterable[ast.AST]) -> set[int]:
    return set(map(id, _all_within(nodes)))


def _names_after_import(code: str) -> set[str]:
    """Return all names that may be those of imported modules, and others, such as words of comments."""
    listed = (name for names in _MAY_IMPORT.findall(code) for name in ",".join(names).split(","))
    first = (words[0].partition(".")[0] for one in listed if (words := one.replace("\\", " ").split()))
    return {name for name in first if name.isidentifier()}


def _catches_imports(handler: ast.ExceptHandler) -> bool:
    types = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(one is None or (isinstance(one, ast.Name) and one.id in _CATCHES_IMPORTS) for one in types)


def own_modules(code: str, folder: Path) -> tuple[Path, ...]:
    """Return the files and folders of `folder` that code imports, and what these import of it in turn. Blocks."""
    found: dict[str, Path] = {}
    waiting = [code] if folder.is_dir() else []
    while waiting:
        for name in _names_after_import(waiting.pop()) - found.keys():
            places = (folder / f"{name}.py", folder / name)
            if (path := next((one for one in places if _source(one).is_file()), None)) is not None:
                found[name] = path
                waiting.append(module_text(path))
    return tuple(found[name] for name in sorted(found))


def _source(module: Path) -> Path:
    return module if module.suffix else module / "__init__.py"


def module_text(module: Path) -> str:
    """Return the text of a module, which is a file, or the folder of a package. Blocks."""
    return _source(module).read_text(encoding="utf-8", errors="replace")


_DIGITS = 32
CANARY = re.compile(rb"pinchbench-canary-[0-9a-f]{%d}" % _DIGITS)
LENGTH = len(b"pinchbench-canary-") + _DIGITS


def new_canary() -> str:
    """Return a canary that no other task has."""
    return f"pinchbench-canary-{secrets.token_hex(_DIGITS // 2)}"


def find_canary(chunks: Iterable[bytes]) -> str | None:
    """Return the first canary in a text that comes in pieces, be it of this suite or of another; None without one.

    An encoded canary is not found: not in Base64, nor in a compressed file.
    """
    before = b""
    for chunk in chunks:
        text = before + chunk
        if (found := CANARY.search(text)) is not None:
            return found[0].decode()
        before = text[-(LENGTH - 1) :]
    return None
