"""Names in noisy tables are spelled and read in one place; the source is read for others."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet
from discreet.release import noisy_schema as ns

SOURCE = Path(discreet.__file__).parent
HERE = "release/noisy_schema.py"
OTHERS = {
    "noise",
    "mechanisms",
    "accounting",
    "planning",
    "plots",
    "ledger",
    "local",
    "sensitivity",
    "engines",
    "policy",
}
"""Rooms that know no noisy table; an `a` or a `k` of theirs is something else."""
TEXT = re.compile(r"(^|[^A-Za-z0-9_])[ak]\d+\b|__release|__cell|__lo\b|__hi\b")
"""A text that spells a name whole."""
BEFORE_A_NUMBER = re.compile(r"(^|[^A-Za-z0-9_])[ak]$")
"""What stands before a number that is put into a text, where the two are a name."""
PATTERN = re.compile(r"[ak](\\d|\[0-9)")
TOUCHED = re.compile(r"(?<![A-Za-z0-9_])[ak][\"'{\d]|[ak](\\+d|\[0-9)|__release|__cell|__lo\b|__hi\b")
"""A source without any of these spells and reads no name; to read its tree takes longer."""


def spelled(source: str) -> Iterator[str]:
    """Each place where a source spells or reads such a name, in text of its own; docstrings may."""
    if not TOUCHED.search(source):
        return
    tree = ast.parse(source)
    prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            for piece, after in zip(node.values, node.values[1:], strict=False):
                numbered = isinstance(piece, ast.Constant) and isinstance(after, ast.FormattedValue)
                if numbered and BEFORE_A_NUMBER.search(str(getattr(piece, "value", ""))):
                    yield ast.unparse(node)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose:
            if TEXT.search(node.value) or PATTERN.search(node.value):
                yield node.value
        elif isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            read = any(isinstance(side, ast.Subscript) for side in sides)
            if read and any(isinstance(side, ast.Constant) and side.value in ("a", "k") for side in sides):
                yield ast.unparse(node)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
            first = node.args[0]
            parses = node.func.attr in ("startswith", "removeprefix", "partition", "split")
            if parses and isinstance(first, ast.Constant) and first.value in ("a", "k"):
                yield ast.unparse(node)


def found_in(folder: Path) -> list[str]:
    out = []
    for path in sorted(folder.rglob("*.py")):
        name = path.relative_to(folder).as_posix()
        if name.split("/")[0] not in OTHERS and name != HERE:
            out += [f"{name}: {one}" for one in spelled(path.read_text())]
    return out


def test_nothing_else_spells_or_reads_a_name_of_a_noisy_table() -> None:
    assert found_in(SOURCE) == []


@pytest.mark.parametrize(
    "planted",
    [
        'name = f"a{at}"',
        'listed = f"SELECT k{at} FROM t"',
        'join = f"g.k{one} = {name}.key{one}"',
        'first = "a0"',
        'sql = "SELECT a0 FROM __release_1"',
        'mine = name.startswith("a")',
        'mine = name[:1] == "k" and name[1:].isdigit()',
        'mine = re.fullmatch(r"a\\d+", name)',
        'ends = name + "__lo"',
        'number = int(name.removeprefix("a"))',
        'cell = "__cell"',
    ],
)
def test_a_second_spelling_is_found(planted: str, tmp_path: Path) -> None:
    (tmp_path / "sql").mkdir()
    (tmp_path / "sql" / "planted.py").write_text(planted)
    assert len(found_in(tmp_path)) == 1


@given(st.integers(0, 10**6))
def test_a_name_is_read_back(number: int) -> None:
    assert ns.key_number(ns.key_name(number)) == ns.aggregate_number(ns.aggregate_name(number)) == number
    assert ns.key_number(ns.aggregate_name(number)) is ns.aggregate_number(ns.key_name(number)) is None
    assert ns.is_table(ns.table_name(number))


@pytest.mark.parametrize(
    "name", ["", "a", "k", "age", "a-1", "a 1", "a01", "a\u0663", "a\u00b2", "A0", "a0__lo", "__cell"]
)
def test_what_is_no_name_is_not_read_as_one(name: str) -> None:
    assert ns.aggregate_number(name) is None
    assert ns.key_number(name.replace("a", "k")) is None
