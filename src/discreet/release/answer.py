"""Release: the answer to a question, every number with its interval, and the errors that the intervals leave out."""

from __future__ import annotations

import datetime as dt
import json
import operator
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any, SupportsIndex, overload

from discreet import far
from discreet.errors import InvalidParameter, NotInAnswer
from discreet.imports import load
from discreet.rational import show, small
from discreet.records import dataclass, field
from discreet.release.exactly import exact, flavour

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    from discreet.release.cards.card import Card
    from discreet.release.cut_share import CutShare

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
        delta: 0 unless some was spent, to find groups whose keys are not public or on Gaussian noise.
        notes: the errors that the intervals do not cover.
        made: when the numbers were released; of a replay, when they were released first.
        replayed: whether this is an earlier answer to the same question, which cost nothing again.
        without: the noisy columns for which no interval could be derived.
        meanings: the contents of the columns that hold something else than the question says, such as a quantile for
            MAX.
        warnings: the properties of the numbers that are likely to mislead.
        simultaneous: whether all intervals together have the confidence, instead of each by itself.
        deployment: gives the facts of the deployment and the mechanisms, for the card.
        cut_off: the shares of rows and values that caps and bounds cut off, where a part of epsilon measured them.
        known_from: the numbers, in the ledger, of the earlier questions whose noisy numbers it is made of: alone, where
            its epsilon is 0, else beside a measurement of its own.

    It iterates over its rows; `release[0]` is a row and `release["n"]` a column; and every reader of Arrow takes it
    directly, such as `polars.DataFrame(release)`.
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
    without: tuple[str, ...] = ()
    meanings: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    simultaneous: bool = False
    deployment: Callable[[], Mapping[str, Any]] = field(default=dict, repr=False)
    cut_off: tuple[CutShare, ...] = ()
    known_from: tuple[int, ...] = ()

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
        frame: pd.DataFrame = far.shown(self.to_arrow(intervals), intervals=False).to_pandas()
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

    def card(self) -> Card:
        """The notes for readers of the numbers: question, cost, confidence, limits of the intervals.

        It is text, and has the record for registries of deployments: `to_dict()`, `to_json()`, `to_yaml()` and
        `to_markdown()`.
        """
        from discreet.release.cards.card import Card

        percent = f"{self.confidence:.4%}".rstrip("0%").rstrip(".") + " %"
        together = ", for all numbers together" if self.simultaneous else ""
        lines = [
            ("Question", " ".join(self.question.split())),
            ("Privacy", f"{self.cost}, {self.notes[0]}" if self.notes else ""),
            ("Intervals", f"{percent}, of the noise{together}"),
            *(("Not covered", note) for note in self.notes[1:]),
            *(("Cut off", str(share)) for share in self.cut_off),
            ("Made of", _questions(self.known_from)),
            *(("Warning", warning) for warning in self.warnings),
            (
                "Made",
                f"{self.made:%Y-%m-%d %H:%M} UTC" + (" (an earlier answer, free)" if self.replayed else ""),
            ),
        ]
        return Card.of([(label, words) for label, words in lines if words], self._record())

    def _record(self) -> dict[str, Any]:
        """The card for machines."""
        own = {
            "question": " ".join(self.question.split()),
            "epsilon": exact(self.epsilon),
            "delta": exact(self.delta),
            "flavour": flavour(self.delta),
            "guarantee": self.notes[0] if self.notes else "",
            "confidence_of_intervals": self.confidence,
            "intervals_hold_together": self.simultaneous,
            "not_covered_by_intervals": list(self.notes[1:]),
            "warnings": list(self.warnings),
            "made_of_questions": list(self.known_from),
            "made": self.made.isoformat(),
        }
        return {**own, **self.deployment(), **own}

    def plot(self, title: str = "", measure: str | None = None, size: str = "slide") -> Any:
        """The answer as a picture, of the kind that fits its groups: bars, points with a band, or a grid.

        Intervals are drawn; groups without an answer and numbers that the noise alone could have made are marked.
        It shows itself in a notebook; `discreet.plots.save` writes it. Needs the extra `plots`.

        Args:
            title: the line above; by default the names of the measures.
            measure: which column to draw, when not all.
            size: "slide" or "column".

        Raises:
            InvalidParameter: there is no such column, or nothing to draw.
            MissingExtra: the libraries that draw are not installed.
        """
        return load("discreet.plots.releases").release(self, title, measure, size)  # a room above this one

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """The rows, each as a dictionary, with the ends of the intervals."""
        for batch in self.to_arrow().to_batches(max_chunksize=1 << 12):
            yield from _rows(batch)

    @overload
    def __getitem__(self, key: SupportsIndex) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, key: str) -> list[Any]: ...
    def __getitem__(self, key: SupportsIndex | str) -> dict[str, Any] | list[Any]:
        """A row by its number, as a dictionary, or a column by its name, as a list.

        Raises:
            NotInAnswer: the answer has no such row or column.
            InvalidParameter: it is neither a number nor a name.
        """
        answer = self.to_arrow()
        if isinstance(key, str):
            if key not in answer.column_names:
                raise NotInAnswer(
                    f"The answer has no column {key}.", f"It has {', '.join(answer.column_names)}."
                )
            return far.values(answer.column(key))
        try:
            place = operator.index(key)
        except TypeError:
            raise InvalidParameter(
                "A row is asked for by its number, and a column by its name.",
                'Write release[0] or release["n"].',
            ) from None
        if not -len(self) <= place < len(self):
            raise NotInAnswer(f"The answer has no row {place}.", f"It has {len(self):,}, counted from 0.")
        return next(_rows(answer.slice(place % len(self), 1)))

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The answer with its intervals, for every library that reads Arrow."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        from discreet.release import shown

        return shown.text(self)

    def _repr_html_(self) -> str:
        from discreet.release import shown

        return shown.page(self)

    def to_bytes(self) -> bytes:
        """The answer in a form that the ledger keeps and `from_bytes` reads."""
        import pyarrow as pa

        columns = {f"v{index}": self.values.column(name) for index, name in enumerate(self.columns)}
        for index, name in enumerate(self.columns):
            if name in self.low:
                columns[f"l{index}"], columns[f"h{index}"] = self.low[name], self.high[name]
        meta = {
            "question": self.question,
            "names": self.columns,
            "confidence": self.confidence,
            "epsilon": str(self.epsilon),
            "delta": str(self.delta),
            "notes": list(self.notes),
            "made": self.made.isoformat(),
            "without": list(self.without),
            "meanings": dict(self.meanings),
            "warnings": list(self.warnings),
            "simultaneous": self.simultaneous,
            "cut_off": [share.to_dict() for share in self.cut_off],
            "known_from": list(self.known_from),
        }
        return table_bytes(pa.table(columns).replace_schema_metadata({_META: json.dumps(meta).encode()}))

    @classmethod
    def from_bytes(cls, data: bytes) -> Release:
        """Read an answer that the ledger kept."""
        import pyarrow as pa

        from discreet.release.cut_share import CutShare

        with pa.ipc.open_stream(data) as reader:
            table = reader.read_all()
        meta = json.loads(table.schema.metadata[_META])
        table = table.replace_schema_metadata(None)
        names = meta["names"]
        ends = {
            end: {
                n: table.column(f"{end}{index}")
                for index, n in enumerate(names)
                if f"{end}{index}" in table.column_names
            }
            for end in "lh"
        }
        values = pa.table([table.column(f"v{index}") for index in range(len(names))], names=names)
        made = dt.datetime.fromisoformat(meta["made"])
        return cls(meta["question"], values, ends["l"], ends["h"], meta["confidence"], Fraction(meta["epsilon"]),
                   tuple(meta["notes"]), made, replayed=True, delta=Fraction(meta.get("delta", 0)),
                   without=tuple(meta.get("without", ())), meanings=meta.get("meanings", {}),
                   warnings=tuple(meta.get("warnings", ())), simultaneous=meta.get("simultaneous", False),
                   cut_off=tuple(map(CutShare.from_dict, meta.get("cut_off", ()))),
                   known_from=tuple(meta.get("known_from", ())))  # fmt: skip

    def _free(self, name: str) -> str:
        while name in self.columns:
            name += "_"
        return name


def _rows(table: pa.Table | pa.RecordBatch) -> Iterator[dict[str, Any]]:
    """The rows of a table, each as a dictionary; a date that Python cannot hold is `FarDate`."""
    names = table.schema.names
    return (dict(zip(names, row, strict=True)) for row in zip(*map(far.values, table.columns), strict=True))


def _questions(numbers: tuple[int, ...]) -> str:
    """Earlier questions in words; empty without any."""
    if not numbers:
        return ""
    said = ", ".join(map(str, numbers))
    return f"the numbers released for question{'s' * (len(numbers) > 1)} {said}, at no further cost"


SMALL = 4096
"""Bytes of a table that is kept without compression."""


def table_bytes(table: pa.Table) -> bytes:
    """A table as an Arrow stream, compressed unless it is small: to compress takes longer then than to write it."""
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    codec = pa.Codec("zstd", 1) if table.nbytes > SMALL else None
    options = pa.ipc.IpcWriteOptions(compression=codec)
    with pa.ipc.new_stream(sink, table.schema, options=options) as writer:
        writer.write_table(table, max_chunksize=1 << 20)
    return bytes(sink.getvalue().to_pybytes())
