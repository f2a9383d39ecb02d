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
    ("release/gate.py", "receive"),
    ("server/guard.py", "receive"), ("engines/isolated/worker.py", "receive"),  # messages of HTTP and of processes
    ("engines/isolated/workers.py", "receive"),
}  # fmt: skip
"""Each is there for a reason; whatever else does the same is a second gate."""


ACTS = frozenset({"charge", "settle", "release", "receive", "Draw"})
"""The names of what only the gate may do; an account receives by charging."""
BY_NAME = frozenset({"getattr", "methodcaller", "attrgetter"})
"""Functions that take the name of a method as a text."""
TOUCHED = re.compile(
    r"(?<!discreet)\.\s*(charge|settle|release|receive|Draw)\b|\bDraw\b|getattr|methodcaller|attrgetter"
    r"|discreet\s*\.\s*noise|from\s+discreet\s+import"
)
"""A module without any of these does nothing that only the gate may; to read its tree takes longer."""


def acts(source: str, file: str) -> set[tuple[str, str]]:
    """What a module does that only the gate may: charge, settle, release by a mechanism, make a `Draw`, draw noise."""
    if not TOUCHED.search(source):
        return set()
    tree = ast.parse(source)
    found: set[str] = set()
    knows_the_gate = _knows_the_gate(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            found |= _of_attribute(node, knows_the_gate)
        elif isinstance(node, ast.Call):
            found |= _of_call(node)
        elif isinstance(node, ast.ImportFrom):
            module, names = node.module or "", {one.name for one in node.names}
            found |= {module} if module.startswith("discreet.noise") else set()
            found |= {"discreet.noise"} if module == "discreet" and "noise" in names else set()
            found |= {"Draw" for one in node.names if one.name == "Draw" and one.asname is not None}
        elif isinstance(node, ast.Import):
            found |= {one.name for one in node.names if one.name.startswith("discreet.noise")}
    return {(file, act) for act in found}


def _of_attribute(node: ast.Attribute, knows_the_gate: bool) -> set[str]:
    if ast.unparse(node) == "discreet.noise":
        return {"discreet.noise"}
    if node.attr not in ACTS or (
        node.attr == "release" and knows_the_gate and ast.unparse(node.value) == "gate"
    ):
        return set()
    return {node.attr}


def _of_call(node: ast.Call) -> set[str]:
    name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
    texts = {one.value for one in node.args if isinstance(one, ast.Constant) and isinstance(one.value, str)}
    named = {
        text for text in texts if text.startswith("discreet.noise")
    }  # whatever loads a module by its name
    if name in BY_NAME:
        named |= texts & ACTS
    return named | ({"Draw"} if isinstance(node.func, ast.Name) and name == "Draw" else set())


def _knows_the_gate(tree: ast.Module) -> bool:
    """Whether a module calls the gate, and nothing else, `gate`."""
    imported = {
        node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom | ast.Import)
        for one in node.names
        if (one.asname or one.name) == "gate" and isinstance(node, ast.ImportFrom)
    }
    bound = any(
        (isinstance(node, ast.Name) and node.id == "gate" and isinstance(node.ctx, ast.Store))
        or (isinstance(node, ast.arg) and node.arg == "gate")
        for node in ast.walk(tree)
    )
    return imported == {"discreet.release"} and not bound


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
        "import discreet\ndef noisy(exact): return discreet.noise.add_laplace(exact, 3)",
        "from discreet.release.draw import Draw as D\ndef noisy(exact): return D(uses)('count', exact)",
        "def noisy(exact): return load('discreet.noise').add_laplace(exact, 3)",
        "def noisy(exact): return importlib.import_module('discreet.noise.laplace').add_laplace(exact, 3)",
        "def sql(account): return account.receive('q', event, (), 'words')",
        "def sql(ledger): return methodcaller('charge', 'q', loss, accounts)(ledger)",
        "def noisy(exact): return operator.attrgetter('release')(LaplaceVector(20, 2))(exact)",
        "def noisy(gate, exact): return gate.release(exact)",
        "from discreet.release import gate\ngate = LaplaceVector(20, 2)\nnoisy = gate.release(exact)",
        "from discreet.mechanisms import vector as gate\nnoisy = gate.release(exact)",
    ],
)
def test_a_second_gate_is_found(planted: str, tmp_path: Path) -> None:
    (tmp_path / "sql").mkdir()
    (tmp_path / "sql" / "planted.py").write_text(planted)
    assert len(found_in(tmp_path)) == 1
