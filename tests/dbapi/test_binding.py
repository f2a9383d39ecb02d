from __future__ import annotations

import datetime as dt
import enum
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from discreet.dbapi import binding
from discreet.dbapi.binding import bind, count, literal, tokens
from discreet.errors import InvalidParameter

AWKWARD = st.one_of(st.text(), st.text("'\\\"-/*;$?e\n %", min_size=1))


@given(AWKWARD)
def test_a_text_comes_back_as_itself_and_touches_nothing_beside_it(value: str) -> None:
    bound = bind("SELECT e?, '?', \"?\" /* ? */ FROM t WHERE x-?=1 -- ?", [value, value])
    found = tokens(bound)
    kinds = [token.token_type for token in found]
    assert [token.text for token in found if token.token_type is TokenType.STRING] == [value, "?", value]
    assert kinds == [t.token_type for t in tokens("SELECT e 'a', '?', \"?\" FROM t WHERE x- 'a' =1")]


def test_a_literal_that_is_not_quoted_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exp.Literal, "sql", lambda self, _: f"'{self.this}'")
    assert literal("plain") == "'plain'"
    for value in ("it's", "' OR 1 = 1 --", "\\'"):
        with pytest.raises(InvalidParameter):
            literal(value)


@given(st.one_of(st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.decimals(-99, 99)))
def test_a_number_is_never_the_end_of_a_comment_or_of_a_name(value: object) -> None:
    found = tokens(bind("SELECT x-? FROM t", [value]))
    assert [token.text for token in found][:3] == ["SELECT", "x", "-"]
    assert found[-2].text == "FROM"


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (np.int64(3), "3"),
        (np.bool_(True), "TRUE"),
        (Decimal("1E+2"), "100"),
        (-0.0, "(-0.0)"),
        (1e300, "1e+300"),
        (dt.datetime(2024, 1, 2, 3, 4), "TIMESTAMP '2024-01-02 03:04:00'"),
    ],
)
def test_values_of_other_types(value: object, written: str) -> None:
    assert literal(value) == written


class Odd(int):
    """A number that shows itself as SQL."""

    def __repr__(self) -> str:
        return "1 OR (2=2"


class Size(enum.IntEnum):
    """Numbers with names."""

    LESS = -1
    MORE = 1


@pytest.mark.parametrize(
    ("value", "written"),
    [(Odd(-3), "(-3)"), (Odd(3), "3"), (Size.LESS, "(-1)"), (Size.MORE, "1"), (Decimal("-0"), "(-0)")],
)
def test_a_number_is_written_as_it_is_and_not_as_it_shows_itself(value: object, written: str) -> None:
    assert literal(value) == written


class Town(str, enum.Enum):  # noqa: UP042  # many have it so
    """Texts with names."""

    ELY = "d'Ely"


def test_a_missing_value_of_pandas_is_null_and_a_member_of_an_enumeration_of_texts_its_text() -> None:
    assert [literal(value) for value in (pd.NaT, pd.NA, np.datetime64("NaT"))] == ["NULL"] * 3
    assert literal(Town.ELY) == "'d''Ely'"
    assert literal(pd.Timestamp(2024, 1, 2)) == "TIMESTAMP '2024-01-02 00:00:00'"


def test_a_number_that_would_be_more_than_one_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(binding, "_digits", repr)
    for value in (Odd(-3), Odd(3), Size.LESS):
        with pytest.raises(InvalidParameter):
            literal(value)


def test_a_placeholder_may_be_cast() -> None:
    assert (
        bind("SELECT ?::DATE, ?:: INT, '?::'", ["2024-01-02", 3])
        == "SELECT  '2024-01-02' ::DATE,  3 :: INT, '?::'"
    )


@pytest.mark.parametrize(
    "value",
    [
        float("nan"),
        float("inf"),
        b"x",
        [1],
        {},
        dt.datetime(2024, 1, 1, tzinfo=dt.UTC),
        object(),
        Decimal("sNaN"),
    ],
)
def test_a_value_that_sql_cannot_write_is_refused_without_being_shown(value: object) -> None:
    with pytest.raises(InvalidParameter) as caught:
        literal(value)
    assert caught.value.fix
    assert repr(value) not in str(caught.value)


def test_a_number_of_thousands_of_digits_is_refused_as_any_other() -> None:
    with pytest.raises(InvalidParameter):
        literal(10**5000)


@pytest.mark.parametrize("value", ["1E999999999", "-1E-999999999", "0E9999", "0E-9999"])
def test_a_few_letters_are_not_written_as_a_thousand_million_digits(value: str) -> None:
    with pytest.raises(InvalidParameter):
        literal(Decimal(value))


@pytest.mark.parametrize("value", ["1E308", "1E-330", "0E+2", "123456789012345678901234567890.125"])
def test_a_decimal_in_the_range_of_doubles_is_written_exactly(value: str) -> None:
    assert Decimal(literal(Decimal(value))) == Decimal(value)


def test_numbered_placeholders_stand_in_any_order_and_twice() -> None:
    text = "SELECT $2, $1, '$3', $2"
    assert bind(text, [1, "b"], "numeric_dollar") == "SELECT  'b' ,  1 , '$3',  'b' "
    assert count(text, "numeric_dollar") == 2
    assert count("SELECT ?, '?', ?", "qmark") == 2
    for wrong in ("SELECT $0", "SELECT $1001"):
        with pytest.raises(InvalidParameter):
            count(wrong, "numeric_dollar")


@pytest.mark.parametrize("given_", [[], [1, 2]])
def test_as_many_values_as_placeholders_are_wanted(given_: list[int]) -> None:
    with pytest.raises(InvalidParameter, match="1 placeholders"):
        bind("SELECT ?", given_)


@pytest.mark.parametrize(
    "value", [np.longdouble("1.5"), np.datetime64("2024-01-01T12:00", "ns"), np.timedelta64(5, "ns")]
)
def test_a_value_of_numpy_that_python_has_not_is_refused(value: object) -> None:
    with pytest.raises(InvalidParameter, match="cannot be a parameter"):
        literal(value)


def test_a_moment_of_numpy_is_a_time_stamp() -> None:
    assert literal(np.datetime64("2024-01-01T12:00", "us")) == "TIMESTAMP '2024-01-01 12:00:00'"
    assert literal(np.datetime64("2024-01-01")) == "DATE '2024-01-01'"
