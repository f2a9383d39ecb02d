"""The verdict on one question: its answer without noise beside that of plain DuckDB on the clamped rows.

The noise is left out where mechanisms draw it, and everything else is what every question goes through: the plan, the
charge, the engine, the ledger, the post-processing. So numbers are compared as they are, but for the grids on which
they are rounded before they are added up.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from decimal import Decimal
from importlib import import_module
from itertools import pairwise
from typing import Any
from unittest import mock

import duckdb
import pyarrow as pa
import sqlglot

from benchmarks.corpus.data import EPSILON, Data
from benchmarks.corpus.question import Question
from discreet.errors import DiscreetError, QueryRefused
from discreet.mechanisms import LaplaceVector, QuantilesWithEnds, SparseCounts, ThresholdedCounts
from discreet.sql.syntax.pivot_statement import with_order

RIGHT, WRONG = "right", "wrong"
REFUSED, NEEDLESS = "refused with reason", "refused without need"
VERDICTS = (RIGHT, WRONG, REFUSED, NEEDLESS)
RELATIVE, ABSOLUTE = 1e-5, 1e-3
"""How far numbers may be apart by rounding to a grid."""

Rows = list[tuple[Any, ...]]
RELEASE = QuantilesWithEnds.release


@dataclass(frozen=True)
class Verdict:
    """What came of a question.

    Attributes:
        question: that was asked.
        verdict: one of `VERDICTS`.
        why: the refusal, or the difference; empty where the answer is right.
        fix: what the refusal proposes.
    """

    question: Question
    verdict: str
    why: str = ""
    fix: str = ""


def without_noise(exact: Any, scale: object) -> Any:
    """Integers as they are, in the place of those with noise."""
    return exact


def nearest(mechanism: QuantilesWithEnds, counts: SparseCounts) -> Any:
    """The leaves of the quantiles themselves, nearly always: at epsilon 400 each."""
    sharp = QuantilesWithEnds(
        400 * len(mechanism.quantiles), mechanism.quantiles, mechanism.measure, ends=mechanism.ends
    )
    return RELEASE(sharp, counts)


@contextmanager
def silence() -> Iterator[None]:
    """Leave the noise out."""
    drawing = [import_module(one.__module__) for one in (LaplaceVector, ThresholdedCounts)]
    with ExitStack() as stack:
        for module in drawing:
            stack.enter_context(mock.patch.object(module, "add_laplace", without_noise))
        stack.enter_context(mock.patch.object(QuantilesWithEnds, "release", nearest))
        yield


def judge(question: Question, data: Data) -> Verdict:
    """Ask a question, and compare."""
    limits = {"delta": question.delta, "max_rows": question.max_rows, "max_groups": question.max_groups}
    try:
        with silence():
            release = data.session.sql(question.sql, EPSILON, **limits)  # type: ignore[arg-type]
    except QueryRefused as refusal:
        return Verdict(question, REFUSED if question.reason else NEEDLESS, refusal.cause, refusal.fix)
    except DiscreetError as error:
        return Verdict(question, WRONG, f"{type(error).__name__}: {error}")
    if question.reason:
        return Verdict(
            question, WRONG, f"It is answered, though no private answer exists: {question.reason}."
        )
    try:
        truth = data.plain.sql(question.truth).to_arrow_table()
    except duckdb.Error as error:
        return Verdict(question, WRONG, f"DuckDB does not answer: {error}")
    ends = [(release.low[name].to_pylist(), release.high[name].to_pylist()) for name in release.low]
    why = difference(release.values, truth, order_of(question.truth), question.within) or _crossed(
        release.values, list(release.low), ends
    )
    return Verdict(question, WRONG if why else RIGHT, why)


def difference(ours: pa.Table, theirs: pa.Table, order: Sequence[str], within: float = 0.0) -> str:
    """How two answers differ, in words; empty when they do not.

    Args:
        ours: an answer.
        theirs: the one that is expected.
        order: the columns that both are ordered by.
        within: how far numbers may be apart.
    """
    if [name.lower() for name in ours.column_names] != [name.lower() for name in theirs.column_names]:
        return f"columns {ours.column_names}, expected {theirs.column_names}"
    for name, one, other in zip(ours.column_names, ours.columns, theirs.columns, strict=True):
        if not theirs.num_rows or kind(one.type) == kind(other.type):
            continue
        if kind(one.type).replace("whole", "number") != kind(other.type).replace("whole", "number"):
            return f"{name} is {one.type}, expected {other.type}"
    a, b = rows_of(ours), rows_of(theirs)
    if len(a) != len(b):
        more = [row for row in a if not any(alike(row, one, within) for one in b)][:3]
        less = [row for row in b if not any(alike(row, one, within) for one in a)][:3]
        return f"{len(a)} rows, expected {len(b)}; beyond: {more}; missing: {less}"
    for x, y in zip(sorted(a, key=_sortable), sorted(b, key=_sortable), strict=True):
        if not alike(x, y, within) and not _somewhere(a, b, within):
            return f"{x}, expected {y}"
    places = [ours.column_names.index(name) for name in order if name in ours.column_names]
    for x, y in zip(a, b, strict=True):
        if not alike([x[at] for at in places], [y[at] for at in places], within):
            return f"in another order: {x}, expected {y}"
    return ""


def _somewhere(a: Rows, b: Rows, within: float) -> bool:
    """Whether each row of one answer is a row of the other, where numbers that differ a little sort differently."""
    left = list(b)
    for row in a:
        at = next((at for at, other in enumerate(left) if alike(row, other, within)), None)
        if at is None:
            return False
        left.pop(at)
    return True


def kind(of: pa.DataType) -> str:
    """The class of a type, within which engines choose freely."""
    tests = {
        "truth": pa.types.is_boolean, "whole": pa.types.is_integer, "number": pa.types.is_floating,
        "date": pa.types.is_date, "moment": pa.types.is_timestamp,
    }  # fmt: skip
    if pa.types.is_list(of):
        return f"list of {kind(of.value_type)}"
    if pa.types.is_map(of):
        return f"map of {kind(of.key_type)} to {kind(of.item_type)}"
    if pa.types.is_decimal(of):
        return "whole" if of.scale == 0 else "number"
    if pa.types.is_string(of) or pa.types.is_large_string(of) or pa.types.is_dictionary(of):
        return "text"
    return next((name for name, test in tests.items() if test(of)), str(of))


def rows_of(table: pa.Table) -> Rows:
    """The rows of a table, in Python's types."""
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


def alike(one: Sequence[Any], other: Sequence[Any], within: float) -> bool:
    """Whether two rows are the same, but for rounding."""
    return all(_same(x, y, within) for x, y in zip(one, other, strict=True))


def _same(x: Any, y: Any, within: float) -> bool:
    numbers = (int, float, Decimal)
    if (
        isinstance(x, numbers)
        and isinstance(y, numbers)
        and not isinstance(x, bool)
        and not isinstance(y, bool)
    ):
        if isinstance(x, int) and isinstance(y, int) and not within:
            return x == y
        return math.isclose(float(x), float(y), rel_tol=RELATIVE, abs_tol=max(ABSOLUTE, within))
    if isinstance(x, dt.datetime) and isinstance(y, dt.datetime):
        return x.replace(tzinfo=None) == y.replace(tzinfo=None)
    if isinstance(x, dt.date) and isinstance(y, dt.date):
        return abs((x - y).days) <= within
    if isinstance(x, list | tuple) and isinstance(y, list | tuple):
        return len(x) == len(y) and alike(x, y, within)
    return bool(x == y)


def _sortable(row: Sequence[Any]) -> tuple[Any, ...]:
    """Texts, dates and truths first: numbers may differ a little."""
    exact = [str(x) for x in row if not isinstance(x, float | Decimal | int) or isinstance(x, bool)]
    return (
        exact,
        [float(x) for x in row if isinstance(x, float | Decimal | int) and not isinstance(x, bool)],
    )


def order_of(sql: str) -> list[str]:
    """The columns of the answer that the whole statement is ordered by."""
    tree = with_order(sql) or sqlglot.parse_one(sql, read="duckdb")
    order = tree.args.get("order")
    if order is None or not isinstance(tree, sqlglot.exp.Query):
        return []
    out: list[str] = []
    for item in order.expressions:
        own = item.this
        if isinstance(own, sqlglot.exp.Literal) and not own.is_string and not tree.is_star:
            out.append(tree.selects[int(own.this) - 1].alias_or_name)
        elif own.name.upper() == "ALL":
            return [one.alias_or_name for one in tree.selects]
        elif isinstance(own, sqlglot.exp.Column):
            out.append(own.name)
        else:
            break
    return out


def _crossed(values: pa.Table, names: Sequence[str], ends: Sequence[tuple[list[Any], list[Any]]]) -> str:
    """An interval that does not hold the value beside it."""
    for name, (low, high) in zip(names, ends, strict=True):
        for value, bottom, top in zip(values.column(name).to_pylist(), low, high, strict=True):
            chain = [x for x in (bottom, value, top) if x is not None]
            if any(a > b for a, b in pairwise(chain)):
                return f"{name}: the interval [{bottom}, {top}] does not hold {value}"
    return ""
