"""Errors, previews, plans and budgets as documents of JSON, and back; server and client both read them here."""

from __future__ import annotations

import math
from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

from discreet import errors
from discreet.accounting.loss import Loss
from discreet.errors import BudgetExceeded, DiscreetError, NotAllowed, QueryRefused, ServerError
from discreet.release.documents import state
from discreet.release.exactly import exact

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from discreet.federation.nodes import AnswerOffer
    from discreet.release.cards.card import Card
    from discreet.session.analyst import AnalystBudget
    from discreet.session.workloads import Answers, WorkloadPreview
    from discreet.sql.inspect.diagram import DiagramNode
    from discreet.sql.inspect.explain import Explanation
    from discreet.sql.inspect.preview import Preview

DEEPEST = 200
"""How many boxes of a plan stand below one another at most."""


def of_loss(loss: Any) -> dict[str, str] | None:
    """A loss that stays charged; None where nothing does."""
    return None if loss is None else {"epsilon": exact(loss.epsilon), "delta": exact(loss.delta)}


def of_error(error: DiscreetError) -> dict[str, Any]:
    """An error as a document. `charged` is null where nothing was charged.

    Example:
        >>> of_error(BudgetExceeded("the data set", "1", "0"))["account"]
        'the data set'
    """
    said: dict[str, Any] = {
        "error": type(error).__name__,
        "cause": error.cause,
        "fix": error.fix,
        "charged": of_loss(error.charged),
    }
    if isinstance(error, BudgetExceeded):
        said |= {"account": error.account, "asked": error.asked, "left": error.left}
    if isinstance(error, QueryRefused):
        said |= {"place": error.place, "line": error.line, "column": error.column, "picture": error.picture}
    return said


def to_error(said: Any) -> DiscreetError:
    """The error of a document, of its own class where that is one of ours.

    Example:
        >>> to_error(of_error(QueryRefused("SUM needs bounds.", "Declare them.")))
        QueryRefused('SUM needs bounds. Declare them.')
    """
    try:
        kind = getattr(errors, said["error"], None)
        cause, fix = str(said["cause"]), str(said["fix"])
        if kind is BudgetExceeded:
            error: DiscreetError = BudgetExceeded(
                str(said["account"]), str(said["asked"]), str(said["left"]), fix
            )
        elif kind is QueryRefused:
            error = QueryRefused(
                cause, fix, place=str(said["place"]), line=int(said["line"]), column=int(said["column"]),
                picture=str(said["picture"]),
            )  # fmt: skip
        elif isinstance(kind, type) and issubclass(kind, DiscreetError):
            error = kind(cause, fix)
        else:
            error = ServerError(cause, fix)
        charged = said["charged"]
        if charged is not None:
            error.charged = Loss(str(charged["epsilon"]), str(charged["delta"]))
        error.told = True
    except (KeyError, TypeError, ValueError):
        return ServerError("The server answered with an error that cannot be read.", "Ask its steward.")
    return error


def of_preview(preview: Preview) -> dict[str, Any]:
    """A preview as a document, with exact numbers as texts."""
    optional = {name: getattr(preview, name) for name in ("left", "cost", "available")}
    return {
        "epsilon": exact(preview.epsilon),
        "delta": exact(preview.delta),
        "errors": {name: e if math.isfinite(e) else None for name, e in preview.errors.items()},
        "groups": preview.groups,
        "confidence": preview.confidence,
        "simultaneous": preview.simultaneous,
        "assumed": preview.assumed,
        "shown_from": preview.shown_from,
        "warnings": list(preview.warnings),
        "meanings": dict(preview.meanings),
        "together": list(preview.together),
        "known": preview.known,
        "replayed": preview.replayed,
        **{name: None if value is None else exact(value) for name, value in optional.items()},
    }


def to_preview(said: Mapping[str, Any]) -> Preview:
    """The preview of a document."""
    from discreet.sql.inspect.preview import Preview

    def rational(name: str) -> Fraction | None:
        return None if said[name] is None else Fraction(str(said[name]))

    return Preview(
        epsilon=Fraction(str(said["epsilon"])),
        errors={str(n): math.inf if e is None else float(e) for n, e in said["errors"].items()},
        groups=int(said["groups"]),
        confidence=float(said["confidence"]),
        assumed=str(said["assumed"]),
        left=rational("left"),
        delta=Fraction(str(said["delta"])),
        shown_from=int(said["shown_from"]),
        warnings=tuple(map(str, said["warnings"])),
        cost=rational("cost"),
        available=rational("available"),
        simultaneous=bool(said["simultaneous"]),
        meanings={str(n): str(words) for n, words in said["meanings"].items()},
        together=tuple(map(str, said.get("together", ()))),
        known=str(said.get("known", "")),
        replayed=bool(said.get("replayed", False)),
    )


def of_workload(seen: WorkloadPreview) -> dict[str, Any]:
    """The preview of several questions as a document."""
    return {
        "epsilon": exact(seen.epsilon),
        "delta": exact(seen.delta),
        "together": list(seen.together),
        "questions": {name: of_preview(preview) for name, preview in seen.items()},
    }


def to_workload(said: Mapping[str, Any]) -> WorkloadPreview:
    """The preview of several questions of a document."""
    from discreet.session.workloads import WorkloadPreview

    return WorkloadPreview(
        {str(name): to_preview(preview) for name, preview in said["questions"].items()},
        Fraction(str(said["epsilon"])), Fraction(str(said["delta"])), tuple(map(str, said["together"])),
    )  # fmt: skip


def of_answers(answers: Answers, budget: Any, arrow: bool) -> dict[str, Any]:
    """Several answers as a document; with their tables in the form of Arrow, as texts, where that is wanted."""
    from discreet.release.documents import FORMS, document

    write = FORMS["arrow"][1]
    return {
        "epsilon": exact(answers.epsilon),
        "delta": exact(answers.delta),
        "replayed": answers.replayed,
        "answers": {
            name: b64encode(write(answer, budget)).decode() if arrow else document(answer, budget)
            for name, answer in answers.items()
        },
    }


def to_answers(said: Mapping[str, Any]) -> Answers:
    """Several answers of a document that has them in the form of Arrow."""
    from discreet.release.documents import from_arrow
    from discreet.session.workloads import Answers

    return Answers(
        {str(name): from_arrow(b64decode(str(answer), validate=True)) for name, answer in said["answers"].items()},
        Fraction(str(said["epsilon"])), Fraction(str(said["delta"])), bool(said["replayed"]),
    )  # fmt: skip


def of_explanation(explanation: Explanation) -> dict[str, Any]:
    """The plan of a question as a document: as text, and as the tree that the text was drawn from."""
    return {
        "question": explanation.question,
        "epsilon": exact(explanation.epsilon),
        "text": repr(explanation),
        "tree": _of_node(explanation.root),
    }


def to_explanation(said: Mapping[str, Any]) -> Explanation:
    """The plan of a document."""
    from discreet.sql.inspect.explain import Explanation

    return Explanation(str(said["question"]), Fraction(str(said["epsilon"])), _to_node(said["tree"], DEEPEST))


def _of_node(node: DiagramNode) -> dict[str, Any]:
    facts = [{"name": f.name, "text": f.text, "data": f.data, "many": f.many} for f in node.facts]
    return {"kind": node.kind, "title": node.title, "facts": facts, "from": [*map(_of_node, node.children)]}


def _to_node(said: Mapping[str, Any], deep: int) -> DiagramNode:
    from discreet.sql.inspect.diagram import DiagramFact, DiagramNode

    if not deep:
        raise ValueError("nested too deeply")
    facts = [
        DiagramFact(str(fact["name"]), str(fact["text"]), fact["data"], bool(fact["many"]))
        for fact in said["facts"]
    ]
    children = [_to_node(source, deep - 1) for source in said["from"]]
    return DiagramNode(str(said["kind"]), str(said["title"]), tuple(facts), tuple(children))


def of_budget(budget: AnalystBudget) -> dict[str, Any]:
    """The budget of an analyst, with that of the data set in it."""
    return {**state(budget), "data_set": state(budget.data_set)}


def of_releases(charged: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The charged questions of an analyst, with exact losses."""
    return [
        {**charge, "epsilon": exact(charge["epsilon"]), "delta": exact(charge["delta"])} for charge in charged
    ]


def to_budget(said: Mapping[str, Any]) -> AnalystBudget:
    """The budget of a document.

    Raises:
        NotAllowed: it is that of a data set alone, as stewards see it.
    """
    from discreet.session.analyst import AnalystBudget
    from discreet.session.budget import BudgetState

    if "epsilon" not in said and "data_set" in said:
        raise NotAllowed(
            "The token is a steward's, who has no budget.",
            "Use an analyst's; a steward sees all on the pages.",
        )

    def parts(account: Mapping[str, Any]) -> dict[str, Any]:
        total = Fraction(str(account["epsilon"]))
        people = account.get("people", {}).items()
        shares = {name: Fraction(str(own["epsilon"])) / total for name, own in people if total}
        others = {name: Fraction(str(account.get(name, 0))) for name in ("spent", "delta", "delta_spent")}
        return {"epsilon": total, **others, "shares": shares}

    return AnalystBudget(**parts(said), data_set=BudgetState(**parts(said["data_set"])))


class Standing(NamedTuple):
    """How long an account lasts.

    Attributes:
        account: whose it is.
        rule: the accountant that counts.
        fit: how many of the releases that were asked about fit.
        most: the largest epsilon of a release with which all of them fit; 0 for none.
    """

    account: str
    rule: str
    fit: int
    most: Fraction


def to_forecast(said: Mapping[str, Any]) -> list[Standing]:
    """The accounts of a document."""
    return [
        Standing(
            str(standing["account"]),
            str(standing["accountant"]),
            int(standing["fit"]),
            Fraction(str(standing["most"])),
        )
        for standing in said["forecast"]
    ]


def to_verified(said: Mapping[str, Any], counted: str = "entries") -> tuple[int, str] | None:
    """The number of entries, or lines, and the head of a chain that is unchanged; None where it is not.

    Example:
        >>> to_verified({"verified": True, "entries": 2, "head": "2:9f"}), to_verified({"verified": False})
        ((2, '2:9f'), None)
    """
    return (int(said[counted]), str(said["head"])) if said["verified"] is True else None


def of_card(card: Card) -> dict[str, Any]:
    """A card as a document: its lines, and the record behind them."""
    return {"lines": [list(line) for line in card.lines], "record": dict(card.document)}


def to_card(said: Mapping[str, Any]) -> Card:
    """The card of a document."""
    from discreet.release.cards.card import Card

    return Card.of([(str(label), str(words)) for label, words in said["lines"]], dict(said["record"]))


def of_offer(offer: AnswerOffer) -> dict[str, Any]:
    """The offer of a node of a federation."""
    own = offer.declared
    parts = {"words": dict(own.words), "keys": dict(own.keys), "public": dict(own.public)}
    return {"alike": offer.alike, "price": exact(offer.price), "declared": parts}


def to_offer(said: Mapping[str, Any]) -> AnswerOffer:
    """The offer of a document."""
    from discreet.federation.differences import NodeDeclarations
    from discreet.federation.nodes import AnswerOffer

    words, keys, public = (
        {str(name): str(value) for name, value in said["declared"][part].items()}
        for part in ("words", "keys", "public")
    )
    return AnswerOffer(
        str(said["alike"]), Fraction(str(said["price"])), NodeDeclarations(words, keys, public)
    )


def of_integers(entries: NDArray[np.int64]) -> dict[str, Any]:
    """Noisy integers, by group."""
    return {"integers": entries.tolist()}


def to_integers(said: Mapping[str, Any]) -> NDArray[np.int64]:
    """The noisy integers of a document: int64 array (groups, integers)."""
    import numpy as np

    rows = said["integers"]
    if not all(type(number) is int and -(2**63) <= number < 2**63 for row in rows for number in row):
        raise ValueError("other numbers than integers")
    found = np.array(rows, np.int64)
    if found.ndim != 2:
        raise ValueError("no table of integers")
    return found
