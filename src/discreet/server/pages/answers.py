"""The pages of answers: those that were paid for, each as chart, table, files and card; looking again is free.

The card of a whole data set stands beside them.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from starlette.responses import Response

from discreet.errors import DiscreetError, InvalidParameter
from discreet.release import shown
from discreet.release.answer import Release
from discreet.release.cards.card import Card
from discreet.release.documents import FORMS
from discreet.server.pages.site import Visitor, page, service_of, visits
from discreet.server.problems import not_there
from discreet.server.service import MOST_GROUPS
from discreet.session.analyst import AnalystBudget, AnalystSession

router = APIRouter(include_in_schema=False)
Analyst = Annotated[Visitor, Depends(visits("read"))]
Reader = Annotated[Visitor, Depends(visits("read", "audit"))]
ROWS = 500
"""Rows of an answer on its page; the downloads have all."""
NARROW = (260, 230, 12)
"""Width, height and letters of a picture whose words can be read on a phone."""
CARDS: Mapping[str, tuple[str, Callable[[Card], str]]] = {
    "card.md": ("text/markdown; charset=utf-8", Card.to_markdown),
    "card.json": ("application/json", Card.to_json),
    "card.yaml": ("application/yaml", Card.to_yaml),
}


def _of_release(write: Callable[[Card], str]) -> Callable[[Release, Any], bytes]:
    return lambda release, _: write(release.card()).encode()


FILES: Mapping[str, tuple[str, Callable[[Release, Any], bytes]]] = {
    **FORMS,
    **{form: (kind, _of_release(write)) for form, (kind, write) in CARDS.items()},
}
"""The files that an answer can be had as."""


@router.get("/data/{name}/answers")
async def history(request: Request, name: str, visitor: Analyst) -> Response:
    """The answers that were paid for."""
    service = service_of(request)
    found = service.dataset(visitor.caller, name)
    releases = await service.look(visitor.caller, lambda: service.releases(visitor.caller, name))
    budget = await service.look(visitor.caller, lambda: service.session(visitor.caller, name).budget)
    return page(request, "history.html", visitor, dataset=found, releases=releases, budget=budget)


@router.get("/data/{name}/answers/{key}")
async def answer(request: Request, name: str, key: str, visitor: Analyst) -> Response:
    """An answer, as chart and table; free."""
    service = service_of(request)
    given = service.asks.asked(visitor.caller.name, name, key)
    release, budget = await service.again(
        visitor.caller, name, key, lambda answer, session: (answer, session.budget)
    )
    return answer_page(request, visitor, name, release, given, key, budget=budget)


@router.get("/data/{name}/answers/{key}/chart.svg")
async def chart(request: Request, name: str, key: str, visitor: Analyst, narrow: bool = False) -> Response:
    """The picture of an answer; a narrow one is for phones."""
    from discreet.plots.library import unchecked
    from discreet.plots.releases import release as drawn
    from discreet.plots.render import svg
    from discreet.plots.theme import SIZES, Size

    size = Size(*NARROW) if narrow else SIZES["slide"]

    def draw(answer: Release, _: AnalystSession) -> str:
        with unchecked():  # all of it: other threads draw at the same time
            return svg(drawn(answer, size=size))

    service = service_of(request)
    try:
        text = await service.again(visitor.caller, name, key, draw)
    except InvalidParameter:
        raise not_there() from None
    return Response(text, media_type="image/svg+xml")


@router.get("/data/{name}/answers/{key}/card")
async def card(request: Request, name: str, key: str, visitor: Analyst) -> Response:
    """The record of an answer for a public registry."""
    service = service_of(request)
    found = await service.again(visitor.caller, name, key, lambda answer, _: answer.card())
    return page(request, "card.html", visitor, name=name, key=key, fields=found.fields(), forms=CARDS)


@router.get("/data/{name}/card")
async def deployment(request: Request, name: str, visitor: Reader) -> Response:
    """The record of the data set; nothing private is read."""
    found = await _deployment(request, name, visitor)
    return page(request, "card.html", visitor, name=name, key="", fields=found.fields(), forms=CARDS)


@router.get("/data/{name}/card/{form}")
async def deployment_file(request: Request, name: str, form: str, visitor: Reader) -> Response:
    """The record of the data set as a file."""
    found = await _deployment(request, name, visitor)
    if form not in CARDS:
        raise not_there()
    kind, write = CARDS[form]
    headers = {"content-disposition": f'attachment; filename="{form}"'}
    return Response(write(found), media_type=kind, headers=headers)


async def _deployment(request: Request, name: str, visitor: Visitor) -> Card:
    service = service_of(request)
    found = service.dataset(visitor.caller, name)
    return await service.look(visitor.caller, found.session.card)


@router.get("/data/{name}/answers/{key}/{form}")
async def download(request: Request, name: str, key: str, form: str, visitor: Analyst) -> Response:
    """An answer, or its card, as a file."""
    if form not in FILES:
        raise not_there()
    kind, write = FILES[form]
    service = service_of(request)
    data = await service.again(
        visitor.caller, name, key, lambda answer, session: write(answer, session.budget)
    )
    called = form if form in CARDS else f"answer.{form}"
    headers = {"content-disposition": f'attachment; filename="{called}"'}
    return Response(data, media_type=kind, headers=headers)


def url_of(request: Request) -> str:
    """The address of the service, for programs."""
    return str(request.base_url).rstrip("/")


def reserved(release: Release) -> dict[str, tuple[int, int]]:
    """About the width and height of the picture of an answer, so that a page keeps room for it while it loads.

    Bars and series need more room the more there are, and all other pictures have one height; on phones several
    measures stand below each other.
    """
    from discreet.plots.release_rows import MOST_BARS, is_key, kind_of, line_of, rows_of, series_of
    from discreet.plots.releases import MOST_PANELS

    keys = [name for name in release.columns if name not in release.low and is_key(release, name)]
    rows = rows_of(release, keys, ())
    kind, panels = kind_of(rows, keys), min(max(len(release.low), 1), MOST_PANELS)
    if kind == "series":
        along = line_of(rows, keys)
        series = len(series_of(rows, [key for key in keys if key != along]))
        return {"wide": (880, 74 + 298 * series), "narrow": (330, 48 + (38 + 169 * panels) * series)}
    if kind != "bars":
        below = 1 if kind == "grid" else panels
        return {"wide": (880, 524), "narrow": (321, 41 + 302 * below)}
    bars = min(max(len(release), 3), MOST_BARS)
    return {"wide": (930 - 50 * panels, 117 + 30 * bars), "narrow": (340, 25 + (76 + 22 * bars) * panels)}


def answer_page(
    request: Request, visitor: Visitor, name: str, release: Release, given: dict[str, Any], key: str,
    invented: bool = False, budget: AnalystBudget | None = None,
) -> Response:  # fmt: skip
    """The page of an answer."""
    # The page has the price, and says that looking is free.
    drawn, paid = (False, replace(release, replayed=False))
    if key and len(release) <= MOST_GROUPS:
        with contextlib.suppress(DiscreetError):  # nothing to draw, or nothing to draw it with
            release.plot()
            drawn = True
    return page(
        request, "answer.html", visitor, name=name, release=release, given=given, key=key, invented=invented,
        drawn=drawn, room=reserved(release) if drawn else {}, header=shown.header(release),
        rows=shown.rows(release, ROWS), most=ROWS,
        right=shown.to_the_right(release), footer=shown.footer(paid), forms=FORMS,
        url=url_of(request), budget=budget,
    )  # fmt: skip
