"""What is explained is what would be done: read off the plan, the same with the data gone."""

from __future__ import annotations

import json
import math
import xml.etree.ElementTree as ET
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet
from sqlglot import exp
from tests import inside, shared

from discreet.errors import QueryRefused
from discreet.rational import show
from discreet.session import Session
from discreet.sql.algebra.catalog import Catalog
from discreet.sql.dialects import DIALECTS, named
from discreet.sql.inspect.diagram import DiagramNode, draw
from discreet.sql.inspect.explain import explain
from discreet.sql.plan.planner import plan

VISITS = pa.table(
    {
        "patient": [1, 1, 2, 3],
        "age": [30, 30, 64, 8],
        "cost": [10.0, 20.5, 7.25, 99.0],
        "county": ["A", "B", "A", "B"],
    }
)
COUNTIES = pa.table({"county": ["A", "B", "C"], "region": ["north", "north", "south"]})
QUESTION = """
    SELECT county, age // 10 AS decade, COUNT(*) AS n, AVG(cost) AS cost, SUM(age) AS years
    FROM visits WHERE age >= 18 AND lower(county) LIKE 'a%' GROUP BY county, decade ORDER BY n DESC
"""


def _session(source: object = None, **changed: object) -> Session:
    given: dict[str, Any] = {
        "table": "visits", "privacy_unit": "patient", "max_rows": 3, "budget": 2, "public": ["counties"],
        "bounds": {"age": (0, 99), "cost": (0, 500)}, "keys": {"county": "counties.county"}, **changed,
    }  # fmt: skip
    return shared.protect(source or {"visits": VISITS, "counties": COUNTIES}, **given)


def _found(tree: Any, kind: str) -> list[dict[str, Any]]:
    own = [tree] if tree["kind"] == kind else []
    return own + [one for child in tree.get("from", []) for one in _found(child, kind)]


def test_every_integer_is_that_of_the_plan() -> None:
    session = _session(neighbours="replace_one")
    seen = session.explain(QUESTION, epsilon=0.5).to_dict()
    (release,) = _found(seen["plan"], "release")
    made = plan(QUESTION, inside.catalog_of(session), Fraction(1, 2)).releases[0]
    assert (
        release["groups"] == made.cells == 9
    )  # of three counties one begins with an a, and nobody is below 10
    assert [key["values"] for key in release["key"]] == [1, 9]
    assert len(release["measure"]) == len(made.measures)
    for at, (told, measure) in enumerate(zip(release["measure"], made.measures, strict=True)):
        assert told["entries"] == measure.entries
        assert told["row_sensitivity"] == measure.row_sensitivity
        assert told["sensitivity"] == made.sensitivity(measure) == 2 * 3 * measure.row_sensitivity
        assert told["epsilon"] == show(made.shares[at], 12)
        assert told["scale"] == float(made.scale(at))
        if measure.grid is not None:
            assert (told["step"], told["levels"]) == (float(measure.grid.step), measure.grid.levels)
    assert sum(made.shares) == Fraction(1, 2)
    assert [(o["columns"], o["measure"]) for o in release["output"]] == [
        ([name], aggregate.measure + 1)
        for name, aggregate in zip(("n", "cost", "years"), made.aggregates, strict=True)
    ]


def test_the_noise_of_an_output_is_that_of_the_preview() -> None:
    # At 1 - e^-1 the interval of one Laplace variable is as wide as its scale, and its deviation sqrt(2) times that.
    session = _session()
    (release,) = _found(
        session.explain("SELECT SUM(cost) AS c FROM visits", epsilon=0.1).to_dict()["plan"], "release"
    )
    half = session.preview("SELECT SUM(cost) AS c FROM visits", 0.1, confidence=1 - math.exp(-1)).errors["c"]
    assert release["output"][0]["standard_deviation"] == pytest.approx(math.sqrt(2) * half, rel=1e-6)


def test_the_text_names_scopes_unit_bounds_keys_and_conditions() -> None:
    text = repr(_session().explain(QUESTION))
    for words in (
        "post-processing", "release __release_1", "private table visits", "at most 3 rows of each patient",
        "age: clamped to 0 … 99", "county: 3 keys from the public table counties.county: 'A', 'B', 'C'",
        "age >= 18 AND lower(county) LIKE 'a%'", "age // 10: 9 values", "n = COUNT(*) ← measure 1", "ORDER BY",
    ):  # fmt: skip
        assert words in " ".join(text.replace("│", " ").split()), words
    assert all(len(line) <= 120 for line in text.splitlines())


def test_a_public_question_reads_nothing_private() -> None:
    seen = _session().explain("SELECT region, COUNT(*) AS n FROM counties GROUP BY region").to_dict()
    assert seen["plan"]["kind"] == "public"  # type: ignore[index, call-overload]
    assert _found(seen["plan"], "release") == []
    assert [t["rows"] for t in _found(seen["plan"], "public table")] == [3]


def test_releases_in_ctes_and_public_tables_beside_them_are_all_there() -> None:
    seen = _session().explain(
        "WITH n AS (SELECT county, COUNT(*) AS n FROM visits GROUP BY county) "
        "SELECT region, SUM(n) AS n FROM n JOIN counties USING (county) GROUP BY region"
    )
    kinds = [node.kind for node in seen.root.walk()]
    assert kinds[0] == "post-processing"
    assert {"release", "private table", "public table"} <= set(kinds)


def test_what_is_dropped_is_said_and_what_is_not() -> None:
    session = _session()
    assert "at most 3 rows of each patient, the others are dropped" in repr(
        session.explain("SELECT AVG(age) FROM visits")
    )
    people = (
        "SELECT AVG(n) FROM (SELECT patient, clamp(COUNT(*), 0, 9) AS n FROM visits GROUP BY patient) AS p"
    )
    text = repr(session.explain(people))
    assert "each patient has at most 1 row, so none is dropped" in text
    assert "per-unit" in text


def test_the_limits_of_a_question_are_those_explained() -> None:
    text = repr(_session().explain("SELECT AVG(age) FROM visits", max_rows=7))
    assert "at most 7 rows of each patient, the others" in text


def test_the_engine_sql_is_shown_without_the_salt() -> None:
    session = _session()
    salt = session.ledger.salt("the data set")
    seen = session.explain(QUESTION, sql=True)
    (queries,) = seen.engine_sql.values()
    assert 'FROM "visits"' in queries[0]
    assert str(salt) not in repr(seen)
    assert session.explain(QUESTION).engine_sql == {}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_sql_of_every_dialect_is_shown(dialect: str) -> None:
    session = _session()
    made = plan(QUESTION, inside.catalog_of(session), Fraction(1))
    shown = repr(explain(made, inside.catalog_of(session), session.policy, sql=True, dialect=dialect))
    assert shown.count("-- __release_1") == 1
    # As sqlglot writes names, which for ClickHouse is another of its two ways.
    assert exp.to_identifier("visits", quoted=True).sql(named(dialect).parser) in shown


def test_it_touches_no_data_and_charges_nothing(tmp_path: Path) -> None:
    parquet.write_table(VISITS, tmp_path / "visits.parquet")
    session = _session(str(tmp_path / "visits.parquet"), table=None, public=(), keys={"county": ["A", "B"]})
    (tmp_path / "visits.parquet").unlink()
    assert "release" in repr(session.explain(QUESTION))
    assert session.budget.spent == 0
    assert session.ledger.entries() == []


def test_what_is_refused_is_refused_here_too() -> None:
    with pytest.raises(QueryRefused):
        _session().explain("SELECT * FROM visits")
    with pytest.raises(QueryRefused):
        _session().explain("SELECT COUNT(*) AS n, MAX(nothing) OVER () FROM visits")


def test_json_and_picture_are_well_formed() -> None:
    seen = _session().explain(QUESTION + " -- <&>")
    assert json.loads(json.dumps(seen.to_dict(), allow_nan=False))["epsilon"] == "1"
    root = ET.fromstring(seen.to_svg())
    boxes = root.findall(".//{*}rect")
    assert len(boxes) == len(list(seen.root.walk())) + 1  # and the background
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    for box in boxes:
        assert (
            0
            <= float(box.attrib.get("x", 0))
            <= float(box.attrib.get("x", 0)) + float(box.attrib["width"])
            <= width
        )
        assert float(box.attrib.get("y", 0)) + float(box.attrib["height"]) <= height
    assert seen._repr_html_() == seen.to_svg()


def test_a_tree_is_drawn_with_its_branches() -> None:
    tree = DiagramNode(
        "a", "", (), (DiagramNode("b", "x", (), (DiagramNode("c", "y"),)), DiagramNode("d", "z"))
    )
    assert draw(tree).splitlines() == ["a", "├─ b x", "│  └─ c y", "└─ d z"]


def test_the_catalog_is_all_it_knows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: an engine that cannot be asked anything."""
    session = _session()
    monkeypatch.setattr(type(inside.engine_of(session)), "_run", None)
    assert isinstance(inside.catalog_of(session), Catalog)
    assert repr(session.explain(QUESTION))


@pytest.mark.parametrize("cell", ["grid(age, cost, 10)", "grid(age, cost, 0.5, 20)"])
def test_a_cell_of_a_grid_is_shown_as_it_can_be_asked(cell: str) -> None:
    shown = repr(_session().explain(f"SELECT COUNT(*) AS n FROM visits JOIN counties ON {cell} = region"))
    cell = cell.replace("age", "visits.age").replace("cost", "visits.cost")
    assert f"{cell} = " in shown
