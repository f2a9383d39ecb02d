"""Variables have nouns that a reader looks for: `one` and `at` stand for anything, and so say nothing."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "discreet"
SAYING_NOTHING = frozenset({"one", "at"})
WORDS = re.compile(rf"\b({'|'.join(sorted(SAYING_NOTHING))})\b")
PROSE = re.compile(r'""".*?"""|^ *#[^\n]*$', re.DOTALL | re.MULTILINE)
KEPT = {
    "accounting/rounding.py": "one",
    "mechanisms/l1.py": "one",
    "mechanisms/numeric/laplace.py": "one",
    "planning/vector.py": "one",
    "planning/schedules.py": "at",
    "session/tuning/suggesting.py": "at",
}
"""Names that users write, as a keyword or a method, and the number one."""
ROOMS = sorted(path.name for path in SOURCE.iterdir() if path.is_dir() and (path / "__init__.py").is_file())


def may_name(source: str) -> bool:
    """Whether such a word stands outside docstrings and lines of comments; also where these cannot be told apart."""
    if source.count('"""') % 2 or "'\"" in source or "\"'" in source:
        return True
    return WORDS.search(PROSE.sub("", source)) is not None


def named(source: str) -> Iterator[tuple[int, str]]:
    """The lines that name a variable, a parameter, a field or a function with a word that says nothing."""
    if not may_name(source):
        return  # to read its tree takes longer
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            name = node.id
        elif isinstance(node, ast.arg):
            name = node.arg
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            name = node.name
        else:
            continue
        if name in SAYING_NOTHING:
            yield node.lineno, name


def found(paths: Iterator[Path]) -> list[tuple[str, int, str]]:
    """The same of files, but for names that are kept."""
    files = {path.relative_to(SOURCE).as_posix(): path for path in sorted(paths)}
    return [
        (file, line, name)
        for file, path in files.items()
        for line, name in named(path.read_text("utf-8"))
        if KEPT.get(file) != name
    ]


@pytest.mark.parametrize("room", ["", *ROOMS])
def test_variables_say_what_they_hold(room: str) -> None:
    assert found(SOURCE.glob("*.py") if not room else (SOURCE / room).rglob("*.py")) == []


def test_names_that_are_kept_are_there() -> None:
    for file, name in KEPT.items():
        assert name in {found for _, found in named((SOURCE / file).read_text("utf-8"))}, file


@pytest.mark.parametrize(
    "source",
    ["for one in rows: pass", "[one for one in rows]", "def f(at: int) -> None: pass", "at = 1", "lambda one: one",
     "class A:\n  at: int", "def f():\n  with g() as one: pass", "def at(): pass", "(at := 1)",
     '"""The row."""\n# of the table\nat = 1\n"""That is it."""', "x = '\"\"\"'; at = 1; y = '\"\"\"'"],
)  # fmt: skip
def test_a_name_that_says_nothing_is_found(source: str) -> None:
    assert len(list(named(source))) == 1
    assert list(named(source.replace("one", "row").replace("at", "place"))) == []
