"""The faults of a policy: all in one error, each with its key and its fix."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from inspect import isclass
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias, get_args

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import PydanticCustomError

from discreet.errors import PolicyError

Problem: TypeAlias = tuple[str, str, str]
"""The dotted key at fault, the cause and the fix."""


def wrong(cause: str, fix: str, key: str = "") -> PydanticCustomError:
    """Make the error that a validator raises; `key` is added to the place that pydantic knows."""
    return PydanticCustomError("policy", "{cause} {fix}", {"cause": cause, "fix": fix, "key": key})


def complain(problems: Sequence[Problem]) -> NoReturn:
    """Raise one error for all problems.

    Raises:
        PolicyError: always; its key is that of the first problem.
    """
    if len(problems) == 1:
        ((key, cause, fix),) = problems
        raise PolicyError(cause, fix, key=key)
    listed = "\n".join(f"  {key}: {cause} {fix}" for key, cause, fix in problems)
    error = PolicyError(f"The policy has {len(problems)} problems.\n{listed}")
    error.key = problems[0][0]
    raise error


def instead(name: str, options: Iterable[str]) -> str:
    """Suggest the closest valid name, else list them."""
    import difflib

    listed = list(options)
    folded = {each.lower(): each for each in listed}
    close = difflib.get_close_matches(name.lower(), folded, n=1)
    if close:
        return f"Did you mean {folded[close[0]]}?"
    if not listed:
        return "Check the name."
    return f"Choose from {', '.join(listed[:20])}{', …' if len(listed) > 20 else ''}."


class _Meta(type(BaseModel)):  # type: ignore[misc]
    """Makes the constructor of a model raise one `PolicyError`; inside of it pydantic collects as always."""

    def __call__(cls, *args: Any, **values: Any) -> Any:
        try:
            return super().__call__(*args, **values)
        except ValidationError as error:
            found = error.errors(include_url=False, include_input=False)
        complain([_problem(cls, problem) for problem in found])


if TYPE_CHECKING:

    class PolicyModel(BaseModel):
        """The base of the models of a policy: frozen, and closed to unknown keys."""

        model_config = ConfigDict(extra="forbid", frozen=True)
else:

    class PolicyModel(BaseModel, metaclass=_Meta):
        """The base of the models of a policy: frozen, and closed to unknown keys."""

        model_config = ConfigDict(extra="forbid", frozen=True)


_NATIVE = {
    "missing": ("It is missing.", "Add it."),
    "string_type": ("It is not a text.", "Write it in quotes."),
    "bool_type": ("It is neither true nor false.", "Write true or false."),
    "dict_type": ("It is not a set of keys and values.", "Write it as a table."),
    "model_type": ("It is not a set of keys and values.", "Write it as a table."),
    "literal_error": ("It is not a known relation.", 'Write "add_remove" or "replace_one".'),
}


def _problem(model: type[BaseModel], found: Mapping[str, Any]) -> Problem:
    """Turn one problem of pydantic's into ours."""
    place, kind = tuple(found["loc"]), found["type"]
    context = found.get("ctx", {})
    if kind == "extra_forbidden":
        options = _model_at(model, place[:-1]).model_fields
        fix = instead(str(place[-1]), options)
        if "tables" in options and not fix.startswith("Did"):
            fix += f" A table of the data is written [tables.{place[-1]}]."
        return _dotted(place), "The policy has no key of this name.", fix
    if kind == "policy":
        key = _dotted((*place, context["key"]) if context["key"] else place)
        return key, context["cause"], context["fix"]
    cause, fix = _NATIVE.get(kind, (f"{found['msg']}.", "Mend it."))
    return _dotted(place), cause, fix


def _dotted(place: Sequence[object]) -> str:
    return ".".join(map(str, place))


def _model_at(model: type[BaseModel], place: Sequence[object]) -> type[BaseModel]:
    """Follow a place down to the model whose key it is."""
    for part in place:
        field = model.model_fields.get(str(part))
        if field is not None:
            inner = [each for each in (field.annotation, *get_args(field.annotation)) if isclass(each)]
            model = next((each for each in inner if issubclass(each, BaseModel)), model)
    return model
