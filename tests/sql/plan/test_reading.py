"""A statement is read once for all epsilons, and again where a choice is another one that its reading depends on."""

from __future__ import annotations

from fractions import Fraction

import pyarrow as pa
import pytest
from tests import inside, shared

from discreet.engines import sandbox
from discreet.errors import QueryRefused
from discreet.sql.algebra.catalog import Catalog
from discreet.sql.finish.rehearsal import rehearse
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


ENDLESS = "WITH RECURSIVE r AS (SELECT 1 AS k UNION ALL SELECT k + 1 FROM r) SELECT k FROM r"
LONG = "SELECT COUNT(*) FROM range(100000) AS a, range(100000000) AS b WHERE a.range <> b.range"


@pytest.mark.parametrize("part", ["age IN ({})", "age IN ({0} LIMIT 9) OR age IN ({0})"])
def test_public_parts_take_little_time_before_a_charge(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    monkeypatch.setattr(sandbox, "UNCHARGED_SECONDS", 0.2)
    monkeypatch.setattr(sandbox, "SHORTEST", 0.1)
    for sql in (ENDLESS, LONG):
        asked = f"SELECT COUNT(*) AS n FROM data WHERE {part.format(sql)}"
        with pytest.raises(QueryRefused, match=r"before its charge, take more than 0\.2 seconds"):
            read_statement(asked, catalog, PUBLIC, Readings())


def test_so_do_those_above_the_noise(catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    inner = f"SELECT n, ({LONG} + n) AS m FROM (SELECT COUNT(*) AS n FROM data) AS d"
    made = plan(inner, catalog, Fraction(1))
    monkeypatch.setattr(sandbox, "UNCHARGED_SECONDS", 0.2)
    with pytest.raises(QueryRefused, match="before its charge"):
        rehearse(made, catalog.public)
