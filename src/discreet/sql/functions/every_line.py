"""The whole function table: the lines of every file that writes some."""

from __future__ import annotations

from discreet.sql.functions import casts, dates, lists, logic, numbers, shifts, texts
from discreet.sql.functions.places import hexagons
from discreet.sql.functions.table import Function, Variadic

FILES = (casts, dates, hexagons, lists, logic, numbers, shifts, texts)
TABLE: dict[str, list[Function]] = {}
"""Every function by name; lines of one name are tried in order until the types fit."""
for _file in FILES:
    for _line in _file.LINES.functions:
        TABLE.setdefault(_line.name, []).append(_line)
VARIADIC: dict[str, Variadic] = {line.name: line for file in FILES for line in file.LINES.variadic}
"""The functions of any number of arguments."""
