"""Events as canonical JSON, in which a ledger keeps them, so that anybody can price a charge again.

An event is an object with the name of its class under `kind` and its fields beside it; a rational is a text such as
`1/10`. An event has one spelling only: after reading, it is written again and compared.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final

from discreet.accounting import events as ev
from discreet.accounting.loss import Loss
from discreet.accounting.zcdp import ZCDP
from discreet.errors import InvalidParameter

KINDS: Final[Mapping[str, type[ev.Event]]] = {
    kind.__name__: kind
    for kind in (ev.Released, ev.Concentrated, ev.Converted, ev.LaplaceNoise, ev.GaussianNoise,
                 ev.DiscreteGaussianNoise, ev.GaussianPrivate, ev.Sampled, ev.Repeated, ev.Composed, ev.Parallel,
                 ev.Alternatives, ev.Grouped, ev.ReplaceOne)
}  # fmt: skip
"""The events that have a spelling, by name."""
INHERITED: Final = (
    ev.Converted,
    ev.Sampled,
    ev.Repeated,
    ev.Composed,
    ev.Parallel,
    ev.Alternatives,
    ev.Grouped,
    ev.ReplaceOne,
)
"""Their neighbours are those of the events that they are made of."""
KNOWN: Final = 256
"""How many events are kept beside their spelling: the questions of a session repeat few kinds."""


@lru_cache(maxsize=KNOWN)
def written(event: ev.Event) -> str:
    """Write an event.

    Example:
        >>> written(ev.LaplaceNoise(20, 2, neighbours="add_remove"))
        '{"grid":"1","kind":"LaplaceNoise","neighbours":"add_remove","scale":"20","sensitivity":"2"}'
    """
    return json.dumps(_plain(event), sort_keys=True, separators=(",", ":"))


@lru_cache(maxsize=KNOWN)
def read(text: str) -> ev.Event:
    """Read an event.

    Raises:
        InvalidParameter: the text is not one that `written` gives.

    Example:
        >>> read('{"kind":"Released","loss":["1/10","0"],"neighbours":"replace_one"}').neighbours
        'replace_one'
    """
    try:
        event = _event(json.loads(text))
        if written(event) == text:
            return event
    except (InvalidParameter, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        pass  # its text stays in here
    raise InvalidParameter("This is not the text of an event.", "Give a text that discreet wrote.")


def _plain(value: object) -> Any:
    if isinstance(value, ev.Event):
        fields = {name: _plain(field) for name, field in vars(value).items() if not name.startswith("_")}
        return {"kind": type(value).__name__, **fields}
    if isinstance(value, tuple):
        return [_plain(part) for part in value]
    if isinstance(value, Loss):
        return [str(value.epsilon), str(value.delta)]
    if isinstance(value, ZCDP):
        return [str(value.rho), str(value.delta)]
    return str(value) if isinstance(value, Fraction) else value


def _event(known: dict[str, Any]) -> ev.Event:
    kind = KINDS[known["kind"]]
    fields = {name: _READ.get(name, _same)(value) for name, value in known.items() if name != "kind"}
    if kind in INHERITED:
        del fields["neighbours"]
    make: Callable[..., ev.Event] = kind
    return make(**fields)


def _same(value: object) -> object:
    return value


_READ: Final[Mapping[str, Callable[[Any], object]]] = {
    "event": _event,
    "events": lambda found: [_event(part) for part in found],
    "loss": lambda pair: Loss(*pair),
    "zcdp": lambda pair: ZCDP(*pair),
}
