"""What is cut out of a statement: each release of its tree once, and nothing else."""

from __future__ import annotations

import pytest
from sqlglot import exp
from tests.sql.analyze.test_classify import CLASSES, catalog_, parsed, tree

from discreet.errors import QueryRefused
from discreet.sql.algebra.catalog import Catalog
from discreet.sql.analyze import release_scope, splitting
from discreet.sql.analyze.classify import Classifier
from discreet.sql.analyze.scope_tree import ReleaseScope, ScopeKind
from discreet.sql.analyze.splitting import Splitter


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return catalog_()


@pytest.mark.parametrize(
    "text", [text for text in CLASSES if CLASSES[text][-1] in (ScopeKind.RELEASE, ScopeKind.ABOVE)]
)
def test_every_release_of_the_tree_is_cut_out_once(text: str, catalog: Catalog) -> None:
    scope, _ = tree(text, catalog)
    splitter = Splitter(text, catalog)
    post = splitter.split(parsed(text))
    released = [one for one in scope.walk() if isinstance(one, ReleaseScope)]
    two_steps = 1 if "AVG(cost)" in text else 0  # the mean belongs to the rows of the count
    assert len(splitter.releases) == len(released) + two_steps
    private = {table.name for table in post.find_all(exp.Table)} & catalog.private.keys()
    assert private == set(), "private rows are read by releases alone"


def test_a_sub_query_that_is_named_again_is_one_release(catalog: Catalog) -> None:
    text = "SELECT county, (SELECT COUNT(*) FROM visits) AS everybody FROM visits GROUP BY county HAVING everybody > 3"
    splitter = Splitter(text, catalog, unknown_keys=False)
    splitter.split(parsed(text))
    assert len(splitter.releases) == 2


STRAY = "SELECT nothing FROM visits WHERE cost > (SELECT AVG(cost) FROM visits)"


def _behind_a_stray_look_up(catalog: Catalog) -> list[str]:
    """The releases of a count, behind a look-up that turned out to be of another kind once its mean was cut out."""
    text = "SELECT COUNT(*) FROM visits"
    splitter = Splitter(text, catalog)
    assert Classifier(STRAY, catalog, splitter).alone(parsed(STRAY), {}) is None
    assert [release.name for release in splitter.releases] == ["__release_1"]
    splitter.split(parsed(text))
    return [release.name for release in splitter.releases]


def test_a_look_up_that_is_of_another_kind_leaves_no_release_behind(catalog: Catalog) -> None:
    assert _behind_a_stray_look_up(catalog) == ["__release_2"]


def test_planted_a_release_that_nothing_reads_is_charged(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(splitting, "_read_by", lambda _, releases: releases)
    assert _behind_a_stray_look_up(catalog) == ["__release_1", "__release_2"]


def _doubled(first: str, step: str, last: str) -> str:
    return first + "".join(step.format(n - 1, n) for n in range(1, 40)) + last


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (_doubled("SELECT COUNT(*) AS x0", ", x{0} + x{0} AS x{1}", " FROM visits"), "stand for very much"),
        (
            _doubled(
                "WITH c0 AS (SELECT * FROM visits)",
                ", c{1} AS (SELECT * FROM c{0} UNION ALL SELECT * FROM c{0})",
                " SELECT COUNT(*) FROM c39",
            ),
            "more than 256 tables",
        ),
    ],
)
def test_names_that_double_forty_times_are_refused(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch, text: str, said: str
) -> None:
    """A short text would take the time and the memory of 2^40 of them."""
    monkeypatch.setattr(release_scope, "MOST_PARTS", 1000)
    with pytest.raises(QueryRefused, match=said):
        Splitter(text, catalog).split(parsed(text))
