"""Values are made on the first look, once, and a pickle holds a plain dictionary."""

from __future__ import annotations

import pickle
from functools import partial

import pytest

from discreet.sql.intervals.lazy import LazyMapping


def test_a_value_is_made_on_the_first_look_and_once() -> None:
    made: list[str] = []

    def make(name: str) -> int:
        made.append(name)
        return len(made)

    lazy = LazyMapping({name: partial(make, name) for name in "ab"})
    assert list(lazy) == ["a", "b"]
    assert "a" in lazy
    assert "c" not in lazy
    assert made == []
    assert (lazy["b"], lazy["b"], lazy["a"]) == (1, 1, 2)
    assert made == ["b", "a"]
    with pytest.raises(KeyError):
        lazy["c"]


def test_a_pickle_is_a_plain_dictionary() -> None:
    lazy = LazyMapping({"n": lambda: 3})
    assert type(pickle.loads(pickle.dumps(lazy))) is dict
    assert pickle.loads(pickle.dumps(lazy)) == {"n": 3} == dict(lazy)
