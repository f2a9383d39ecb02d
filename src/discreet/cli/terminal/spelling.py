"""Parameters in the words of errors, as the command line spells them: `area=(1, 2)` is `--area 1,2` here."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from discreet.sql.inspect.preview import Preview

NAMES: Final = (
    "area", "budget", "confidence", "crs", "degree", "delta", "epsilon", "gamma", "group_rows", "in_engine", "ledger",
    "like", "max_degree", "max_groups", "max_rows", "max_rows_per_group", "people", "rounds", "table", "teachers",
    "time", "vertices", "where", "width", "within",
)  # fmt: skip
"""The parameters of Python that are options of a command under the same name."""

_NAMES: Final = "|".join(sorted(NAMES, key=len, reverse=True))
_GIVEN: Final = re.compile(
    rf"(?<![\w.\-])(?P<name>{_NAMES})=(?P<value>\([^)]*\)|\[[^]]*\]|\"[^\"]*\"|'[^']*'|[^\s,:;]*)"
)
_ALONE: Final = re.compile(
    rf"(?P<first>^(?:{_NAMES}))(?= (?:is|must|has|needs)\b)|(?<![\w.\-])(?P<name>{_NAMES})(?![\w=:-]|\.\w)"
)


def in_options(preview: Preview) -> Preview:
    """A preview whose advice speaks of options; the names of its columns stay.

    Args:
        preview: of one question.
    """
    said = tuple(map(options_for, preview.warnings)), tuple(map(options_for, preview.together))
    return replace(preview, warnings=said[0], together=said[1], known=options_for(preview.known))


def options_for(text: str, alone: bool = True) -> str:
    """A sentence whose parameters are options.

    Args:
        text: the sentence.
        alone: whether a name without a value is meant, too, where it has two words or is the subject of the sentence.

    Example:
        >>> options_for("Write area=(4.3, 51.5, 6.0, 52.7), least x and y first.")
        'Write --area 4.3,51.5,6.0,52.7, least x and y first.'
        >>> options_for("delta must be at least 0 and below 1."), options_for("Here max_degree is missing.")
        ('--delta must be at least 0 and below 1.', 'Here --max-degree is missing.')
        >>> options_for("The table has a delta."), options_for("tables.visits.max_rows: No.")
        ('The table has a delta.', 'tables.visits.max_rows: No.')
    """
    spelled = _GIVEN.sub(_given, text)
    return _ALONE.sub(_alone, spelled) if alone else spelled


def _given(found: re.Match[str]) -> str:
    value = found["value"]
    if value.startswith(("(", "[")):
        value = re.sub(r",\s+", ",", value[1:-1])
    end = "." if value.endswith(".") else ""
    return f"{_option(found['name'])} {value.removesuffix('.')}".rstrip() + end


def _alone(found: re.Match[str]) -> str:
    name = found["first"] or found["name"]
    return _option(name) if found["first"] or "_" in name else name


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"
