"""Whether an engine is right: a corpus of questions over awkward tables, whose integers must be those of DuckDB.

    from discreet.sql.conformance import check, tables

    engine = ...                      # with the tables of `tables()` in it, under their names
    problems = check(engine)          # empty when it is right

Every line of the function table is in the corpus, generated from the table itself, and so are joins, windows, measures,
quantiles and the rows that are kept of a unit. docs/engines.md says how to write an engine.
"""

from __future__ import annotations

from discreet.sql.conformance.check import Problem, check, count, parts
from discreet.sql.conformance.functions import covered
from discreet.sql.conformance.questions import QUESTIONS
from discreet.sql.conformance.tables import tables

__all__ = ["QUESTIONS", "Problem", "check", "count", "covered", "parts", "tables"]
