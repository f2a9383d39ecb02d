"""No folder shows many modules, no file is long and no function either."""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path

import discreet

SOURCE = Path(discreet.__file__).parent
FILES, LINES, CODE = 16, 400, 50
"""Modules of a folder, its `__init__` among them; lines of a file; lines of a function without its docstring."""


STRING = re.compile(r'("""|\'\'\')(?:\\.|.)*?\1', re.DOTALL)
HEAD = re.compile(r"( *)(?:async def|def|class|@)")


def may_be_long(source: str) -> bool:
    """Whether some function may have so many lines: as if each went on to the next head that is no deeper."""
    if source.count("\n") <= CODE:
        return False
    lines = STRING.sub(lambda hit: "\n" * hit[0].count("\n"), source).split("\n")
    heads = [(at, len(hit[1])) for at, line in enumerate(lines) if (hit := HEAD.match(line))]
    ends = [
        next((at for at, indent in heads[place + 1 :] if indent <= own), len(lines))
        for place, (_, own) in enumerate(heads)
    ]
    return any(
        end - at > CODE
        for (at, _), end in zip(heads, ends, strict=True)
        if not lines[at].lstrip().startswith(("class", "@"))
    )


def long_functions(source: str) -> dict[str, int]:
    """The functions of more than CODE lines, without signature and docstring."""
    found: dict[str, int] = {}
    if not may_be_long(source):
        return found  # to read its tree takes longer
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            documented = ast.get_docstring(node) is not None and len(node.body) > 1
            first = node.body[1 if documented else 0]
            lines = (node.end_lineno or 0) - first.lineno + 1
            if lines > CODE:
                found[node.name] = lines
    return found


def test_files_and_functions_are_short_and_folders_are_seen_at_once() -> None:
    texts = {path.relative_to(SOURCE).as_posix(): path.read_text("utf-8") for path in SOURCE.rglob("*.py")}
    files = {path: lines for path, text in texts.items() if (lines := text.count("\n")) > LINES}
    functions = {name: path for path, text in texts.items() for name in long_functions(text)}
    assert files | functions == {}
    folders = Counter(path.rpartition("/")[0] for path in texts)
    assert {folder: modules for folder, modules in folders.items() if modules > FILES} == {}


def test_a_long_function_is_found() -> None:
    body = "\n".join(f"    x = {at}" for at in range(CODE + 1))
    assert long_functions(f'def f():\n    """One."""\n{body}\n') == {"f": CODE + 1}
    assert long_functions(f"def f():\n    '''{'-' * 9}{chr(10) * 90}'''\n    return 1\n") == {}
