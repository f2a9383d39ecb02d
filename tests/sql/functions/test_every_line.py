"""The table has the lines of every file that writes some, in their order."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from pathlib import Path

import pytest

from discreet.sql.functions import every_line, table


def missing(files: Iterable[object]) -> set[str]:
    """The modules of the room that write lines and are not among the files."""
    room = Path(table.__file__).parent
    writes = {
        f"discreet.sql.functions.{path.stem}"
        for path in room.glob("*.py")
        for node in ast.parse(path.read_text("utf-8")).body
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and node.targets[0].id == "LINES"
    }
    return writes - {vars(file)["__name__"] for file in files}


def test_every_file_with_lines_is_in_the_table() -> None:
    assert missing(every_line.FILES) == set()
    lines = [line for file in every_line.FILES for line in file.LINES.functions]
    assert sum(map(len, every_line.TABLE.values())) == len(lines) > 200
    assert [line for line in lines if line not in every_line.TABLE[line.name]] == []


@pytest.mark.parametrize("name", ["casts", "texts"])
def test_a_file_that_is_left_out_is_found(name: str) -> None:
    rest = [file for file in every_line.FILES if not file.__name__.endswith(name)]
    assert missing(rest) == {f"discreet.sql.functions.{name}"}


def test_lines_of_one_name_keep_their_order() -> None:
    lines = table.FunctionLines()
    for takes in ("i", "f"):
        lines.define("twice", "twice(a)", takes, table.LETTERS[takes], lambda a: a, "({0} + {0})")
    assert [line.takes for line in lines.functions] == [(table.I,), (table.F,)]
