"""Several statements of one text on the pages of analysts: one workload, as `discreet query FILE.sql` asks it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastapi import Request
from pydantic import ValidationError
from starlette.responses import Response

from discreet import escaping
from discreet.dbapi.named_statements import statements
from discreet.errors import DiscreetError, InvalidParameter, QueryRefused
from discreet.release import shown
from discreet.release.answer import Release
from discreet.server.api.previews import workload_previewed
from discreet.server.bodies import Workload
from discreet.server.pages.site import Visitor, page, service_of
from discreet.server.records.asks import budget_beside
from discreet.session.analyst import AnalystSession
from discreet.session.workloads import Answers, WorkloadPreview

ROWS = 500
"""Rows of each answer on the page."""


def several(fields: Mapping[str, str]) -> bool:
    """Whether the text of a form has more than one statement."""
    return ";" in fields["query"] and len(statements(fields["query"])) > 1


def asked(fields: Mapping[str, str], numbers: Mapping[str, Any]) -> dict[str, Any]:
    """The keyword arguments of `Session.workload`, with the whole text beside them, that a form says.

    Args:
        fields: of the form.
        numbers: those of them that are numbers, read.

    Raises:
        InvalidParameter: they are no workload.
    """
    if fields["simultaneous"]:
        raise InvalidParameter(
            "The confidence of several statements holds for each number.", "Ask one, or leave that out."
        )
    if "epsilon" not in numbers:
        raise InvalidParameter("The price is missing.", "Write an epsilon, such as 0.1, for all together.")
    try:
        given = Workload(queries=statements(fields["query"]), **numbers).asked()
    except ValidationError:
        pass
    else:
        return {"query": fields["query"].strip(), **given}
    raise InvalidParameter(
        "There are too many statements, or one of them or its name is too long.", "Ask fewer at once."
    )


async def previewed(request: Request, visitor: Visitor, name: str, given: dict[str, Any]) -> WorkloadPreview:
    """The price of several statements, and the errors of their answers; free."""
    service = service_of(request)
    session = service.session(visitor.caller, name)
    options = {option: value for option, value in given.items() if option != "query"}
    try:
        return await service.look(visitor.caller, lambda: workload_previewed(session, options))
    except QueryRefused as error:
        raise _unplaced(error) from None


async def answered(request: Request, visitor: Visitor, name: str, given: dict[str, Any]) -> Response:
    """Ask several statements for the price that was confirmed, and show their answers."""
    service = service_of(request)

    def made(answers: Answers, session: AnalystSession) -> Response:
        parts = [(escaping.name(title), _part(release)) for title, release in answers.items()]
        notes = dict.fromkeys(note for release in answers.values() for note in release.notes[1:])
        return page(
            request, "answers.html", visitor, name=name, given=given, parts=parts, most=ROWS, answers=answers,
            notes=list(notes), budget=budget_beside(session),
        )  # fmt: skip

    try:
        return await service.ask(visitor.caller, name, given, made)
    except QueryRefused as error:
        raise _unplaced(error) from None


def _part(release: Release) -> dict[str, Any]:
    """One of the answers as a table."""
    return {
        "header": shown.header(release),
        "rows": shown.rows(release, ROWS),
        "right": shown.to_the_right(release),
        "length": len(release),
        "warnings": release.warnings,
    }


def _unplaced(error: QueryRefused) -> DiscreetError:
    """A refusal without its place, which is counted from the beginning of its own statement."""
    error.line = error.column = 0
    return error
