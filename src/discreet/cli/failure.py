"""Errors as words on stderr, or as JSON where that was asked for, and exit codes."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from typer.exceptions import TyperException

from discreet.cli.terminal.signals import Stopped
from discreet.errors import (
    BudgetExceeded,
    DiscreetError,
    InvalidParameter,
    PolicyError,
    QueryRefused,
    StreamError,
    charged_words,
)
from discreet.escaping import prose

if TYPE_CHECKING:
    from rich.console import Console

USAGE, BUDGET, OTHER, INTERRUPTED = 2, 3, 1, 130
_COLOURS = {"error": "bold red", "fix": "bold green", "note": "bold", "charged": "bold"}


def exit_code(error: BaseException) -> int:
    """The exit code for an error.

    Example:
        >>> exit_code(QueryRefused("No.")), exit_code(BudgetExceeded("the data set", "1", "0"))
        (2, 3)
    """
    if isinstance(error, Stopped):
        return 128 + error.number
    if isinstance(error, KeyboardInterrupt):
        return INTERRUPTED
    if isinstance(error, BudgetExceeded):
        return BUDGET
    if isinstance(error, QueryRefused | PolicyError | InvalidParameter | TyperException):
        return USAGE
    return OTHER


def explain(error: BaseException) -> None:
    """Print on stderr the cause of an error, its fix and its charge."""
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
    """The words of an error, each with its label.

    Example:
        >>> words(QueryRefused("SUM needs bounds.", "Declare them."))
        [('error', 'SUM needs bounds.'), ('fix', 'Declare them.')]
    """
    lines = [("error", _spelled(error, _cause(error)))]
    if isinstance(error, DiscreetError) and error.fix:
        lines.append(("fix", _spelled(error, error.fix)))
    lines += [("note", note) for note in _notes(error)]
    if getattr(error, "told", False):
        spent = getattr(error, "charged", None)
        lines.append(("charged", "nothing" if spent is None else f"{spent}, which stays charged"))
    return [(label, prose(text)) for label, text in lines]


def document(error: BaseException) -> dict[str, Any]:
    """An error as a document for programs. `charged` is null where nothing was charged.

    Example:
        >>> document(BudgetExceeded("the data set", "1", "0"))["charged"] is None
        True
    """
    from discreet.release.exactly import exact

    spent = getattr(error, "charged", None)
    about: dict[str, Any] = {
        "error": "Usage" if isinstance(error, TyperException) else type(error).__name__,
        "cause": _spelled(error, error.cause if isinstance(error, DiscreetError) else _cause(error)),
        "fix": _spelled(error, error.fix) if isinstance(error, DiscreetError) else "",
        "charged": None if spent is None else {"epsilon": exact(spent.epsilon), "delta": exact(spent.delta)},
        "notes": _notes(error),
        "exit_code": exit_code(error),
    }
    if isinstance(error, QueryRefused) and error.place:
        about |= {"place": error.place, "line": error.line, "column": error.column}
    if isinstance(error, PolicyError) and error.key:
        about["key"] = error.key
    return about


def explain_json(error: BaseException) -> None:
    """Say it on stderr as JSON."""
    print(json.dumps(document(error), ensure_ascii=False, indent=2), file=sys.stderr)  # noqa: T201


def _notes(error: BaseException) -> list[str]:
    own = charged_words(getattr(error, "charged", None))
    return [note for note in getattr(error, "__notes__", ()) if note != own]


def _spelled(error: BaseException, text: str) -> str:
    """A part of an error with its parameters as options; in SQL and in a policy a name alone is none."""
    from discreet.cli.terminal.spelling import options_for

    if isinstance(error, QueryRefused | PolicyError | StreamError):
        return options_for(text, alone=False)
    return options_for(text) if isinstance(error, InvalidParameter) else text


def _cause(error: BaseException) -> str:
    if isinstance(error, QueryRefused) and error.picture:
        return f"{error.cause}\n{error.picture}"
    if isinstance(error, DiscreetError):
        return error.cause.rstrip("\n")
    if isinstance(error, Stopped):
        return f"stopped by {error.name}"
    if isinstance(error, KeyboardInterrupt):
        return "interrupted"
    if isinstance(error, TyperException):
        return str(getattr(error, "format_message", error.__str__)())
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"{error.filename}: {error.strerror}"
    return str(error)
