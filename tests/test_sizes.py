"""No folder shows many modules, no file is long and no function either, in the rooms that keep to it."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

import pytest

import discreet

SOURCE = Path(discreet.__file__).parent
ROOMS = ("release", "session", "cli", "client", "server", "mechanisms", "local", "sql/plan")
FILES, LINES, CODE = 17, 400, 50
"""Modules of a folder, its `__init__` among them; lines of a file; lines of a function without its docstring."""


def long_functions(source: str) -> dict[str, int]:
    """The functions of more than CODE lines, without signature and docstring."""
    found = {}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            documented = ast.get_docstring(node) is not None and len(node.body) > 1
            first = node.body[1 if documented else 0]
            lines = (node.end_lineno or 0) - first.lineno + 1
            if lines > CODE:
                found[node.name] = lines
    return found


@pytest.mark.parametrize("room", ROOMS)
def test_files_and_functions_are_short_and_folders_are_seen_at_once(room: str) -> None:
    files = sorted((SOURCE / room).rglob("*.py"))
    texts = {path: path.read_text("utf-8") for path in files}
    assert {path.name: text.count("\n") for path, text in texts.items() if text.count("\n") > LINES} == {}
    assert {path.name: found for path, text in texts.items() if (found := long_functions(text))} == {}
    assert max(Counter(path.parent for path in files).values()) <= FILES


def test_a_long_function_is_found() -> None:
    body = "\n".join(f"    x = {at}" for at in range(CODE + 1))
    assert long_functions(f'def f():\n    """One."""\n{body}\n') == {"f": CODE + 1}
    assert long_functions(f"def f():\n    '''{'-' * 9}{chr(10) * 90}'''\n    return 1\n") == {}
