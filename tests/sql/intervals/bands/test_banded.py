"""The size of a statement over bands is found once for the same groups, whatever the epsilon, and anew for others."""

from __future__ import annotations

from fractions import Fraction

import pyarrow as pa
import pytest
from tests import shared

import discreet as dp
from discreet.engines.sandbox import Sandbox
from discreet.sql.intervals.bands import banded
from discreet.sql.intervals.bands.relations import NoBandsError

TABLE = pa.table({"g": [at % 4 for at in range(80)], "x": [float(at % 7) for at in range(80)]})
HAVING = "SELECT g, COUNT(*) AS n FROM v GROUP BY g HAVING COUNT(*) > -1000 ORDER BY n DESC"


def session(most: int) -> dp.Session:
    return shared.protect({"v": TABLE}, privacy_unit="row", bounds={"g": (0, most), "x": (0, 6)}, budget=9)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the sandbox of `banded` is asked from here on."""
    texts: list[str] = []

    class Told(Sandbox):
        def run(self, sql: str, timeout: float = 60.0) -> pa.Table:
            texts.append(sql)
            return super().run(sql, timeout)

    monkeypatch.setattr(banded, "Sandbox", Told)
    monkeypatch.setattr(banded, "_sizes", type(banded._sizes)())
    return texts


def test_the_size_is_found_once_for_the_same_groups(asked: list[str]) -> None:
    with session(3) as here, session(5) as there:
        for number in (3, 4, 5):
            assert here.sql(HAVING, epsilon=Fraction(1, number)).to_arrow().num_rows == 4
        assert len(asked) == 1
        assert there.sql(HAVING, epsilon=1).to_arrow().num_rows == 6  # of the same words, over other groups
        assert len(asked) == 2


def test_sizes_of_many_statements_fill_no_memory(asked: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(banded, "MOST_SIZES", 2)
    with session(3) as here:
        for name in ("a", "b", "c"):
            here.sql(
                f"SELECT g, COUNT(*) AS {name} FROM v GROUP BY g HAVING COUNT(*) > 2", epsilon=Fraction(1, 9)
            )
    assert len(asked) == 3
    assert len(banded._sizes) <= 2


def test_a_size_of_other_groups_would_be_seen(asked: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The fault that the comparison of keys is there for, planted: a size is taken by the words alone."""
    monkeypatch.setattr(banded, "_known_size", lambda words, _: banded._sizes.get(words, ((), None))[1])
    with session(3) as here, session(5) as there:
        here.sql(HAVING, epsilon=1)
        there.sql(HAVING, epsilon=1)
    assert len(asked) == 1


def test_an_aggregate_without_a_node_of_its_own_has_no_bands(
    asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its name was taken for its argument: an error of Python, which was caught as a form that nobody thought of."""
    monkeypatch.setattr(banded, "_NO_FORM", NoBandsError)
    sql = "SELECT g, HISTOGRAM(n) AS v FROM (SELECT g, COUNT(*) AS n FROM v GROUP BY g) GROUP BY g ORDER BY v LIMIT 2"
    with session(3) as here:
        assert here.sql(sql, epsilon=1).without == ("g", "v")
    assert asked == []
