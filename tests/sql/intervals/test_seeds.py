"""An answer has the same intervals whenever, and wherever, they are made; draws are independent of the noise.

A ledger keeps the ends of the first answer, too, if its rows may come in any order. At another confidence than that, or
in other words, all intervals are made anew.
"""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from tests import inside

import discreet as dp
from discreet.engines.isolated.workers import isolated
from discreet.sql import intervals
from discreet.sql.finish.many_groups import IN_MEMORY
from discreet.sql.finish.postprocess import finish
from discreet.sql.intervals import closed_form, percentiles, seeds
from discreet.sql.intervals.simulation import noise_alone, simulated
from discreet.sql.lower.run import NoisyIntegers

FORMS = {
    "share by window": "SELECT k, 100.0 * COUNT(*) / SUM(COUNT(*)) OVER () AS v FROM t GROUP BY k",
    "ratio": "SELECT (SELECT COUNT(*) FROM t WHERE k = 'a') / (SELECT SUM(x) FROM t) AS v",
    "difference": "SELECT day, AVG(y) - LAG(AVG(y)) OVER (ORDER BY day) AS v FROM t GROUP BY day",
    "running total": "SELECT day, SUM(SUM(y)) OVER (ORDER BY day) / COUNT(*) AS v FROM t GROUP BY day",
    "having": "SELECT k, COUNT(*) * SUM(x) AS v FROM t GROUP BY k HAVING COUNT(*) > 20",
    "several quantiles": "SELECT k, QUANTILE_CONT(x, 0.75) - QUANTILE_CONT(x, 0.25) AS v FROM t GROUP BY k",
    "many quantiles": "SELECT MEDIAN(x) + QUANTILE_CONT(x, 0.9) - QUANTILE_CONT(x, 0.1) - QUANTILE_CONT(x, 0.2) "
    "- QUANTILE_CONT(x, 0.3) AS v FROM t",
    "of one group": "SELECT k, COUNT(*) * SUM(x) AS v FROM t GROUP BY k",
    "variance": "SELECT k, VAR_SAMP(x) AS v, CORR(x, y) AS c FROM t GROUP BY k",
    "rollup": "SELECT k, day, COUNT(*) / SUM(COUNT(*)) OVER () AS v FROM t GROUP BY ROLLUP (k, day)",
    "convex": "SELECT SUM(ABS(s - 700)) AS v FROM (SELECT k, SUM(y) AS s FROM t GROUP BY k)",
}  # fmt: skip
ENDS = dict[str, tuple[list[Any], list[Any]]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("seeds")
    rng = np.random.default_rng(5)
    columns = {
        "k": pa.array(rng.choice(["a", "b", "c"], 300)),
        "day": rng.integers(1, 13, 300),
        "x": rng.integers(0, 100, 300),
        "y": rng.random(300) * 10,
    }
    parquet.write_table(pa.table(columns), made / "t.parquet")
    return made


def opened(folder: Path) -> dp.Session:
    return dp.protect(
        folder / "t.parquet",
        privacy_unit="row",
        bounds={"x": (0, 100), "y": (0, 10)},
        keys={"k": ["a", "b", "c"], "day": list(range(1, 13))},
        budget=100,
        ledger=folder / "ledger",
    )


@pytest.fixture(scope="module")
def session(folder: Path) -> Iterator[dp.Session]:
    with opened(folder) as found:
        yield found


@pytest.fixture(scope="module")
def other(folder: Path) -> Iterator[dp.Session]:
    """Another session, which knows of an answer what the ledger keeps."""
    with opened(folder) as found:
        yield found


def ends(release: dp.Release) -> ENDS:
    return {name: (release.low[name].to_pylist(), release.high[name].to_pylist()) for name in release.low}


def asked(session: dp.Session, form: str, confidence: float = 0.95) -> ENDS:
    return ends(session.sql(FORMS[form], epsilon=1, confidence=confidence))


@pytest.fixture(scope="module")
def here(session: dp.Session) -> dict[str, ENDS]:
    """The ends of each form at 70 %, made in this process of the integers that the ledger keeps."""
    return {form: asked(session, form) and asked(session, form, 0.7) for form in FORMS}


@pytest.mark.parametrize("form", FORMS)
def test_a_replay_has_the_intervals_of_the_first_answer(
    session: dp.Session, other: dp.Session, form: str
) -> None:
    first = asked(session, form)
    assert "v" in first
    assert repr(asked(session, form)) == repr(first)
    assert repr(asked(other, form)) == repr(first)
    assert repr(ends(other.sql(f"  {FORMS[form]}", epsilon=1, confidence=0.95))) == repr(first)
    narrower = asked(session, form, 0.8)  # already of the integers that the ledger keeps
    assert "v" in narrower
    assert repr(asked(other, form, 0.8)) == repr(narrower)


def test_another_process_and_a_file_have_the_same_intervals(
    folder: Path, session: dp.Session, here: dict[str, ENDS]
) -> None:
    code = (
        "import json, pathlib, sys; from tests.sql.intervals import test_seeds as own\n"
        "with own.opened(pathlib.Path(sys.argv[1])) as session:\n"
        "    print(json.dumps({form: own.asked(session, form, 0.7) for form in own.FORMS}))"
    )
    there = subprocess.run(
        [sys.executable, "-c", code, str(folder)],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert json.loads(there.stdout) == json.loads(json.dumps(here))
    kept = session.sql(FORMS["share by window"], epsilon=1, confidence=0.7)
    assert ends(dp.Release.from_bytes(kept.to_bytes())) == here["share by window"]


def test_the_processes_of_a_service_give_the_same_intervals(
    session: dp.Session, here: dict[str, ENDS]
) -> None:
    with isolated(memory=384, count=1, seconds=20):
        assert {form: asked(session, form, 0.7) for form in FORMS} == here


def test_a_file_of_many_groups_has_the_intervals_of_an_answer_in_memory(tmp_path: Path) -> None:
    """A file is made block by block; the groups of the second block had no intervals."""
    groups = list(range(IN_MEMORY + 4000))
    data, there = pa.table({"k": [0, 1], "x": [2, 3]}), tmp_path / "answer.parquet"
    asked_for = "SELECT k, COUNT(*) * SUM(x) AS v FROM data GROUP BY k HAVING k % 8192 = 3"
    with dp.protect(data, privacy_unit="row", keys={"k": groups}, bounds={"x": (0, 9)}, budget=1) as session:
        session.write(asked_for, 1, there)
        kept = session.sql(asked_for, epsilon=1).to_arrow()
    assert len(kept) == 9
    assert kept["v_low"].null_count == 0
    assert parquet.read_table(there).to_pydict() == kept.to_pydict()


def test_a_higher_confidence_has_the_wider_interval(session: dp.Session) -> None:
    """The same draws stand behind both, so one lies in the other for certain."""
    for form in ("share by window", "difference", "several quantiles", "variance"):
        wide, narrow = asked(session, form)["v"], asked(session, form, 0.8)["v"]
        assert all(a is None or a <= b for a, b in zip(wide[0] + narrow[1], narrow[0] + wide[1], strict=True))


def test_the_writing_of_a_question_changes_no_interval(session: dp.Session) -> None:
    again = "SELECT k AS kind, (100.0 * COUNT(*)) / (SUM(COUNT(*)) OVER ()) AS v FROM t AS u GROUP BY k"
    assert ends(session.sql(again, epsilon=1))["v"] == asked(session, "share by window")["v"]


@pytest.mark.parametrize("form", ["variance", "several quantiles", "of one group"])
def test_a_group_has_its_interval_beside_whichever_groups(session: dp.Session, form: str) -> None:
    """Else whoever asks for this and that selection of groups finds a narrow one among many."""
    every = asked(session, form)["v"]
    for kept, place in (("k = 'b'", slice(1, 2)), ("k <> 'a'", slice(1, 3))):
        for sql in (f"SELECT k, v FROM ({FORMS[form]}) WHERE {kept}", f"{FORMS[form]} HAVING {kept}"):
            alone = ends(session.sql(sql, epsilon=1))["v"]
            assert alone == (every[0][place], every[1][place]), sql


@pytest.fixture(scope="module")
def crowded() -> Iterator[dp.Session]:
    """Of 250 groups, and of fractions: percentiles of whole numbers are equal by chance."""
    data, keys = pa.table({"k": [0, 1], "x": [2.5, 3.5]}), {"k": list(range(250))}
    with dp.protect(data, privacy_unit="row", keys=keys, bounds={"x": (0.0, 9.5)}, budget=1) as found:
        yield found


def ends_among_many(session: dp.Session, first: int) -> ENDS:
    """The ends of five groups, where the first groups are shown beside them.

    All 250 are more than can be drawn 4,000 times at once, as a tenth of the numbers can: 2,500 would take ten times as
    long.
    """
    shown = f"k % 50 = 3 OR k < {first} ORDER BY k % 50 <> 3, k"
    sql = f"SELECT k, COUNT(*) * SUM(x) AS v FROM data GROUP BY k HAVING {shown}"
    tenth = closed_form.MOST_NUMBERS // 10
    with (
        mock.patch.object(closed_form, "MOST_NUMBERS", tenth),
        mock.patch.object(simulated, "MOST_NUMBERS", tenth),
    ):
        found = ends(session.sql(sql, epsilon=1))
    return {name: (low[:5], high[:5]) for name, (low, high) in found.items()}


def test_a_group_of_hundreds_has_its_interval_beside_whichever_groups(crowded: dp.Session) -> None:
    few, some, every = (ends_among_many(crowded, first) for first in (0, 90, 250))
    assert few == some == every


@pytest.mark.parametrize("groups", [simulated.TOGETHER, simulated.TOGETHER + 1])
def test_columns_beside_change_no_interval(groups: int) -> None:
    """They are made of the same integers, for nothing; each number of draws would be one more interval to choose."""
    data, keys = pa.table({"k": [0, 1], "x": [2, 3]}), {"k": list(range(groups))}
    with dp.protect(data, privacy_unit="row", keys=keys, bounds={"x": (0, 9)}, budget=1) as session:
        beside = ("", ", AVG(x) AS a", ", AVG(x) AS a, VAR_POP(x) AS b, VAR_SAMP(x) AS c, STDDEV(x) AS d")
        asked = "SELECT k, STDDEV_POP(x) * AVG(x) AS v{more} FROM data GROUP BY k HAVING k < 9"
        found = [ends(session.sql(asked.format(more=more), epsilon=1))["v"] for more in beside]
        assert session.budget.left == 0
    assert found[0] == found[1] == found[2]


def test_the_groups_of_a_large_table_have_fewer_draws_however_many_are_shown() -> None:
    data, most = pa.table({"k": [0, 1], "x": [2, 3]}), closed_form.MOST_DRAWN // closed_form.DRAWS // 3
    shown = "SELECT k, STDDEV(x) AS v FROM data GROUP BY k HAVING k < {first}"
    for groups, draws in ((most, closed_form.DRAWS), (most + 1, closed_form.ALONE)):
        keys = {"k": list(range(groups))}
        with (
            dp.protect(data, privacy_unit="row", keys=keys, bounds={"x": (0, 9)}, budget=1) as session,
            mock.patch.object(closed_form, "drawn_alone", wraps=closed_form.drawn_alone) as drawn,
        ):
            few, some = (ends(session.sql(shown.format(first=first), epsilon=1))["v"] for first in (2, 40))
        assert {call.args[-1] for call in drawn.call_args_list} == {draws}
        assert few == (some[0][:2], some[1][:2])


def test_planted_draws_by_the_number_of_groups_shown_are_found(crowded: dp.Session) -> None:
    """With 5 groups shown a fifth of the draws, with 14 a fourteenth.

    An end among the fewer is an end among the more with a chance below 0.1 (that just enough of the others lie beyond
    it), and ten ends are compared: all are equal less often than once in 1e9 runs.
    """
    pieces = simulated._pieces

    def by_groups(plan: Any, confidence: float, only: Any) -> tuple[int, Any]:
        return pieces(plan, confidence, only)[0] // len(only), [only]

    with mock.patch.object(simulated, "_pieces", by_groups):
        few, some = (ends_among_many(crowded, first) for first in (0, 9))
    assert few != some


@pytest.mark.parametrize(
    ("module", "name", "form"),
    [
        (
            simulated,
            "seed_of_tables",
            "difference",
        ),  # not of counts: whole draws have equal percentiles by chance
        (noise_alone, "seed_of_tables", "convex"),
        (closed_form, "row_generator", "variance"),
    ],
)
def test_a_planted_unseeded_generator_is_found(
    session: dp.Session, module: Any, name: str, form: str
) -> None:
    chance: Mapping[str, Any] = {
        "seed_of_tables": lambda noisy: int.from_bytes(os.urandom(seeds.BYTES), "big"),
        "row_generator": lambda measure, entries: np.random.default_rng(),
    }
    first = asked(session, form) and asked(session, form, 0.6)
    with mock.patch.object(module, name, chance[name]):
        assert asked(session, form, 0.6) != first
    assert asked(session, form, 0.6) == first


CHANCE = {"random", "secrets", "uuid"}
"""Modules whose numbers come from nowhere."""


def unseeded(source: str) -> list[int]:
    """The lines that draw from something else than a seed."""
    lines = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import) and CHANCE & {item.name for item in node.names}:
            lines.append(node.lineno)
        if isinstance(node, ast.ImportFrom) and node.module in CHANCE:
            lines.append(node.lineno)
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        called, owner = node.func.attr, ast.unparse(node.func.value)
        seed = ast.unparse(node.args[0]) if node.args else "None"
        seedless = called in ("default_rng", "SeedSequence", "RandomState") and seed == "None"
        shared = owner == "np.random" and called.islower() and called != "default_rng"
        if seedless or shared or called == "urandom":
            lines.append(node.lineno)
    return lines


PARTS = ("finish", "intervals", "measures", "plan", "lower/workloads.py")
"""Of `discreet.sql`: all that makes intervals."""


def test_no_module_behind_intervals_draws_without_a_seed() -> None:
    root = Path(next(iter(intervals.__path__))).parent
    files = [
        file for part in PARTS for file in ([root / part] if "." in part else (root / part).rglob("*.py"))
    ]
    assert len(files) > 80
    found = {str(file.relative_to(root)): unseeded(file.read_text("utf-8")) for file in files}
    assert {name: lines for name, lines in found.items() if lines} == {}


@pytest.mark.parametrize(
    "line",
    [
        "rng = np.random.default_rng()",
        "rng = np.random.default_rng(None)",
        "seed = np.random.SeedSequence().entropy",
        "noise = np.random.laplace(0, 1, 5)",
        "import secrets",
        "from random import random",
        "seed = os.urandom(8)",
    ],
)
def test_a_planted_line_is_found(line: str) -> None:
    assert unseeded(f"import numpy as np\n{line}\nrng = np.random.default_rng([1, 2])\n") == [2]


def test_tables_that_look_alike_have_noise_of_their_own(session: dp.Session) -> None:
    """Two groups, and two tables, with the same integers: their difference has the noise of both."""
    question = "SELECT (SELECT COUNT(*) FROM t WHERE k = 'a') * 1.5 - (SELECT COUNT(*) FROM t WHERE k = 'b') * 1.5 AS v"
    groups = "SELECT n / LAG(n) OVER (ORDER BY k) AS v FROM (SELECT k, COUNT(*) AS n FROM t GROUP BY k)"
    for sql, least in ((question, 10), (groups, 0.01)):
        plan = inside.plan_of(session, sql, Fraction(1))
        noisy = [NoisyIntegers(release, np.full((release.cells, 1), 500)) for release in plan.releases]
        low, high = finish(plan, noisy, {}, 0.95).intervals["v"]
        assert high[-1] - low[-1] > least


def test_the_draws_are_independent_of_the_noise() -> None:
    """Intervals of known noise around known integers hold as often as they say, for each integer a seed of its own."""
    rng, draws = np.random.default_rng(11), 2000
    noise = np.rint(rng.laplace(0, 20, (draws, 2)))
    hit = 0
    for row in noise + 1000:
        again = row + seeds.row_generator(0, row).laplace(0, 20, (1000, 2))
        low, high = percentiles.percentiles(again[:, :1] / again[:, 1:], 0.9)
        hit += bool(low[0] <= 1 <= high[0])
    assert abs(hit / draws - 0.9) < 6.5 * np.sqrt(0.9 * 0.1 / draws)
