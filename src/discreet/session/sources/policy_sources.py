"""Sources that a policy names: a fault of one is a fault of the policy, and the error names its key."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from discreet.engines.engine import Engine
from discreet.errors import PolicyError, SourceError
from discreet.policy import Policy
from discreet.session.sources import csv_types


class NamedSourceError(PolicyError, SourceError):
    """The source that a policy names cannot be opened."""


def opening_of(policy: Policy, source: object = None) -> Callable[[], Engine]:
    """A function that opens the tables of a policy, at the source that is given or else named there."""
    from discreet.engines.sources import open_source

    given = sources_of(policy) if source is None else source
    public = [name for name, table in policy.tables.items() if table.public]
    name = next(iter(policy.tables)) if len(policy.tables) == 1 else None
    opening = partial(open_source, given, name, csv_types.of_policy(policy, given), public)
    return partial(open_policy_source, policy, opening) if source is None else opening


def open_policy_source(policy: Policy, opening: Callable[[], Engine]) -> Engine:
    """Open the source that the policy names.

    Raises:
        NamedSourceError: it cannot be opened, with the key that names it.
    """
    try:
        return opening()
    except SourceError as error:
        key = _key(policy, str(error))
        cause, fix = error.cause, error.fix
    raise NamedSourceError(cause, fix, key=key)


def places(policy: Policy) -> list[tuple[str, str]]:
    """The keys of a policy that name sources, with their urls."""
    own = [
        (f"tables.{name}.url", table.url) for name, table in policy.tables.items() if table.url is not None
    ]
    if policy.source is None or len(own) == len(policy.tables):
        return own
    return [("source.url", policy.source), *own]


def sources_of(policy: Policy) -> object:
    """The sources that a policy names: one for all tables, or one for each."""
    own = {name: table.url for name, table in policy.tables.items() if table.url is not None}
    if not own:
        if policy.source is None:
            raise PolicyError(
                "The policy names no data.", 'Write url = "parquet:visits.parquet".', key="source.url"
            )
        return policy.source
    rest = [name for name in policy.tables if name not in own]
    if rest and policy.source is None:
        raise PolicyError("The table has no data.", "Give it a url.", key=f"tables.{rest[0]}.url")
    return {**own, **dict.fromkeys(rest, policy.source)}


def _key(policy: Policy, message: str) -> str:
    """The key at fault: the one whose url the message speaks of, else the first."""
    known = places(policy)
    paths = sorted(((url.partition(":")[2], key) for key, url in known), key=lambda pair: -len(pair[0]))
    named = [key for path, key in paths if path and path in message]
    return next(iter([*named, *(key for key, _ in known)]), "source.url")
