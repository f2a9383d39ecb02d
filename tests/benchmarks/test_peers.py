"""The pure parts of the comparison with other libraries: errors, ratios, verdicts, what a script says."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from benchmarks.peers import environments, page, table
from benchmarks.peers.common import GROUPS, KEPT, means_of
from benchmarks.peers.data import generate, truth
from benchmarks.peers.measure import OURS, PEERS, Answers, Error, Peer, ask, error, read
from benchmarks.peers.table import Result

from tests.depth import deep


def _answers(seconds: float, loading: float = 0.0) -> Answers:
    return Answers(loading, (seconds, seconds, 9.0), ((1.0,),), ((1.0,),))


def _result(name: str, seconds: float, rms: float, loading: float = 0.0) -> Result:
    return Result(
        name,
        {unit: _answers(seconds, loading) for unit in table.UNITS},
        {unit: {"count": Error(rms, 0.01), "mean": Error(rms, 0.01)} for unit in table.UNITS},
    )


RESULTS = [_result(OURS.name, 0.1, 2.0), _result("slow", 1.0, 3.0, 1.5), _result("slower", 12.3, 4.0)]


def test_the_error_is_the_root_mean_square_over_groups_and_answers() -> None:
    found = error([[1, 2], [3, 2]], np.array([1.0, 4.0]))
    assert found.rms == pytest.approx(np.sqrt((0 + 4 + 4 + 4) / 4))


def test_the_spread_of_an_error_is_what_repeated_estimates_spread() -> None:
    # 400 estimates from 500 normal errors each: their deviation is known to 3.6 %, so 25 % is 7 deviations.
    rng = np.random.default_rng(3)
    found = [error(rng.normal(0, 5, (5, 100)), np.zeros(100)) for _ in range(400)]
    assert np.mean([one.spread for one in found]) == pytest.approx(
        np.std([one.rms for one in found]), rel=0.25
    )


def test_the_tables_hold_theirs_and_how_many_times_ours_that_is() -> None:
    assert table.speed(RESULTS)[1:] == [
        ["discreet", "0.1 s", "0.1 s", "0.1 s", "0.1 s"],
        ["slow", "1 s (10x)", "2.5 s (25x)", "1 s (10x)", "2.5 s (25x)"],
        ["slower", *["12.3 s (123x)"] * 4],
    ]
    assert table.accuracy(RESULTS)[2] == ["slow", *["3 ± 0.01 (1.5x)"] * 4]
    lines = table.markdown("Errors", table.accuracy(RESULTS)).splitlines()
    assert lines[1] == "| --- | ---: | ---: | ---: | ---: |"
    assert len(lines) == 2 + len(RESULTS)
    assert table.rich("Errors", table.accuracy(RESULTS)).row_count == len(RESULTS)


def test_each_unit_is_held_against_the_fastest_of_the_others() -> None:
    met = {text: met for met, text in table.verdicts(RESULTS)}
    assert met == {
        "row unit: 10 times as fast as slow, its data loaded (at least 20)": False,
        "row unit: 25 times as fast as slow, from the file (at least 20)": True,
        "user unit: 10 times as fast as slow, its data loaded (at least 20)": False,
        "user unit: 25 times as fast as slow, from the file (at least 20)": True,
        "no error of ours is greater than that of a peer": True,
    }


def test_a_greater_error_of_ours_is_named() -> None:
    better = _result("better", 4.0, 1.9)
    said = [text for met, text in table.verdicts([*RESULTS, better]) if not met and "error" in text]
    assert len(said) == 4
    assert said[0] == "row unit, count: our error is 1.05 times that of better"
    same = [Result("same", better.answers, {"row": {"count": Error(1.98, 0.01)}})]
    assert (True, "no error of ours is greater than that of a peer") in table.verdicts([*RESULTS, *same])


def test_who_cannot_is_named_and_stands_in_the_tables() -> None:
    missing = Result("missing", cannot="no such package")
    silent = Result("silent", {"row": Answers(cannot="no answer: killed")})
    shown = [*RESULTS, missing, silent]
    assert table.speed(shown)[-2:] == [["missing", *"----"], ["silent", *"----"]]
    assert table.accuracy(shown)[-1] == ["silent", *"----"]
    assert table.verdicts(shown) == table.verdicts(RESULTS)
    assert table.reasons(shown) == [
        "missing is missing: no such package",
        "silent, row unit: no answer: killed",
    ]


def test_a_script_that_dies_half_way_is_read_as_far_as_it_came() -> None:
    head = json.dumps({"versions": {"a": "1"}, "loading": 0.5})
    answer = json.dumps({"seconds": 2.0, "counts": [1], "means": [2]})
    assert read(["chatter", head, answer], "died") == Answers(0.5, (2.0,), ((1,),), ((2,),), {"a": "1"})
    assert read([head], "died") == Answers(versions={"a": "1"}, cannot="died")
    assert read([], "died").cannot == "died"
    assert read([json.dumps({"cannot": "no users"})], "died").cannot == "no users"
    both = Answers(0.5, (1.0,), ((1,),), ((2,),)) + Answers(0.4, (3.0,), ((4,),), ((5,),))
    assert both == Answers(0.4, (1.0, 3.0), ((1,), (4,)), ((2,), (5,)))
    assert both.median == 2


def test_the_capped_file_has_nobody_with_more_rows_than_are_kept_nor_two_in_one_group(tmp_path: Path) -> None:
    visits, capped = (pq.read_table(path) for path in generate(tmp_path, 20_000))
    assert visits.num_rows == capped.num_rows == 20_000
    person, place = capped["person"].to_numpy(), capped["place"].to_numpy()
    assert np.bincount(person).max() == KEPT
    assert len(np.unique(person * GROUPS + place)) == 20_000
    assert np.bincount(visits["person"].to_numpy()).max() > KEPT
    exact = truth(tmp_path / "capped.parquet")
    assert exact.counts.sum() == 20_000
    assert exact.means @ exact.counts == pytest.approx(capped["amount"].to_numpy().sum())


def test_every_peer_has_a_script_and_pinned_requirements() -> None:
    for peer in PEERS:
        assert (environments.ROOT / "benchmarks" / "peers" / f"{peer.script}.py").exists()
        if peer.environment:
            lines = (environments.REQUIREMENTS / f"{peer.environment}.txt").read_text("utf-8").splitlines()
            assert all(line.count("==") == 1 and "/" not in line for line in lines)


def test_what_cannot_be_installed_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environments, "HOME", tmp_path)
    monkeypatch.setattr(environments, "REQUIREMENTS", tmp_path)
    (tmp_path / "x.txt").write_text("not a requirement ==\n", "utf-8")
    with pytest.raises(environments.CannotInstall, match="Invalid requirement"):
        environments.python_of("x")
    assert not (tmp_path / "x").exists()
    assert environments.last_word("ERROR: this\nhint: that\n\n") == "ERROR: this"
    assert environments.last_word("") == "it said nothing"


@deep  # the tests around it read what a script says, and hold errors against the truth
def test_our_own_script_answers(tmp_path: Path) -> None:
    _, capped = generate(tmp_path, 5_000)
    seen: list[int] = []
    python = environments.python_of(None)
    told = ask(OURS, python, capped, "user", "--most", "2", "--warm-up", "1", told=seen.append)
    assert np.shape(told.counts) == np.shape(told.means) == (2, GROUPS)
    assert told.loading > 0
    assert seen
    # 200 errors of a count whose deviation is sqrt(2) * 3 * sqrt(2) = 6: their root mean square is 60 only if the
    # counts are not those of the groups.
    assert error(told.counts, truth(capped).counts).rms < 60


def test_a_script_that_fails_says_why(tmp_path: Path) -> None:
    python = environments.python_of(None)
    broken = ask(Peer("none", "none"), python, tmp_path, "row", told=lambda _: None)
    assert broken.cannot.startswith("no answer: ")
    assert "none" in broken.cannot


def test_sums_become_means_group_by_group() -> None:
    assert means_of({1: 2.0, 0: 4.0}, {0: 8.0, 1: 6.0}) == {1: 3.0, 0: 2.0}


def test_the_page_takes_new_tables_and_keeps_its_words() -> None:
    text = page.PAGE.read_text("utf-8")
    once = page.filled(text, "one\n")
    assert page.BEGIN + "one\n" + page.END in once
    assert page.filled(once, "two\n") == page.filled(text, "two\n")
    with pytest.raises(AssertionError, match="lost its marks"):
        page.filled("no marks", "one\n")
