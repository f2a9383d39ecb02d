"""Whether two expressions can be present on the same row: a proof from their text alone.

A condition is read into alternatives, of which one holds wherever the condition is true. An alternative is a set of
facts, all of which hold then: `e` is NULL, `e` is not NULL, `e` is one of some literals, or `e` compares with a
literal. A part that cannot be read says nothing: an alternative may hold on more rows than its condition, never fewer.

Claim: where each alternative of a and each of b hold facts that contradict each other, no row has both a and b.
Proof: on such a row one alternative of each holds with all its facts, and two of these contradict each other. They
speak of the same expression over one row, which has one value there, as the functions of the table are deterministic:
  - NULL and not NULL: one value is not both; every comparison that is true has operands that are not NULL;
  - one of some literals and any fact: the value is a literal of the list, and none of them meets the fact. Literals
    are compared as exact numbers, so 0.0 is -0.0, and texts code point by code point, as every engine does
    (`canonical`);
  - at most u, and at least v > u, or at u = v where one of the ends is left out: the order of an engine is total, so
    u >= value >= v. NaN is NULL in columns and results; where it were not, it would lie above every number, on every
    engine, and if it compared with nothing, it would meet no comparison. Its negation it might meet: so
    NOT (x < 5) says nothing of a FLOAT.
A truth value that cannot be read any further is an expression of its own, which is true, false or NULL.

A CASE is present only where one of its conditions is true and the result beside it is present, or in ELSE. A sum
counts as present where it is not 0, as 0 moves no sum.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from discreet.engines.schema import Type
from discreet.records import dataclass
from discreet.sql.algebra.narrowing import MIRRORED, TESTS
from discreet.sql.expressions.expression import Call, Expression, Literal, is_null_literal
from discreet.sql.expressions.span import number
from discreet.sql.functions.casts import NARROW

MOST = 16
"""The most alternatives of one condition; with more, nothing is said of it."""
OPPOSITE = {"eq": "ne", "ne": "eq", "lt": "ge", "le": "gt", "gt": "le", "ge": "lt"}
LOWER, UPPER = frozenset({"ge", "gt"}), frozenset({"le", "lt"})
KEEPS_NULL = frozenset(
    {
        "to_float",
        "to_integer",
        "no_nan",
        "one_zero",
        "negate",
        "abs",
        "clamp",
        *(f"to_{name}" for name in NARROW),
    }
)
"""NULL where the argument is NULL; but for a clamp and a text, 0 where it is 0 or FALSE."""
KEEPS_ZERO = frozenset({Type.INTEGER, Type.FLOAT, Type.BOOLEAN})


@dataclass(frozen=True, slots=True)
class KnownTruth:
    """The truth of an expression, where it is known.

    Attributes:
        kind: `null`, `some` (not NULL), `in`, `ne`, `lt`, `le`, `gt` or `ge`.
        values: the literals that it is compared with, as exact numbers, texts or booleans; several only for `in`.
    """

    kind: str
    values: tuple[Any, ...] = ()


Alternative: TypeAlias = tuple[tuple[Expression, KnownTruth], ...]
"""Facts that hold together, each of an expression."""
Alternatives: TypeAlias = tuple[Alternative, ...]
"""One of them holds at least; none: never; an empty one: nothing is known."""
ALWAYS: Alternatives = ((),)
NEVER: Alternatives = ()


def exclude(a: Alternatives, b: Alternatives) -> bool:
    """Whether no row has both, as proved above."""
    return all(_contradict(alternative, other) for alternative in a for other in b)


def present(expression: Expression, nonzero: bool = False) -> Alternatives:
    """Where an expression is not NULL, and with `nonzero` not 0 or FALSE either."""
    if isinstance(expression, Literal):
        return NEVER if expression.value is None or (nonzero and not expression.value) else ALWAYS
    if isinstance(expression, Call):
        if expression.name == "case":
            *branches, last = expression.args
            found = present(last, nonzero)
            for condition, result in zip(branches[::2], branches[1::2], strict=True):
                found = _any(found, _all(holds(condition), present(result, nonzero)))
            return found
        if expression.name in KEEPS_NULL:
            keeps_zero = expression.args[0].type in KEEPS_ZERO and expression.name != "clamp"
            return present(expression.args[0], nonzero and keeps_zero)
        if expression.name == "multiply":
            return _all(present(expression.args[0], nonzero), present(expression.args[1], nonzero))
    if nonzero and expression.type is Type.BOOLEAN:
        return holds(expression)
    return (((expression, KnownTruth("some")),),)


def holds(condition: Expression, wanted: bool = True) -> Alternatives:
    """Where a condition is true, or with `wanted` false, where it is false: not where it is NULL."""
    if isinstance(condition, Literal):
        return ALWAYS if condition.value is wanted else NEVER
    if isinstance(condition, Call):
        name, args = condition.name, condition.args
        if name == "not":
            return holds(args[0], not wanted)
        if name in ("and", "or"):
            sides = [holds(argument, wanted) for argument in args]
            return (_all if (name == "and") is wanted else _any)(*sides)
        if (
            name == "coalesce"
            and len(args) == 2
            and isinstance(args[1], Literal)
            and args[1].value is not wanted
        ):
            return holds(args[0], wanted)  # IS TRUE and IS FALSE
        if name == "is_null":
            return (((args[0], KnownTruth("null" if wanted else "some")),),)
        read = _compared(condition, wanted)
        if read is not None:
            return read
    return (((condition, KnownTruth("in", (wanted,))),),)


def _compared(condition: Call, wanted: bool) -> Alternatives | None:
    """A comparison with literals; None where it is none."""
    name, args = condition.name, condition.args
    if name == "in":
        operand, *literals = args
        listed = [_constant(literal, operand.type) for literal in literals if not is_null_literal(literal)]
        if any(value is None for value in listed):
            return None
        if wanted:
            return (((operand, KnownTruth("in", tuple(listed))),),)
        return (
            tuple((operand, KnownTruth("ne", (value,))) for value in listed)
            or ((operand, KnownTruth("some")),),
        )
    if name not in OPPOSITE:
        return None
    left, right = args
    if isinstance(left, Literal):
        name, left, right = MIRRORED[name], right, left
    if is_null_literal(right):
        return NEVER  # it is NULL on every row
    value = _constant(right, left.type)
    if value is None or isinstance(left, Literal):
        return None
    if left.type is Type.BOOLEAN:
        if name not in ("eq", "ne"):
            return None
        return holds(left, value is ((name == "eq") is wanted))
    if not wanted:
        if left.type is Type.FLOAT and name not in ("eq", "ne"):
            return None
        name = OPPOSITE[name]
    return (((left, KnownTruth("in" if name == "eq" else name, (value,))),),)


def _constant(literal: Expression, kind: Type) -> Any:
    """A literal beside an expression of a type, so that literals compare as in SQL; None where it is not known how."""
    if isinstance(literal, Call) and literal.name == "to_timestamp" and isinstance(literal.args[0], Literal):
        day = literal.args[0].value
        if kind is Type.TIMESTAMP and isinstance(day, dt.date) and not isinstance(day, dt.datetime):
            return number(dt.datetime(day.year, day.month, day.day))
        return None
    if not isinstance(literal, Literal) or literal.type is not kind or literal.value is None:
        return None
    fits: dict[Type, Callable[[Any], bool]] = {
        Type.TEXT: lambda v: isinstance(v, str),
        Type.BOOLEAN: lambda v: isinstance(v, bool),
        Type.INTEGER: lambda v: isinstance(v, int) and not isinstance(v, bool),
        Type.FLOAT: lambda v: isinstance(v, float),
        Type.DATE: lambda v: isinstance(v, dt.date) and not isinstance(v, dt.datetime),
        Type.TIMESTAMP: lambda v: isinstance(v, dt.datetime),
    }
    if kind not in fits or not fits[kind](literal.value):
        return None
    return literal.value if kind in (Type.TEXT, Type.BOOLEAN) else number(literal.value)


def _all(*several: Alternatives) -> Alternatives:
    """Where all of them hold."""
    out = ALWAYS
    for alternatives in several:
        together = [left + tuple(f for f in right if f not in left) for left in out for right in alternatives]
        out = tuple(facts for facts in together if not _contradict(facts, facts))
        if len(out) > MOST:
            return ALWAYS
    return out


def _any(*several: Alternatives) -> Alternatives:
    """Where one of them holds."""
    out = tuple(dict.fromkeys(facts for alternatives in several for facts in alternatives))
    return out if len(out) <= MOST else ALWAYS


def _contradict(facts: Alternative, other: Alternative) -> bool:
    return any(_opposed(f, g) for e, f in facts for d, g in other if f is not g and e == d)


def _opposed(first: KnownTruth, other: KnownTruth) -> bool:
    """Whether no value meets both facts."""
    if "null" in (first.kind, other.kind):
        return first.kind != other.kind
    for listed, fact in ((first, other), (other, first)):
        if listed.kind == "in":
            return not any(_meets(value, fact) for value in listed.values)
    for low, high in ((first, other), (other, first)):
        if low.kind in LOWER and high.kind in UPPER:
            (least,), (most,) = low.values, high.values
            return bool(least > most or (least == most and (low.kind == "gt" or high.kind == "lt")))
    return False


def _meets(value: Any, fact: KnownTruth) -> bool:
    if fact.kind == "in":
        return value in fact.values
    return fact.kind == "some" or TESTS[fact.kind](value, fact.values[0])


def argument_present(arguments: Sequence[Expression]) -> Alternatives:
    """Where all of several expressions are not NULL."""
    return _all(*(present(argument) for argument in arguments))


__all__ = ["ALWAYS", "NEVER", "Alternatives", "KnownTruth", "argument_present", "exclude", "holds", "present"]
