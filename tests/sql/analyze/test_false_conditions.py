"""A comparison with none of the keys is found in the text and the policy, and told before and beside the answer."""

from __future__ import annotations

from fractions import Fraction

import pyarrow as pa
import pytest

import discreet as dp
from discreet.engines.schema import Type
from discreet.errors import QueryRefused
from discreet.sql.analyze.false_conditions import verdict
from discreet.sql.expressions.expression import Call, Column, Literal
from discreet.sql.expressions.span import Span

COUNTIES = {"note": ["Alder", "Birch"]}


def test_an_answer_says_that_no_row_can_pass_and_a_refusal_names_the_key() -> None:
    table = pa.table({"note": ["Alder", "Birch"]})
    with dp.protect(table, privacy_unit="row", keys=COUNTIES, budget=3) as session:
        release = session.sql("SELECT COUNT(*) AS n FROM data WHERE note = 'Aldr'", 1)
        assert "none of the keys of note is 'Aldr': did you mean 'Alder'?" in release.warnings
        assert session.sql("SELECT COUNT(*) AS n FROM data WHERE note = 'Alder'", 1).warnings == ()
        with pytest.raises(QueryRefused, match="Did you mean 'Alder'"):
            session.sql("SELECT note, COUNT(*) AS n FROM data WHERE note = 'Aldr' GROUP BY note", 1)
        with pytest.raises(QueryRefused, match="Look at the conditions"):
            session.sql("SELECT note, COUNT(*) AS n FROM data WHERE note = 'zzzz' GROUP BY note", 1)


def test_a_key_that_is_a_number_is_named_as_one() -> None:
    with dp.protect(
        pa.table({"code": [401, 502]}), privacy_unit="row", keys={"code": [401, 502]}, budget=3
    ) as session:
        release = session.sql("SELECT COUNT(*) AS n FROM data WHERE code = 40", 1)
        assert "none of the keys of code is 40: did you mean 401?" in release.warnings
        with pytest.raises(QueryRefused, match=r"Did you mean 401\?"):
            session.sql("SELECT code, COUNT(*) AS n FROM data WHERE code = 40 GROUP BY code", 1)


HOLDS = {"lt": int.__lt__, "le": int.__le__, "gt": int.__gt__, "ge": int.__ge__, "eq": int.__eq__}


@pytest.mark.parametrize("name", HOLDS)
def test_a_comparison_is_false_for_all_values_of_a_column_exactly_where_it_is_for_each(name: str) -> None:
    lo, hi = 2, 5
    column = Column("x", Type.INTEGER, Span(Fraction(lo), Fraction(hi)))
    for value in range(8):
        literal = Literal(value, Type.INTEGER)
        for args, turned in (((column, literal), False), ((literal, column), True)):
            some = any(HOLDS[name](value, x) if turned else HOLDS[name](x, value) for x in range(lo, hi + 1))
            said = verdict(Call(name, {}, args, Type.BOOLEAN, Span()))
            assert said is (None if some else False), (value, turned)
