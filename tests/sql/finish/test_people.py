"""Intervals where people allow different epsilons: those of a group of one class are as narrow as its noise."""

from __future__ import annotations

from typing import Any

import numpy as np
from tests.consenting import protected, release_of

from discreet.sql.finish.people import ends_by_class
from discreet.sql.lower.run import NoisyIntegers

BY_CLASS = "SELECT consent, COUNT(*) AS n FROM people GROUP BY consent ORDER BY consent"


def test_each_group_has_the_interval_of_its_class() -> None:
    session = protected()
    answer = session.sql(BY_CLASS, 3).to_dict()
    grouped = [high - low for low, high in zip(answer["n_low"], answer["n_high"], strict=True)]
    alone = []
    for name in answer["consent"]:
        found = session.sql(f"SELECT COUNT(*) AS n FROM people WHERE consent = '{name}'", 3).to_dict()
        alone.append(found["n_high"][0] - found["n_low"][0])
    assert grouped == alone == sorted(alone, reverse=True)
    assert alone[0] > 5 * alone[2]


def test_any_choice_of_groups_is_told_the_same() -> None:
    release = release_of(protected(), BY_CLASS)
    assert release.people is not None
    noisy = NoisyIntegers(release, np.zeros((3, 1), np.int64))

    def ends(own: NoisyIntegers, at: Any) -> Any:
        assert own.plan.people is not None
        scale = own.plan.people.law.law(0)[0][0]
        return np.full(len(at), -scale), np.full(len(at), scale)

    every = ends_by_class(noisy, release.people, slice(None), ends)[1].tolist()
    assert every == [30, 6, 3]
    for at in ([2], [1, 0], [0, 2]):
        assert ends_by_class(noisy, release.people, np.array(at), ends)[1].tolist() == [
            every[one] for one in at
        ]


def test_formulas_of_groups_of_all_classes_have_intervals() -> None:
    session = protected()
    for sql in (
        "SELECT ward, COUNT(*) * 100.0 / SUM(COUNT(*)) OVER () AS part FROM visits GROUP BY ward",
        "SELECT consent, STDDEV(age) AS s FROM people GROUP BY consent",
        "SELECT MAX(n) AS n FROM (SELECT consent, COUNT(*) AS n FROM people GROUP BY consent) AS c",
        "SELECT ward, AVG(x) AS a, MEDIAN(x) AS m, COUNT(*) AS n FROM visits GROUP BY ward",
    ):
        answer = session.sql(sql, 20)
        assert not answer.without
        assert session.preview(sql, 20).errors
