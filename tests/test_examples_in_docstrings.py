"""Every public name of the rooms that learners use has an example, which the doctests run."""

from __future__ import annotations

import importlib
import inspect
from typing import Any

import pytest

PUBLIC = [
    (room, name)
    for room in ("discreet.local", "discreet.plots", "discreet.sensitivity")
    for name in importlib.import_module(room).__all__
]


def _texts(thing: Any) -> list[str]:
    if not (inspect.isclass(thing) or inspect.isfunction(thing)):
        return [">>>"]  # a constant, which its own comment explains
    methods = vars(thing).values() if inspect.isclass(thing) else []
    return [
        inspect.getdoc(each) or "" for each in (thing, *methods) if each is thing or inspect.isfunction(each)
    ]


@pytest.mark.parametrize(("room", "name"), PUBLIC)
def test_it_has_an_example(room: str, name: str) -> None:
    thing = getattr(importlib.import_module(room), name)
    assert any(">>>" in text for text in _texts(thing)), f"{room}.{name} has no example"


def test_a_name_without_one_would_be_seen() -> None:
    assert not any(">>>" in text for text in _texts(_texts))
