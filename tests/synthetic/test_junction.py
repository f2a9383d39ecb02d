"""A junction tree holds every clique, and each column stands in connected ones."""

from __future__ import annotations

import pytest

from discreet.synthetic.junction import Clique, cells_of, junction_tree
from tests.synthetic.models import SHAPES, SIZES


@pytest.mark.parametrize("cliques", SHAPES)
def test_it_is_a_junction_tree(cliques: list[Clique]) -> None:
    tree = junction_tree(cliques, SIZES)
    assert all(tree.holder(clique) >= 0 for clique in cliques)
    for column in range(len(SIZES)):
        own = [at for at, clique in enumerate(tree.cliques) if column in clique]
        assert own
        # All but the first have a parent with the column: together they are connected.
        assert sum(column not in tree.overlaps[at] for at in own) == 1
    for at, (clique, parent) in enumerate(zip(tree.cliques, tree.parents, strict=True)):
        assert parent < at
        assert at == 0 or set(tree.overlaps[at]) == set(clique) & set(tree.cliques[parent])
    assert tree.cells == sum(cells_of(SIZES, clique) for clique in tree.cliques)


def test_the_smallest_holder() -> None:
    tree = junction_tree([(0, 1, 2), (1, 3)], SIZES)
    assert tree.cliques[tree.holder((1,))] == (1, 3)
    assert tree.holder((0, 3)) == -1
