"""The property harness on an engine beside DuckDB: its promise, and a fault that it must find."""

from __future__ import annotations

from typing import Any
from unittest import mock

import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from tests.sql import harness

from discreet.sql.lower import compile as compiling
from discreet.sql.lower import contribution_bounding

RELAXED = settings(deadline=None, database=None, suppress_health_check=list(HealthCheck))
SEARCH = settings(
    RELAXED, phases=[Phase.generate], max_examples=200, derandomize=True, report_multiple_bugs=False
)
LACKING = ("UNNEST", "h3_cell")
"""Lists and cells of H3, which other engines refuse before they are asked."""
_kept_sql = contribution_bounding.kept_sql


def one_row_too_many(rows: str, keep: str, names: list[str], max_rows: int, *rest: Any) -> str:
    """The fault: `max_rows` off by one."""
    return _kept_sql(rows, keep, names, max_rows + 1, *rest)


def see_no_violation(engine: Any, how: settings, lacking: str = "") -> None:
    """Ask about neighbouring tables, in no question that holds the text `lacking`."""

    @settings(how)
    @given(case=harness.cases(per_table=4))
    def check(case: harness.Case) -> None:
        assume(not any(words in case.sql for words in (*LACKING, lacking) if words))
        assert harness.violations(case, engine=engine) == []

    check()


def find_one_row_too_many(engine: Any, lacking: str = "") -> None:
    """Plant the fault, and see that it is found."""

    @settings(SEARCH)
    @given(case=harness.cases(per_table=4))
    def search(case: harness.Case) -> None:
        assume(not any(words in case.sql for words in (*LACKING, lacking) if words))
        if harness.violated(case, engine=engine):
            raise harness.Found

    with mock.patch.object(compiling, "kept_sql", one_row_too_many), pytest.raises(harness.Found):
        search()
