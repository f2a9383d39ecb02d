"""Conditions that no row of any data set passes, as the text and the policy alone say.

One compares a column with values that are none of its keys, such as misspelt ones; another compares beyond its bounds,
or with NULL.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from discreet.records import dataclass
from discreet.sql.algebra import relation as rel
from discreet.sql.algebra.narrowing import conjuncts
from discreet.sql.algebra.relation import Relation
from discreet.sql.expressions.expression import Call, Column, Expression, Literal
from discreet.sql.expressions.span import Span, Value

_COMPARED = frozenset({"eq", "ne", "lt", "le", "gt", "ge"})


@dataclass(frozen=True)
class Unlisted:
    """A comparison that no row passes.

    Attributes:
        column: which has keys.
        asked: the values that it is compared with; none is a key.
        near: the key that the first of them resembles; None where there is none.
    """

    column: Column
    asked: tuple[Value, ...]
    near: Value | None


def conditions(relation: Relation) -> Iterator[Expression]:
    """The conditions that every row of a relation meets, each by itself."""
    if isinstance(relation, rel.Select) and relation.where is not None:
        yield from conjuncts([relation.where])
    for part in rel.parts(relation):
        yield from conditions(part)


def unlisted(condition: Expression) -> Unlisted | None:
    """Read a comparison with values that are no keys; None for any other condition."""
    if not isinstance(condition, Call) or condition.name not in ("eq", "in"):
        return None
    columns = [side for side in condition.args if isinstance(side, Column)]
    asked = tuple(
        side.value for side in condition.args if isinstance(side, Literal) and side.value is not None
    )
    if len(columns) != 1 or not asked or len(asked) < len(condition.args) - 1 or not columns[0].span.listed:
        return None
    keys = columns[0].span.domain or ()
    if any(value in keys for value in asked):
        return None
    spelled = {str(key): key for key in keys}
    near = difflib.get_close_matches(str(asked[0]), spelled, n=1)
    return Unlisted(columns[0], asked, spelled[near[0]] if near else None)


def against_null(condition: Expression) -> bool:
    """Whether a condition compares with NULL, which is neither true nor false: x = NULL, or x NOT IN (1, NULL)."""
    negated = isinstance(condition, Call) and condition.name == "not"
    inner = condition.args[0] if isinstance(condition, Call) and negated else condition
    if not isinstance(inner, Call):
        return False
    nulls = [isinstance(arg, Literal) and arg.value is None for arg in inner.args]
    if inner.name == "in":
        return nulls[0] or (any(nulls) if negated else all(nulls[1:]))
    return inner.name in _COMPARED and any(nulls)


def verdict(condition: Expression) -> bool | None:
    """False when no value within the spans meets a comparison; None when that is not certain."""
    if not isinstance(condition, Call) or len(condition.args) != 2:
        return None
    a, b = (arg.span for arg in condition.args)
    name = condition.name
    never = (name in ("lt", "le", "eq") and _above(a, b, equal=name == "lt")) or (
        name in ("gt", "ge", "eq") and _above(b, a, equal=name == "gt")
    )
    return False if never else None


def _above(a: Span, b: Span, equal: bool) -> bool:
    """Whether every value of a lies above every one of b, or at least at it when `equal`."""
    if a.lo is None or b.hi is None:
        return False
    return a.lo >= b.hi if equal else a.lo > b.hi
