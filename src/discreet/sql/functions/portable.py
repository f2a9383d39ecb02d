"""Functions that each engine has in its own way, defined once: texts that are numbers or dates, formats, letters."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache

from discreet.sql.expressions.expression import Call, Literal

# Texts that are numbers and dates --------------------------------------------------------------------------
# A text that does not match is NULL. A text that matches is read alike by every engine and refused by none: so the
# days of each month and the leap years stand here.
INTEGER_TEXT = r"^ *[+-]?[0-9]{1,22}(\.[0-9]{0,15})? *$"
"""A decimal number; its fraction is rounded, half away from zero."""
FLOAT_TEXT = r"^ *[+-]?([0-9]{1,40}(\.[0-9]{0,40})?|\.[0-9]{1,40})([eE][+-]?[0-9]{1,3})? *$"
_LEAP = "([0-9][0-9](0[48]|[2468][048]|[13579][26])|(0[48]|[2468][048]|[13579][26])00)"
_YEAR = "([1-9][0-9][0-9][0-9]|0[1-9][0-9][0-9]|00[1-9][0-9]|000[1-9])"
_DATE = (
    f"({_YEAR}-((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)|02-(0[1-9]|1[0-9]|2[0-8]))"
    f"|{_LEAP}-02-29)"
)
DATE_TEXT = f"^ *{_DATE} *$"
"""YYYY-MM-DD, of the years 1 to 9999."""
TIMESTAMP_TEXT = rf"^ *{_DATE}([ T]([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]{{1,6}})?)? *$"
"""A date, and a time of day where there is one."""


def matching(template: str, pattern: str) -> str:
    """A template with a pattern as a text in it, at the word PATTERN; its braces are no places for arguments."""
    return template.replace("PATTERN", "'" + pattern.replace("{", "{{").replace("}", "}}") + "'")


# Arithmetic ------------------------------------------------------------------------------------------------
ZERO, LIMIT = "CAST('0.0' AS DOUBLE)", "CAST('9007199254740992.0' AS DOUBLE)"
INFINITY = "CAST('Infinity' AS DOUBLE)"


def _trunc(x: str) -> str:
    return f"trunc({x})"


def remainder(quotient: str, times: Callable[[str, str], str], trunc: Callable[[str], str] = _trunc) -> str:
    """A - b * trunc(a / b), kept between 0 and b; NULL from a quotient of 2^53 on, which has lost the remainder."""
    left = f"{{0}} - {times('{1}', trunc(quotient))}"
    return (
        f"(CASE WHEN abs({{1}}) = {INFINITY} THEN CASE WHEN abs({{0}}) < {INFINITY} THEN {{0}} END "
        f"WHEN {{0}} >= 0 AND abs({quotient}) < {LIMIT} THEN GREATEST({ZERO}, LEAST({left}, abs({{1}}))) "
        f"WHEN {{0}} < 0 AND abs({quotient}) < {LIMIT} THEN LEAST({ZERO}, GREATEST({left}, - abs({{1}}))) END)"
    )


def exact_log2(power: str = "power", ln: str = "ln") -> str:
    """The binary logarithm from the natural one, and exact for the powers of two."""
    log = f"({ln}({{0}}) / CAST('0.6931471805599453' AS DOUBLE))"
    whole = f"LEAST(round({log}), CAST('1023.0' AS DOUBLE))"
    return (
        f"(CASE WHEN {{0}} > 0 THEN CASE WHEN {power}(CAST('2.0' AS DOUBLE), {whole}) = {{0}} "
        f"THEN {whole} ELSE {log} END END)"
    )


# Formats ---------------------------------------------------------------------------------------------------


def format_template(pieces: Mapping[str, str], text: Callable[[str], str]) -> Callable[[Call], str]:
    """The template of strftime in a dialect that has another language for formats: its directives, joined.

    Args:
        pieces: the text of each directive, with {0} for the moment.
        text: a constant text in that dialect.
    """

    def template(call: Call) -> str:
        pattern = call.args[1]
        assert isinstance(pattern, Literal)
        assert isinstance(pattern.value, str)
        out = []
        for directive, plain in re.findall(r"%(.)|([^%]+)", pattern.value, re.DOTALL):
            if directive and directive != "%":
                out.append(pieces[directive])
            else:
                out.append(text(plain or "%").replace("{", "{{").replace("}", "}}"))
        return f"({' || '.join(out)})"

    return template


# Letters ---------------------------------------------------------------------------------------------------


@cache
def case_pairs(function: str) -> tuple[str, str]:
    """The characters that `lower` or `upper` changes, and their results: one code point for one, everywhere.

    Taken from DuckDB, whose Unicode tables are thus those of every engine.
    """
    import pyarrow as pa

    from discreet.engines.sandbox import Sandbox

    points = [*range(0x41, 0xD800), *range(0xE000, 0x20000)]
    table = pa.table({"c": pa.array([chr(point) for point in points])})
    with Sandbox({"points": table}) as sandbox:
        found = sandbox.run(f"SELECT c, {function}(c) AS d FROM points WHERE {function}(c) <> c ORDER BY c")
    pairs = [(c, d) for c, d in zip(*found.to_pydict().values(), strict=True) if len(d) == 1]
    return "".join(c for c, _ in pairs), "".join(d for _, d in pairs)
