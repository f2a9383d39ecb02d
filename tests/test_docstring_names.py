"""The names that a docstring lists are those of its code: attributes those of the class, arguments the parameters."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.test_readme import ROOT

SOURCE = ROOT / "src" / "discreet"
ROOMS = sorted(path.parent.name for path in SOURCE.glob("*/__init__.py"))
ELSEWHERE = frozenset({"others"})
"""*the others: as for …* stands for arguments that another function tells of."""


def listed(text: str, title: str) -> set[str]:
    """The names before the colons of a section of a docstring."""
    section = re.search(rf"^{title}:\n((?: {{4}}.*\n|\n)+)", f"{text}\n", re.MULTILINE)
    lines = re.findall(r"^ {4}(\S[^:]*):", section[1] if section else "", re.MULTILINE)
    return {name.split()[-1].lstrip("*") for line in lines for name in line.split(",") if name.strip()}


def fields(node: ast.ClassDef) -> set[str]:
    """The public fields that a class annotates."""
    targets = (part.target for part in node.body if isinstance(part, ast.AnnAssign))
    return {one.id for one in targets if isinstance(one, ast.Name) and not one.id.startswith("_")}


def known(node: ast.ClassDef) -> set[str]:
    """All names that a class has: fields, properties, constants, and those that its methods set."""
    found = fields(node) | {part.name for part in node.body if isinstance(part, ast.FunctionDef)}
    for part in ast.walk(node):
        if isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name) and part.value.id == "self":
            found.add(part.attr)
        elif isinstance(part, ast.Assign):
            found |= {target.id for target in part.targets if isinstance(target, ast.Name)}
    return found


def parameters(node: ast.FunctionDef) -> set[str]:
    """The parameters of a function."""
    given = node.args
    every = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
    return {one.arg for one in every if one is not None}


def faults(source: str) -> Iterator[str]:
    """The names of docstrings that are not in the code, and the fields that a list of attributes leaves out."""
    if "Args:" not in source and "Attributes:" not in source:
        return  # it lists no names
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef):
            text = ast.get_docstring(node) or ""
            for name in sorted(listed(text, "Args") - parameters(node) - ELSEWHERE):
                yield f"{node.name} has no argument {name}"
        elif isinstance(node, ast.ClassDef):
            text = ast.get_docstring(node) or ""
            named = listed(text, "Attributes")
            for name in sorted(named - known(node)):
                yield f"{node.name} has no attribute {name}"
            if named:
                for name in sorted(fields(node) - named - listed(text, "Args")):
                    yield f"{node.name} does not tell of {name}"


def _modules(room: str) -> list[Path]:
    return sorted((SOURCE / room).rglob("*.py") if room else SOURCE.glob("*.py"))


@pytest.mark.parametrize("room", ["", *ROOMS])
def test_docstrings_of_a_room(room: str) -> None:
    found = {str(path.relative_to(SOURCE)): [*faults(path.read_text("utf-8"))] for path in _modules(room)}
    assert {name: said for name, said in found.items() if said} == {}


PLANTED = '''
class Look:
    """The end.

    Attributes:
        at: the book.
        {}: the latest posting; of accounts
            that are known: all of them.
    """

    at: int
    posted_in: int

    def after(self, number: int, *, count: int) -> int:
        """Read.

        Args:
            number: the first.
            {}: how many.
        """
'''


@pytest.mark.parametrize(
    ("attribute", "argument", "said"),
    [
        ("posted_in", "count", []),
        ("posted", "count", ["Look has no attribute posted", "Look does not tell of posted_in"]),
        ("posted_in", "many", ["after has no argument many"]),
    ],
)
def test_a_planted_name_is_found(attribute: str, argument: str, said: list[str]) -> None:
    assert [*faults(PLANTED.format(attribute, argument))] == said
