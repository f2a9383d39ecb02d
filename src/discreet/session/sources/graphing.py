"""graph(...): from a graph to a session that answers questions about it, charged to one budget."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, cast

from discreet.errors import InvalidParameter, PolicyError
from discreet.graphs import (
    DEGREES,
    Answering,
    Graph,
    Histogram,
    LocalEdges,
    Method,
    VertexEdges,
    of_object,
    of_table,
    plan,
    predictions,
    read,
    see_readable,
    see_vertices,
)
from discreet.ledger import Account, Ledger, Loss, open_ledger
from discreet.mechanisms.parameters import read_confidence, read_count
from discreet.rational import Number, decimal, epsilon_of
from discreet.release import gate
from discreet.release.account import DataAccount
from discreet.release.bill import Bill, billed
from discreet.release.guarantee import Guarantee
from discreet.session.budget import DATA_SET, BudgetState
from discreet.session.sources.ledger_place import beside
from discreet.session.sources.protected_files import ProtectedFiles, files_of

if TYPE_CHECKING:
    from discreet.engines.engine import Engine
    from discreet.release.answer import Release

UNITS = ("edge", "vertex")
MOST_DEGREE = 100
"""The last degree of a histogram under edge privacy, unless the graph is smaller or another one is asked for."""


@dataclass(frozen=True)
class GraphPreview:
    """The error that a method will have, predicted without the data.

    Attributes:
        method: its name.
        error: half the width of the interval, or for an answer of several numbers a share that compares methods.
    """

    method: str
    error: float


class _Source:
    """Where the graph comes from, read once, after the first charge."""

    def __init__(self, source: object, table: str | None, ends: tuple[str, str] | None,
                 vertices: list[Any] | None) -> None:  # fmt: skip
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
            self._version = secrets.token_hex(8)
            return
        self._engine = open_source(source, table)
        try:
            names = list(self._engine.schema())
            if len(names) != 1 and table not in names:
                raise PolicyError(f"Which of the tables {', '.join(names)} has the edges is not said.",
                                  "Name it with table=.")  # fmt: skip
            self._table = table if table in names else names[0]
            schema = self._engine.schema()[self._table]
            two = cast("tuple[str, str]", tuple(schema)) if len(schema) == 2 else ("source", "target")
            self._ends: tuple[str, str] = ends or two
            see_readable(schema, self._ends)
        except BaseException:
            self._engine.close()
            raise

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

    def load(self) -> Graph:
        """The graph; called after a charge."""
        if self._engine is None or self._graph is not None:
            return cast("Graph", self._graph)
        return of_table(self._engine.public(self._table), self._ends, self._vertices)

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


class GraphSession:
    """A graph under a budget. Made by `graph`.

    Privacy: every answer is epsilon-differentially private for one edge, or one vertex with its edges, added or
    removed; the answers of one ledger compose.

    Attributes:
        unit: `edge` or `vertex`.
        vertices: how many there are; under vertex privacy, and where only their number was given, at most.
        files: those that no answer may replace.
        ledger: the ledger, for `entries()` and `verify()`.
    """

    def __init__(self, source: _Source, ledger: Ledger, limit: Loss, unit: str, vertices: int, closed: bool,
                 max_degree: int | None) -> None:  # fmt: skip
        self._source, self._closed, self._max_degree = source, closed, max_degree
        self._limit = limit
        guarantee = Guarantee(
            "add_remove", {source.table.lower(): unit}, {source.table.lower(): max_degree or 1}
        )
        self._account = DataAccount(ledger, Account(DATA_SET, limit), guarantee)
        self.unit, self.vertices, self.ledger = unit, vertices, ledger
        self.files = source.files(ledger)

    @property
    def budget(self) -> BudgetState:
        """The budget of the graph: total, spent and left."""
        return BudgetState(self._limit.epsilon, self._account.spent().epsilon)

    def preview(self, count: str, epsilon: Number, *, confidence: float = 0.95, width: int | None = None,
                max_degree: int | None = None) -> list[GraphPreview]:  # fmt: skip
        """Predict the error of each method, that of the least first. It reads no data and costs nothing.

        Args:
            count: as for `ask`.
            epsilon: of the question.
            confidence: of the interval.
            width: a public guess of how many common neighbours two vertices have, or of the largest degree; by default
                the root of the number of vertices. A bad guess costs accuracy and nothing else.
            max_degree: as for `ask`.

        Raises:
            InvalidParameter: an argument does not fit.
        """
        made = self._methods(count, epsilon, confidence, width, max_degree)
        return [GraphPreview(one.name, error) for one, error in made]

    def ask(
        self, count: str, epsilon: Number, *, method: str = "", confidence: float = 0.95, width: int | None = None,
        max_degree: int | None = None,
    ) -> Release:  # fmt: skip
        """Answer a question about the graph, charged to the budget; the same one again is free.

        Args:
            count: `edges`, `degrees`, `triangles`, `2-stars` to `8-stars`, `components`, `clustering` or
                `assortativity`; where vertices are hidden, `edges` or `degrees`.
            epsilon: of the whole question.
            method: `ladder`, `smooth` or `global`, and for edges `local`; where vertices are hidden, `flow` or
                `projection`. By default the one whose predicted error is least.
            confidence: of the intervals.
            width: as for `preview`; it decides nothing but the method.
            max_degree: of `degrees`, the last degree that is shown.

        Raises:
            InvalidParameter: an argument does not fit. Nothing was charged.
            BudgetExceeded: the budget does not have so much left. Nothing was charged.
            EngineError: the edges could not be read; the charge stays.
            LedgerError: the ledger cannot be read or written.

        Privacy: epsilon-differentially private (pure) for the unit, by the mechanisms of `discreet.graphs`.
        """
        with Bill() as paying, billed(paying):
            made = [one for one, _ in self._methods(count, epsilon, confidence, width, max_degree, method)]
            known = {**self._source.known(), "vertices": str(self.vertices), "closed": str(self._closed),
                     "most": str(getattr(made[0], "most", ""))}  # fmt: skip
            asked = plan(count, made[0], self.unit, known, self._source.load, self._source.known)
            return gate.release(asked, self.ledger, self._account)

    def _methods(
        self, count: str, epsilon: Number, confidence: float, width: int | None, max_degree: int | None,
        method: str = "",
    ) -> list[tuple[Answering, float]]:  # fmt: skip
        """The methods with their predicted errors; only the one of a name, where one is given."""
        loss, level = epsilon_of(epsilon), float(read_confidence(confidence))
        if width is not None:
            read_count(width, "width", "Give a whole number.", 0)
        if max_degree is not None:
            read_count(max_degree, "max_degree", "Give a whole number.")
        found: list[Answering]
        if count == DEGREES:
            bound = max_degree or self._max_degree or min(MOST_DEGREE, max(1, self.vertices - 1))
            if self.unit == "vertex":
                bound = cast("int", self._max_degree)
            found = [Histogram(self.vertices, bound, self.unit == "vertex", loss, level)]
        elif self.unit == "vertex":
            if count != "edges":
                raise InvalidParameter(
                    f"With hidden vertices there is no private {count} here.", "Ask for edges or degrees."
                )
            bound = cast("int", self._max_degree)
            found = [
                VertexEdges(name, self.vertices, bound, loss, level)
                for name in ([method] if method else ["flow", "projection"])
            ]
        elif method == "local" and count == "edges":
            found = [LocalEdges(self.vertices, self._closed, loss, level)]
        else:
            question = read(count)
            if not method:
                return list(predictions(question, self.vertices, self._closed, loss, level, width))
            found = [Method(method, question, self.vertices, self._closed, loss, level)]
        for one in found:
            one.see_possible()
        return [(one, one.predicted(width or 0)) for one in found]

    def close(self) -> None:
        """Release the data and the ledger."""
        self._source.close()
        self.ledger.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def graph(
    source: object,
    *,
    budget: Number,
    vertices: int | Iterable[Any] | None = None,
    privacy_unit: str = "edge",
    max_degree: int | None = None,
    ends: tuple[str, str] | None = None,
    table: str | None = None,
    ledger: str | os.PathLike[str] | None = None,
) -> GraphSession:
    """Put a graph under a budget.

    Args:
        source: a graph of networkx or igraph, a sparse matrix of SciPy, or a table of edges: anything that `protect`
            opens.
        budget: the epsilon that may ever be spent.
        vertices: the names of all vertices, which are public: a range or a list; edges of others are dropped. Or a
            number that is no less than that of the vertices. A graph object has its vertices itself.
        privacy_unit: `edge`, where the vertices are public and one edge is hidden, or `vertex`, where a vertex is
            hidden with all its edges.
        max_degree: how many edges of a vertex count, where vertices are hidden; they need it.
        ends: the two columns of an edge; by default the two that there are, or `source` and `target`.
        table: the table of edges, where the source has several.
        ledger: where the budget is kept; by default beside the data, and in memory for data in memory.

    Raises:
        InvalidParameter, PolicyError: a declaration is missing or does not fit.
        SourceError: the source cannot be opened.
        QueryRefused: the table has no such columns, or of other types.
        MissingExtra: SciPy is not installed.

    Example:
        >>> import pyarrow as pa
        >>> friends = pa.table({"source": ["ann", "ann", "bob"], "target": ["bob", "eve", "eve"]})
        >>> session = graph(friends, vertices=["ann", "bob", "eve", "joe"], budget=3)
        >>> release = session.ask("triangles", epsilon=1)
        >>> 0 <= release["triangles"][0] <= 4, session.budget
        (True, epsilon 2 left of 3 (1 spent))
    """
    from discreet.graphs.sparse import scipy_sparse

    scipy_sparse()
    if privacy_unit not in UNITS:
        raise InvalidParameter(
            f"The privacy unit {privacy_unit} is none of a graph.", "Write edge or vertex."
        )
    if privacy_unit == "vertex":
        read_count(
            0 if max_degree is None else max_degree, "max_degree", "Say how many edges of a vertex count."
        )
    elif max_degree is not None:
        raise InvalidParameter("max_degree is for hidden vertices.", "Leave it out, or hide vertices.")
    limit = Loss(decimal(budget, "budget"))
    names = None if vertices is None or isinstance(vertices, int) else see_vertices(vertices)
    opened = _Source(source, table, ends, names)
    try:
        size = len(names) if names is not None else vertices if isinstance(vertices, int) else opened.size
        if size is None or (privacy_unit == "vertex" and vertices is None):
            raise InvalidParameter(
                "vertices is missing.", "Give their names, or a number that is no less than theirs."
            )
        read_count(size, "vertices", "Give how many there are at most.")
        closed = privacy_unit == "edge" and (names is not None or opened.size is not None)
        book = open_ledger(ledger or opened.place(source))
    except BaseException:
        opened.close()
        raise
    return GraphSession(
        opened, book, limit, privacy_unit, max(size, opened.size or 0) if closed else size, closed, max_degree
    )
