"""Options in groups: a command names a group once, instead of each option that several commands share."""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable
from typing import Any, get_type_hints

ORDER = (
    "sql", "name", "epsilon", "within", "reuse", "policy", "file", "confidence", "simultaneous", "diagnose",
    "no_intervals", "nonnegative", "integers", "delta", "group_rows", "output", "as_json", "form", "picture",
    "engine_sql", "as_csv", "mock", "formulas", "quiet", "server", "dataset", "source", "table", "unit",
    "max_rows", "max_groups", "max_rows_per_group", "split", "bounds", "keys", "types", "budget", "ledger",
)  # fmt: skip
"""The order in which `--help` lists options, whichever group they are in; others follow in the order of the command."""


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """A command whose options are those of its groups, which are the parameters that are dataclasses, and its own.

    The fields of a group are options, annotated as Typer reads them. An option that is in two groups is one option.

    Example:
        >>> @dataclasses.dataclass(frozen=True)
        ... class Place:
        ...     source: str = "here"
        >>> def command(place: Place, quiet: bool = False) -> None:
        ...     print(place, quiet)
        >>> inspect.signature(grouped(command))
        <Signature (quiet: bool = False, source: str = 'here')>
        >>> grouped(command)(source="there")
        Place(source='there') False
    """
    hints = get_type_hints(command, include_extras=True)
    own: dict[str, inspect.Parameter] = {}
    groups: dict[str, Any] = {}
    for name, parameter in inspect.signature(command).parameters.items():
        if dataclasses.is_dataclass(hints[name]):
            groups[name] = hints[name]
        else:
            own[name] = parameter.replace(annotation=hints[name], kind=inspect.Parameter.KEYWORD_ONLY)
    options = {**own}
    for group in groups.values():
        types = get_type_hints(group, include_extras=True)
        for field in dataclasses.fields(group):
            options[field.name] = inspect.Parameter(
                field.name,
                inspect.Parameter.POSITIONAL_OR_KEYWORD,
                default=inspect.Parameter.empty if field.default is dataclasses.MISSING else field.default,
                annotation=types[field.name],
            )

    @functools.wraps(command)
    def run(**given: Any) -> None:
        values = {name: given.get(name, option.default) for name, option in options.items()}
        made = {
            name: group(**{field.name: values[field.name] for field in dataclasses.fields(group)})
            for name, group in groups.items()
        }
        command(**made, **{name: values[name] for name in own})

    ordered = sorted(options.values(), key=_place)
    run.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [option.replace(kind=inspect.Parameter.POSITIONAL_OR_KEYWORD) for option in ordered]
    )
    run.__annotations__ = {option.name: option.annotation for option in ordered}
    del run.__wrapped__  # or its signature would be read instead
    return run


def _place(option: inspect.Parameter) -> tuple[bool, int]:
    """The place of an option in the help; those that must be given come first."""
    optional = option.default is not inspect.Parameter.empty
    return optional, ORDER.index(option.name) if optional and option.name in ORDER else len(ORDER)
