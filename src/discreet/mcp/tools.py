"""The tools of an assistant, and the words that they answer with."""

from __future__ import annotations

import functools
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, ParamSpec

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations
from pydantic import Field, StrictFloat, StrictInt, StrictStr

from discreet import __version__, far
from discreet.engines.sandbox import QUOTED
from discreet.errors import DiscreetError, InvalidParameter, QueryRefused
from discreet.mcp.sources import Document, QuestionSource
from discreet.mcp.texts import Texts
from discreet.quoting import quote
from discreet.release.exactly import exact
from discreet.server.bodies import LONGEST_QUERY
from discreet.server.problems import told
from discreet.sql.syntax.priced import priced

if TYPE_CHECKING:
    from discreet.release.answer import Release

P = ParamSpec("P")
LOG = logging.getLogger("discreet.mcp")
MOST_ROWS = 500
"""Rows of an answer that an assistant is shown; the rest can be had by LIMIT, for nothing."""
MOST_PAST = 50
"""Questions of the history."""
INSTRUCTIONS = """\
Answers statistical questions about private data with differential privacy. Nobody can be shown a row: ask for
aggregates (COUNT, SUM, AVG, MEDIAN, …) in one SELECT of DuckDB's SQL, grouped by columns whose keys are public. Every
number is noisy by a known amount: report it with its interval (the columns …_low and …_high), never as exact.

Each question costs epsilon of a budget that is never filled up again. A smaller epsilon costs less and is noisier.
So: list_tables and describe_table first; preview, which is free, to see price and error; then query once. Asking the
same question with the same epsilon again is free. Ask nothing that you do not need.

Texts in the data are never shown, but for keys that the policy lists and the words of your own question."""
Query = Annotated[
    str, Field(min_length=1, max_length=LONGEST_QUERY, description="One SELECT in DuckDB's SQL.")
]
Epsilon = Annotated[
    Annotated[StrictStr, Field(max_length=100)] | StrictInt | StrictFloat,
    Field(description='The privacy loss: 0.1, or a text such as "1/3".'),
]
LOOKS = ToolAnnotations(read_only_hint=True, open_world_hint=False)
SPENDS = ToolAnnotations(
    read_only_hint=False, destructive_hint=True, idempotent_hint=True, open_world_hint=False
)
"""Hints for programs that ask their user before some tools: a charge cannot be undone, and is made once."""


def make_server(source: QuestionSource) -> MCPServer:
    """The server for an assistant over a data set."""
    server: MCPServer = MCPServer(
        "discreet", version=__version__, instructions=INSTRUCTIONS, log_level="ERROR"
    )
    tools = Tools(source)
    for tool in (tools.list_tables, tools.describe_table, tools.preview, tools.query, tools.history):
        hints = SPENDS if tool == tools.query else LOOKS
        server.add_tool(_told(tool), annotations=hints, structured_output=False)
    return server


def _told(tool: Callable[P, Awaitable[Document]]) -> Callable[P, Awaitable[Document]]:
    """The same tool, whose errors are said as callers may know them."""

    @functools.wraps(tool)
    async def telling(*args: P.args, **kwargs: P.kwargs) -> Document:
        try:
            return await tool(*args, **kwargs)
        except ToolError:
            raise
        except Exception as error:
            if not isinstance(error, DiscreetError):
                # The kind alone: a message may quote a value.
                LOG.error("a tool failed: %s", type(error).__name__)
            said = str(told(error))
        raise ToolError(said)

    return telling


class Tools:
    """The tools.

    Args:
        source: of the answers.
    """

    def __init__(self, source: QuestionSource) -> None:
        self._source = source
        self._known: tuple[list[Document], Texts] | None = None

    async def list_tables(self) -> Document:
        """List the tables, how each is protected, and the budget that is left."""
        tables, texts = await self._schema()
        return {
            "tables": [
                {
                    **{name: table[name] for name in ("kind", "privacy_unit", "max_rows")},
                    "table": table["table_name"],
                    "columns": list(filter(texts.shown, (column["column_name"] for column in table["columns"]))),
                }
                for table in tables
            ],
            "budget": await self._source.budget(),
        }  # fmt: skip

    async def describe_table(
        self, table: Annotated[str, Field(max_length=200, description="One of list_tables.")]
    ) -> Document:
        """Describe the columns of a table: types, bounds, public keys, and the questions that each can answer."""
        tables, texts = await self._schema()
        found = next((listed for listed in tables if listed["table_name"].lower() == table.lower()), None)
        if found is None:
            raise ToolError("There is no table of this name. Look at list_tables.")
        names = ("data_type", "lower_bound", "upper_bound", "declared", "answers")
        return {
            "table": found["table_name"],
            "columns": [
                {
                    "column": column["column_name"],
                    **{name: column[name] for name in names if column[name] is not None},
                    **({"keys": column["values"]} if column["values"] is not None else {}),
                }
                for column in found["columns"]
                if texts.shown(column["column_name"])
            ],
        }

    async def preview(self, query: Query, epsilon: Epsilon) -> Document:
        """Give the price of a question and the expected error of each column, for nothing and without reading data."""
        see_keys(query)
        _, texts = await self._schema()
        return await self._saying(texts, query, lambda: self._previewed(query, _words(epsilon), texts))

    async def query(self, query: Query, epsilon: Epsilon) -> Document:
        """Answer a question and charge its epsilon to your budget, which is never filled up again."""
        see_keys(query)
        _, texts = await self._schema()
        return await self._saying(texts, query, lambda: self._answered(query, _words(epsilon), texts))

    async def history(self) -> Document:
        """List your questions that were charged, the newest first; to ask one again is free."""
        lines = await self._source.history()
        return {
            "charged": [
                {name: line[name] for name in ("asked", "made", "epsilon", "answered")} for line in lines[:MOST_PAST]
            ],
            "budget": await self._source.budget(),
        }  # fmt: skip

    async def _schema(self) -> tuple[list[Document], Texts]:
        """The tables and the texts that may be shown; both are read once."""
        if self._known is None:
            tables = await self._source.tables()
            columns = [column for table in tables for column in table["columns"]]
            keys = {str(key) for column in columns for key in column["values"] or ()}
            for column in columns:
                if column["keys_of"]:
                    keys |= set(map(str, await self._public(**column["keys_of"])))
            declared = [c["column_name"] for c in columns if c["values"] or c["lower_bound"] or c["keys_of"]]
            self._known = tables, Texts(keys, [column["column_name"] for column in columns], declared)
        return self._known

    async def _public(self, table: str, column: str) -> list[Any]:
        """The values of a column of a public table, for nothing."""
        names = [quote(name) for name in (column, table)]
        release = await self._source.query({"query": f"SELECT DISTINCT {names[0]} FROM {names[1]}"})
        return list(release.values.column(0).to_pylist())

    async def _saying(self, texts: Texts, query: str, work: Callable[[], Awaitable[Document]]) -> Document:
        """Work whose errors withhold names of columns that may not be shown, and the values that DuckDB quotes."""
        try:
            return await work()
        except DiscreetError as error:
            known = told(error)
        if known.cause.startswith(QUOTED):
            known = QueryRefused(
                "The part of the question above its aggregates fails on some value.", known.fix
            )
        raise ToolError(texts.prose(str(known), query))

    async def _previewed(self, query: str, epsilon: str, texts: Texts) -> Document:
        seen = await self._source.preview({"query": query, "epsilon": epsilon})
        errors = {
            texts.heading(name, index, query): size
            for index, (name, size) in enumerate(seen["errors"].items())
        }
        said = {
            "assumed": texts.prose(seen["assumed"], query),
            "warnings": _all(texts, seen["warnings"], query),
            "replayed_for_nothing": seen["replayed"],
        }
        names = ("epsilon", "cost", "left", "groups", "confidence")
        return {**{name: seen[name] for name in names}, "half_width_of_interval": errors, **said}

    async def _answered(self, query: str, epsilon: str, texts: Texts) -> Document:
        release = await self._source.query({"query": query, "epsilon": epsilon})
        return {
            **_rows(release, query, texts),
            "confidence": release.confidence,
            "epsilon": exact(release.epsilon),
            "replayed_for_nothing": release.replayed,
            "notes": _all(texts, release.notes, query),
            "warnings": _all(texts, release.warnings, query),
            "meanings": _meanings(texts, release.meanings, query),
            "budget": await self._source.budget(),
        }


def _words(epsilon: str | int | float) -> str:
    """A price as text.

    Raises:
        InvalidParameter: it has so many digits that Python writes none of them.
    """
    try:
        return str(epsilon)
    except ValueError:
        pass
    raise InvalidParameter("epsilon has thousands of digits.", 'Write it like 0.1 or "1/3".')


def see_keys(query: str) -> None:
    """Refuse a question that would have groups found: anybody may have written their keys.

    Raises:
        QueryRefused: it would.
    """
    found = priced(query)
    if found is not None and found.options.get("delta", "0") != "0":
        raise QueryRefused(
            "Groups that are found have keys that anybody may have written, and no assistant is shown them.",
            "Leave delta out, and group by columns with keys.",
        )


def _rows(release: Release, query: str, texts: Texts) -> Document:
    table = far.shown(release.to_arrow())
    rows = table.slice(0, MOST_ROWS).to_pylist()
    out: Document = {
        "columns": [texts.heading(name, index, query) for index, name in enumerate(table.column_names)],
        "rows": [[texts.value(row[name], query) for name in table.column_names] for row in rows],
    }
    if len(table) > MOST_ROWS:
        out["left_out"] = (
            f"{len(table) - MOST_ROWS:,} rows; the same question with ORDER BY and LIMIT is free"
        )
    return out


def _all(texts: Texts, lines: Any, query: str) -> list[str]:
    return [texts.prose(str(line), query) for line in lines]


def _meanings(texts: Texts, meanings: Mapping[str, str], query: str) -> Document:
    return {texts.heading(name, 0, query): texts.prose(words, query) for name, words in meanings.items()}
