"""A statement is read once for all epsilons, and again where a choice is another one that its reading depends on."""

from __future__ import annotations

from fractions import Fraction

import pyarrow as pa
import pytest
from tests import inside, shared

from discreet.sql.algebra.catalog import Catalog
from discreet.sql.plan import reading
from discreet.sql.plan.planner import plan
from discreet.sql.plan.reading import Readings, ReadingWay, read_statement

COUNTED = "SELECT sex, COUNT(*) AS n, AVG(age) AS age FROM data GROUP BY sex"
PUBLIC, FOUND = ReadingWay(unknown_keys=False), ReadingWay(unknown_keys=True)


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    data = pa.table({"sex": ["f", "m"], "age": [3, 4]})
    session = shared.protect(
        data, privacy_unit="row", bounds={"age": (0, 100)}, keys={"sex": ["f", "m"]}, budget=1
    )
    return inside.catalog_of(session)


def test_a_statement_is_read_once(catalog: Catalog) -> None:
    known = Readings()
    canonical, first = known.reading(COUNTED, catalog, PUBLIC)
    assert known.reading(COUNTED, catalog, PUBLIC)[1] is first
    assert known.reading(COUNTED.lower().replace("select", "SELECT "), catalog, PUBLIC)[0] == canonical
    assert known.reading(COUNTED, catalog, FOUND)[1] is not first


def test_no_plan_changes_a_reading(catalog: Catalog) -> None:
    known = Readings()
    before = [list(one) for one in known.reading(COUNTED, catalog, PUBLIC)[1].weights]
    even = plan(COUNTED, catalog, Fraction(1), known=known)
    assert plan(COUNTED, catalog, Fraction(1), emphasis=(("n", Fraction(3)),), known=known).releases
    assert known.reading(COUNTED, catalog, PUBLIC)[1].weights == before
    assert plan(COUNTED, catalog, Fraction(1), known=known).releases == even.releases


def test_only_so_many_are_kept(catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "MOST_KNOWN", 3)
    known = Readings()
    for at in range(10):
        known.reading(f"SELECT COUNT(*) AS n{at} FROM data", catalog, PUBLIC)
        assert len(known.texts) <= 3


def test_a_later_statement_counts_its_releases_on(catalog: Catalog) -> None:
    names = [
        [one.name for one in reading.releases]
        for before in (0, 2)
        for _, reading in [read_statement(COUNTED, catalog, ReadingWay(False, before=before), Readings())]
    ]
    assert names[0] != names[1]
