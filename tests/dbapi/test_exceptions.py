from __future__ import annotations

import inspect
import traceback

import pytest

from discreet import dbapi, errors
from discreet.dbapi.exceptions import kind_of, translated
from discreet.errors import BudgetExceeded, DiscreetError, QueryRefused

OTHERS = {"DiscreetError", "EntropyError", "Exhausted", "MissingExtra", "StreamError", "UnsupportedEvent"}
"""Errors that no question to a session raises but in a fault of ours: InternalError, or of building blocks."""


def test_every_error_of_a_question_has_a_class_of_its_own() -> None:
    kinds = [one for _, one in inspect.getmembers(errors, inspect.isclass) if issubclass(one, DiscreetError)]
    made = {kind.__name__: kind_of(kind.__new__(kind)) for kind in kinds}
    assert {name for name, kind in made.items() if kind is dbapi.InternalError} == OTHERS


def test_the_typed_error_is_kept() -> None:
    inner = QueryRefused("No.", "Write another.", line=1, column=3)
    with pytest.raises(dbapi.ProgrammingError) as caught, translated():
        raise inner
    assert caught.value.error is inner
    assert caught.value.charged is None
    assert str(caught.value) == str(inner)


def test_a_traceback_shows_its_way_for_a_fault_of_ours_alone() -> None:
    for inner, shown in ((QueryRefused("No.", "Write another."), 1), (DiscreetError("A fault."), 2)):
        with pytest.raises(dbapi.DatabaseError) as caught, translated():
            raise inner
        text = "".join(traceback.format_exception(caught.value))
        assert text.count("Traceback") == shown


def test_other_errors_pass() -> None:
    with pytest.raises(KeyError), translated():
        raise KeyError


def test_the_tree_of_the_standard() -> None:
    assert issubclass(kind_of(BudgetExceeded("x", "1", "0")), dbapi.DatabaseError)
    for one in (dbapi.DataError, dbapi.IntegrityError, dbapi.InternalError, dbapi.NotSupportedError,
                dbapi.OperationalError, dbapi.ProgrammingError):  # fmt: skip
        assert issubclass(one, dbapi.DatabaseError)
    assert issubclass(dbapi.DatabaseError, dbapi.Error)
    assert issubclass(dbapi.InterfaceError, dbapi.Error)
    assert not issubclass(dbapi.Warning, dbapi.Error)
