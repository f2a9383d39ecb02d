"""The place of a graph's edges: an object in memory, or a table of an engine; they are read after a charge alone."""

from __future__ import annotations

import hashlib
import json
import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from discreet.engines.schema import Type
from discreet.errors import InvalidParameter, PolicyError, SourceError
from discreet.graphs import (
    EngineGraph,
    Graph,
    finds_components,
    of_object,
    of_table,
    see_readable,
    spelling_of,
)
from discreet.session.sources.ledger_place import beside
from discreet.session.sources.protected_files import ProtectedFiles, files_of

if TYPE_CHECKING:
    from discreet.engines.engine import Engine
    from discreet.ledger import Ledger


class GraphSource:
    """The place of a graph's edges.

    Args:
        source: a graph object, or a table of edges.
        table: its name, where the source has several.
        ends: the two columns of an edge, where they are not plain.
        vertices: the public names, where they are listed.
        in_engine: whether the engine counts; None for Spark alone.
    """

    def __init__(self, source: object, table: str | None, ends: tuple[str, str] | None, vertices: list[Any] | None,
                 in_engine: bool | None = None) -> None:  # fmt: skip
        from discreet.engines.sources import open_source

        self._vertices = vertices
        self._graph: Graph | None = of_object(source)
        self._engine: Engine | None = None
        self._table, self.size = "graph", None if self._graph is None else self._graph.size
        if self._graph is not None:
            if vertices is not None:
                raise InvalidParameter(
                    "This graph has its vertices itself.", "Leave vertices out, or give a number."
                )
            if in_engine:
                raise InvalidParameter("This graph is in no engine.", "Leave in_engine out.")
            self._version = secrets.token_hex(8)
            return
        self._engine = open_source(source, table)
        try:
            self._open(self._engine, table, ends, in_engine)
        except BaseException:
            self._engine.close()
            raise

    def _open(self, engine: Engine, table: str | None, ends: tuple[str, str] | None,
              in_engine: bool | None) -> None:  # fmt: skip
        names = list(engine.schema())
        if len(names) != 1 and table not in names:
            raise PolicyError(f"Which of the tables {', '.join(names)} has the edges is not said.",
                              "Name it with table=.")  # fmt: skip
        self._table = table if table in names else names[0]
        schema = engine.schema()[self._table]
        two = cast("tuple[str, str]", tuple(schema)) if len(schema) == 2 else ("source", "target")
        self._ends: tuple[str, str] = ends or two
        self._columns = see_readable(schema, self._ends)
        self._counting = spelling_of(engine).large if in_engine is None else in_engine
        whole = [schema[name].type is Type.INTEGER for name in self._columns]
        self._there = EngineGraph(engine, self._table, self._columns, whole, self._vertices)

    @property
    def table(self) -> str:
        """The name of the table of edges."""
        return self._table

    def known(self) -> dict[str, str]:
        """The source and its version, which make the question."""
        if self._engine is None:
            return {"version": self._version}
        names = hashlib.sha256(json.dumps(self._vertices).encode()).hexdigest()
        return {"table": self._table, "ends": str(self._ends), "names": names,
                "version": self._engine.version(self._table)}  # fmt: skip

    def counts_there(self, count: str, needs_edges: bool) -> bool:
        """Whether the engine counts: components only where it can repeat a statement."""
        if self._engine is None or not self._counting or needs_edges:
            return False
        return count != "components" or finds_components(self._engine)

    def see(self, there: bool) -> None:
        """See, before a charge and by metadata alone, that the edges could be read or counted.

        Raises:
            SourceError: the engine could not count in the table.
            EngineError: there is no such table any more.
        """
        self.known()
        if there and not self._there.see_countable():
            raise SourceError("The engine cannot count in this table.",
                              "Check that it is still in place and may be read; nothing was charged.")  # fmt: skip

    def load(self, there: bool) -> Graph | EngineGraph:
        """The graph, here or in the engine; called after a charge."""
        if self._engine is None or self._graph is not None:
            return cast("Graph", self._graph)
        if there:
            return self._there.anew()
        return of_table(self._engine.public(self._table, self._columns), self._ends, self._vertices)

    def place(self, source: object) -> Path | None:
        """Where the ledger lies unless said."""
        return None if self._engine is None else beside(source, self._engine, [self._table])

    def files(self, ledger: Ledger) -> ProtectedFiles:
        """The files that no answer may replace."""
        return files_of(self._engine, ledger) if self._engine else ProtectedFiles()

    def close(self) -> None:
        """Release the engine."""
        if self._engine is not None:
            self._engine.close()
