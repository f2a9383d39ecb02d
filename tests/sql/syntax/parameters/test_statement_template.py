"""A tree from a template is the tree that the parser makes, whichever the arguments.

Random statements of the fuzzer and of the harness of neighbours are asked with other literals. The tree and its
canonical text are those of the parser, and so is the plan: the SQL that runs, the groups, the measures and the
statement above them, or the refusal with its place.
"""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests import inside
from tests.depth import examples
from tests.sql import harness
from tests.sql.fuzz import bench, statements

from discreet.errors import QueryRefused
from discreet.sql.algebra.catalog import Catalog
from discreet.sql.lower.identity import identity
from discreet.sql.plan import planner, reading
from discreet.sql.syntax.once import _key
from discreet.sql.syntax.parameters import statement_template
from discreet.sql.syntax.parse import spelled

WHOLE = ("0", "1", "2", "3", "45", "007", "999999999999999999", "9223372036854775808", "1" * 60)
DECIMAL = ("0.0", "0.5", "2.50", "45.5", "1" * 60 + ".25")
STRING = (
    "'x'",
    "''",
    "'A'",
    "'M'",
    "'2024-02-29'",
    "'2024-02-29 18:30:00'",
    "'lpad(1'",
    "'a; b'",
    "'é'",
    "'8'",
    "'\"'",
)
VALUES = {"whole": WHOLE, "decimal": DECIMAL, "string": STRING}


def again(text: str, rng: random.Random) -> str | None:
    """The same text with other literals; None where there is none to change."""
    taken = statement_template.taken_apart(text)
    if taken is None or not taken[1]:
        return None
    key, _ = taken
    return "".join(rng.choice(VALUES[one]) if at % 2 else one for at, one in enumerate(key))


def compared(text: str) -> bool:
    """Compare the tree of a template with that of the parser; whether there is a template."""
    taken = statement_template.taken_apart(text)
    assert taken is not None
    template = statement_template.made(taken[0])
    try:
        statement, canonical = spelled(text)
    except QueryRefused:
        assert template is None
        return False
    if template is None:
        return False
    found, words = template.with_arguments(taken[1])
    assert words == canonical
    assert _key(found) == _key(statement)
    return True


def planned(text: str, catalog: Catalog, unknown: bool) -> Any:
    """All that a plan says, or all that a refusal says."""
    delta = Fraction(1, 1000) if unknown else Fraction(0)
    try:
        plan = planner.plan(text, catalog, Fraction(1), delta=delta)
    except QueryRefused as error:
        return str(error), error.line, error.column, error.picture
    shown = [(one.name, one.aggregates, one.sets) for one in plan.releases]
    return plan.statement, identity(plan, "duckdb"), _key(plan.post), shown


def same_plan(text: str, catalog: Catalog, unknown: bool, patch: pytest.MonkeyPatch) -> bool:
    """Compare the plan from a template with the plan from the parser; whether there is a template."""
    for _ in range(2):  # the second time that a key is met, it becomes a template
        statement_template.template_of(text)
    used = statement_template.template_of(text) is not None
    mine = planned(text, catalog, unknown)
    with patch.context() as without:
        without.setattr(reading, "template_of", lambda text: None)
        assert mine == planned(text, catalog, unknown)
    return used


def of_the_fuzzer(seeds: range, patch: pytest.MonkeyPatch) -> int:
    catalog, used = inside.catalog_of(bench.bench().session), 0
    for seed in seeds:
        rng = random.Random(seed)
        pair = (statements.per_unit if seed % 4 == 0 else statements.statement)(seed)
        text = again(pair.asked, rng)
        if text is not None and compared(text):
            used += same_plan(text, catalog, False, patch)
    return used


def test_a_random_statement_of_the_fuzzer_has_the_same_tree_and_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    many = examples(8, 3000)
    assert of_the_fuzzer(range(many), monkeypatch) > many / 4  # else nothing is compared


@settings(max_examples=examples(5, 3000), deadline=None,
          suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])  # fmt: skip
@given(st.data())
def test_a_random_question_of_the_harness_has_the_same_tree_and_plan(
    monkeypatch: pytest.MonkeyPatch, data: st.DataObject
) -> None:
    by_unit, unknown = data.draw(st.booleans()), data.draw(st.booleans())
    catalog = harness.catalog(harness.make_policy(by_unit, 2, False))
    text = again(
        data.draw(harness.questions(by_unit, unknown)), random.Random(data.draw(st.integers(0, 2**32)))
    )
    if text is not None and compared(text):
        same_plan(text, catalog, unknown, monkeypatch)


def test_literals_in_each_others_places_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault: the arguments of a template are put in backwards."""
    right = statement_template.StatementTemplate.with_arguments
    monkeypatch.setattr(
        statement_template.StatementTemplate, "with_arguments", lambda self, given: right(self, given[::-1])
    )
    with pytest.raises(AssertionError):
        of_the_fuzzer(range(40), monkeypatch)


def test_literals_of_an_earlier_text_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault: all texts of a template are answered as the first one."""
    first: dict[int, Any] = {}
    right = statement_template.StatementTemplate.with_arguments
    monkeypatch.setattr(
        statement_template.StatementTemplate,
        "with_arguments",
        lambda self, given: right(
            self, first.setdefault(hash(self.paths), ["'1'" if g[0] == "'" else "1" for g in given])
        ),
    )
    with pytest.raises(AssertionError):
        of_the_fuzzer(range(40), monkeypatch)


ALONE = "SELECT COUNT(*) AS n FROM t WHERE {}"
PARSED = [
    "SELECT educ = {}, 1 AS b FROM t", "SELECT SUM(CASE WHEN educ < {} THEN 1 END), COUNT(*) AS n FROM t",
    "SELECT (SELECT COUNT(*) FROM t WHERE educ < {}), 2 AS b",
]  # fmt: skip


@pytest.mark.parametrize("text", PARSED)
def test_a_literal_in_a_name_is_parsed(text: str) -> None:
    taken = statement_template.taken_apart(text.format(3))
    assert taken is not None
    assert taken[1] == ["3"]
    assert statement_template.made(taken[0]) is None


def test_literals_come_in_the_order_of_the_canonical_text() -> None:
    """FROM may stand in front of SELECT; the canonical text has it behind."""
    text = (
        "FROM (SELECT * FROM t WHERE y < 3) AS r SELECT COUNT(*) FILTER (WHERE x > 7.5) AS n WHERE note = 'x'"
    )
    assert spelled(text)[1].index("7.5") < spelled(text)[1].index("3")
    assert compared(text)


@pytest.mark.parametrize("literal", ["3", "3.5", "'x'"])
def test_a_literal_that_stands_twice_once_it_is_parsed_is_never_left_out(literal: str) -> None:
    """Else one of the two would stay the invented one, and rows would be compared with that."""
    text = f"SELECT weighted_avg(CASE WHEN note < {literal} THEN x END, y) AS a FROM t"
    taken = statement_template.taken_apart(text)
    assert taken is not None
    assert taken[1] == [literal]
    assert spelled(text)[1].count(literal) == 2
    assert statement_template.made(taken[0]) is None


def test_two_columns_that_are_named_alike_for_some_literals_are_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The planted fault: the names of columns are not looked at."""
    text = "SELECT COUNT(*) FILTER (WHERE educ < 3), COUNT(*) FILTER (WHERE educ < 3) FROM t"
    assert not compared(text)
    monkeypatch.setattr(statement_template, "_is_name", lambda node: False)
    with pytest.raises(AssertionError):
        compared(text)


@pytest.mark.parametrize(
    ("condition", "literals"),
    [
        ("a < 5", ["5"]), ("a<5", ["5"]), ("a < 5.25 AND b >= 'x'", ["5.25", "'x'"]), ("(a = 5)", ["5"]),
        ("a != 5 OR d", ["5"]), ("a < -5", []), ("a < 5 + 1", []), ("a < 5 * b", []), ("a BETWEEN 5 AND 6", []),
        ("a IN (5, 6)", []), ("a = 'x' || 'y'", []), ("a = 'it''s'", []), ("a < 5 IS NULL", []), ("a LIKE 'x'", []),
        ("5 < a", []), ("a < INTERVAL '5' DAY", []), ("a = DATE '2024-01-31'", []), ("a = 5::DOUBLE", []),
        ("a => 5", []), ("a == 5", []), ("t.a1 = b5", []), ('"a < 5"', []), ("'a < 5' = b", []),
        ("a <> 5 -- 6", None), ("a < 5 /* b < 6 */", None), ("a < 1e5", None), ("a < 5.", None), ("a < 1_000", None),
        ("a = $$5$$", None), ("a = E'\\n'", None), ("ä < 5", None), ("a = 'x", None), ("a[1] = 5", ["5"]),
        ("a < 5 COLLATE nocase", []), ("a <= 5 AS b", []),
    ],
)  # fmt: skip
def test_the_arguments_of_a_text(condition: str, literals: list[str] | None) -> None:
    text = ALONE.format(condition)
    taken = statement_template.taken_apart(text)
    if literals is None:
        assert taken is None or any(one in text for one in statement_template._UNUSUAL)
        assert [statement_template.template_of(text) for _ in range(3)] == [None] * 3
    else:
        assert taken is not None
        assert taken[1] == literals
        assert (
            "".join(text for one in zip(taken[0][::2], [*literals, ""], strict=True) for text in one) == text
        )


def test_a_refusal_points_into_the_text_that_was_asked() -> None:
    catalog = inside.catalog_of(bench.bench().session)
    for least in (1, 22, 333, 4444):
        text = f"SELECT COUNT(*) AS n FROM t WHERE educ < {least} AND nothing > 2"
        with pytest.raises(QueryRefused) as caught:
            planner.plan(text, catalog, Fraction(1))
        assert caught.value.picture.splitlines()[1].index("^") - 2 == text.index("nothing")


def test_few_templates_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statement_template, "MOST", 3)
    for at in range(10):
        for value in range(3):
            statement_template.template_of(f"SELECT a{at} FROM t WHERE b < {value}")
    assert len(statement_template._known) <= 3
