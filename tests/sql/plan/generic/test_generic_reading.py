"""A plan that is made of the plan of another literal is the plan that the statement has by itself.

Random statements of the fuzzer and of the harness of neighbours are asked with several literals in the same places, and
each plan, or refusal, is compared with the one that is made without any other: the relation and its conditions, bounds,
groups, measures, shares, sensitivities, the text, the canonical question and the statement above.
"""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import cache
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlglot import exp
from tests import inside
from tests.depth import examples
from tests.sql import harness
from tests.sql.fuzz import bench, statements
from tests.sql.syntax.parameters.test_statement_template import again

from discreet.errors import QueryRefused
from discreet.sql.algebra.catalog import Catalog
from discreet.sql.algebra.public_groups import PublicKeys
from discreet.sql.analyze.binding import binder
from discreet.sql.analyze.binding.literals import literal_of
from discreet.sql.expressions.expression import Literal
from discreet.sql.expressions.parameter import Parameter
from discreet.sql.lower.identity import identity
from discreet.sql.plan import planner, reading
from discreet.sql.plan.generic import generic_reading
from discreet.sql.syntax.once import _key
from discreet.sql.syntax.parameters import statement_template
from discreet.sql.syntax.parameters.parameter_node import ParameterNode


def whole(thing: object, known: dict[int, object] | None = None) -> object:
    """A thing and all that it is made of, as plain values; `known` are those of its parts that were met before."""
    known = {} if known is None else known
    if isinstance(thing, tuple | list):
        return [whole(part, known) for part in thing]
    if type(thing) in PLAIN:
        return type(thing), thing
    if id(thing) in known:
        return known[id(thing)]
    known[id(thing)] = out = _whole(thing, known)
    return out


PLAIN = (str, int, bool, type(None))
"""Types whose values are equal where they are generic_reading."""


def _whole(thing: object, known: dict[int, object]) -> object:
    if isinstance(thing, exp.Expr):
        return _key(thing)
    if isinstance(thing, pa.Table):
        return str(thing.schema), thing.to_pydict()
    if isinstance(thing, frozenset):
        return sorted(map(repr, thing))
    if isinstance(thing, Mapping):
        return [(name, whole(part, known)) for name, part in thing.items()]
    if dataclasses.is_dataclass(thing):
        return type(thing).__name__, [
            whole(getattr(thing, name), known) for name in fields_of(thing.__class__)
        ]
    return type(thing).__name__, repr(thing)


@cache
def fields_of(kind: type) -> tuple[str, ...]:
    return tuple(field.name for field in dataclasses.fields(kind))


def planned(text: str, catalog: Catalog, unknown: bool, known: reading.Readings | None) -> Any:
    """All of a plan, or all that a refusal says."""
    delta = Fraction(1, 1000) if unknown else Fraction(0)
    try:
        plan = planner.plan(text, catalog, Fraction(1), delta=delta, known=known)
    except QueryRefused as error:
        return str(error), error.line, error.column, error.picture
    return whole(plan), identity(plan, "duckdb")


def texts(first: str, rng: random.Random, count: int) -> list[str]:
    """A text with several literals in its places; the second one makes its template."""
    return [text for _ in range(count) if (text := again(first, rng)) is not None]


def same_plans(asked: list[str], catalog: Catalog, unknown: bool, patch: pytest.MonkeyPatch) -> int:
    """Compare the plans of texts that are asked one after the other with those of each alone.

    Returns:
        How many were made of the plan of another one.
    """
    known, used = reading.Readings(), 0
    reused = generic_reading.GenericReadings._known

    def counted(self: generic_reading.GenericReadings[Any], arguments: Any) -> Any:
        nonlocal used
        found = reused(self, arguments)
        used += found is not None
        return found

    with patch.context() as counting:
        counting.setattr(generic_reading.GenericReadings, "_known", counted)
        found = [planned(text, catalog, unknown, known) for text in (*asked[:2], *asked)]
    with patch.context() as without:
        without.setattr(reading, "template_of", lambda text: None)
        assert found[2:] == [planned(text, catalog, unknown, None) for text in asked]
    return used


LITERALS = (
    ("educ", ("0", "1", "2", "3", "4", "45", "007", "9223372036854775808")), ("educ", ("1.5", "2.0", "0.5")),
    ("educ", ("'2'", "'3'", "'two'")), ("y", ("0", "7", "19", "999999999999999999", "1" * 60)),
    ("y", ("2.50", "7.0", "0.0")), ("x", ("0", "7", "49", "9007199254740993")),
    ("x", ("0.0", "7.0", "25.25", "1" * 60 + ".25")), ("sex", ("'M'", "'F'", "'X'", "''")),
    ("city", ("'A'", "'B'", "'Z'")), ("note", ("'apple'", "''", "'é'", "'12'", "'x1'")),
    ("d", ("'2024-02-29'", "'2024-03-01'", "'2020-01-01'", "'2024-02-29 18:30:00'")),
    ("ts", ("'2024-02-29'", "'2024-02-29 18:30:00'", "'2024-02-28T06:00:00'", "'no date'")), ("flag", ("1", "0", "2")),
)  # fmt: skip
"""What columns are compared with, values that change the groups, the type or the bounds among them."""
QUESTIONS = (
    "SELECT COUNT(*) AS n FROM t WHERE {}",
    "SELECT sex, COUNT(*) AS n, AVG(x) AS x FROM t WHERE {} GROUP BY sex ORDER BY n DESC",
    "SELECT educ, city, SUM(x) AS x, COUNT(note) AS c FROM t WHERE {} GROUP BY ALL HAVING n > 3",
    "SELECT educ, city, SUM(x) AS x, COUNT(note) AS c FROM t WHERE {} GROUP BY 1, 2",
    "SELECT state, MEDIAN(x) AS m FROM t JOIN towns USING (city) WHERE {} GROUP BY state",
    "SELECT date_trunc('day', ts) AS k, COUNT(DISTINCT id) AS n FROM t WHERE {} GROUP BY 1",
    "WITH r AS (SELECT *, y * 2 AS z2 FROM t WHERE {}) SELECT d, COUNT(*) AS n FROM r WHERE {} GROUP BY d",
    "SELECT k, COUNT(*) AS n FROM (SELECT id, COUNT(*) AS k FROM t WHERE {} GROUP BY id HAVING COUNT(*) > 2) AS p "
    "GROUP BY k",
    "SELECT COUNT(*) FILTER (WHERE {}) AS a, COUNT(*) AS n FROM t",
    "SELECT sex, COUNT(*) AS n FROM (SELECT * FROM t WHERE {} UNION ALL SELECT * FROM t) AS u GROUP BY sex",
    "SELECT note, COUNT(*) AS n FROM t WHERE {} GROUP BY note",
    "SELECT COUNT(*) AS n FROM t JOIN s USING (id) WHERE {} AND p > 3",
)


def ordinary(rng: random.Random) -> list[str]:
    """One question with several literals."""
    question = rng.choice(QUESTIONS)
    parts = [
        (*rng.choice(LITERALS), rng.choice(("<", "<=", "=", ">=", ">", "<>")), rng.choice((" AND ", " OR ")))
        for _ in range(rng.choice((1, 1, 2, 3)))
    ]
    asked = []
    for _ in range(5):
        tests = [f"{column} {sign} {rng.choice(values)}{word}" for column, values, sign, word in parts]
        asked.append(question.replace("{}", "".join(tests).removesuffix(parts[-1][3])))
    return asked


def of_questions(seeds: range, patch: pytest.MonkeyPatch) -> int:
    catalog = inside.catalog_of(bench.bench().session)
    return sum(same_plans(ordinary(random.Random(seed)), catalog, seed % 3 == 0, patch) for seed in seeds)


def test_a_question_has_its_own_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    many = examples(4, 4000)
    used = of_questions(range(many), monkeypatch)
    assert used > many / 2, used  # else little is compared


def test_a_random_statement_of_the_fuzzer_has_its_own_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    catalog, used, many = inside.catalog_of(bench.bench().session), 0, examples(3, 4000)
    for seed in range(many):
        rng = random.Random(seed)
        pair = (statements.per_unit if seed % 4 == 0 else statements.statement)(seed)
        used += same_plans(texts(pair.asked, rng, 3), catalog, False, monkeypatch) > 0
    assert used >= many // 40  # most of its literals are refused, or stand where they name a column


@settings(max_examples=examples(3, 3000), deadline=None,
          suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])  # fmt: skip
@given(st.data())
def test_a_random_question_of_the_harness_has_its_own_plan(
    monkeypatch: pytest.MonkeyPatch, data: st.DataObject
) -> None:
    by_unit, unknown = data.draw(st.booleans()), data.draw(st.booleans())
    catalog = harness.catalog(harness.make_policy(by_unit, 2, False))
    rng = random.Random(data.draw(st.integers(0, 2**32)))
    same_plans(texts(data.draw(harness.questions(by_unit, unknown)), rng, 3), catalog, unknown, monkeypatch)


FAULTS: dict[str, tuple[object, str, Callable[..., Any]]] = {
    "a literal is read where it is bound": (
        binder, "literal_of",
        lambda node: literal_of(node.parameter.literal if isinstance(node, ParameterNode) else node),
    ),
    "every literal is the first one": (
        generic_reading.Arguments, "literal", lambda self, parameter: parameter.of(literal_of(self.literals[0])),
    ),
    "a conversion is not made again": (Parameter, "of", lambda self, literal: self._now if self.steps else literal),
    "another type is passed over": (Parameter, "of", lambda self, literal: converted(self, literal)),
    "other groups are passed over": (generic_reading, "_same", lambda now, before: True),
    "the canonical text is cut": (
        statement_template.StatementTemplate, "spelled", lambda self, arguments: self.canonical[0],
    ),
}  # fmt: skip


FIRST = {
    "every literal is the first one": 5,
    "another type is passed over": 11,
    "other groups are passed over": 3,
}
"""Questions that have none of the literals of a fault are passed over."""


def converted(parameter: Parameter, literal: Literal) -> Literal:
    for step, others, _ in parameter.steps:
        literal = step(literal, *others)
    return literal


@pytest.mark.parametrize("fault", FAULTS)
def test_a_reading_that_is_not_seen_is_found(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted faults: the plan of one literal is that of another."""
    monkeypatch.setattr(*FAULTS[fault])
    first = FIRST.get(fault, 0)
    with pytest.raises(AssertionError):
        of_questions(range(first, first + 100), monkeypatch)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ((("A",), ("B",)), (("A",), ("B",)), True), ((("A",), ("B",)), (("A",), ("C",)), False),
        ((("A",), ("B",)), (("A",),), False), (((0.0,),), ((0.0,),), True), (((0.0,),), ((-0.0,),), False),
        (((1,),), ((1.0,),), False), (((1,),), ((True,),), False), (((None,),), ((None,),), True),
    ],
)  # fmt: skip
def test_groups_are_the_same_where_they_are_equal_and_spelled_alike(one: Any, other: Any, same: bool) -> None:
    """Those of a generic reading hold for other arguments only then."""
    assert generic_reading._same([PublicKeys((0,), one)], [PublicKeys((0,), other)]) is same


def test_a_generic_reading_of_very_many_groups_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    catalog = inside.catalog_of(bench.bench().session)
    for most, kept in ((2, 0), (3, 1)):
        monkeypatch.setattr(generic_reading, "MOST_GROUPS", most)
        known = reading.Readings()
        for least in range(2, 6):
            planner.plan(f"SELECT city, COUNT(*) AS n FROM t WHERE y <> {least} GROUP BY city", catalog, Fraction(1),
                         known=known)  # fmt: skip
        (generic,) = known.templates.values()
        assert len(generic._readings) == kept, [len(one.groups[0][1][0].groups) for one in generic._readings]
