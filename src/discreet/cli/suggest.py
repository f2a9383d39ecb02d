"""The proposal of a draft policy for a column, from its name and type alone; no value is ever looked at.

A proposal is a line that loads as it stands, with the words beside it. The steward decides. An example only shows how
a decision is written: the text of `discreet init` has it behind `# `, its page as the words of an empty field.
"""

from __future__ import annotations

import re

PEOPLE = (
    "patient", "person", "people", "user", "visitor", "customer", "client", "member", "student", "pupil",
    "employee", "worker", "subject", "participant", "respondent", "citizen", "resident", "household", "account",
    "device", "subscriber", "donor", "driver", "guest", "player", "voter", "taxpayer", "passenger", "tenant",
)  # fmt: skip
NUMBERS = ("ssn", "nhs", "nino", "email", "mail", "phone", "uid", "pid", "id", "uuid", "guid")
NAMELESS = ("BOOLEAN", "DATE", "TIMESTAMP", "OTHER")
"""Types of which no column tells people apart; those of lists, in the plural, tell nobody apart either."""

_DAYS = "bounds = [2024-01-01, 2024-12-31]"
_MOMENTS = "bounds = [2024-01-01T00:00:00, 2024-12-31T23:59:59]"
EXAMPLES = {
    "INTEGER": "bounds = [0, 100]",
    "FLOAT": "bounds = [0.0, 100.0]",
    "BOOLEAN": "",
    "TEXT": 'keys = ["A", "B"]',
    "DATE": _DAYS,
    "TIMESTAMP": _MOMENTS,
    "OTHER": "",
    "": 'type = "text"',
}
"""A declaration that a column can have, by its type; the empty type is that of CSV."""
EXAMPLE_ROWS, EXAMPLE_BUDGET = "3", "1"

_PARTS: tuple[tuple[tuple[str, ...], str, str], ...] = (
    (("year", "yr", "yob"), "1900, 2030", "a year"),
    (("quarter",), "1, 4", "a quarter"),
    (("month",), "1, 12", "a month"),
    (("week",), "1, 53", "a week"),
    (("weekday", "dow"), "0, 7", "a day of the week"),
    (("day", "dom"), "1, 31", "a day of the month"),
    (("hour",), "0, 23", "an hour"),
    (("minute", "second"), "0, 59", "a minute or second"),
    (("age",), "0, 120", "an age"),
    (("percent", "percentage", "pct"), "0, 100", "a percentage"),
    (("share", "ratio", "fraction", "probability"), "0, 1", "a share"),
    (("lat", "latitude"), "-90, 90", "a latitude"),
    (("lon", "lng", "longitude"), "-180, 180", "a longitude"),
)
_CALENDAR = frozenset(what for _, _, what in _PARTS[:8])
"""In the plural these count a length, which has other ends: minutes waited, hours_worked, years of education."""
_FRACTIONS = ("a percentage", "a share", "a latitude", "a longitude")
"""Of a file without types these are numbers with a fraction: read as whole ones, nearly all would be NULL."""
_FLAGS = ("is", "has", "was", "flag", "flagged", "active", "deleted", "enabled")
_DATES = ("date", "dob", "birthday", "at", "on", "time", "timestamp", "datetime")


def words_of(name: str) -> list[str]:
    """The words of a name.

    Example:
        >>> words_of("VisitorId"), words_of("birth_year")
        (['visitor', 'id'], ['birth', 'year'])
    """
    spaced = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", name).lower()
    return [word for word in re.split(r"[^a-z0-9]+", spaced) if word]


def is_value(name: str) -> bool:
    """Whether a name is written as a number, a date or a time: where a file has no header line, its first row is names.

    Example:
        >>> [n for n in ("580", "9:27AM", "-1.5e3", "2024-01-31", "age", "q1", "1st visit") if is_value(n)]
        ['580', '9:27AM', '-1.5e3', '2024-01-31']
    """
    return re.fullmatch(r"[-+]?[.]?[0-9][0-9.,:/e+-]*([ap]m)?", name.strip().lower(), re.ASCII) is not None


def is_unit(name: str) -> bool:
    """Whether a column may tell people apart, by its name.

    Example:
        >>> [n for n in ("patient_id", "VisitorId", "age", "paid", "userName", "uid") if is_unit(n)]
        ['patient_id', 'VisitorId', 'userName', 'uid']
    """
    return any(word in NUMBERS or word.removesuffix("s") in PEOPLE for word in words_of(name))


def units(columns: list[tuple[str, str]]) -> list[str]:
    """The columns that may tell people apart, the likeliest first.

    Example:
        >>> units([("visit_id", "INTEGER"), ("patient_id", "INTEGER"), ("user", "BOOLEAN"), ("age", "INTEGER")])
        ['patient_id', 'visit_id']
    """

    def rank(name: str) -> int:
        words = words_of(name)
        person = any(word.removesuffix("s") in PEOPLE for word in words)
        return -2 * person - any(word in NUMBERS for word in words)

    found = [n for n, kind in columns if is_unit(n) and kind not in NAMELESS and not kind.endswith("S")]
    return sorted(found, key=rank)


def suggest(name: str, kind: str) -> tuple[str, str] | None:
    """The declaration to propose for a column, and why, where its name or type says something; None otherwise.

    Args:
        name: of the column.
        kind: its logical type; empty when it is not known, as in a CSV file.

    Example:
        >>> suggest("birth_year", "INTEGER"), suggest("is_smoker", "INTEGER")
        (('bounds = [1900, 2030]', 'a year, by its name'), ('keys = [0, 1]', 'a flag, by its name'))
        >>> suggest("lat", ""), suggest("age", "")
        (('bounds = [-90.0, 90.0]', 'a latitude, by its name'), ('bounds = [0, 120]', 'an age, by its name'))
        >>> suggest("cost", "FLOAT") is None, suggest("Time spent (minutes)", "") is None
        (True, True)
    """
    words = words_of(name)
    if is_unit(name):
        return "", "an id, by its name: tells people apart, perhaps; it is counted, not summed"
    if kind == "BOOLEAN":
        return "", "true or false: it can be grouped by and averaged without a declaration"
    if kind == "OTHER":
        return "", "only COUNT and IS NULL; the fields of a struct stand by themselves"
    if kind in ("DATE", "TIMESTAMP"):
        return EXAMPLES[kind], ""
    dated = any(word in _DATES for word in words[-1:]) or "date" in words
    if kind == "TEXT":
        return ("", "a date, by its name: CAST(… AS DATE) reads it in a question") if dated else None
    if dated and not kind:
        return _DAYS, "a date, by its name"
    if words and (words[0] in _FLAGS[:3] or any(word in _FLAGS[3:] for word in words)) and kind != "FLOAT":
        return "keys = [0, 1]", "a flag, by its name"
    for names, ends, what in _PARTS:
        plain = what in _CALENDAR
        if any((word if plain else word.removesuffix("s")) in names for word in words):
            fraction = not kind and what in _FRACTIONS
            return f"bounds = [{_as('FLOAT' if fraction else kind, ends)}]", f"{what}, by its name"
    return None


def begins(name: str, kind: str) -> tuple[str, str, str]:
    """The declaration that a form begins with, which may be none, an example of one, and the words beside it.

    A name tells that its column holds dates, and not which: there is no proposal for them.

    Example:
        >>> begins("age", "INTEGER")
        ('bounds = [0, 120]', 'bounds = [0, 120]', 'an age, by its name')
        >>> begins("joined", "DATE")[2]
        'a date: without bounds, such as 2024-01-01, 2024-12-31, it can be counted and filtered only'
        >>> begins("county", "TEXT"), begins("cost", "")
        (('', 'keys = ["A", "B"]', ''), ('', '', ''))
    """
    found = suggest(name, kind)
    if found is None:
        return "", EXAMPLES[kind] if kind else "", ""
    rule, why = found
    if rule not in (_DAYS, _MOMENTS):
        return rule, rule, why
    what = why or ("a date" if rule == _DAYS else "a time stamp")
    ends = rule.partition("[")[2].rstrip("]")
    return "", rule, f"{what}: without bounds, such as {ends}, it can be counted and filtered only"


def _as(kind: str, ends: str) -> str:
    return re.sub(r"\d+", r"\g<0>.0", ends) if kind == "FLOAT" else ends
