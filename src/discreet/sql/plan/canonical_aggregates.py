"""One canonical aggregate for a number asked in several forms, so that nothing is measured twice.

COUNT(*) FILTER (WHERE p), count_if(p), COUNT(CASE WHEN p THEN 1 END), SUM(CASE WHEN p THEN 1 ELSE 0 END) and sum(p) are
one number: how many rows meet p. Where AVG(CASE WHEN p THEN 1 ELSE 0 END) is asked for as well, it is the sum that
comes with the average; where a mean of x over the rows with p is, and x is never NULL, the count that comes with it.

corr(a, b) and regr_slope(b, a) are quantities of one pair, which is measured in one order.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TypeAlias

from discreet.engines.schema import Type
from discreet.sql import functions as fn
from discreet.sql.algebra.narrowing import MIRRORED as TURNED
from discreet.sql.algebra.narrowing import conjuncts
from discreet.sql.analyze.aggregates.aggregate import RequestedAggregate
from discreet.sql.expressions.expression import Call, Expression, Literal
from discreet.sql.functions.aggregates import MIRRORED, family_of, is_quantile
from discreet.sql.functions.casts import NARROW

Conditions: TypeAlias = frozenset[Expression]
"""Which all hold exactly where a row counts; none: it always does."""
CASTS = frozenset({"to_integer", "to_float", *(f"to_{name}" for name in NARROW)})
"""Of these, 0 and 1 stay unchanged, and TRUE is 1."""
DIRECTED = frozenset({"slope", "intercept"})


def canonical_aggregates(requests: Sequence[RequestedAggregate]) -> list[RequestedAggregate]:
    """The same requests in canonical form, each in its place."""
    return _one_count(_one_order(requests))


def _one_order(requests: Iterable[RequestedAggregate]) -> list[RequestedAggregate]:
    """Every pair in one order: that of its first slope, or else the first in which it is named."""
    listed = list(requests)
    order: dict[frozenset[Expression | None], tuple[Expression | None, Expression | None]] = {}
    for request in sorted(
        (r for r in listed if r.other is not None), key=lambda r: r.quantity not in DIRECTED
    ):
        order.setdefault(frozenset((request.argument, request.other)), (request.argument, request.other))
    return [
        request
        if request.other is None
        or order[frozenset((request.argument, request.other))] == (request.argument, request.other)
        else replace(
            request,
            quantity=MIRRORED.get(request.quantity, request.quantity),
            argument=request.other,
            other=request.argument,
        )
        for request in listed
    ]


def _one_count(requests: list[RequestedAggregate]) -> list[RequestedAggregate]:
    """Every count of the rows that meet a condition in one form."""
    counted = [_counted(request) for request in requests]
    measured = {  # the arguments measured anyway, for something else than such a count
        request.argument: request.quantity
        for request, conditions in zip(requests, counted, strict=True)
        if conditions is None and _plain(request) and request.argument is not None
    }
    with_sum: dict[Conditions, Expression] = {}
    with_count: dict[Conditions, Expression] = {}
    for expression, quantity in measured.items():
        met = _indicated(expression)
        if quantity != "sum" and met is not None:
            with_sum.setdefault(met, expression)
        with_count.setdefault(_present(expression), expression)
    first: dict[Conditions, Expression] = {}
    out = []
    for request, conditions in zip(requests, counted, strict=True):
        argument = request.argument
        if conditions is None:
            short = _without_zero(argument) if request.quantity == "sum" and _plain(request) else None
            out.append(replace(request, argument=short) if short in measured else request)
            continue
        assert argument is not None
        if argument in measured:
            out.append(request)
            continue
        whole = request.quantity == "count" or argument.type is Type.INTEGER
        if not conditions:
            out.append(replace(request, quantity="rows", argument=None, whole=whole))
        elif conditions in with_sum:
            out.append(replace(request, quantity="sum", argument=with_sum[conditions], whole=whole))
        else:
            own = argument if request.quantity == "count" else _one_where(argument)
            own = with_count.get(conditions) or first.setdefault(conditions, own)
            out.append(replace(request, quantity="count", argument=own, whole=whole))
    return out


def _plain(request: RequestedAggregate) -> bool:
    """Whether a request is of one argument, row by row."""
    return (
        request.other is None
        and family_of(request.quantity) not in ("units", "distinct", "distinct_sum", "sizes")
        and request.quantity != "rows"
        and not is_quantile(request.quantity)
    )


def _counted(request: RequestedAggregate) -> Conditions | None:
    """Which rows a request counts; None where it does something else."""
    if request.argument is None or not _plain(request):
        return None
    if request.quantity == "count":
        return _present(request.argument)
    return _indicated(request.argument) if request.quantity == "sum" else None


def _indicated(argument: Expression) -> Conditions | None:
    """Where an argument is 1, if it is 0 or NULL everywhere else; None if it is not known to be so."""
    if isinstance(argument, Literal):
        is_one = argument.type in (Type.INTEGER, Type.FLOAT) and argument.value == 1
        return frozenset() if is_one else None
    if not isinstance(argument, Call):
        return None
    if argument.name in CASTS:
        inner = argument.args[0]
        return _atoms(inner) if inner.type is Type.BOOLEAN else _indicated(inner)
    chosen = _chosen(argument)
    met = None if chosen is None else _indicated(chosen[1])
    return None if chosen is None or met is None else _atoms(chosen[0]) | met


def _present(argument: Expression) -> Conditions:
    """Where an argument is not NULL."""
    chosen = _chosen(argument, zero=False)
    if chosen is not None:
        return _atoms(chosen[0]) | _present(chosen[1])
    if not argument.span.nullable:
        return frozenset()
    null = fn.call("is_null", argument)
    present = None if null is None else fn.call("not", null)
    return frozenset({argument if present is None else present})


def _chosen(argument: Expression, zero: bool = True) -> tuple[Expression, Expression] | None:
    """Condition and result of a CASE of one branch that is NULL, or with `zero` 0, everywhere else."""
    if not (isinstance(argument, Call) and argument.name == "case" and len(argument.args) == 3):
        return None
    condition, result, last = argument.args
    nothing = isinstance(last, Literal) and (last.value is None or (zero and _is_zero(last)))
    return (condition, result) if nothing else None


def _is_zero(literal: Literal) -> bool:
    return literal.type in (Type.INTEGER, Type.FLOAT) and literal.value == 0


def _without_zero(argument: Expression | None) -> Expression | None:
    """CASE WHEN p THEN x ELSE 0 END without its ELSE, which changes no sum; None where it is no such CASE."""
    chosen = None if argument is None else _chosen(argument)
    if chosen is None or argument is None:
        return None
    return fn.case([chosen], Literal(None, argument.type))


def _atoms(condition: Expression) -> Conditions:
    """The operands of AND, in any order, with literals on the right."""
    return frozenset(_turned(operand) for operand in conjuncts([condition]))


def _turned(condition: Expression) -> Expression:
    if isinstance(condition, Call) and condition.name in TURNED:
        left, right = condition.args
        if isinstance(left, Literal) and not isinstance(right, Literal):
            return fn.call(TURNED[condition.name], right, left) or condition
    return condition


def _one_where(argument: Expression) -> Expression:
    """The summand of a sum of ones, as something that can be counted: 1 where it is 1, and NULL elsewhere."""
    summand = Literal(1, Type.INTEGER)
    if isinstance(argument, Call) and argument.name in CASTS:
        inner = argument.args[0]
        if inner.type is not Type.BOOLEAN:
            return _one_where(inner)
        return fn.case([(inner, summand)], Literal(None, Type.INTEGER))
    chosen = _chosen(argument)
    if chosen is None:
        return summand
    return fn.case([(chosen[0], _one_where(chosen[1]))], Literal(None, Type.INTEGER))
