"""The source is read: nothing but the gate charges, settles or draws noise for a release."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import discreet

SOURCE = Path(discreet.__file__).parent
BELOW = {"noise", "mechanisms", "accounting", "planning", "ledger"}
"""Rooms that the gate is built of: what they hold are building blocks, and the ledger itself."""
PICTURES = {"plots"}
"""Its noise is on invented data, for pictures."""
ALLOWED = {
    ("release/gate.py", "charge"), ("release/account.py", "charge"), ("release/gate.py", "settle"),
    ("release/gate.py", "Draw"), ("release/draw.py", "release"),
    ("release/answer.py", "release"),  # the function that draws a picture of an answer has this name
    ("sql/conformance/check.py", "release"),  # a field of a case; it compares engines on invented rows
    ("local/heights.py", "discreet.noise"),  # an experiment on heights that it invents
    ("session/queries.py", "discreet.noise.parameters"),  # the range of scales; it draws nothing
}  # fmt: skip
"""Each is there for a reason; whatever else does the same is a second gate."""


TOUCHED = re.compile(
    r"(?<!discreet)\.\s*(charge|settle|release|Draw)\b|\bDraw\b|getattr|methodcaller"
    r"|discreet\s*\.\s*noise|from\s+discreet\s+import"
)
"""A module without any of these does nothing that only the gate may; to read its tree takes longer."""


def acts(source: str, file: str) -> set[tuple[str, str]]:
    """What a module does that only the gate may: charge, settle, release by a mechanism, make a `Draw`, draw noise."""
    found: set[tuple[str, str]] = set()
    if not TOUCHED.search(source):
        return found
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Attribute) and node.attr in ("charge", "settle", "release", "Draw"):
            through_the_gate = node.attr == "release" and ast.unparse(node.value) == "gate"
            if not through_the_gate:
                found.add((file, node.attr))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            if node.func.id == "Draw":
                found.add((file, "Draw"))
            named = node.func.id in ("getattr", "methodcaller") and node.args[1:]
            if (
                named
                and isinstance(named[0], ast.Constant)
                and named[0].value in ("charge", "settle", "release")
            ):
                found.add((file, str(named[0].value)))
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("discreet.noise"):
            found.add((file, str(node.module)))
        elif isinstance(node, ast.ImportFrom) and node.module == "discreet":
            found |= {(file, "discreet.noise") for one in node.names if one.name == "noise"}
        elif isinstance(node, ast.Import):
            found |= {(file, one.name) for one in node.names if one.name.startswith("discreet.noise")}
    return found


def found_in(folder: Path) -> set[tuple[str, str]]:
    out: set[tuple[str, str]] = set()
    for path in sorted(folder.rglob("*.py")):
        name = path.relative_to(folder).as_posix()
        if name.split("/")[0] not in BELOW | PICTURES:
            out |= acts(path.read_text(), name)
    return out


def test_nothing_but_the_gate_charges_settles_or_draws() -> None:
    assert found_in(SOURCE) == ALLOWED


@pytest.mark.parametrize(
    "planted",
    [
        "def sql(self): return self._ledger.charge('q', loss, accounts)",
        "def sql(ledger): pay = ledger.charge; return pay('q', loss, accounts)",
        "def sql(ledger): return getattr(ledger, 'charge')('q', loss, accounts)",
        "def sql(ledger, charge): ledger.settle(charge, b'')",
        "from discreet.noise import add_laplace",
        "from discreet import noise",
        "import discreet.noise.laplace as drawn",
        "def noisy(measure, exact): return LaplaceVector(20, 2).release(exact)",
        "def noisy(exact): return Draw(uses)('count', exact)",
    ],
)
def test_a_second_gate_is_found(planted: str, tmp_path: Path) -> None:
    (tmp_path / "sql").mkdir()
    (tmp_path / "sql" / "planted.py").write_text(planted)
    assert len(found_in(tmp_path)) == 1
