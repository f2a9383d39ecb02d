"""graph(...): from a graph to a session that answers questions about it, charged to one budget."""

from __future__ import annotations

import os
from collections.abc import Iterable
from fractions import Fraction
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from discreet.errors import InvalidParameter
from discreet.graphs import HERE, GraphFacts, GraphQuestion, plan, see_vertices, ways
from discreet.ledger import Account, Ledger, Loss, open_ledger
from discreet.mechanisms.parameters import read_confidence, read_count
from discreet.policy import Budget
from discreet.rational import Number, decimal, epsilon_of
from discreet.records import dataclass
from discreet.release import gate
from discreet.release.account import DataAccount
from discreet.release.bill import Bill, billed
from discreet.release.guarantee import Guarantee
from discreet.session.budget import DATA_SET, BudgetState, account_of
from discreet.session.parameters import delta_of
from discreet.session.sources.graph_source import GraphSource

if TYPE_CHECKING:
    from discreet.graphs import Answering
    from discreet.release.answer import Release

PRIVACY_UNITS = ("edge", "vertex")
MOST_VERTICES = 1 << 64
"""The errors of counts among more of them, as of 8-stars, leave the range of floats."""


@dataclass(frozen=True)
class GraphPreview:
    """The error that a method will have, predicted without the data.

    Attributes:
        method: its name.
        error: half the width of the interval, or for an answer of several numbers a share that compares methods.
        delta: that it spends; the epsilon is that of the question.
    """

    method: str
    error: float
    delta: Fraction = Fraction(0)


class GraphSession:
    """A graph under a budget. Made by `graph`.

    Privacy: every answer is epsilon-differentially private for one edge, or one vertex with its edges, added or
    removed, or (epsilon, delta)-private where it says a delta; the answers of one ledger compose.

    Attributes:
        unit: `edge` or `vertex`.
        vertices: how many there are; under vertex privacy, and where only their number was given, at most.
        files: those that no answer may replace.
        ledger: the ledger, for `entries()` and `verify()`.
    """

    def __init__(self, source: GraphSource, ledger: Ledger, budget: Budget | Loss, shape: GraphFacts) -> None:
        self._source, self._shape = source, shape
        self._limit = Loss(budget.epsilon, budget.delta)
        guarantee = Guarantee(
            "add_remove", {source.table.lower(): shape.unit}, {source.table.lower(): shape.max_degree or 1}
        )
        account = Account(DATA_SET, self._limit)
        if isinstance(budget, Budget):
            account = Account(account_of(DATA_SET, budget.version), self._limit, budget.accountant)
        self._account = DataAccount(ledger, account, guarantee)
        self.unit, self.vertices, self.ledger = shape.unit, shape.vertices, ledger
        self.files = source.files(ledger)

    @property
    def budget(self) -> BudgetState:
        """The budget of the graph: total, spent and left."""
        spent = self._account.spent()
        return BudgetState(self._limit.epsilon, spent.epsilon, self._limit.delta, spent.delta)

    def preview(self, count: str, epsilon: Number, *, delta: Number | None = None, confidence: float = 0.95,
                width: int | None = None, max_degree: int | None = None) -> list[GraphPreview]:  # fmt: skip
        """Predict the error of each method, that of the least first. It reads no data and costs nothing.

        Args:
            count: as for `ask`.
            epsilon: of the question.
            delta: that it may spend.
            confidence: of the interval.
            width: a public guess of how many common neighbours two vertices have, or of the largest degree; by default
                the root of the number of vertices. A bad guess costs accuracy and nothing else.
            max_degree: as for `ask`.

        Raises:
            InvalidParameter: an argument does not fit.
        """
        made = self._ways(count, epsilon, delta, confidence, width, max_degree)
        return [GraphPreview(method.name, error, method.delta) for method, error in made]

    def ask(
        self, count: str, epsilon: Number, *, delta: Number | None = None, method: str = "", confidence: float = 0.95,
        width: int | None = None, max_degree: int | None = None,
    ) -> Release:  # fmt: skip
        """Answer a question about the graph, charged to the budget; the same one again is free.

        Args:
            count: `edges`, `degrees`, `triangles`, `2-stars` to `8-stars`, `components`, `clustering` or
                `assortativity`; where vertices are hidden, `edges` or `degrees`.
            epsilon: of the whole question.
            delta: that it may spend, and only the method `smooth-laplace` does; the budget must grant it.
            method: `ladder`, `smooth`, `smooth-laplace` or `global`, and for edges `local`; where vertices are hidden,
                `flow` or `projection`. By default the one whose predicted error is least.
            confidence: of the intervals.
            width: as for `preview`; it decides the method, and for which graphs the noise of `smooth-laplace` is least.
            max_degree: of `degrees`, the last degree that is shown.

        Raises:
            InvalidParameter: an argument does not fit. Nothing was charged.
            SourceError: an engine that shall count could not. Nothing was charged.
            BudgetExceeded: the budget does not have so much left. Nothing was charged.
            EngineError: the edges could not be read; the charge stays.
            LedgerError: the ledger cannot be read or written.

        Privacy: epsilon-differentially private (pure) for the unit, or (epsilon, delta)-private by `smooth-laplace`, by
        the mechanisms of `discreet.graphs`.
        """
        with Bill() as paying, billed(paying):
            made = self._ways(count, epsilon, delta, confidence, width, max_degree, method)[0][0]
            known = {**self._source.known(), "vertices": str(self.vertices), "closed": str(self._shape.closed),
                     "most": str(getattr(made, "most", ""))}  # fmt: skip
            there = self._source.counts_there(count, made.name in HERE)
            asked = plan(
                count,
                made,
                self.unit,
                known,
                lambda: self._source.load(there),
                lambda: self._source.see(there),
                self._shape.notes,
            )
            return gate.release(asked, self.ledger, self._account)

    def _ways(
        self, count: str, epsilon: Number, delta: Number | None, confidence: float, width: int | None,
        max_degree: int | None, method: str = "",
    ) -> list[tuple[Answering, float]]:  # fmt: skip
        """The methods with their predicted errors; only the one of a name, where one is given."""
        loss, may_spend, level = epsilon_of(epsilon), delta_of(delta), float(read_confidence(confidence))
        if width is not None:
            read_count(width, "width", "Give a whole number.", 0)
        if max_degree is not None:
            read_count(max_degree, "max_degree", "Give a whole number.")
        return ways(GraphQuestion(count, loss, may_spend, level, width, max_degree or 0, method), self._shape)

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
    budget: Number | Budget,
    vertices: int | Iterable[Any] | None = None,
    privacy_unit: str = "edge",
    max_degree: int | None = None,
    ends: tuple[str, str] | None = None,
    table: str | None = None,
    ledger: str | os.PathLike[str] | None = None,
    in_engine: bool | None = None,
) -> GraphSession:
    """Put a graph under a budget.

    Args:
        source: a graph of networkx or igraph, a sparse matrix of SciPy, or a table of edges: anything that `protect`
            opens.
        budget: the epsilon that may ever be spent, or a `Budget`, which may grant a delta.
        vertices: the names of all vertices, which are public: a range or a list; edges of others are dropped. Or a
            number that is no less than that of the vertices. A graph object has its vertices itself.
        privacy_unit: `edge`, where the vertices are public and one edge is hidden, or `vertex`, where a vertex is
            hidden with all its edges.
        max_degree: how many edges of a vertex count, where vertices are hidden; they need it.
        ends: the two columns of an edge; by default the two that there are, or `source` and `target`.
        table: the table of edges, where the source has several.
        ledger: where the budget is kept; by default beside the data, and in memory for data in memory.
        in_engine: whether the engine of the table counts, and only integers leave it; by default Spark does, and from
            others the edges are read into this process.

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
    if privacy_unit not in PRIVACY_UNITS:
        raise InvalidParameter(
            f"The privacy unit {privacy_unit} is none of a graph.", "Write edge or vertex."
        )
    if privacy_unit == "vertex":
        if max_degree is None:
            raise InvalidParameter(
                "A hidden vertex may have any number of edges, so max_degree is missing.",
                "Write max_degree=20: so many edges of each vertex count.",
            )
        read_count(max_degree, "max_degree", "Say how many edges of a vertex count.")
    elif max_degree is not None:
        raise InvalidParameter("max_degree is for hidden vertices.", "Leave it out, or hide vertices.")
    limit = budget if isinstance(budget, Budget) else Loss(decimal(budget, "budget"))
    names = None if vertices is None or isinstance(vertices, int) else see_vertices(vertices)
    opened = GraphSource(source, table, ends, names, in_engine)
    try:
        size = len(names) if names is not None else vertices if isinstance(vertices, int) else opened.size
        if size is None or (privacy_unit == "vertex" and vertices is None):
            raise InvalidParameter(
                "The vertices are missing.",
                "Write vertices=34, a number that is no less than theirs, or give their names.",
            )
        if read_count(size, "vertices", "Give how many there are at most.") > MOST_VERTICES:
            raise InvalidParameter("There are more vertices than names of 64 bits.", "Give a smaller number.")
        closed = privacy_unit == "edge" and (names is not None or opened.size is not None)
        if in_engine and privacy_unit == "vertex":
            raise InvalidParameter("No engine can count with hidden vertices.", "Leave in_engine out.")
        book = open_ledger(ledger or opened.place(source))
    except BaseException:
        opened.close()
        raise
    many = max(size, opened.size or 0) if closed else size
    return GraphSession(
        opened, book, limit, GraphFacts(many, closed, privacy_unit, max_degree or 0, names is not None)
    )
