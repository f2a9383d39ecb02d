"""Facts about a statement, each worked out once: the same statement is asked again with other epsilons and literals.

The statement above the releases of a question is the same tree whichever literals filter the private rows. `shared`
gives one tree for all that are alike, and `once` keeps the facts of a tree beside it. Nobody changes such a
tree, or a fact.
"""

from __future__ import annotations

import contextlib
from collections import OrderedDict
from collections.abc import Callable, Hashable
from functools import wraps
from typing import Any, Concatenate, Final, ParamSpec, TypeVar

from sqlglot import exp

MOST: Final = 128
"""Of how many statements the facts are kept."""
Given = ParamSpec("Given")
Fact = TypeVar("Fact")
_Facts = tuple[exp.Query, dict[Hashable, Any]]

_alike: Final[OrderedDict[Hashable, exp.Query]] = OrderedDict()
_facts: Final[OrderedDict[int, _Facts]] = OrderedDict()


def shared(statement: exp.Query) -> exp.Query:
    """The first statement that was seen of those that are alike in all but the places where they were written.

    Example:
        >>> from discreet.sql.syntax.parse import parse
        >>> one, two, other = (shared(parse(f"SELECT a  FROM t LIMIT {n}")) for n in (1, 1, 2))
        >>> one is two, one is other
        (True, False)
    """
    try:
        known = _alike.setdefault(_key(statement), statement)
    except TypeError:  # a part of it cannot be hashed
        return statement
    _no_more_than(MOST, _alike)
    return known


def once(
    fact: Callable[Concatenate[exp.Query, Given], Fact],
) -> Callable[Concatenate[exp.Query, Given], Fact]:
    """Keep a fact about a statement beside it.

    Args:
        fact: a function of a statement, and of other things that can be hashed and stand behind it, and of nothing
            else.
    """

    @wraps(fact)
    def known(statement: exp.Query, /, *others: Given.args, **named: Given.kwargs) -> Fact:
        kept = _facts.get(id(statement))
        facts = kept[1] if kept is not None and kept[0] is statement else _of(statement)
        key = (fact, others, *named.items()) if named else (fact, others)
        if key not in facts:
            facts[key] = fact(statement, *others, **named)
        found: Fact = facts[key]
        return found

    return known


def _of(statement: exp.Query) -> dict[Hashable, Any]:
    found = _facts.get(id(statement))
    if found is None or found[0] is not statement:  # the entry holds its statement, so the number is its own
        found = _facts[id(statement)] = statement, {}
        _no_more_than(MOST, _facts)
    return found[1]


def _no_more_than(most: int, kept: OrderedDict[Any, Any]) -> None:
    while len(kept) > most:
        with contextlib.suppress(KeyError):  # another thread was faster
            kept.popitem(last=False)


def _key(value: object) -> Hashable:
    """A tree as nested tuples, with every text in its own case, and without positions."""
    if isinstance(value, exp.Expr):
        parts = ((name, _key(part)) for name, part in value.args.items() if part is not None and part != [])
        return type(value), *parts
    if isinstance(value, list):
        return list, *map(_key, value)
    return type(value), value
