"""federate(...): several sessions asked as one, each under its own policy, budget and veto."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from discreet.errors import (
    EngineError,
    InvalidParameter,
    LedgerCorrupt,
    LedgerError,
    NodeError,
    NotAllowed,
    QueryRefused,
    ServerError,
    SourceError,
)
from discreet.escaping import name as one_line
from discreet.federation.differences import differences, public_differences, worded
from discreet.federation.nodes import SessionNode
from discreet.federation.sums import added, see_addable, summed
from discreet.rational import Number
from discreet.release.bill import Bill
from discreet.session.parameters import GROUP_ROWS, MOCK_ROWS, see_group_rows, truth_of
from discreet.session.question import SessionQuestion
from discreet.session.session import Session
from discreet.sql.inspect.preview import Preview, preview_of

if TYPE_CHECKING:
    from discreet.accounting.loss import Loss
    from discreet.federation.nodes import AnswerOffer, FederationNode, Paid
    from discreet.release.answer import Release
    from discreet.session.budget import BudgetState

T = TypeVar("T")
DOWN = (SourceError, EngineError, LedgerError, ServerError)
"""Errors of a node that cannot be reached; any other one is its veto."""
MOST_AT_ONCE = 64
"""So many nodes are asked at the same time."""
WORD = (
    "people who are in several nodes, who lose the sum of their epsilons and are counted in each: "
    "the federation was made for nodes without common people"
)


def federate(sessions: Mapping[str, Any] | Sequence[Any], *, like: Session | None = None) -> Federation:
    """Ask several sessions as one, where each person is in the data of one of them.

    Args:
        sessions: open sessions over different people, by name or in a row: those of `protect` and of `connect`. They
            have tables of the same names, and the same declarations about the columns of a question. You close them.
        like: a session of `protect` with the same declarations, which plans questions and finishes answers, and is
            asked nothing: needed where all sessions are on servers. Its rows may be invented.

    Raises:
        InvalidParameter: there is no session, or two of them share a ledger; real and invented data are mixed; no
            session on this machine plans.
        LedgerError: a ledger cannot be read.

    Example:
        >>> import pyarrow as pa
        >>> import discreet as dp
        >>> def ward(ages):
        ...     return dp.protect(pa.table({"age": ages}), privacy_unit="row", bounds={"age": (0, 120)}, budget=1)
        >>> hospitals = dp.federate({"north": ward([31, 47]), "south": ward([62])})
        >>> answer = hospitals.sql("SELECT COUNT(*) AS n FROM data", epsilon=0.5)
        >>> answer.cost, hospitals.budget["north"]
        ('epsilon 0.5', epsilon 0.5 left of 1 (0.5 spent))
    """
    named = _named(sessions)
    nodes: list[FederationNode] = [
        SessionNode(name, session) if isinstance(session, Session) else session.as_node(name)
        for name, session in named.items()
    ]
    if like is not None and not isinstance(like, Session):
        raise InvalidParameter(
            "like is no session on this machine.", "Write like=protect(…), or leave it out."
        )
    planning = (
        SessionNode("this machine", like)
        if like is not None
        else next((n for n in nodes if isinstance(n, SessionNode)), None)
    )
    if planning is None:
        raise InvalidParameter(
            "All sessions are on servers, and none on this machine plans the questions.",
            "Give like=protect(…), a session with the same declarations, over invented rows if you like.",
        )
    return Federation(nodes, planning)


def _named(sessions: Any) -> dict[str, Any]:
    """Sessions by name."""
    if isinstance(sessions, Mapping):
        named = dict(sessions)
    elif isinstance(sessions, list | tuple):
        named = {f"node {number}": session for number, session in enumerate(sessions, 1)}
    else:
        named = {}
    if not named or not all(
        isinstance(session, Session) or hasattr(session, "as_node") for session in named.values()
    ):
        raise InvalidParameter(
            "A federation is made of sessions, which protect(…) or connect(…) opens.",
            'Write federate({"north": session, "south": …}).',
        )
    if not all(isinstance(name, str) and name for name in named):
        raise InvalidParameter("The name of a node is no text.", 'Write federate({"north": session}).')
    return named


class Federation:
    """Sessions that are asked as one; made by `federate`.

    Privacy: epsilon-differentially private for a person who is in the data of one node, by parallel composition
    (McSherry 2009, theorem 4). Whoever is in several loses the sum. Each node charges its own budget.
    """

    def __init__(self, nodes: Sequence[FederationNode], planning: SessionNode) -> None:
        self._nodes, self._planning = tuple(nodes), planning
        homes: dict[object, str] = {}
        for node in self._nodes:
            first = homes.setdefault(node.home, node.name)
            if first != node.name:
                raise InvalidParameter(
                    f"{one_line(first)} and {one_line(node.name)} have one ledger, so they are one data set.",
                    "Give each node a session over its own people.",
                )
        if len({node.invented for node in (*self._nodes, planning)}) > 1:
            raise InvalidParameter(
                "Some nodes hold invented data and others real data.", "Call mock() of the federation."
            )

    @property
    def nodes(self) -> tuple[str, ...]:
        """The names of the nodes."""
        return tuple(node.name for node in self._nodes)

    @property
    def budget(self) -> dict[str, BudgetState]:
        """The budget of each node, by name."""
        return {node.name: node.budget for node in self._nodes}

    def sql(  # noqa: D417  most are those of `Session.sql`
        self,
        query: str,
        epsilon: Number,
        *,
        confidence: float = 0.95,
        max_rows: int | None = None,
        max_groups: int | None = None,
        max_rows_per_group: int | None = None,
        split: Mapping[str, Number] | None = None,
        simultaneous: bool = False,
        skip_down: bool = False,
    ) -> Release:
        """Answer a question about the people of all nodes.

        Every node looks at the question first, and only when all of them would answer is any of them charged. Each is
        charged epsilon; a node that has answered the same question before is free.

        Args:
            query: one SELECT, as for `Session.sql`; its counts, sums, averages and variances are by public keys.
            epsilon: the privacy loss in each node, and so of each person.
            confidence, max_rows, max_groups, max_rows_per_group, split, simultaneous: as for `Session.sql`.
            skip_down: whether the answer leaves out nodes whose data, engine or ledger cannot be reached, and names
                them. A node that refuses, or has too little budget, always stops the question.

        Raises:
            InvalidParameter: as for `Session.sql`. Nothing was charged.
            QueryRefused: the question does not add up over nodes, or the nodes have different declarations. Nothing was
                charged.
            NodeError: a node cannot answer, or refuses. Its `paid` names the nodes that were charged, which is none
                of them where that shows before the charge. The same question again is free in those that answered.
        """
        question = SessionQuestion.read(query, epsilon, confidence=confidence, max_rows=max_rows, max_groups=max_groups,
                                 max_rows_per_group=max_rows_per_group, split=split,
                                 simultaneous=simultaneous)  # fmt: skip
        skip = truth_of(skip_down, "skip_down")
        paid: dict[str, Loss] = {}
        with Bill():
            up, down = self._offers(question, skip)
            asked = [node for node in self._nodes if node.name in up]
            found, lost = self._sorted(asked, lambda node: self._asked(node, question), skip, paid)
            return self._combined(question, found, {**down, **lost}, paid)

    def preview(  # noqa: D417  they are those of `sql`
        self,
        query: str,
        epsilon: Number,
        *,
        confidence: float = 0.95,
        max_rows: int | None = None,
        max_groups: int | None = None,
        max_rows_per_group: int | None = None,
        split: Mapping[str, Number] | None = None,
        simultaneous: bool = False,
        group_rows: int = GROUP_ROWS,
    ) -> Preview:
        """Give the cost of a question and the errors of the answer of all nodes, without reading data or charging.

        Args:
            query, epsilon, confidence, max_rows, max_groups, max_rows_per_group, split, simultaneous: as for `sql`.
            group_rows: how many rows a group has in all nodes together, where an error depends on it.

        Returns:
            `cost` is the largest of a node, and `available` the least budget that a node has left.

        Raises:
            As `sql` does before its charge.
        """
        see_group_rows(group_rows)
        question = SessionQuestion.read(query, epsilon, confidence=confidence, max_rows=max_rows, max_groups=max_groups,
                                 max_rows_per_group=max_rows_per_group, split=split,
                                 simultaneous=simultaneous)  # fmt: skip
        with Bill():
            offers, _ = self._offers(question, False)
        plan, public = self._planning.planned(question), self._planning.queries.catalog.public
        left = min(state.left for state in self.budget.values())
        shown = preview_of(summed(plan, len(self._nodes)), public, question.level, group_rows,
                           max(offer.price for offer in offers.values()), left)  # fmt: skip
        return replace(shown, epsilon=plan.epsilon)

    def mock(self, rows: int = MOCK_ROWS) -> Federation:
        """A federation over invented tables, in which every question is free; see `Session.mock`.

        The tables of a node on a server are invented here, from the declarations that this machine plans with.
        """
        near = {
            node.name: (node if isinstance(node, SessionNode) else self._planning).session
            for node in self._nodes
        }
        return federate({name: session.mock(rows) for name, session in near.items()})

    def __repr__(self) -> str:
        return f"<Federation of {', '.join(map(one_line, self.nodes))}>"

    def _offers(
        self, question: SessionQuestion, skip: bool
    ) -> tuple[dict[str, AnswerOffer], dict[str, Exception]]:
        """The offers of all nodes, and the errors of those that are left out; nothing is charged.

        Raises:
            QueryRefused: the question does not add up, or the same integers would not answer it in every node.
            NodeError: a node refuses, or cannot be reached.
        """
        planning = self._planning
        see_addable(planning.planned(question))
        own, ours = planning.alike(question), planning.declared()
        found, down = self._sorted(self._nodes, lambda node: node.offer(question), skip, {})
        for name, offer in found.items():
            named = planning.name, ours, name, offer.declared
            same = offer.alike == own
            unlike = public_differences(*named) if same else differences(*named)
            if same and not unlike:
                continue
            raise QueryRefused(
                f"{one_line(planning.name)} and {one_line(name)} would not answer the same question: "
                f"{worded(unlike) or 'the types of columns, NOT NULL, or the version of discreet'}.",
                "Let the stewards declare the same, or leave the node out.",
            )
        return found, down

    def _asked(self, node: FederationNode, question: SessionQuestion) -> Paid:
        """The integers of a node, as many as the plan has."""
        (release,) = self._planning.planned(question).releases
        paid = node.ask(question)
        if paid.entries.shape != (release.cells, sum(measure.entries for measure in release.measures)):
            fault = ServerError("The node answered with another number of integers.", "Ask its steward.")
            fault.charged, fault.told = paid.loss, True
            raise fault
        return paid

    def _sorted(
        self,
        nodes: Sequence[FederationNode],
        work: Callable[[FederationNode], T],
        skip: bool,
        paid: dict[str, Loss],
    ) -> tuple[dict[str, T], dict[str, Exception]]:
        """Let nodes work in parallel: the results by name, and the errors of those that are skipped.

        Args:
            nodes: that work.
            work: of each.
            skip: whether nodes that are down are left out.
            paid: takes the losses that were charged, by name.

        Raises:
            NodeError: a node failed that is not left out, or no node is left.
        """
        found: dict[str, T] = {}
        failed: dict[str, Exception] = {}
        with ThreadPoolExecutor(min(len(nodes), MOST_AT_ONCE), thread_name_prefix="discreet-node") as pool:
            futures = {node.name: pool.submit(work, node) for node in nodes}
        for name, future in futures.items():
            error = future.exception()
            if error is None:
                found[name] = future.result()
                loss = getattr(found[name], "loss", None)
            elif isinstance(error, Exception):
                failed[name], loss = error, getattr(error, "charged", None)
            else:
                raise error
            if loss is not None:
                paid[name] = loss
        fatal = {name: error for name, error in failed.items() if not (skip and is_down(error))}
        if fatal or not found:
            raise failure(fatal or failed, paid) from next(iter((fatal or failed).values()))
        return found, failed

    def _combined(
        self, question: SessionQuestion, found: Mapping[str, Paid], missing: Mapping[str, Exception],
        paid: Mapping[str, Loss],
    ) -> Release:  # fmt: skip
        plan, queries = self._planning.planned(question), self._planning.queries
        shown = summed(plan, len(found))
        noisy = added(shown, [answer.entries for answer in found.values()])
        made = queries.finish(shown, [noisy], *question.level)
        facts = queries.deployment(plan)
        guarantee, *notes = made.notes
        several = f"of {len(found)} node{'s' * (len(found) != 1)} ({', '.join(map(one_line, found))})"
        notes = [
            f"{guarantee} {several}; each person is in one of them, so epsilon is the largest, not the sum",
            *(note.replace("ask with diagnose", "ask a node with diagnose") for note in notes),
            WORD,
        ]
        return replace(
            made,
            epsilon=plan.epsilon,
            deployment=lambda: {
                **facts(),
                "composition": "parallel",
                "nodes": [*found],
                "missing": [*missing],
            },
            notes=tuple(notes),
            warnings=(*(_missing(name, paid.get(name)) for name in missing), *made.warnings),
            replayed=not paid,
        )


def is_down(error: Exception) -> bool:
    """Whether a node cannot be reached, and did not refuse."""
    return isinstance(error, DOWN) and not isinstance(error, LedgerCorrupt | NotAllowed)


def _missing(name: str, loss: Loss | None) -> str:
    charged = "it was not charged" if loss is None else f"it was charged {loss}"
    return f"{one_line(name)} is missing: it could not be reached, {charged}, and its people are not in any number"


def failure(failed: Mapping[str, Exception], paid: Mapping[str, Loss]) -> NodeError:
    """The error for nodes that failed, with the losses charged by node."""
    said = "; ".join(f"{one_line(name)}: {_words(error)}" for name, error in failed.items())
    fix = "Mend it or leave it out; nothing was asked of the others."
    if paid:
        said = (
            f"{said}. Charged were {', '.join(f'{one_line(name)} ({loss})' for name, loss in paid.items())}"
        )
        fix = "Ask the same question again: it is free in the nodes that answered."
    error = NodeError(f"The question has no answer, because of {said}.", fix, nodes=failed, paid=paid)
    error.told, error.charged = True, max(paid.values(), key=lambda loss: loss.epsilon, default=None)
    return error


def _words(error: Exception) -> str:
    return str(getattr(error, "cause", type(error).__name__)).rstrip(".")
