"""Which engine opens a source: DuckDB, one of those that come with discreet, or one that a package brings along.

A package registers an engine in the entry-point group `discreet.engines`, under the scheme of its urls or under the
name of the Python package whose objects it opens:

    [project.entry-points."discreet.engines"]
    snowflake = "discreet_snowflake:SnowflakeEngine"

The value is a class with `open_all(sources)`, which takes pairs of a table name (or None for all tables) and a source
and returns an `Engine`; docs/engines.md says how to write one.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Protocol, cast

from discreet.engines.engine import Engine

GROUP = "discreet.engines"
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
BUILT_IN = {
    **dict.fromkeys(
        ("postgresql", "postgres", "psycopg", "sqlalchemy"), "discreet.engines.postgres:PostgresEngine"
    ),
    **dict.fromkeys(("spark", "pyspark"), "discreet.engines.spark:SparkEngine"),
    **dict.fromkeys(
        ("clickhouse", "clickhouses", "clickhouse_connect", "chdb"),
        "discreet.engines.clickhouse:ClickHouseEngine",
    ),
    "ibis": "discreet.engines.ibis:IbisEngine",
}
"""Scheme of a url, or package of an object -> the engine."""


class Opener(Protocol):
    """An opener of sources of one kind."""

    def open_all(self, sources: Iterable[tuple[str | None, object]]) -> Engine:
        """Open (name, source) each; None instead of a name takes every table that there is.

        Raises:
            SourceError: a source cannot be opened, or not together with the others.
        """


def opener(source: object) -> Opener | None:
    """The opener of a source, or None when DuckDB opens it."""
    name = _name(source)
    if name is None:
        return None
    if name in BUILT_IN:
        module, _, attribute = BUILT_IN[name].partition(":")
        return cast("Opener", getattr(import_module(module), attribute))
    for point in _registered(name, _installed()):
        return cast("Opener", point.load())
    return None


@cache
def _registered(name: str, installed: tuple[tuple[str, int], ...]) -> tuple[EntryPoint, ...]:
    """The engines under a name; looking reads a file of every package, so it is done once for those installed."""
    return tuple(entry_points(group=GROUP, name=name))


def _installed() -> tuple[tuple[str, int], ...]:
    """The folders of packages, with the time at which one came or went."""
    found = []
    for folder in sys.path:
        try:
            found.append((folder, os.stat(folder or ".").st_mtime_ns))
        except OSError:
            found.append((folder, -1))
    return tuple(found)


def without_password(url: str) -> str:
    """A url without the password in it.

    Example:
        >>> without_password("postgresql://me:sesame@host/db?password=sesame&connect_timeout=3#visits")
        'postgresql://me@host/db?connect_timeout=3#visits'
        >>> without_password("postgresql:///db?password=sesame"), without_password("spark:visits")
        ('postgresql:///db', 'spark:visits')
    """
    url = re.sub(r"(://[^:/@?#]*):[^@/]*@", r"\1@", url)
    url = re.sub(r"(?<=[?&])(?:ssl)?password=[^&#]*&?", "", url, flags=re.IGNORECASE)
    return re.sub(r"[?&](?=#|$)", "", url)


def _name(source: object) -> str | None:
    """The scheme of a url, or the package of an object."""
    if isinstance(source, str):
        scheme = _SCHEME.match(source)
        # A drive of Windows is one letter.
        return scheme[1].lower() if scheme is not None and len(scheme[1]) > 1 else None
    return None if isinstance(source, os.PathLike) else type(source).__module__.partition(".")[0]
