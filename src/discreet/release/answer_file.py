"""Answers as files that are written piece by piece, and appear whole or not at all."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet import escaping, far
from discreet.engines.folders import Folder
from discreet.errors import InvalidParameter
from discreet.release.exactly import exact

if TYPE_CHECKING:
    import pyarrow as pa

    from discreet.release.answer import Release

SUFFIXES = (".parquet", ".csv")


class Target:
    """The place of an answer to be written. The unfinished file lies beside it, in a folder of this user alone."""

    def __init__(self, into: str | os.PathLike[str], replace: bool = False, formulas: bool = False) -> None:
        """See that the answer can be written there.

        Args:
            into: a path that ends in .parquet or .csv.
            replace: whether a file that is there already may go.
            formulas: whether text in CSV may begin as a formula does.

        Raises:
            InvalidParameter: the name has another ending, the file is there, or its folder is not, or cannot be
                written.
        """
        self.path = Path(into)
        self._replace = replace
        self._guarded = self.path.suffix.lower() == ".csv" and not formulas
        if self.path.suffix.lower() not in SUFFIXES:
            raise InvalidParameter(
                f"An answer cannot be written to {self.path.name}.",
                f"Give the name one of the endings {' and '.join(SUFFIXES)}.",
            )
        if os.path.lexists(self.path) and (not replace or self.path.is_dir()):
            raise InvalidParameter(
                f"There is {'a folder' if self.path.is_dir() else 'something'} at {self.path} already.",
                "Give the answer another name" + (", or write replace=True." if not replace else "."),
            )
        if not os.access(self.path.absolute().parent, os.W_OK | os.X_OK):
            raise InvalidParameter(
                f"The folder of {self.path} is not there or cannot be written.", "Make the folder first."
            )

    def see(self, columns: Callable[[], pa.Schema | None]) -> None:
        """See that a file of this kind can hold the columns of an answer.

        Args:
            columns: gives them; None where they are plain.

        Raises:
            InvalidParameter: it cannot.
        """
        import pyarrow as pa

        schema = columns() or ()
        if self.path.suffix.lower() == ".parquet":
            for field in schema:
                if not _in_parquet(field):
                    raise InvalidParameter(
                        f"A Parquet file cannot hold the column {field.name}, whose type is {field.type}.",
                        "Make it a text in the question, as with CAST(… AS VARCHAR), or write a .csv file.",
                    )
            return
        odd = [field.name for field in schema if pa.types.is_nested(field.type)]
        if odd:
            raise InvalidParameter(
                f"A CSV file cannot hold the column {odd[0]}, whose values are lists or have parts.",
                "Write a .parquet file, or take the parts out in the question, as with to_json.",
            )

    @contextlib.contextmanager
    def folder(self) -> Iterator[Path]:
        """A private folder beside the file, gone afterwards.

        Raises:
            InvalidParameter: it cannot be made.
        """
        with contextlib.ExitStack() as stack:
            try:
                made = stack.enter_context(private_folder(self.path))
            except OSError:
                raise InvalidParameter(
                    f"The folder of {self.path} cannot be written.", "Choose another one."
                ) from None
            yield made

    def write(self, pieces: Iterable[Release], folder: Path) -> tuple[Release, int]:
        """Write an answer, and let it appear under its name when all of it is on disk.

        Args:
            pieces: at least one; all have the same columns.
            folder: as `folder` made it.

        Returns:
            The first piece, and the number of rows of all.
        """
        unfinished = folder / f"answer{self.path.suffix.lower()}"
        first, rows, writer = None, 0, None
        try:
            for piece in pieces:
                table = piece.to_arrow()
                if self._guarded:
                    table = without_formulas(table)
                table = flat(table) if self.path.suffix.lower() == ".csv" else storable(table)
                if writer is None:
                    first, schema = piece, table.schema
                    writer = _writer(unfinished, schema, piece)
                rows += len(table)
                writer.write_table(table.cast(schema).replace_schema_metadata(schema.metadata))
        finally:
            if writer is not None:
                writer.close()
        assert first is not None
        appear(unfinished, self.path, self._replace)
        return first, rows


@contextlib.contextmanager
def private_folder(beside: Path) -> Iterator[Path]:
    """A folder beside a file that only this user can read, gone afterwards.

    Raises:
        OSError: it cannot be made.
    """
    made = Folder(".discreet-", beside.absolute().parent)
    try:
        yield made.path
    finally:
        made.remove()


@contextlib.contextmanager
def whole(path: Path) -> Iterator[Path]:
    """A private place for a file that then takes its name; the file behind another name or a link is left alone.

    Raises:
        OSError: it cannot be written there.
    """
    with private_folder(path) as folder:
        unfinished = folder / f"answer{path.suffix.lower()}"
        yield unfinished
        appear(unfinished, path, replace=True)


def appear(unfinished: Path, path: Path, replace: bool) -> None:
    """Give a file that is whole its name, once it is on disk.

    Args:
        unfinished: the file, in a folder of the same file system.
        path: its name.
        replace: whether a file of that name may go.

    Raises:
        FileExistsError: there is one, and it may not.
        OSError: it cannot be written there.
    """
    with unfinished.open("rb") as file:
        os.fsync(file.fileno())
    if replace:
        os.replace(unfinished, path)
        return
    try:
        os.link(unfinished, path)  # unlike a rename, it fails where somebody was faster
    except FileExistsError:
        raise
    except OSError:  # a file system without links
        if os.path.lexists(path):
            raise FileExistsError(str(path)) from None
        os.rename(unfinished, path)


def without_formulas(table: pa.Table) -> pa.Table:
    """A table for CSV, with an apostrophe before each text and each name that a spreadsheet would run."""
    import pyarrow as pa
    import pyarrow.compute as pc

    columns = []
    for column in table.columns:
        if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
            runs = pc.match_substring_regex(column, escaping.FORMULA)
            column = pc.if_else(
                runs, pc.binary_join_element_wise(pa.scalar("'", column.type), column, ""), column
            )
        columns.append(column)
    return pa.table(columns, names=list(map(escaping.formula, table.column_names)))


def flat(table: pa.Table) -> pa.Table:
    """The table as a CSV file can hold it: dates that Python cannot hold, lists, bytes and intervals are texts."""
    import pyarrow as pa

    table = far.shown(table)
    for index, field in enumerate(table.schema):
        if not _in_csv(field.type):
            values = [None if value is None else _text(value) for value in table.column(index).to_pylist()]
            table = table.set_column(index, field.name, pa.array(values, pa.string()))
    return table


def storable(table: pa.Table) -> pa.Table:
    """The table as a Parquet file can hold it: columns of a type that it lacks are texts, and no second is infinite."""
    from pyarrow import types

    for index, field in enumerate(table.schema):
        if types.is_timestamp(field.type) and field.type.unit == "s":
            table = table.set_column(index, field.name, far.in_microseconds(table.column(index)))
    odd = [
        name for name, field in zip(table.column_names, table.schema, strict=True) if not _in_parquet(field)
    ]
    if odd:
        texts = flat(table.select(odd))
        for name in odd:
            table = table.set_column(table.column_names.index(name), name, texts.column(name))
    return table


def _text(value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bytes):
        return value.decode(errors="backslashreplace")
    if isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False, default=str)
    return str(value)


def _in_csv(kind: pa.DataType) -> bool:
    """Whether the writer of CSV makes texts of a type that are no bytes."""
    from pyarrow import types

    known = (
        types.is_null, types.is_boolean, types.is_integer, types.is_floating, types.is_decimal, types.is_date,
        types.is_time, types.is_timestamp, types.is_string, types.is_large_string,
    )  # fmt: skip
    return any(is_one(kind) for is_one in known)


def _in_parquet(field: pa.Field) -> bool:
    """Whether there is a column of Parquet for a type of Arrow."""
    import pyarrow as pa
    from pyarrow import parquet

    try:
        parquet.ParquetWriter(pa.BufferOutputStream(), pa.schema([field])).close()
    except pa.ArrowNotImplementedError:
        return False
    return True


def about(release: Release) -> dict[str, Any]:
    """The notes for readers of a file, as the Parquet file keeps them under `discreet`."""
    return {
        "question": release.question,
        "epsilon": exact(release.epsilon),
        "delta": exact(release.delta),
        "confidence": release.confidence,
        "simultaneous": release.simultaneous,
        "cut_off": [share.to_dict() for share in release.cut_off],
        "replayed": release.replayed,
        "made": release.made.isoformat(),
        "notes": list(release.notes),
        "meanings": dict(release.meanings),
        "without_interval": list(release.without),
        "warnings": list(release.warnings),
    }


def _writer(path: Path, schema: pa.Schema, release: Release) -> Any:
    """A writer of tables; both kinds have `write_table` and `close`."""
    if path.suffix == ".csv":
        from pyarrow import csv

        return csv.CSVWriter(path, schema)
    from pyarrow import parquet

    return parquet.ParquetWriter(
        path, schema.with_metadata({"discreet": json.dumps(about(release))}), compression="zstd"
    )
