"""Faults that were in answers once are planted, and the fuzzer finds each."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any
from unittest import mock

import pytest
from tests.sql.fuzz import cases

from discreet import arrow
from discreet.release.noisy_schema import CELL
from discreet.sql.algebra import keys, public_groups, trial
from discreet.sql.analyze.joins import multiplicity as join_multiplicity
from discreet.sql.analyze.units import aggregates as unit_aggregates
from discreet.sql.dialects import duckdb as of_duckdb
from discreet.sql.expressions.dialect import NUMBER
from discreet.sql.functions import every_line
from discreet.sql.inspect import misleading
from discreet.sql.intervals.bands.banded import Banded
from discreet.sql.intervals.simulation import simulated

MOST = 60
"""So many cases of a kind are asked until a planted fault shows; each shows in far fewer."""


def one_hash(salt: int, columns: Any) -> str:
    """The combined hash of some columns as DuckDB makes it, in which the last one decides for everybody."""
    number = NUMBER
    ordered = sorted(columns, key=lambda column: column != number)  # it is the same in every row here
    return f"hash({salt}::UBIGINT, {', '.join(ordered)})"


def least_of_nothing(total: str, count: str) -> str:
    """A sum that saturates, and is the greatest number of nothing."""
    return f"CAST(GREATEST(LEAST({total}, {2**62}), -{2**62}) AS BIGINT)"


def of_another_row(*drawn: Any) -> Any:
    """The draws of the groups, each under the number of another one."""
    made = DRAWS(*drawn)
    cells = arrow.numbers(made.column(CELL))
    names = made.column_names
    return made.set_column(names.index(CELL), CELL, arrow.column(cells.max() - cells))


def in_doubles(values: Any, whole: bool) -> Any:
    """Draws of counts as they are drawn."""
    return arrow.column(values + 0.3)


def in_full_weeks(name: str) -> AbstractContextManager[Any]:
    """Weeks as DuckDB counts them: seven days each."""
    wrong = {"": "CAST(date_diff('day', {0}, {1}) // 7 AS BIGINT)"}
    return mock.patch.dict(
        every_line.TABLE,
        {name: [dataclasses.replace(line, spelling=wrong) for line in every_line.TABLE[name]]},
    )


@contextmanager
def without_null(*modules: Any) -> Iterator[None]:
    """No key has a group of NULL."""
    with ExitStack() as stack:
        for module in modules:
            stack.enter_context(mock.patch.object(module, "has_null_group", lambda key: False))
        yield


DRAWS = simulated._draws_table
Fault = tuple[Callable[[], AbstractContextManager[Any]], str, int]
FAULTS: dict[str, Fault] = {
    "WHERE on a key takes no group away": (lambda: mock.patch.object(trial, "conjuncts", lambda conditions: []), "statement", 4),
    "one column decides which rows are kept": (lambda: mock.patch.object(of_duckdb, "_hash", one_hash), "fair", 5),
    "a join that multiplies rows is cut": (lambda: mock.patch.object(join_multiplicity, "MOST_ROWS", 0), "statement", 36),
    "what noise chose has the interval of one row":
        (lambda: mock.patch.object(Banded, "selected", lambda self, confidence, rows: confidence), "chosen", 3),
    "draws are another row's": (lambda: mock.patch.object(simulated, "_draws_table", of_another_row), "hidden", 4),
    "draws of counts are not whole": (lambda: mock.patch.object(simulated, "_as_answered", in_doubles), "whole", 14),
    "a unit's sum of nothing is 2^62": (lambda: mock.patch.object(unit_aggregates, "capped", least_of_nothing), "per unit", 24),
    "NULL is no group of a boolean":
        (lambda: without_null(public_groups, trial), "statement", 6),
    "weeks are seven days": (lambda: in_full_weeks("date_diff_week"), "weeks", 7),
    "a CASE says all that its branches can": (lambda: mock.patch.object(keys, "_said", lambda e, parts, listed: listed), "statement", 2),
    "nothing is said of empty groups": (lambda: mock.patch.object(misleading, "added_up", lambda plan: ()), "emptied", 3),
}  # fmt: skip
"""What is planted, the kind of case that finds it, and the number of one that comes upon it: the search begins there."""


@pytest.fixture(autouse=True)
def forgetful() -> Iterator[None]:
    """What was derived under a fault is not kept for other tests."""
    keys.public_values.cache_clear()
    yield
    keys.public_values.cache_clear()


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found(fault: str) -> None:
    planted, kind, first = FAULTS[fault]
    with planted():
        assert any(cases.KINDS[kind](number) for number in range(first, first + MOST))
