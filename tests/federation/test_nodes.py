from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pyarrow.parquet as pq

from discreet.federation.nodes import Node
from discreet.session.question import Question
from tests.federation.wards import PEOPLE, ward

COUNT = Question("SELECT COUNT(*) AS n FROM data", Fraction(1, 2))


def test_a_node_is_charged_once_and_its_integers_stay_the_same() -> None:
    node = Node("north", ward(PEOPLE["north"], budget=1))
    assert node.look(COUNT) == Fraction(1, 2)
    assert node.session.budget.spent == 0
    first, again = node.ask(COUNT), node.ask(COUNT)
    assert first.loss is not None
    assert (first.loss.epsilon, again.loss) == (Fraction(1, 2), None)
    assert first.entries.tolist() == again.entries.tolist() == [[node.session.sql(COUNT.text, 0.5)[0]["n"]]]
    assert node.look(COUNT) == 0


def test_plans_are_compared_without_the_data_and_its_version(tmp_path: Path) -> None:
    pq.write_table(PEOPLE["south"], tmp_path / "data.parquet")
    north, south = (Node("x", ward(one)) for one in (PEOPLE["north"], tmp_path / "data.parquet"))
    assert north.alike(COUNT) == south.alike(COUNT)
    assert north.alike(COUNT) != north.alike(COUNT.at(Fraction(1)))
    assert north.home() != south.home()
