"""docs/architecture.md says where things are: its rooms and modules are those of the code, and its places exist."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from tests.test_docs import DOCS, _load, _printed
from tests.test_readme import ROOT

ARCHITECTURE = _load(DOCS / "architecture.py")
PAGE = (DOCS / "architecture.md").read_text("utf-8")
HOUSE = ROOT / "src" / "discreet"


def places(page: str) -> Iterator[str]:
    """Every path that a page names between backticks, from the root of the repository or from the package."""
    for name in re.findall(r"`([\w./-]+)`", page):
        if "/" in name or name.endswith((".py", ".md", ".toml")):
            yield name


def missing(page: str) -> list[str]:
    """The paths that are not there. A bare file name, as in a list of examples, may lie anywhere in the package."""
    return [
        name
        for name in places(page)
        if not (
            (ROOT / name).exists() or (HOUSE / name).exists() or ("/" not in name and any(HOUSE.rglob(name)))
        )
    ]


def test_every_place_exists() -> None:
    assert len(list(places(PAGE))) > 30
    assert missing(PAGE) == []


def test_a_place_that_is_gone_is_found() -> None:
    assert missing("`sql/nowhere.py` and `gone.py` but `release/gate.py`") == ["sql/nowhere.py", "gone.py"]


def test_the_way_is_that_of_the_code() -> None:
    # In a process of its own: one that has answered before enters fewer modules.
    assert _printed("python", "docs/architecture.py", "text") == PAGE, "run `make docs`"
    assert _printed("python", "docs/architecture.py", "picture") == (
        DOCS / "figures" / "architecture.svg"
    ).read_text("utf-8")


@pytest.mark.parametrize("name", sorted(ARCHITECTURE.drawn()))
def test_every_room_says_what_it_is_in_two_sentences(name: str) -> None:
    assert len(ARCHITECTURE.SENTENCE.findall(ARCHITECTURE.sentences(name))) == 2
