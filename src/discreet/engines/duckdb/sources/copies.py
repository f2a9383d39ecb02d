"""Which tables are read from mended copies of their files; see `mended`."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from discreet.engines.duckdb.sources.parquet import parquet_relation
from discreet.engines.schema import TableSchema

Make: TypeAlias = Callable[[str, str], TableSchema]
"""Makes the view of a table over a relation anew, and returns its schema."""


def unread(why: Sequence[type[Exception]]) -> bool:
    """Whether a query failed in a way in which it fails on a value that cannot be read."""
    import duckdb

    return any(issubclass(kind, duckdb.ConversionException | duckdb.InvalidInputException) for kind in why)


class Copies:
    """Lets the view of a table read copies of its files, as long as the files do not change."""

    def __init__(self, folder: str, make: Make) -> None:
        self._folder = folder
        self._make = make
        self._taken: dict[str, tuple[str, Sequence[str], str]] = {}
        self._tried: dict[str, str] = {}

    def take(self, table: str, files: Sequence[str], version: str, schema: TableSchema) -> bool:
        """Read copies of those files of a table that hold unreadable values; whether there are any.

        Args:
            table: its name.
            files: its Parquet files.
            version: of the files.
            schema: which the copies must have as well.
        """
        from discreet.engines.duckdb.sources.mended import mended

        if not self._folder or self._tried.get(table) == version:
            return False
        self._tried[table] = version
        folder = os.path.join(self._folder, f"{len(self._tried)}-{version[:16]}")
        new, same = list(files), False
        with contextlib.suppress(Exception):  # the query has failed, and stays so
            new = mended(files, folder)
            same = new != list(files) and self._make(table, parquet_relation(new)) == schema
        if same:
            self._taken[table] = (version, files, folder)
        elif new != list(files):
            self._back(table, files, folder)
        return same

    @property
    def none(self) -> bool:
        """Whether every view reads the files themselves."""
        return not self._taken

    def drop(self, versions: Mapping[str, str]) -> None:
        """Read the files themselves again where they have changed."""
        for table, (version, files, folder) in list(self._taken.items()):
            if versions.get(table) != version:
                del self._taken[table]
                self._back(table, files, folder)

    def _back(self, table: str, files: Sequence[str], folder: str) -> None:
        with contextlib.suppress(Exception):  # a query of it then says that it is gone
            self._make(table, parquet_relation(files))
        shutil.rmtree(folder, ignore_errors=True)
