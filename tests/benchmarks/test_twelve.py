"""The pure parts of the twelve questions: truths, errors and their standard errors, verdicts, the picture."""

from __future__ import annotations

import dataclasses
import json
import math
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from benchmarks.peers.environments import ROOT
from benchmarks.peers.twelve import picture, table
from benchmarks.peers.twelve.asked import Case, running, top, totals
from benchmarks.peers.twelve.measure import ASKED, Error, Kept, error, read
from benchmarks.peers.twelve.truth import Truth


@pytest.fixture
def truth(tmp_path: Path) -> Truth:
    path = tmp_path / "visits.parquet"
    columns = {
        "person": [1, 1, 2, 3], "place": [1, 2, 1, 2], "sex": [1, 1, 2, 1], "day": [1, 2, 2, 2],
        "code": [7, 8, 7, 9], "amount": [1.0, 2.0, 3.0, 6.0],
    }  # fmt: skip
    pq.write_table(pa.table(columns), path)
    return Truth(Case(str(path), "row", 1, [1, 2], [1, 2], [1, 2], 0.0, 10.0, 1.0, 1e-6, 100))


def test_exact_answers_have_no_error(truth: Truth) -> None:
    case = truth.case
    told = {
        "count": [2, 2], "sum": [4, 8], "mean": [2, 4], "variance": [2, 8], "distinct": [2, 2], "running": [1, 4],
        "median": [2, 4],
    }  # fmt: skip
    for question, values in told.items():
        found = truth.errors(question, {"values": values})[question]
        assert all(part == 0 for row in found for part in row), question
    cells = {(1, 1): 1, (1, 2): 1, (2, 1): 2, (2, 2): 0}
    assert truth.errors("two_way", totals(cells, case))["two_way"] == [[0, 0, 0, 0]]
    assert truth.errors("unknown", {"keys": [7, 8], "values": [2, 1]})["unknown"] == [[pytest.approx(1 / 3)]]
    assert truth.errors("top", top({1: 0.5, 2: 9.0}))["top"] == [[0]]
    assert running({1: 1, 2: 3}, [1, 2]) == {"values": [1, 4]}


def test_the_standard_error_of_an_error_is_what_repeated_estimates_spread() -> None:
    # 400 estimates, so their deviation is known to 3.6 %: 25 % is 7 of its deviations.
    rng = np.random.default_rng(5)
    found = [error(np.square(rng.normal(0, 5, (200, 2))).tolist()) for _ in range(400)]
    logs = np.log([one.rms for one in found])
    assert np.mean([one.relative for one in found]) == pytest.approx(np.std(logs), rel=0.25)


def test_a_greater_error_of_ours_is_missed_and_another_way_of_ours_counts() -> None:
    def kept(square: float) -> Kept:
        return Kept({}, {"count": [1.0, 2.0]}, {"count": [[square], [square]]})

    results = {"row": {"ours": kept(4.0), "opendp": kept(1.0), "tumult": kept(9.0)}}
    said = table.verdicts(results)
    assert [met for met, _ in said] == [False]
    assert "ours is 2 ± 0 times that of OpenDP" in said[0][1]
    better = {"row": results["row"] | {"ours-cells": kept(1.0)}}
    assert [met for met, _ in table.verdicts(better)] == [True]
    assert picture.svg(better).count("<circle") == len(table.COLUMNS) + 2
    assert "| count | 1 ± 0 |" in table.page(better)


def test_a_library_that_never_erred_is_better_where_its_answers_are_many() -> None:
    def said(erring: int, runs: int, theirs: int) -> list[bool]:
        ours = Kept({}, {}, {"top": [[1.0]] * erring + [[0.0]] * (runs - erring)})
        other = Kept({}, {}, {"top": [[0.0]] * theirs})
        return [met for met, _ in table.verdicts({"row": {"ours": ours, "opendp": other}})]

    assert said(20, 100, 100) == [False]  # .8 to the power of 100
    assert said(20, 100, 30) == [False]  # .8 to the power of 30 is .0012
    assert said(20, 100, 29) == [True]  # and of 29 .0015: so few answers do not tell
    assert said(3, 100, 100) == [True]  # .97 to the power of 100 is .05
    assert said(10, 10, 2) == [False]  # all of ours erred
    assert said(0, 100, 100) == [True]
    assert said(1, 1, 100) == [True]  # one answer has no standard error


def test_the_share_of_answers_that_erred_follows_from_their_standard_error() -> None:
    found = error([[4.0]] * 30 + [[0.0]] * 170)
    assert found.often == pytest.approx(0.15, rel=0.01)
    assert found.times(Error(0.0, 0.0, 10)) == (math.inf, math.inf)
    assert found.times(Error(0.0, 0.0, 200)) == (math.inf, 0.0)
    assert all(math.isnan(value) for value in Error(math.nan, 0.0, 9).times(Error(0.0, 0.0, 200)))


def test_a_script_is_read_with_its_reasons(truth: Truth) -> None:
    lines = [
        json.dumps({"versions": {"a": "1"}}),
        json.dumps({"question": "count", "seconds": None, "values": [3, 2]}),
        json.dumps({"question": "median", "cannot": "it has none"}),
    ]
    told = read(lines, truth, "died")
    assert told == Kept({"a": "1"}, {}, {"count": [[1.0], [0.0]]}, {"median": "it has none"})
    assert read([], truth, "died").cannot == {"all": "died"}
    assert dataclasses.asdict(told)["squares"] == {"count": [[1.0], [0.0]]}


def test_every_way_has_a_script() -> None:
    for asked in ASKED:
        assert (ROOT / "benchmarks" / "peers" / "twelve" / f"{asked.script}.py").exists()
