"""Errors as words on stderr and exit codes."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from discreet.errors import BudgetExceeded, DiscreetError, InvalidParameter, PolicyError, QueryRefused
from discreet.escaping import prose

if TYPE_CHECKING:
    from rich.console import Console

USAGE, BUDGET, OTHER, INTERRUPTED = 2, 3, 1, 130
_COLOURS = {"error": "bold red", "fix": "bold green", "note": "bold"}


def exit_code(error: BaseException) -> int:
    """The exit code for an error.

    Example:
        >>> exit_code(QueryRefused("No.")), exit_code(BudgetExceeded("the data set", "1", "0"))
        (2, 3)
    """
    if isinstance(error, KeyboardInterrupt):
        return INTERRUPTED
    if isinstance(error, BudgetExceeded):
        return BUDGET
    if isinstance(error, QueryRefused | PolicyError | InvalidParameter):
        return USAGE
    return OTHER


def explain(error: BaseException) -> None:
    """Say on stderr what went wrong, what to do about it and what it cost."""
    if not sys.stderr.isatty():
        print("\n".join(f"{label}: {text}" for label, text in words(error)), file=sys.stderr)  # noqa: T201
        return
    from rich.console import Console

    styled(error, Console(stderr=True, soft_wrap=True, highlight=False))


def styled(error: BaseException, console: Console) -> None:
    """Say it in colours."""
    from rich.text import Text

    for label, text in words(error):
        console.print(Text.assemble((label, _COLOURS[label]), ": ", text))


def words(error: BaseException) -> list[tuple[str, str]]:
    """What is to be said of an error, each with its label.

    Example:
        >>> words(QueryRefused("SUM needs bounds.", "Declare them."))
        [('error', 'SUM needs bounds.'), ('fix', 'Declare them.')]
    """
    lines = [("error", _cause(error))]
    if isinstance(error, DiscreetError) and error.fix:
        lines.append(("fix", error.fix))
    lines += [("note", note) for note in getattr(error, "__notes__", ())]
    return [(label, prose(text)) for label, text in lines]


def _cause(error: BaseException) -> str:
    if isinstance(error, QueryRefused) and error.picture:
        return f"{error.cause}\n{error.picture}"
    if isinstance(error, DiscreetError):
        return error.cause.rstrip("\n")
    if isinstance(error, KeyboardInterrupt):
        return "interrupted"
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"{error.filename}: {error.strerror}"
    return str(error)
