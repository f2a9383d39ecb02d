from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from discreet.errors import QueryRefused
from discreet.federation.nodes import SessionNode, given
from discreet.session.analyst import AnalystSession
from discreet.session.question import SessionQuestion
from tests.federation.wards import PEOPLE, ward

COUNT = SessionQuestion("SELECT COUNT(*) AS n FROM data", Fraction(1, 2))


def test_a_node_is_charged_once_and_its_integers_stay_the_same() -> None:
    node = SessionNode("north", ward(PEOPLE["north"], budget=1))
    assert node.offer(COUNT).price == Fraction(1, 2)
    assert node.session.budget.spent == 0
    first, again = node.ask(COUNT), node.ask(COUNT)
    assert first.loss is not None
    assert (first.loss.epsilon, again.loss) == (Fraction(1, 2), None)
    assert first.entries.tolist() == again.entries.tolist() == [[node.session.sql(COUNT.text, 0.5)[0]["n"]]]
    assert node.offer(COUNT).price == 0


def test_integers_are_given_to_an_analyst_who_has_paid_for_them_only() -> None:
    session = ward(PEOPLE["north"], budget=0.5)
    ana, ben = AnalystSession(session, "ana", 1), AnalystSession(session, "ben", 1)
    with pytest.raises(QueryRefused, match="never given"):
        given(ana, COUNT)
    number = ana.sql(COUNT.text, 0.5)[0]["n"]
    assert given(ana, COUNT).tolist() == [[number]]
    with pytest.raises(QueryRefused, match="never given"):
        given(ben, COUNT)
    assert [session.budget.spent, ben.budget.spent] == [Fraction(1, 2), 0]
    assert SessionNode("ben", ben).offer(COUNT).price == Fraction(
        1, 2
    )  # new to ben, and nothing new about the data
    assert SessionNode("ben", ben).ask(COUNT).entries.tolist() == [[number]]
    assert (session.budget.spent, ben.budget.spent) == (Fraction(1, 2), Fraction(1, 2))


def test_an_answer_whose_slot_has_not_come_has_the_price_of_a_new_one() -> None:
    """A price of nothing would tell the moment at which the answer was there."""
    hidden: list[bool] = []
    session = ward(PEOPLE["north"], budget=2)
    ana = AnalystSession(session, "ana", 1, hidden=lambda _: bool(hidden))
    assert SessionNode("ana", ana).offer(COUNT).price == Fraction(1, 2)
    ana.sql(COUNT.text, 0.5)
    assert SessionNode("ana", ana).offer(COUNT).price == 0
    hidden.append(True)
    assert SessionNode("ana", ana).offer(COUNT).price == Fraction(1, 2)


def test_plans_are_compared_without_the_data_and_its_version(tmp_path: Path) -> None:
    pq.write_table(PEOPLE["south"], tmp_path / "data.parquet")
    north, south = (SessionNode("x", ward(one)) for one in (PEOPLE["north"], tmp_path / "data.parquet"))
    assert north.alike(COUNT) == south.alike(COUNT)
    assert north.alike(COUNT) != north.alike(COUNT.with_epsilon(Fraction(1)))
    assert north.home != south.home
