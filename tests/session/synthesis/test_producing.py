"""The counts behind a synthetic table move by no more than its mechanism says, and cost what the gate charges.

Planted fault: the square of the counts by all columns, where rows of a unit are few in each group, is too small for
marginals, in which groups meet.
"""

from __future__ import annotations

import itertools
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests import servers, shared
from tests.depth import examples
from tests.inside import engine_of, salt_of, synthesis_of

import discreet as dp
from discreet.accounting import ZCDP, Loss
from discreet.errors import QueryRefused
from discreet.mechanisms import AdaptiveRounds
from discreet.policy import Policy
from discreet.session.synthesis.producing import Synthesis
from discreet.sql.lower.groups.group_numbers import words
from discreet.sql.lower.run import counted_cells
from discreet.synthetic.counts import Counts

CAP = 3


def people(random: np.random.Generator, extra: bool) -> pa.Table:
    """Rows of 12 people and, on top, of one who has many, all alike or all different."""
    who = random.integers(0, 12, 40).tolist()
    a, b = random.integers(0, 3, 40).tolist(), random.integers(0, 4, 40).tolist()
    if extra:
        count = int(random.integers(1, 9))
        who += [99] * count
        a += [1] * count
        b += list(range(count)) if random.random() < 0.5 else [2] * count
    return pa.table(
        {"who": pa.array(who, pa.int64()), "a": pa.array(a, pa.int64()), "b": pa.array(b, pa.int64())}
    )


def opened(table: pa.Table, **more: Any) -> dp.Session:
    return shared.protect(
        table, privacy_unit="who", max_rows=CAP, bounds={"a": (0, 2), "b": (0, 9)}, budget=9, **more
    )


def marginals(session: dp.Session, salt: int) -> list[Any]:
    synthesis = synthesis_of(session, bins={"b": 5})
    cells, rows = counted_cells(synthesis.joint(), engine_of(session), salt)
    counts = Counts(cells, rows, [synthesis.sizes])
    return [counts.marginal(columns) for columns in ((0,), (1,), (0, 1))]


def test_a_unit_moves_counts_by_its_sensitivity() -> None:
    largest = [0, 0]
    for seed in range(examples(3, 5)):
        here, there = (people(np.random.default_rng(seed), extra) for extra in (False, True))
        with opened(here) as one, opened(there) as other:
            mechanism = synthesis_of(one).mechanism(Fraction(1), Fraction(0))
            for left, right in zip(marginals(one, 7), marginals(other, 7), strict=True):
                moved = np.abs(left - right)
                largest = [max(largest[0], int(moved.sum())), max(largest[1], int((moved**2).sum()))]
    assert (mechanism.l1, mechanism.square) == (CAP, CAP**2)
    assert largest == [CAP, CAP**2]  # reached, so that a smaller one would be found


def test_replaced_units_move_twice_as_much() -> None:
    with opened(people(np.random.default_rng(1), False), neighbours="replace_one") as session:
        mechanism = synthesis_of(session).mechanism(Fraction(1), Fraction(0))
        assert (mechanism.l1, mechanism.square) == (2 * CAP, 2 * CAP**2)
        assert session.synthesize(epsilon=1).epsilon == 1


def test_planted_a_cap_by_group_is_no_cap_of_a_marginal() -> None:
    rows = pa.table({"who": [1] * 3, "a": [0] * 3, "b": [0, 1, 2]})
    policy = {
        "budget": {"epsilon": 9}, "source": {},
        "tables": {"data": {"privacy_unit": "who", "max_rows": 3, "max_rows_per_group": 1,
                            "columns": {"a": {"bounds": [0, 2]}, "b": {"bounds": [0, 9]}}}},
    }  # fmt: skip
    policy.pop("source")
    with dp.protect(rows, policy=Policy.model_validate(policy)) as session:
        synthesis = synthesis_of(session)
        joint = synthesis.joint()
        (single, _, _) = marginals(session, 7)
        moved = int((single**2).sum())
        assert joint.parts[0].square < moved <= synthesis.mechanism(Fraction(1), Fraction(0)).square


def test_rows_without_a_unit_or_with_another_value_are_dropped() -> None:
    rows = pa.table({"who": [1, 2, None], "a": [0, 1, 1], "k": ["x", "other", "x"]})
    with dp.protect(
        rows, privacy_unit="who", max_rows=1, bounds={"a": (0, 2)}, keys={"k": ["x", "y"]}, budget=1
    ) as session:
        synthesis = synthesis_of(session)
        _, counted = counted_cells(synthesis.joint(), engine_of(session), salt_of(session))
        assert counted.sum() == 1


def test_gaussian_noise_where_it_is_better() -> None:
    table, bounds = wide()
    with shared.protect(
        table, privacy_unit="row", bounds=bounds, budget=dp.Budget(epsilon=5, delta=1e-5, accountant="zcdp")
    ) as one:
        synthesis = synthesis_of(one)
        assert synthesis.mechanism(Fraction(1), Fraction(1, 10**6)).concentrated
        assert not synthesis.mechanism(Fraction(1), Fraction(0)).concentrated
        few = synthesis_of(one, columns=["c1", "c2"])
        assert not few.mechanism(Fraction(1), Fraction(1, 10**12)).concentrated
        made = one.synthesize(epsilon=1, delta="1e-6")
        assert made.epsilon == 1
        assert made.delta == Fraction(1, 10**6)
        assert one.budget.delta_spent > 0
        assert one.synthesize(epsilon=1).replayed is False  # other noise is another question


@cache
def wide() -> tuple[pa.Table, dict[str, tuple[int, int]]]:
    """Twelve columns of two values."""
    names = [f"c{at}" for at in range(12)]
    return pa.table({name: [0, 1] for name in names}), dict.fromkeys(names, (0, 1))


def test_gaussian_noise_is_that_of_the_exact_curve() -> None:
    """For epsilon 1 and delta 1e-6 by at least 5 % less than zCDP would have it, and the ledger keeps its price."""
    table, bounds = wide()
    budget = dp.Budget(epsilon=5, delta=1e-5, accountant="zcdp")
    with shared.protect(table, privacy_unit="row", bounds=bounds, budget=budget) as one:
        noise = synthesis_of(one).mechanism(Fraction(1), Fraction(1, 10**6))
        plain = AdaptiveRounds(ZCDP.bought(Loss(1, "1e-6")).rho, 1, 1, concentrated=True)
        share = Fraction(1, 50)
        less = noise.deviation(share * noise.amount) / plain.deviation(share * plain.amount)
        assert 0.9 < less < 0.95
        one.synthesize(epsilon=1, delta="1e-6", rows=2)
        assert 0.95 < one.budget.spent <= 1
        # Where noise is small for steps of one, zCDP is taken.
        assert synthesis_of(one).mechanism(Fraction(150), Fraction(1, 10**6)).draws == 0


@pytest.mark.parametrize("times", [Fraction(99, 100), Fraction(101, 100)], ids=str)
def test_rounds_of_another_size_are_refused_before_anything_is_charged(
    times: Fraction, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The planted fault: a hundredth more of the loss than was bought, or less."""
    table, bounds = wide()
    real = Synthesis._gaussian

    def other(self: Synthesis, loss: Loss) -> AdaptiveRounds:
        made = real(self, loss)
        return AdaptiveRounds(times * made.amount, made.l1, made.square, concentrated=True, draws=made.draws)

    monkeypatch.setattr(Synthesis, "_gaussian", other)
    budget = dp.Budget(epsilon=5, delta=1e-5, accountant="zcdp")
    with shared.protect(table, privacy_unit="row", bounds=bounds, budget=budget) as one:
        with pytest.raises(QueryRefused, match="add up"):
            one.synthesize(epsilon=1, delta="1e-6", rows=2)
        assert one.budget.spent == 0


def test_more_combinations_than_a_number_counts() -> None:
    """18 columns of 17 classes, more than 2^73 combinations: a group has two numbers, and counts are right."""
    random = np.random.default_rng(5)
    places = random.integers(0, 16, (60, 18))
    table = {f"c{at}": places[:, at] / 16 + 0.01 for at in range(18)}
    bounds = dict.fromkeys(table, (0, 1))
    who = {"who": np.arange(60) // 2, "k": random.choice(["x", "y"], 60).tolist()}
    with dp.protect(
        pa.table(table | who), privacy_unit="who", max_rows=2, bounds=bounds, keys={"k": ["x", "y"]}, budget=1
    ) as session:
        joint = synthesis_of(session).joint()
        runs = [[len(joint.keys[at].values) for (at,) in run] for run in words(joint.keys)]
        cells, rows = counted_cells(joint, engine_of(session), 7)
        assert len(cells) == len(runs) == 2
        counts = Counts(cells, rows, runs)
        for pair in itertools.combinations(range(18), 2):
            by_hand = np.zeros((17, 17), np.int64)
            np.add.at(by_hand, tuple(places[:, pair].T), 1)
            assert (counts.marginal(pair) == by_hand).all()
        assert counts.marginal((18,)).tolist() == [who["k"].count("x"), who["k"].count("y"), 0]
        made = session.synthesize(epsilon=1, degree=1, rows=5)
        assert len(made) == 5
        assert session.synthesize(epsilon=1, degree=1, rows=5).replayed


def test_every_pair_is_open_to_choice() -> None:
    with opened(people(np.random.default_rng(1), False)) as session:
        asked = synthesis_of(session, degree=2)
        assert set(asked.workload.weights) == set(itertools.combinations(range(2), 2))


def test_postgresql_counts_the_same() -> None:
    rows = people(np.random.default_rng(3), True)
    url = servers.postgres()
    with servers.connect(url) as connection:
        connection.execute("DROP TABLE IF EXISTS synthetic_people")
        connection.execute("CREATE TABLE synthetic_people (who bigint, a bigint, b bigint)")
        for row in rows.to_pylist():
            connection.execute(
                "INSERT INTO synthetic_people VALUES (%s, %s, %s)", (row["who"], row["a"], row["b"])
            )
        connection.commit()
    declared: dict[str, Any] = {
        "privacy_unit": "who", "max_rows": 50, "bounds": {"a": (0, 2), "b": (0, 9)}, "budget": 1,
        "ledger": ":memory:",
    }  # fmt: skip
    with dp.protect(rows, **declared) as here, dp.protect(url, table="synthetic_people", **declared) as there:
        for one, other in zip(marginals(here, 7), marginals(there, 7), strict=True):
            assert (one == other).all()
