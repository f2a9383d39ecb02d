"""A client that can only send text: the price in the statement, EXPLAIN and DESCRIBE of a query."""

from __future__ import annotations

from fractions import Fraction

import pyarrow as pa
import pytest
from tests import shared

import discreet as dp
from discreet.errors import InvalidParameter, QueryRefused

TABLE = pa.table({"who": [1, 1, 2], "age": [30, 40, 50], "town": ["a", "b", "a"]})


@pytest.fixture
def session() -> dp.Session:
    return shared.protect(
        TABLE, privacy_unit="who", max_rows=2, bounds={"age": (0, 120)}, keys={"town": ["a", "b"]},
        budget=dp.Budget(epsilon=10, delta=Fraction(1, 100)),
    )  # fmt: skip


PRICED = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.25{more}) COUNT(*) AS n FROM data"


def test_the_price_of_the_text_is_charged(session: dp.Session) -> None:
    release = session.sql(
        PRICED.format(more=", delta = 1e-9, max_rows_contributed = 1, privacy_unit_column = who")
    )
    assert (session.budget.spent, release.columns) == (Fraction(1, 4), ["n"])
    again = session.sql("SELECT COUNT(*) AS n FROM data", epsilon=0.25, max_rows=1)
    assert (session.budget.spent, again.to_arrow()) == (Fraction(1, 4), release.to_arrow())


def test_it_may_stand_in_a_sub_query_and_is_that_of_the_whole(session: dp.Session) -> None:
    session.sql(f"WITH one AS ({PRICED.format(more='')}) SELECT n / 2 AS half FROM one")
    assert session.budget.spent == Fraction(1, 4)


def test_the_same_is_said_for_a_preview_an_explanation_and_a_file(
    session: dp.Session, tmp_path: object
) -> None:
    text = PRICED.format(more="")
    assert session.preview(text).epsilon == Fraction(1, 4)
    assert "epsilon  0.25" in repr(session.explain(text))
    session.write(text, None, f"{tmp_path}/answer.csv")  # type: ignore[arg-type]
    assert session.budget.spent == Fraction(1, 4)


def test_groups_are_found_for_the_delta_of_the_text(session: dp.Session) -> None:
    options = "OPTIONS (epsilon = 1, delta = 1e-9, max_groups_contributed = 1)"
    session.sql(
        f"SELECT WITH DIFFERENTIAL_PRIVACY {options} who % 7 AS k, COUNT(*) AS n FROM data GROUP BY 1"
    )
    assert session.budget.spent == 1


@pytest.mark.parametrize(
    ("text", "given", "error", "words"),
    [
        (PRICED.format(more=""), {"epsilon": 1}, InvalidParameter, "one number in the call and another"),
        (PRICED.format(more=", max_rows_contributed = 1"), {"max_rows": 2}, InvalidParameter, "max_rows is one number"),
        (PRICED.format(more=", epsilon = 1"), {}, QueryRefused, "twice"),
        (PRICED.format(more=", privacy_unit_column = town"), {}, QueryRefused, "no privacy unit town"),
        (PRICED.format(more=", min_privacy_units_per_group = 3"), {}, QueryRefused, "follows from epsilon"),
        (PRICED.format(more=", colour = 3"), {}, QueryRefused, "no option colour"),
        (PRICED.format(more=", delta = 1 + 1"), {}, QueryRefused, "a name and a literal"),
        (PRICED.format(more=", delta = 'x'"), {}, InvalidParameter, "delta"),
        (f"SELECT 1 FROM ({PRICED.format(more='')}) AS a, ({PRICED.format(more='')}) AS b", {}, QueryRefused, "two"),
        ("SELECT WITH DIFFERENTIAL_PRIVACY COUNT(*) AS n FROM data", {}, InvalidParameter, "epsilon is missing"),
        ("SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1 COUNT(*) FROM data", {}, QueryRefused, "and a literal"),
        ("SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1", {}, QueryRefused, "not closed"),
        ("SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS epsilon = 1 COUNT(*) FROM data", {}, QueryRefused, "Parentheses"),
        ("EXPLAIN ANALYZE SELECT COUNT(*) FROM data", {}, QueryRefused, "would run"),
        ("EXPLAIN SELECT nothing FROM data", {}, QueryRefused, "nothing"),
        ("EXPLAIN SELECT COUNT(*) AS n FROM data", {"epsilon": 0}, InvalidParameter, "epsilon must be above zero"),
        ("EXPLAIN SELECT COUNT(*) AS n FROM data", {"max_rows": 0}, InvalidParameter, "max_rows"),
        ("DESCRIBE SELECT COUNT(*) AS n FROM data", {"epsilon": 0}, InvalidParameter, "epsilon must be above zero"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_it_is_said_and_costs_nothing(
    session: dp.Session, text: str, given: dict[str, object], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        session.sql(text, **given)  # type: ignore[arg-type]
    assert session.budget.spent == 0


def test_refusals_point_at_the_right_place(session: dp.Session) -> None:
    with pytest.raises(QueryRefused) as refused:
        session.sql(PRICED.format(more="").replace("COUNT(*)", "AVG(agee)"))
    assert refused.value.place == "agee"


def test_explain_is_the_explanation_line_by_line(session: dp.Session) -> None:
    query = "SELECT town, AVG(age) AS age FROM data WHERE town = 'a' GROUP BY town"
    lines = [row["plan"] for row in session.sql(f"EXPLAIN {query}", epsilon=1).to_arrow().to_pylist()]
    assert lines == repr(session.explain(query)).split("\n")
    shown = str(session.sql(f"EXPLAIN {query}", epsilon=1)).split("\n")
    assert shown[2 : len(lines) + 2] == [
        line.rstrip() for line in lines
    ]  # indented, and in no quotation marks
    assert session.budget.spent == 0


def test_describe_says_the_columns_of_an_answer(session: dp.Session) -> None:
    found = session.sql(
        "DESCRIBE SELECT town, COUNT(*) AS n, AVG(age) AS age, COUNT(*) > 3 AS many FROM data GROUP BY town;"
    ).to_arrow()
    assert [tuple(row.values()) for row in found.to_pylist()] == [
        ("town", "VARCHAR"), ("n", "BIGINT"), ("age", "DOUBLE"), ("many", "BOOLEAN"),
    ]  # fmt: skip
    assert session.budget.spent == 0
    assert len(session.sql("DESCRIBE data").to_arrow()) == 3
