"""What a notebook shows, in a real kernel: with ipywidgets and without, and never with a network."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.session.kernel import WITHOUT_WIDGETS, Kernel, kernel

from discreet.session.notebook import in_notebook

OPEN = """
import pyarrow as pa, discreet as dp
table = pa.table({"age": [31, 47, 62], "city": ["Bath", "Ely", "Ely"]})
session = dp.protect(table, privacy_unit="row", budget=50, bounds={"age": (0, 100)}, keys={"city": ["Bath", "Ely"]})
"""
SLOW = """
import time
from discreet.session import session as module
def slow(self, plan, run=module.Session._run):
    time.sleep(1.5)
    return run(self, plan)
module.Session._run = slow
"""


@pytest.fixture(scope="module", params=["with ipywidgets", "without ipywidgets"])
def opened(request: pytest.FixtureRequest) -> Iterator[Kernel]:
    with kernel() as one:
        one.run("pass" if request.param == "with ipywidgets" else WITHOUT_WIDGETS)
        shown = one.run(OPEN)
        assert shown.error == "", shown.traceback
        yield one


def test_a_question_is_answered(opened: Kernel) -> None:
    shown = opened.run("session.sql('SELECT COUNT(*) AS n FROM data', 1)")
    assert shown.error == "", shown.traceback
    assert "1 row" in shown.bundles[-1]["text/plain"]
    assert len(shown.bundles) == 1, "a quick answer shows no progress"


def test_the_fault_without_widgets_is_that_of_duckdb() -> None:
    """Planted: what was set before without a look, and still cannot be set there."""
    with kernel() as one:
        one.run(WITHOUT_WIDGETS)
        one.run("import duckdb; from discreet.engines import connection")
        shown = one.run("connection.connect().execute('SET enable_progress_bar = false')")
    assert "ipywidgets" in shown.traceback


def test_duckdb_shows_no_bar_of_its_own(opened: Kernel) -> None:
    shown = opened.run("""
from discreet.engines.connection import connect, make_total
import duckdb
guest = duckdb.connect()
make_total(guest)
[one.execute("SELECT current_setting('enable_progress_bar')").fetchone()[0] for one in (connect(), guest)]
""")
    assert shown.bundles[-1]["text/plain"] == "[False, False]"


def test_a_slow_question_says_how_far_it_is_and_takes_the_line_away_again(opened: Kernel) -> None:
    shown = opened.run(SLOW + "session.sql('SELECT COUNT(*) AS n FROM data', '1.5')")
    assert shown.error == "", shown.traceback
    lines = [bundle["text/plain"] for bundle in shown.bundles]
    assert "reading the data" in lines[0]
    assert lines[-2] == ""
    assert "1 row" in lines[-1]


def test_outside_a_notebook_nothing_is_shown() -> None:
    assert not in_notebook()
