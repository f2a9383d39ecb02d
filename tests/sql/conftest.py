"""The shared tables of people and visits, protected and plain; a file with tables of its own has its own fixtures."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pytest
from tests import people

import discreet as dp


@pytest.fixture(scope="module")
def session() -> Iterator[dp.Session]:
    with people.protected() as opened:
        yield opened


@pytest.fixture(scope="module")
def plain() -> duckdb.DuckDBPyConnection:
    return people.plain_duckdb()
