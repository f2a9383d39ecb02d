from __future__ import annotations

from contextlib import suppress
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.dbapi.statements import Ask, ConnectionSettings, Setting, Transaction, read, split
from discreet.errors import InvalidParameter


@pytest.mark.parametrize(
    ("text", "read_as"),
    [
        ("set session discreet.epsilon = '1/3'", Setting("set", "discreet.epsilon", "1/3")),
        ("SET discreet.epsilon TO 1e-9", Setting("set", "discreet.epsilon", "1e-9")),
        ("SET discreet.epsilon = DEFAULT", Setting("set", "discreet.epsilon", None)),
        ("RESET discreet.epsilon", Setting("reset", "discreet.epsilon")),
        ("RESET ALL", Setting("reset", "")),
        ("SHOW discreet.intervals", Setting("show", "discreet.intervals")),
        ("SET extra_float_digits = 3", Setting("set", "extra_float_digits", "3")),
        ("SET TIME ZONE 'UTC'", Setting("set", "time zone utc", "")),
        ("START TRANSACTION ISOLATION LEVEL SERIALIZABLE", Transaction("begin")),
        ("ROLLBACK TO SAVEPOINT a", Transaction("savepoint")),
        ("rollback", Transaction("rollback")),
        ("SHOW TABLES", Ask("SHOW TABLES")),
        ("SELECT ';' ; ;", Ask("SELECT ';'")),
        ("", Ask("")),
    ],
)
def test_statements_are_told_apart(text: str, read_as: object) -> None:
    assert read(text) == read_as


@pytest.mark.parametrize("text", ["SET", "SET discreet.epsilon", "SET discreet.epsilon ="])
def test_a_setting_without_a_value_is_refused(text: str) -> None:
    with pytest.raises(InvalidParameter):
        read(text)


def test_a_price_for_one_transaction_is_refused() -> None:
    """It would hold for the questions behind that transaction, too; the settings of a database are nobody's here."""
    with pytest.raises(InvalidParameter, match="SET LOCAL"):
        read("SET LOCAL discreet.epsilon = 3")
    assert read("SET LOCAL statement_timeout = 3") == Setting("set", "statement_timeout", "3")


def test_settings_are_read_exactly_and_shown_as_written() -> None:
    settings = ConnectionSettings()
    for name, text in [("epsilon", "1/3"), ("delta", "1e-9"), ("confidence", "0.9"), ("simultaneous", "on"),
                       ("max_rows", "2"), ("max_groups", "3"), ("intervals", "yes")]:  # fmt: skip
        settings = settings.set(name, text)
    assert settings == ConnectionSettings(Fraction(1, 3), Fraction(1, 10**9), 0.9, True, 2, 3, True)
    assert settings.shown("epsilon") == "1/3"
    assert (settings.shown("intervals"), ConnectionSettings().shown("epsilon")) == ("on", "")
    assert settings.set("epsilon", None).epsilon is None


@pytest.mark.parametrize(
    ("name", "text"),
    [("epsilon", "0"), ("epsilon", "nan"), ("max_rows", "1.5"), ("max_rows", "0"), ("intervals", "maybe"),
     ("confidence", "2"), ("delta", "1"), ("epsilom", "1"), ("__class__", "1")],
)  # fmt: skip
def test_a_wrong_setting_is_refused(name: str, text: str) -> None:
    with pytest.raises(InvalidParameter):
        ConnectionSettings().set(name, text)


def test_a_question_that_names_its_price_gets_no_other() -> None:
    settings = ConnectionSettings(Fraction(1), delta=Fraction(1, 10**9), max_rows=2)
    text = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.1, max_rows = 1) COUNT(*) FROM t"
    assert settings.options(text) == {"delta": Fraction(1, 10**9), "confidence": 0.95}


@given(st.text(";'\"-/*$ aSET=\n.", max_size=40))
def test_any_text_is_read_or_refused(text: str) -> None:
    for one in [text, *split(text)]:
        with suppress(InvalidParameter):
            read(one)
