"""What a notebook shows, in a real kernel: with ipywidgets and without, and never with a network."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.depth import DEEP
from tests.session.kernel import WITHOUT_WIDGETS, Kernel, kernel

from discreet.session.waiting.progress_line import in_notebook

OPEN = """
import pyarrow as pa, discreet as dp
table = pa.table({"age": [31, 47, 62], "city": ["Bath", "Ely", "Ely"]})
session = dp.protect(table, privacy_unit="row", budget=50, bounds={"age": (0, 100)}, keys={"city": ["Bath", "Ely"]})
"""
SLOW = """
import threading
from discreet.session import queries as module
from discreet.session.waiting import progress_line as notebook
notebook.DELAY, seen = 0.01, threading.Event()
def show(self, said, old=notebook._Line._show):
    old(self, said)
    if "reading" in said:
        seen.set()
def slow(self, plan, draw, old=module.Queries.run):
    assert seen.wait(30)
    return old(self, plan, draw)
notebook._Line._show, module.Queries.run = show, slow
"""
FAST = """
notebook._Line._show, module.Queries.run = show.__defaults__[0], slow.__defaults__[0]
notebook.DELAY = 1.0
"""


@pytest.fixture(scope="module")
def started() -> Iterator[Kernel]:
    """One for all, as a kernel takes seconds to start. DuckDB looks for ipywidgets anew until it has found them."""
    with kernel() as one:
        one.run(WITHOUT_WIDGETS)
        yield one


@pytest.fixture(scope="module", params=["without ipywidgets", "with ipywidgets"])
def opened(request: pytest.FixtureRequest, started: Kernel) -> Kernel:
    if request.param == "with ipywidgets":
        shown = started.run("del sys.modules['ipywidgets']\nimport ipywidgets")
        assert shown.error == "", shown.traceback
    shown = started.run(OPEN)
    assert shown.error == "", shown.traceback
    return started


def test_a_question_is_answered(opened: Kernel) -> None:
    shown = opened.run("session.sql('SELECT COUNT(*) AS n FROM data', 1)")
    assert shown.error == "", shown.traceback
    assert "1 row" in shown.bundles[-1]["text/plain"]


@pytest.mark.parametrize("opened", ["without ipywidgets"], indirect=True)
def test_the_fault_without_widgets_is_that_of_duckdb(opened: Kernel) -> None:
    """Planted: what was set before without a look, and still cannot be set there."""
    opened.run("import duckdb; from discreet.engines.duckdb import connection")
    shown = opened.run("connection.connect().execute('SET enable_progress_bar = false')")
    assert "ipywidgets" in shown.traceback


def test_duckdb_shows_no_bar_of_its_own(opened: Kernel, request: pytest.FixtureRequest) -> None:
    shown = opened.run("""
from discreet.engines.duckdb.connection import connect, make_total
import duckdb
guest, plain = duckdb.connect(), duckdb.connect()
make_total(guest)
[one.execute("SELECT current_setting('enable_progress_bar')").fetchone()[0] for one in (connect(), guest, plain)]
""")
    shows = request.node.callspec.params["opened"] == "with ipywidgets"  # DuckDB, left to itself
    assert shown.bundles[-1]["text/plain"] == f"[False, False, {shows}]"


def test_a_slow_question_says_how_far_it_is_and_takes_the_line_away_again(opened: Kernel) -> None:
    shown = opened.run(SLOW + "session.sql('SELECT COUNT(*) AS n FROM data', '1.5')")
    assert shown.error == "", shown.traceback
    opened.run(FAST)
    lines = [bundle["text/plain"] for bundle in shown.bundles]
    assert any("reading the data" in line for line in lines)
    assert lines[-2] == ""
    assert "1 row" in lines[-1]


def test_outside_a_notebook_nothing_is_shown() -> None:
    assert not in_notebook()


# A deep run: without ipywidgets as well, which are not asked for a refusal.
@pytest.mark.parametrize("opened", ["with ipywidgets", "without ipywidgets"][: 1 + DEEP], indirect=True)
def test_a_refusal_is_a_short_message_with_the_caret(opened: Kernel) -> None:
    for code, ends in (
        ("session.sql('SELECT age FROM data', 1)", "Aggregate them, for instance SELECT COUNT(*) FROM …"),
        ("session.sql('SELECT COUNT(*) AS n FROM data', 1000)", "larger budget."),
        ("session.preview('SELECT COUNT(*) AS n FROM data')", 'within={"n": 50}.'),
        ("dp.protect(table, privacy_unit='row')", "the epsilon that may ever be spent."),
    ):
        shown = opened.run(code)
        assert shown.error
        lines = shown.traceback.split("\n")
        assert len(lines) <= 6, shown.traceback
        assert lines[0].startswith(shown.error)
        assert any(line.removesuffix(" Nothing was charged.").endswith(ends) for line in lines), (
            shown.traceback
        )
    shown = opened.run("session.sql('SELECT age FROM data', 1)")
    assert "^^^" in shown.traceback


def test_everything_has_html(opened: Kernel) -> None:
    for code, words in (
        ("session", "epsilon"), ("session.policy", "Policy"), ("session.budget", "left of 50"),
        ("session.preview('SELECT COUNT(*) AS n FROM data', 1)", "nothing was read"),
        ("session.sql('SELECT COUNT(*) AS n FROM data', 1)", "<th"),
        ("session.sql('SELECT COUNT(*) AS n FROM data', 1).card()", "Privacy"),
        ("session.explain('SELECT COUNT(*) AS n FROM data')", "<svg"),
    ):  # fmt: skip
        shown = opened.run(code)
        assert shown.error == "", shown.traceback
        assert words in shown.bundles[-1]["text/html"]
        assert "text/plain" in shown.bundles[-1]


def test_a_picture_is_drawn_here_and_loads_nothing(opened: Kernel) -> None:
    shown = opened.run("session.sql('SELECT city, COUNT(*) AS n FROM data GROUP BY city', 1).plot()")
    assert shown.error == "", shown.traceback
    bundle = shown.bundles[-1]
    assert set(bundle) == {"image/svg+xml", "text/plain"}
    picture = bundle["image/svg+xml"]
    assert picture.startswith("<svg")
    names = (
        "http://www.w3.org/2000/svg",
        "http://www.w3.org/1999/xlink",
    )  # of namespaces, which nobody fetches
    for name in names:
        picture = picture.replace(name, "")
    assert "http" not in picture
    assert "<script" not in picture
    assert "@import" not in picture


def test_the_fault_in_pictures_is_that_of_altair(opened: Kernel) -> None:
    """Planted: Altair's own way to show itself, with the network in it."""
    shown = opened.run("""
import altair as alt
alt.Chart(alt.Data(values=[{"n": 1}])).mark_bar().encode(x="n:Q")
""")
    assert any("cdn" in text for text in shown.bundles[-1].values())


def test_a_release_hands_itself_over(opened: Kernel) -> None:
    shown = opened.run("""
import pandas as pd, polars as pl, duckdb
release = session.sql('SELECT city, COUNT(*) AS n FROM data GROUP BY city ORDER BY city', 1)
rows = [list(one) for one in (pl.DataFrame(release)["city"], pd.DataFrame(release)["city"],
    pd.DataFrame.from_arrow(release)["city"], release["city"], [row["city"] for row in release])]
rows.append([city for (city,) in duckdb.sql("SELECT city FROM release").fetchall()])
rows.append([release[0]["city"], release[-1]["city"]])
assert all(one == ["Bath", "Ely"] for one in rows), rows
""")
    assert shown.error == "", shown.traceback
