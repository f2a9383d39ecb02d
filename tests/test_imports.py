"""Modules that load on first use: the names of packages, and what the help and a first answer leave alone."""

from __future__ import annotations

import gc
import importlib.util
import subprocess
import sys

import pytest

import discreet.accounting
import discreet.mechanisms
import discreet.planning
import discreet.session
from discreet.imports import loading

PACKAGES = [discreet.accounting, discreet.mechanisms, discreet.planning, discreet.session]


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.__name__)
def test_every_name_is_there_and_is_shown(package: object) -> None:
    names = package.__all__  # type: ignore[attr-defined]
    assert all(getattr(package, name) is not None for name in names)
    assert set(names) <= set(dir(package))


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.__name__)
def test_a_name_that_is_not_there(package: object) -> None:
    with pytest.raises(AttributeError, match="has no attribute 'Laplaze'"):
        package.Laplaze  # type: ignore[attr-defined]  # noqa: B018


def test_a_module_is_loaded_when_it_is_named() -> None:
    code = (
        "import sys, discreet.planning as planning\n"
        "assert 'discreet.planning.schedules' not in sys.modules\n"
        "planning.Schedule\n"
        "assert 'discreet.planning.schedules' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def alone(code: str) -> None:
    """Run code in a process of its own: among all that tests have loaded, a look at every object takes a second."""
    subprocess.run([sys.executable, "-c", f"{ALONE}{code}"], check=True)


ALONE = """\
import gc, sys
from types import ModuleType
from discreet.imports import loading
gc.unfreeze()  # Python 3.12 begins with some objects of its own frozen
"""


def test_what_is_made_while_modules_load_is_old_at_once() -> None:
    alone("""\
with loading():
    sys.modules["a_module_that_loads"] = ModuleType("a_module_that_loads")
    assert not gc.isenabled()
    made = [[] for _ in range(1000)]
assert gc.isenabled()
young = {id(one) for generation in (0, 1) for one in gc.get_objects(generation)}
assert young.isdisjoint(map(id, made))
assert gc.get_freeze_count() == 0
""")


def test_garbage_is_still_found_where_nothing_was_left_to_load() -> None:
    """Sessions are opened again and again; the oldest generation is looked through only as it grows by itself."""
    alone("""\
gc.collect(0)  # the next look is far enough away for the hundred
made = [[] for _ in range(100)]
assert {id(one) for one in gc.get_objects(2)}.isdisjoint(map(id, made))
with loading():
    import discreet.imports
assert {id(one) for one in gc.get_objects(2)}.isdisjoint(map(id, made))
assert gc.isenabled()
""")


def test_objects_that_somebody_froze_stay_frozen() -> None:
    alone("""\
from unittest import mock
gc.collect()
gc.freeze()
before, thawed = gc.get_freeze_count(), []
with mock.patch.object(gc, "unfreeze", lambda: thawed.append("all")), loading():
    sys.modules["a_module_that_loads"] = ModuleType("a_module_that_loads")
assert not thawed
assert gc.get_freeze_count() > before / 2 > 0
""")


def test_a_collector_that_was_off_stays_off() -> None:
    gc.disable()
    try:
        with loading():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


HELP = """\
import sys
from discreet.cli import main
sys.argv = ["discreet", *{arguments!r}]
try:
    main()
finally:
    print(*(name for name in sys.modules if name.startswith("discreet.cli.")), file=sys.stderr)
"""
LISTED = {
    "app", "commands", "commands.completion", "failure",
    "terminal", "terminal.signals", "terminal.standard_streams",
}  # fmt: skip
"""The modules that list the commands. No command is among them but the one that the Tab key asks."""


def loaded(code: str) -> set[str]:
    """The names that a process prints on stderr as it ends."""
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return set(done.stderr.split())


def test_the_help_loads_no_command() -> None:
    assert loaded(HELP.format(arguments=["--help"])) == {f"discreet.cli.{name}" for name in LISTED}


def test_a_command_loads_no_other() -> None:
    names = loaded(HELP.format(arguments=["tables", "--help"]))
    assert {name for name in names if name.startswith("discreet.cli.commands.")} == {
        "discreet.cli.commands.completion", "discreet.cli.commands.tables"
    }  # fmt: skip


ANSWER = """\
import sys
import discreet as dp, pyarrow as pa
rows = pa.table({"who": range(100), "part": ["a", "b"] * 50, "age": range(100)})
with dp.protect(rows, table="rows", privacy_unit="who", max_rows=1, bounds={"age": (0, 99)}, keys={"part": ["a", "b"]},
                budget=9, ledger=":memory:") as session:
    session.sql("SELECT part, COUNT(*) AS n, AVG(age) AS age FROM rows WHERE age < 50 GROUP BY part", epsilon=1)
print(*(name for name in sys.modules if name.startswith("discreet.")), file=sys.stderr)
"""
LATER = """
accounting.personal engines.duckdb.sources.csv engines.duckdb.sources.csv_text engines.duckdb.sources.mended
engines.spilling ledger.postgres ledger.postgres.address ledger.terms mechanisms.numeric.gaussian_vector
mechanisms.ranks mechanisms.ranks.quantile mechanisms.ranks.sparse_counts mechanisms.ranks.surrounded_quantile
planning planning.information planning.marginal_shares planning.marginals planning.ranges
planning.ranges.factors planning.ranges.families planning.ranges.lengths planning.ranges.pieces planning.read
planning.saturating release.cards release.cards.card release.cut_share release.shown
session.sources.ledger_place session.sources.policy_sources sql.algebra.personal sql.algebra.public_data
sql.analyze.binding.branch_values sql.analyze.binding.clamped_moments sql.analyze.binding.date_forms
sql.analyze.binding.list_forms sql.analyze.binding.multiplied_intervals sql.analyze.binding.pattern_forms
sql.analyze.binding.place_forms sql.analyze.joins.asof sql.analyze.joins.joins sql.analyze.joins.multiplicity
sql.analyze.joins.outer_joins sql.analyze.joins.released sql.analyze.pivots
sql.analyze.row_scope sql.analyze.subqueries.correlated
sql.analyze.subqueries.lookups sql.analyze.subqueries.public_exists sql.analyze.subqueries.released_tables
sql.analyze.units.scope sql.dialects.clickhouse sql.dialects.postgres sql.dialects.spark sql.finish.blockwise
sql.finish.cut_off sql.finish.shaping sql.inspect.diagram
sql.intervals.ratio sql.intervals.simulated_quantiles sql.intervals.simulation
sql.intervals.simulation.parts sql.intervals.simulation.repeated sql.intervals.simulation.rewrite
sql.intervals.simulation.simulated sql.lower.discovery sql.lower.people.by_class sql.measures.near_leaves
sql.plan.cut_off sql.plan.people sql.plan.people.by_class sql.plan.people.class_plan sql.plan.people.sampled
sql.plan.people.wording sql.plan.quantile_choice sql.plan.recalled sql.plan.workloads
sql.plan.workloads.estimated sql.plan.workloads.linear sql.plan.workloads.pieced sql.plan.workloads.places
sql.plan.workloads.series_law
"""
"""The modules that a simple question over DuckDB does not need. Each was a part of the time of every first answer."""


def test_a_first_answer_loads_what_it_needs() -> None:
    later = {f"discreet.{name}" for name in LATER.split()}
    assert all(importlib.util.find_spec(name) for name in later)  # a name that is gone would hold nothing
    assert loaded(ANSWER) & later == set()
