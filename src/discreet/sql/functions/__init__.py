"""The function table: everything that may be computed on a private row, one line each.

Each function is total: for every combination of inputs, NULL included, it has one defined value and never
fails. `meaning` says that value where SQL leaves room, `bounds` derives the span of the result from the spans
of the arguments, and `spelling` holds the SQL, by dialect, the empty name being standard SQL that every engine
reads. To support another engine is to add its spelling where the standard one does not do.

    table       the parts of a line
    numbers     arithmetic, rounding, bins, the functions of a pocket calculator
    logic       comparisons, conditions, choices among values
    texts       and patterns: the regular expressions that all engines share
    dates       parts, units, differences, bins; and calendar: the same as integers, for bounds
    shifts      functions that move a moment, make one, or write it as text
    casts       none of them fails
    lists       as values of their rows, and the fields of JSON texts
    places      on the earth: cells of H3
    every_line  the lines of these files, by name
    apply       widening, guards, and the few that take any number of arguments

Conventions that hold for all of them unless their meaning says otherwise: NULL in, NULL out; a floating-point
result that is NaN is NULL; an integer result that cannot be shown to fit 64 bits is computed in floating point;
a moment outside the years 1 to 9999 is NULL in all that reads the calendar.
"""

from __future__ import annotations

from discreet.sql.functions.apply import (
    MOST_PIECES,
    allowed,
    among,
    call,
    case,
    clamp,
    clamp_moment,
    common_type,
    join,
    listed,
    must,
    variadic,
    widen,
)
from discreet.sql.functions.every_line import TABLE, VARIADIC
from discreet.sql.functions.table import INT64, Function, Rule, Variadic

__all__ = [
    "INT64",
    "MOST_PIECES",
    "TABLE",
    "VARIADIC",
    "Function",
    "Rule",
    "Variadic",
    "allowed",
    "among",
    "call",
    "case",
    "clamp",
    "clamp_moment",
    "common_type",
    "join",
    "listed",
    "must",
    "variadic",
    "widen",
]
