"""A stream counts each row once, moves by no more than its sensitivity, and goes on where it stopped."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import BudgetExceeded, StreamError
from discreet.policy import Policy
from discreet.streams import stream as module
from discreet.streams.counting.seen import Seen
from discreet.streams.state import StreamProgress
from tests.depth import examples
from tests.streams.invented import charges, laplace, nodes, opened, policy, row, silent, spec


def test_counts_and_totals_without_noise(tmp_path: Path) -> None:
    stream = silent(spec(method="tree", sums=("cost",)), tmp_path)
    given_rows = [(1, "a", "N", 5), (1, "b", "S", 7), (3, "a", "N", 900), (9, "c", "N", 1)]
    for day, patient, ward, cost in given_rows:
        stream.add(row(day, patient, ward, cost=cost))
    found = {(one.period, one.key, one.name): (one.value, one.total) for one in stream.close(3)}
    asked = [("01", "N", "count"), ("03", "N", "count"), ("03", "N", "sum_cost"), ("02", "S", "sum_cost")]
    answered = [found[f"2026-01-{day}", key, name] for day, key, name in asked]
    np.testing.assert_allclose(answered, [(1, 1), (1, 2), (500, 505), (0, 7)], atol=1e-9)
    assert len(found) == 3 * 2 * 2


@pytest.mark.parametrize(
    "given_row",
    [
        None, {}, row(1, None), row(1, ""), row(1, True), row(1, ["x"]), row(1, ward="Mars"), row(1, ward=None), row(0),
        row(9), {**row(1), "time": "soon"}, {**row(1), "time": None}, {**row(1), "time": 1e300},
    ],
)  # fmt: skip
def test_a_row_that_does_not_belong_is_dropped(given_row: Any, tmp_path: Path) -> None:
    stream = silent(spec(), tmp_path)
    assert not nodes(stream, [given_row]).any()
    assert not stream.progress.seen


@pytest.mark.parametrize(
    ("value", "steps"),
    [("7.5", 7.5), (7, 7), (math.inf, 500), ("-1e999", -10), (10**400, 500), (math.nan, 0), ("x", 0), (None, 0),
     (True, 0), ({}, 0)],
)  # fmt: skip
def test_every_value_of_a_sum_has_one_meaning(value: Any, steps: float, tmp_path: Path) -> None:
    stream = silent(spec(count=False, sums=("cost",), method="period"), tmp_path)
    stream.add(row(1, cost=value))
    assert stream.close(1)[0].value == pytest.approx(steps, abs=1e-3)


def test_a_unit_is_counted_up_to_its_bound_by_any_spelling(tmp_path: Path) -> None:
    stream = silent(spec(method="period"), tmp_path)
    for patient in (1, "1", 1.0, 1, "1"):
        stream.add(row(1, patient))
    assert stream.close(1)[0].value == 2


rows = st.builds(
    row,
    st.integers(-1, 9),
    st.sampled_from("abc"),
    st.sampled_from(["N", "S", "Mars"]),
    cost=st.floats(-20, 600),
)


def moved(
    folder: Path, unit: str, method: str, table: list[dict[str, Any]], one: list[dict[str, Any]]
) -> Fraction:
    """How far one unit moves the nodes in L1, in sensitivities of its own noise."""
    declared = spec(policy(unit), method=method, sums=("cost",))
    less, more = (nodes(silent(declared, folder), made) for made in (table, _merged(table, one)))
    half = len(less) // 2
    parts = [(less[:half], more[:half]), (less[half:], more[half:])]
    sizes = [laplace(declared, measure).sensitivity for measure in declared.measures]
    return max(Fraction(int(abs(b - a).sum())) / size for (a, b), size in zip(parts, sizes, strict=True))


def _merged(table: list[dict[str, Any]], one: list[dict[str, Any]]) -> list[dict[str, Any]]:
    out = list(table)
    for at, each in enumerate(one):
        out.insert(3 * at % (len(out) + 1), {**each, "patient": "new"})
    return out


@pytest.mark.parametrize("method", ["period", "tree", "root", "even", "fraction"])
@settings(max_examples=examples(20, 40), deadline=None)
@given(table=st.lists(rows, max_size=12), one=st.lists(rows, max_size=6))
def test_a_unit_moves_the_nodes_by_at_most_the_sensitivity(
    method: str,
    table: list[dict[str, Any]],
    one: list[dict[str, Any]],
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder = tmp_path_factory.getbasetemp() / "moved"
    assert moved(folder, "patient", method, table, one) <= 1
    assert moved(folder, "row", method, table, one[:1]) <= 1


def test_a_bound_that_is_not_enforced_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    six = [row(1, cost=500)] * 6
    assert moved(tmp_path, "patient", "period", [], six) <= 1

    class Forgetful(Seen):
        def admit(self, unit: bytes, most: int) -> bool:
            return True

    def forgetful(closed: int, read: int, digest: str, counts: Any) -> StreamProgress:
        return StreamProgress(closed, read, digest, counts, Forgetful())

    monkeypatch.setattr(module, "StreamProgress", forgetful)
    assert moved(tmp_path, "patient", "period", [], six) > 1


def test_noise_for_fewer_rows_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discreet.streams.spec.moves", lambda rows, neighbours: 1)
    assert moved(tmp_path, "patient", "tree", [], [row(1, cost=500)] * 2) > 1


def test_values_that_are_not_clamped_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discreet.streams.spec.Measure.steps", lambda self, value: int(value / self.grid))
    assert moved(tmp_path, "patient", "period", [], [row(1, cost=5000)]) > 1


def test_a_stream_is_charged_once_and_goes_on_with_its_noise(tmp_path: Path) -> None:
    declared = spec(method="tree")
    with opened(declared, tmp_path) as stream:
        stream.add(row(1))
        first = stream.close(2)
        stream.add(row(3))  # not kept: it is read again
    with opened(declared, tmp_path) as stream:
        assert stream.closed == 2
        assert [one for t in (1, 2) for one in stream.estimates(t)] == first
        stream.add(row(2))  # too late
        third = stream.close(3)
    with opened(declared, tmp_path) as stream:
        assert [one for t in (1, 2) for one in stream.estimates(t)] == first
        assert stream.estimates(3) == third
    assert charges(tmp_path) == 1


def test_noise_that_is_gone_is_never_drawn_again(tmp_path: Path) -> None:
    with opened(spec(), tmp_path) as stream:
        stream.close(1)
    noise = tmp_path / "state" / "noise.npz"
    kept = noise.read_bytes()
    for text in (None, b"", kept[:-1]):
        noise.unlink(missing_ok=True)
        if text is not None:
            noise.write_bytes(text)
        with pytest.raises(StreamError, match="not in"), opened(spec(), tmp_path):
            pass
    noise.write_bytes(kept)
    with opened(spec(), tmp_path) as stream:
        assert stream.closed == 1
    assert charges(tmp_path) == 1


def test_other_declarations_are_another_stream_which_needs_a_state_of_its_own(tmp_path: Path) -> None:
    with opened(spec(), tmp_path) as stream:
        stream.close(1)
    other = spec(epsilon=Fraction(1, 2))
    with pytest.raises(StreamError, match="other declarations"), opened(other, tmp_path):
        pass
    assert charges(tmp_path) == 1
    with opened(spec(), tmp_path) as stream:
        assert stream.closed == 1


def test_a_refused_budget_charges_nothing(tmp_path: Path) -> None:
    with pytest.raises(BudgetExceeded), opened(spec(), tmp_path, limit=Fraction(1, 2)):
        pass
    assert charges(tmp_path) == 0


def test_only_one_process_has_a_stream(tmp_path: Path) -> None:
    with (
        opened(spec(), tmp_path),
        pytest.raises(StreamError, match="Another process"),
        opened(spec(), tmp_path),
    ):
        pass


@pytest.mark.parametrize("method", ["period", "tree", "root", "even"])
def test_intervals_hold(method: str, tmp_path: Path) -> None:
    # Of 2,000 independent totals 95 % lie within. A share below .875 has a chance of at most exp(-2 2000 .075^2) =
    # 1.7e-10 (Hoeffding), so four of them stay below 1e-9; noise of twice the width leaves about .78 and is found.
    keys = [str(key) for key in range(2000)]
    declared = Policy.for_table("visits", privacy_unit="row", budget=3, keys={"ward": keys})
    with opened(spec(declared, periods=7, method=method), tmp_path) as stream:
        found = stream.close(7)
    for t in ("2026-01-05", "2026-01-07"):
        inside = np.mean([abs(one.total) <= one.total_error for one in found if one.period == t])
        single = np.mean([abs(one.value) <= one.error for one in found if one.period == t])
        assert inside > 0.875
        assert single > 0.875
        # Wider than needed is a fault too: half the width holds far fewer.
        halved = np.mean([abs(one.total) <= one.total_error / 2 for one in found if one.period == t])
        assert halved < 0.875
