"""Keys as people write them in one line, for the command line and the pages."""

from __future__ import annotations

import re
from collections.abc import Iterable

from discreet.errors import InvalidParameter

MAX_RANGE = 10_000_000
_PART = re.compile(r'\s*"((?:[^"]|"")*)"\s*(?:,|\Z)|([^,]*)(?:,|\Z)')


def read_keys(text: str) -> list[str] | list[int]:
    """Read `A, B, C` or `1..16`: whole numbers where all are written as such, else texts.

    Blanks around a part are none of it, and a part in double quotes may hold commas. An empty part is the empty
    text, which the tables of answers show as two quotes.

    Raises:
        InvalidParameter: the range is empty or too long.

    Example:
        >>> read_keys('Kent, "Tyne, Wear"'), read_keys("1..3"), read_keys("01,02")
        (['Kent', 'Tyne, Wear'], [1, 2, 3], ['01', '02'])
        >>> read_keys('"", north'), read_keys(", north"), read_keys("")
        (['', 'north'], ['', 'north'], [])
    """
    first, dots, last = (part.strip() for part in text.partition(".."))
    if dots and are_whole([first, last]):
        if not 0 <= int(last) - int(first) < MAX_RANGE:
            raise InvalidParameter(
                "The range of keys is empty or too long.", "Write the least key first, as in 1..16."
            )
        return list(range(int(first), int(last) + 1))
    parts = _parts(text) if text.strip() else []
    return [int(part) for part in parts] if parts and are_whole(parts) else parts


def are_whole(parts: Iterable[str]) -> bool:
    """Whether all are whole numbers: 01 is a code and none, so only a text that Python would print the same way is."""
    return all(re.fullmatch(r"-?[0-9]{1,18}", part) and str(int(part)) == part for part in parts)


def _parts(text: str) -> list[str]:
    out: list[str] = []
    offset = 0
    while True:
        found = _PART.match(text, offset)
        assert found is not None, "a part without quotes ends at the next comma or at the end"
        quoted, plain = found.groups()
        out.append(plain.strip() if quoted is None else quoted.replace('""', '"'))
        if not found[0].endswith(","):
            return out
        offset = found.end()
