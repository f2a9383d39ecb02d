"""An answer as bytes for programs and people elsewhere: JSON, CSV, an Arrow stream and Parquet, and back from Arrow."""

from __future__ import annotations

import datetime as dt
import io
import json
import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Protocol

from discreet import escaping, far
from discreet.errors import InvalidParameter
from discreet.records import dataclass
from discreet.release.answer import Release
from discreet.release.answer_file import about, flat, storable, without_formulas
from discreet.release.exactly import exact

if TYPE_CHECKING:
    import pyarrow as pa

REPLAYED = "replayed"
_META = "discreet"
FEW = 1000
"""Rows of a document that is written at once."""


class BudgetSummary(Protocol):
    """The parts of a budget that stand beside an answer."""

    @property
    def epsilon(self) -> Fraction:
        """The epsilon that may be spent."""

    @property
    def spent(self) -> Fraction:
        """The epsilon spent."""

    @property
    def left(self) -> Fraction:
        """The epsilon left."""

    @property
    def delta(self) -> Fraction:
        """The delta that may be spent."""

    @property
    def delta_spent(self) -> Fraction:
        """The delta spent."""

    @property
    def shares(self) -> Mapping[str, Fraction]:
        """By class of people, the part of every epsilon that they allow; empty where everybody allows the same."""


def dump(document: object, indent: int | None = 2) -> str:
    """Write JSON that every reader accepts: no NaN, dates as text. For programs, on one line, which is faster."""
    encoder = json.JSONEncoder(ensure_ascii=False, indent=indent, allow_nan=False, default=str)
    if indent is None and isinstance(document, dict) and len(document.get("rows", ())) <= FEW:
        return escaping.json_text(encoder.encode(document))  # in C
    sink = io.StringIO()
    # `json.dumps` would keep all pieces, which are larger than the text.
    for piece in encoder.iterencode(document):
        sink.write(piece)
    return escaping.json_text(sink.getvalue())


def rows(release: Release) -> list[dict[str, Any]]:
    """The rows of an answer with their intervals, ready for JSON."""
    table = far.shown(release.to_arrow())
    names = table.column_names
    return [
        dict(zip(names, row, strict=True)) for row in zip(*map(_plain_column, table.columns), strict=True)
    ]


def _plain_column(column: pa.ChunkedArray) -> list[Any]:
    """The values of a column, ready for JSON: column by column, the kind is looked at once for all rows."""
    import pyarrow as pa

    kind = column.type
    values: list[Any] = column.to_pylist()
    if pa.types.is_integer(kind) or pa.types.is_string(kind):
        return values
    if pa.types.is_float64(kind):
        return [value if value is None or math.isfinite(value) else None for value in values]
    return list(map(_plain, values))


@dataclass(frozen=True)
class AnswerText:
    """An answer as JSON, but for the two things that differ when it is given again: the word on that, and the budget.

    Attributes:
        head: the text before the word.
        tail: the text behind it, up to the budget.
    """

    head: str
    tail: str

    @classmethod
    def of(cls, release: Release) -> AnswerText:
        """Write an answer; it is to be of few rows, as its text is kept whole."""
        parts = list(about(release).items())
        index = next(place for place, (name, _) in enumerate(parts) if name == REPLAYED)
        rest = {**dict(parts[index + 1 :]), "rows": rows(release)}
        return cls(f"{dump(dict(parts[:index]), None)[:-1]}, ", dump(rest, None)[1:-1])

    def text(self, replayed: bool, budget: BudgetSummary) -> str:
        """The text of the answer, as `FORMS` writes it.

        Args:
            replayed: whether it is given again.
            budget: the present one.
        """
        said = "true" if replayed else "false"
        return f'{self.head}"{REPLAYED}": {said}, {self.tail}, "budget": {dump(state(budget), None)}}}'


def document(release: Release, budget: BudgetSummary) -> dict[str, Any]:
    """An answer and all that belongs to it, ready for JSON."""
    return {**about(release), "rows": rows(release), "budget": state(budget)}


def state(budget: BudgetSummary) -> dict[str, Any]:
    """A budget, ready for JSON."""
    out: dict[str, Any] = {
        "epsilon": exact(budget.epsilon),
        "spent": exact(budget.spent),
        "left": exact(budget.left),
    }
    if budget.delta or budget.delta_spent:
        out |= {"delta": exact(budget.delta), "delta_spent": exact(budget.delta_spent)}
    if budget.shares:
        out["people"] = {
            name: {"epsilon": exact(share * budget.epsilon), "spent": exact(share * budget.spent)}
            for name, share in budget.shares.items()
        }
    return out


def csv_text(release: Release, formulas: bool = False) -> str:
    """An answer as CSV.

    Args:
        release: the answer.
        formulas: whether text may begin as a formula does.
    """
    from pyarrow import csv

    sink = io.BytesIO()
    table = release.to_arrow()
    csv.write_csv(flat(table if formulas else without_formulas(table)), sink)
    return sink.getvalue().decode()


def arrow_bytes(release: Release) -> bytes:
    """An answer as an Arrow stream, with its intervals as columns and the rest under `discreet` in its schema."""
    import pyarrow as pa

    table = described(release)
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def parquet_bytes(release: Release) -> bytes:
    """An answer as a Parquet file, with the same columns and notes."""
    from pyarrow import parquet

    sink, table = io.BytesIO(), described(release)
    parquet.write_table(
        storable(table).replace_schema_metadata(table.schema.metadata), sink, compression="zstd"
    )
    return sink.getvalue()


def described(release: Release) -> pa.Table:
    """The answer with its intervals, and with its notes and the names of its columns in the schema."""
    table = release.to_arrow()
    index, ends = 0, {}
    for name in release.columns:
        if name in release.low:
            ends[name] = table.column_names[index + 1 : index + 3]
        index += 3 if name in release.low else 1
    notes = {**about(release), "columns": release.columns, "intervals": ends,
             "deployment": dict(release.deployment())}  # fmt: skip
    return table.replace_schema_metadata({_META: json.dumps(notes)})


def from_arrow(data: bytes) -> Release:
    """Read the stream that `arrow_bytes` wrote; nothing in it is run.

    Raises:
        InvalidParameter: it is none.
    """
    import pyarrow as pa

    try:
        with pa.ipc.open_stream(data) as reader:
            table = reader.read_all()
        table.validate(full=True)
        notes = json.loads(table.schema.metadata[_META.encode()])
        table = table.replace_schema_metadata(None)
        ends: Mapping[str, list[str]] = notes["intervals"]
        deployment = dict(notes.get("deployment", {}))
        return Release(
            question=str(notes["question"]),
            values=table.select(notes["columns"]),
            low={name: table.column(low) for name, (low, _) in ends.items()},
            high={name: table.column(high) for name, (_, high) in ends.items()},
            confidence=float(notes["confidence"]),
            epsilon=Fraction(notes["epsilon"]),
            notes=tuple(map(str, notes["notes"])),
            made=dt.datetime.fromisoformat(notes["made"]),
            replayed=bool(notes["replayed"]),
            delta=Fraction(notes["delta"]),
            without=tuple(map(str, notes["without_interval"])),
            meanings={str(name): str(words) for name, words in notes["meanings"].items()},
            warnings=tuple(map(str, notes["warnings"])),
            simultaneous=bool(notes["simultaneous"]),
            deployment=lambda: deployment,
        )
    except (pa.ArrowException, KeyError, TypeError, ValueError):
        pass
    raise InvalidParameter("The answer is no Arrow stream that discreet wrote.", "Ask again.")


FORMS: Mapping[str, tuple[str, Callable[[Release, BudgetSummary], bytes]]] = {
    "json": ("application/json", lambda release, budget: dump(document(release, budget), None).encode()),
    "csv": ("text/csv; charset=utf-8", lambda release, _: csv_text(release).encode()),
    "arrow": ("application/vnd.apache.arrow.stream", lambda release, _: arrow_bytes(release)),
    "parquet": ("application/vnd.apache.parquet", lambda release, _: parquet_bytes(release)),
}
"""By name, the media type of a form and the function that writes an answer in it."""


def _plain(value: object) -> object:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value.isoformat() if isinstance(value, dt.date | dt.datetime) else value
