"""Release: the answer to a question, every number with its interval and every interval with what it leaves out."""

from __future__ import annotations

import datetime as dt
import html
import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from discreet import far
from discreet.rational import show, small

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

SHOWN_ROWS = 40
_META = b"discreet"


@dataclass(frozen=True, eq=False)
class Release:
    """The answer to a question.

    Privacy: differentially private with `epsilon` for the privacy unit of the policy; anything computed from it
    is, too.

    Attributes:
        question: the SQL that was asked.
        values: the answer as an Arrow table, without intervals.
        low: the lower ends of the intervals by column, as Arrow float64 arrays; null where there is none.
        high: the upper ends.
        confidence: of the intervals.
        epsilon: the privacy loss of the whole question.
        delta: 0 unless groups had to be found whose keys are not public.
        notes: what the intervals do not cover.
        replayed: whether this is an earlier answer to the same question, which cost nothing again.
    """

    question: str
    values: pa.Table
    low: Mapping[str, pa.Array]
    high: Mapping[str, pa.Array]
    confidence: float
    epsilon: Fraction
    notes: tuple[str, ...]
    made: dt.datetime
    replayed: bool = False
    delta: Fraction = Fraction(0)

    @property
    def columns(self) -> list[str]:
        """The names of the columns, as the question gave them."""
        return list(self.values.column_names)

    def __len__(self) -> int:
        return len(self.values)

    @property
    def cost(self) -> str:
        """The privacy loss in words, such as `epsilon 0.1, delta 1e-09`."""
        return f"epsilon {show(self.epsilon)}" + (f", delta {small(self.delta)}" if self.delta else "")

    def to_arrow(self, intervals: bool = True) -> pa.Table:
        """The answer as an Arrow table.

        Args:
            intervals: whether each column with an interval is followed by `<name>_low` and `<name>_high`.
        """
        import pyarrow as pa

        names: list[str] = []
        columns: list[Any] = []
        for name in self.columns:
            names.append(name)
            columns.append(self.values.column(name))
            if intervals and name in self.low:
                for end, ends in (("low", self.low), ("high", self.high)):
                    names.append(self._free(f"{name}_{end}"))
                    columns.append(ends[name])
        return pa.table(columns, names=names)

    def to_pandas(self, intervals: bool = True) -> pd.DataFrame:
        """The answer as a pandas DataFrame; intervals as in `to_arrow`. Dates that Python cannot hold are texts."""
        frame: pd.DataFrame = far.shown(self.to_arrow(intervals)).to_pandas()
        return frame

    def to_polars(self, intervals: bool = True) -> pl.DataFrame:
        """The answer as a Polars DataFrame; intervals as in `to_arrow`."""
        import polars as pl

        frame = pl.from_arrow(self.to_arrow(intervals))
        assert isinstance(frame, pl.DataFrame)
        return frame

    def to_dict(self, intervals: bool = True) -> dict[str, list[Any]]:
        """The answer as lists by column; intervals as in `to_arrow`."""
        table = self.to_arrow(intervals)
        return {name: far.values(table.column(name)) for name in table.column_names}

    def card(self) -> str:
        """What a reader of the numbers must know, as text: question, cost, confidence, and what is not covered."""
        percent = f"{self.confidence:.4%}".rstrip("0%").rstrip(".") + " %"
        lines = [
            f"Question     {' '.join(self.question.split())}",
            f"Privacy      {self.cost}, {self.notes[0]}" if self.notes else "",
            f"Intervals    {percent}, of the noise",
            *(f"Not covered  {note}" for note in self.notes[1:]),
            f"Made         {self.made:%Y-%m-%d %H:%M} UTC"
            + (" (an earlier answer, free)" if self.replayed else ""),
        ]
        return "\n".join(line for line in lines if line)

    def plot(self, title: str = "", measure: str | None = None, size: str = "slide") -> Any:
        """The answer as a picture, of the kind that fits its groups: bars, points with a band, or a grid.

        Intervals are drawn; groups without an answer and numbers that the noise alone could have made are marked.
        It shows itself in a notebook; `discreet.plots.save` writes it. Needs the extra `plots`.

        Args:
            title: what stands above; by default the names of the measures.
            measure: which column to draw, when not all.
            size: "slide" or "column".

        Raises:
            InvalidParameter: there is no such column, or nothing to draw.
            MissingExtra: the libraries that draw are not installed.
        """
        from discreet.plots.releases import release

        return release(self, title, measure, size)

    def __repr__(self) -> str:
        rows = [self.columns, *self._rows()]
        widths = [max(len(r[i]) for r in rows) for i in range(len(self.columns))]
        number = [name in self.low or is_number(self.values, name) for name in self.columns]
        lines = [
            "  ".join(
                c.rjust(w) if n else c.ljust(w) for c, w, n in zip(r, widths, number, strict=True)
            ).rstrip()
            for r in rows
        ]
        lines.insert(1, "  ".join("─" * w for w in widths))
        return "\n".join([*lines, *self._footer()])

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{html.escape(name)}</th>" for name in self.columns)
        body = "".join(
            "<tr>" + "".join(f"<td style='text-align:right'>{html.escape(c)}</td>" for c in row) + "</tr>"
            for row in self._rows()
        )
        foot = html.escape(" ".join(self._footer()))
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table><small>{foot}</small>"

    def to_bytes(self) -> bytes:
        """The answer in a form that the ledger keeps and `from_bytes` reads."""
        import pyarrow as pa

        columns = {f"v{at}": self.values.column(name) for at, name in enumerate(self.columns)}
        for at, name in enumerate(self.columns):
            if name in self.low:
                columns[f"l{at}"], columns[f"h{at}"] = self.low[name], self.high[name]
        meta = {
            "question": self.question,
            "names": self.columns,
            "confidence": self.confidence,
            "epsilon": str(self.epsilon),
            "delta": str(self.delta),
            "notes": list(self.notes),
            "made": self.made.isoformat(),
        }
        return table_bytes(pa.table(columns).replace_schema_metadata({_META: json.dumps(meta).encode()}))

    @classmethod
    def from_bytes(cls, data: bytes) -> Release:
        """Read an answer that the ledger kept."""
        import pyarrow as pa

        with pa.ipc.open_stream(data) as reader:
            table = reader.read_all()
        meta = json.loads(table.schema.metadata[_META])
        table = table.replace_schema_metadata(None)
        names = meta["names"]
        ends = {
            end: {
                n: table.column(f"{end}{at}")
                for at, n in enumerate(names)
                if f"{end}{at}" in table.column_names
            }
            for end in "lh"
        }
        values = pa.table([table.column(f"v{at}") for at in range(len(names))], names=names)
        made = dt.datetime.fromisoformat(meta["made"])
        return cls(meta["question"], values, ends["l"], ends["h"], meta["confidence"], Fraction(meta["epsilon"]),
                   tuple(meta["notes"]), made, replayed=True, delta=Fraction(meta.get("delta", 0)))  # fmt: skip

    def _free(self, name: str) -> str:
        while name in self.columns:
            name += "_"
        return name

    def _rows(self) -> Iterator[list[str]]:
        for at in range(min(len(self), SHOWN_ROWS)):
            row = []
            for name in self.columns:
                (value,) = far.values(self.values.column(name).slice(at, 1))
                row.append(with_interval(value, name in self.low and self.low[name][at].as_py(),
                                          name in self.high and self.high[name][at].as_py()))  # fmt: skip
            yield row

    def _footer(self) -> list[str]:
        more = [f"… {len(self) - SHOWN_ROWS:,} more rows"] if len(self) > SHOWN_ROWS else []
        percent = f"{100 * self.confidence:g}"
        cost = "free: asked before" if self.replayed else self.cost
        return [
            *more,
            f"{len(self):,} row{'s' * (len(self) != 1)} · {cost} · ± covers the noise at {percent} %",
        ]


def table_bytes(table: pa.Table) -> bytes:
    """A table as a compressed Arrow stream."""
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression=pa.Codec("zstd", 1))
    with pa.ipc.new_stream(sink, table.schema, options=options) as writer:
        writer.write_table(table, max_chunksize=1 << 20)
    return bytes(sink.getvalue().to_pybytes())


def is_number(values: pa.Table, name: str) -> bool:
    """Whether a column of an answer holds numbers."""
    import pyarrow as pa

    kind = values.schema.field(name).type
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def with_interval(value: object, low: float | bool | None, high: float | bool | None) -> str:
    """A value and its interval as text; False for an end that there is not."""
    text = _plain(value, None)
    if low is False or high is False or low is None or high is None:
        return text
    if not isinstance(value, int | float):
        return f"{text} [{_plain(low, None)}, {_plain(high, None)}]"
    below, above = value - low, high - value
    digits = 0 if isinstance(value, int) else _digits(max(abs(below), abs(above)))
    if math.isclose(below, above, rel_tol=0.05):
        return f"{_plain(value, digits)} ± {_plain((below + above) / 2, digits)}"
    return f"{_plain(value, digits)} [{_plain(low, digits)}, {_plain(high, digits)}]"


def _digits(error: float) -> int:
    """How many digits after the point make sense beside an error: two significant digits of it."""
    if not math.isfinite(error) or error <= 0:
        return 2
    return max(0, 1 - math.floor(math.log10(error)))


def _plain(value: object, digits: int | None) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if isinstance(value, int) and digits in (None, 0):
        return f"{value:,}"
    if not math.isfinite(value):
        return {math.inf: "∞", -math.inf: "-∞"}.get(value, "-")
    if digits is None:
        return f"{value:,.6g}"
    return f"{value:,.{digits}f}"
