"""Modules that load on first use: the names of packages, and what the help and a first answer leave alone."""

from __future__ import annotations

import importlib.util
import subprocess
import sys

import pytest

import discreet.accounting
import discreet.mechanisms
import discreet.planning
import discreet.session

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
engines.duckdb.sources.csv engines.duckdb.sources.mended engines.spilling
mechanisms.numeric.gaussian_vector mechanisms.ranks.quantile mechanisms.ranks.surrounded_quantile
planning.marginal_shares planning.ranges.lengths planning.ranges.pieces
release.shown session.sources.ledger_place session.sources.policy_sources
sql.analyze.joins.asof sql.analyze.joins.outer_joins sql.analyze.joins.released
sql.analyze.pivots sql.analyze.row_scope sql.analyze.subqueries.public_exists
sql.analyze.subqueries.released_tables sql.analyze.units.scope
sql.dialects.clickhouse sql.dialects.postgres sql.dialects.spark
sql.inspect.diagram sql.inspect.warnings sql.intervals.simulated_quantiles sql.intervals.simulation.rewrite
sql.lower.discovery sql.lower.people.by_class sql.plan.quantile_choice
sql.plan.workloads.places
"""
"""The modules that a simple question over DuckDB does not need. Each was a part of the time of every first answer."""


def test_a_first_answer_loads_what_it_needs() -> None:
    later = {f"discreet.{name}" for name in LATER.split()}
    assert all(importlib.util.find_spec(name) for name in later)  # a name that is gone would hold nothing
    assert loaded(ANSWER) & later == set()
