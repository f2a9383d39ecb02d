"""What would mislead is said beside the numbers."""

from __future__ import annotations

import datetime as dt
import re
from fractions import Fraction

import pyarrow as pa
import pytest
from tests import inside, shared

import discreet as dp
from discreet.release import shown
from discreet.release.answer import Release
from discreet.sql.inspect import misleading
from discreet.sql.inspect.misleading import misled
from discreet.sql.intervals import simultaneous as together
from discreet.sql.intervals.simulation import repeated

ROWS = pa.table({
    "who": [1, 1, 2, 3, None], "year": [2013, 2013, 2014, None, 2013], "age": [31, 47, 62, 5, 6],
    "city": ["Bath", "Ely", None, "Ely", "Ely"], "code": [10_117, 10_117, 10_118, 10_119, 10_119],
})  # fmt: skip
TOP = "SELECT code, COUNT(*) AS n FROM data GROUP BY code ORDER BY n DESC LIMIT 3"


@pytest.fixture
def session() -> dp.Session:
    return shared.protect(
        ROWS, privacy_unit="who", max_rows=2, budget=dp.Budget(epsilon=10_000, delta=1e-6),
        bounds={"year": (2010, 2019), "age": (0, 120), "code": (10_000, 10_499)}, keys={"city": ["Bath", "Ely"]},
    )  # fmt: skip


def test_years_and_codes_print_without_separators(session: dp.Session) -> None:
    text = repr(session.sql("SELECT year, 100000 * (3 + COUNT(*)) AS n FROM data GROUP BY year", 100))
    assert "2013  " in text
    assert "2,013" not in text
    assert re.search(r"-?\d,\d{3} ± ", text), "what is counted keeps them"
    assert ">2013<" in session.sql("SELECT year, COUNT(*) AS n FROM data GROUP BY year", 1)._repr_html_()
    assert shown.exact_text(dt.date(2024, 1, 31)) == "2024-01-31"


def test_a_maximum_says_which_quantile_it_is(session: dp.Session) -> None:
    sql = "SELECT year, MAX(age) AS oldest, MIN(age) AS least, MAX(age) - MIN(age) AS span FROM data GROUP BY year"
    release = session.sql(sql, 10)
    assert release.meanings == {
        "oldest": "99 % quantile", "least": "1 % quantile", "span": "from the 99 % quantile"
    }  # fmt: skip
    for said in (repr(release), release._repr_html_(), repr(session.preview(sql, 10))):
        assert "oldest (99 % quantile)" in said
    assert release.plot(measure="oldest").to_dict()["title"]["text"] == "oldest (99 % quantile) by year"
    nested = session.sql("SELECT 1 + m AS more FROM (SELECT MAX(age) AS m FROM data)", 10)
    assert any("99 % quantile" in note for note in nested.notes)
    assert session.sql("SELECT MEDIAN(age) AS m FROM data", 10).meanings == {}


def test_a_number_without_an_interval_says_so_beside_it(
    session: dp.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    from discreet.sql.intervals.bands import banded
    from discreet.sql.intervals.simulation import simulated

    monkeypatch.setattr(simulated, "MOST_DRAWN", 0)
    monkeypatch.setattr(banded, "MOST_BANDED_GROUPS", 0)
    release = session.sql("SELECT year, COUNT(*) / (1000.5 + SUM(age)) AS share FROM data GROUP BY year", 10)
    assert release.without == ("share",)
    assert all(line.endswith("± ?") for line in repr(release).split("\n")[2:12])
    assert "± ? is noise for which no interval could be derived" in repr(release)
    assert "± covers" not in repr(release)
    assert Release.from_bytes(release.to_bytes()).without == ("share",)


def test_nulls_that_are_dropped_are_named(session: dp.Session) -> None:
    notes = session.sql("SELECT year, COUNT(*) AS n FROM data GROUP BY year", 1).notes
    assert "rows whose privacy unit is NULL, which are dropped" in notes
    assert "rows whose group is NULL or not among the public keys, which are dropped" in notes
    found = shared.protect(ROWS.select(["code"]), privacy_unit="row", budget=dp.Budget(epsilon=9, delta=1e-6))
    notes = found.sql("SELECT code, COUNT(*) AS n FROM data GROUP BY code", 1, delta=1e-7).notes
    assert "rows whose group is NULL, which are dropped" in notes
    assert not any("unit is NULL" in note for note in notes)
    assert not any("NULL" in note for note in session.sql("SELECT COUNT(*) AS n FROM data", 1).notes[2:])


@pytest.mark.parametrize("sql", [
    TOP, TOP.replace("ORDER BY n", "ORDER BY 2"), TOP.replace("ORDER BY n", "ORDER BY COUNT(*)"),
    "SELECT code, SUM(age) AS n FROM data GROUP BY code ORDER BY SUM(age) LIMIT 5",
    "WITH c AS (SELECT code, COUNT(*) AS n FROM data GROUP BY code) SELECT * FROM c ORDER BY n DESC LIMIT 5",
])  # fmt: skip
def test_rows_that_noise_chose_come_with_a_warning(session: dp.Session, sql: str) -> None:
    release = session.sql(sql, 1)
    (warning,) = release.warnings
    assert "nois" in warning
    for said in (repr(release), release.card(), release._repr_html_()):
        assert warning[:40] in said.replace("\n", " ")
    assert Release.from_bytes(release.to_bytes()).warnings == release.warnings
    assert session.sql(sql, 1).warnings == release.warnings


def test_all_noise_is_told_from_some(session: dp.Session) -> None:
    """Scale 2 at epsilon 1: among 500 groups the noise stays within 18 with 95 %."""
    plan = inside.plan_of(session, TOP, Fraction(1))

    def warned(n: list[int], whole: bool = True) -> str:
        values = pa.table({"code": [10_117, 10_118, 10_119], "n": n})
        (warning,) = misled(plan, values, 0.95, whole)
        return warning

    assert "the noise alone could have made every n shown: among 500 groups it reaches ± 18" in warned(
        [18, 17, -9]
    )
    for some in (warned([190, 17, 9]), warned([18, 17, -9], whole=False)):
        assert "more extreme than the truth" in some
        assert "wider to allow for that" in some
    assert "wider" in warned([190, 17, 9])


@pytest.mark.parametrize("sql", [
    TOP.replace("ORDER BY n DESC", "ORDER BY code"), TOP.replace(" LIMIT 3", ""), TOP.replace("LIMIT 3", "LIMIT 500"),
    "SELECT COUNT(*) AS n FROM data ORDER BY n LIMIT 1",
])  # fmt: skip
def test_no_warning_where_noise_chooses_nothing(session: dp.Session, sql: str) -> None:
    assert session.sql(sql, 1).warnings == ()


def test_a_preview_warns_of_it_too(session: dp.Session) -> None:
    *_, warning = session.preview(TOP, 0.1, group_rows=100).warnings
    assert "noise will choose which 3 of 500 rows" in warning
    assert session.preview(TOP, 10, group_rows=100).warnings == ()


def test_a_check_that_sees_no_choice_is_caught(session: dp.Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(misleading, "selects", lambda plan: None)
    with pytest.raises(ValueError, match="unpack"):
        test_rows_that_noise_chose_come_with_a_warning(session, TOP)
    assert together.selects(inside.plan_of(session, TOP, Fraction(1))) == 3


@pytest.mark.parametrize(
    ("sql", "warned"),
    [
        ("SELECT year, COUNT(*) AS n FROM data GROUP BY year HAVING n > 1 ORDER BY year LIMIT 3", True),
        ("SELECT year, COUNT(*) AS n FROM data GROUP BY year HAVING COUNT(*) > 1 LIMIT 1", True),
        ("SELECT * FROM (SELECT year, COUNT(*) AS n FROM data GROUP BY year) WHERE n > 1 LIMIT 1", True),
        ("SELECT year, COUNT(*) AS n FROM data GROUP BY year HAVING COUNT(*) > 1 LIMIT 10", False),
        (
            "SELECT year, COUNT(*) AS n FROM data GROUP BY year HAVING year > 2011 ORDER BY year LIMIT 3",
            False,
        ),
    ],
)
def test_a_limit_behind_a_noisy_condition_says_so(
    session: dp.Session, sql: str, warned: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(repeated, "DRAWS", repeated.FEWEST)  # intervals are not looked at
    for found in (session.preview(sql, 1).warnings, session.sql(sql, 1).warnings):
        assert any("meet the condition" in one for one in found) is warned


GROUPED = "SELECT year, COUNT(*) AS n FROM data GROUP BY year"


@pytest.mark.parametrize(("sql", "warned"), [
    (f"{GROUPED} HAVING n > 1000", "which 0 of 10 rows meet the condition"),
    (f"SELECT * FROM ({GROUPED}) WHERE n > 1000", "which 0 of 10 rows meet the condition"),
    (f"{GROUPED} HAVING n > -1000", ""), (f"{GROUPED} HAVING year > 2011", ""), (GROUPED, ""),
])  # fmt: skip
def test_a_noisy_condition_that_left_rows_out_says_so(session: dp.Session, sql: str, warned: str) -> None:
    """Of 2 rows at epsilon 100 the noise is far from 1,000: its chance is below e^-40,000."""
    assert not any("meet the condition" in one for one in session.preview(sql, 100).warnings)
    assert all(warned in one for one in session.sql(sql, 100).warnings)
    assert bool(session.sql(sql, 100).warnings) is bool(warned)


@pytest.mark.parametrize(("sql", "warned"), [
    ("SELECT DISTINCT year FROM data", True), ("SELECT year FROM data GROUP BY year HAVING COUNT(*) > 0", True),
    (f"{GROUPED} HAVING n > 0", False), ("SELECT year FROM data GROUP BY year HAVING COUNT(*) > 5", False),
])  # fmt: skip
def test_a_list_of_groups_says_that_noise_decides_it(session: dp.Session, sql: str, warned: bool) -> None:
    """Before the price is paid, and beside the answer however many groups are listed."""
    for found in (session.preview(sql, 0.5).warnings, session.sql(sql, 0.5).warnings):
        assert any("groups are listed" in one for one in found) is warned
