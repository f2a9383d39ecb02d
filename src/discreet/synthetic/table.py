"""A synthetic table, with its cost and all that can be said of its errors."""

from __future__ import annotations

import os
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.errors import InvalidParameter
from discreet.escaping import name as one_line
from discreet.rational import show
from discreet.records import dataclass
from discreet.release.answer_file import flat, whole, without_formulas
from discreet.synthetic.report import SyntheticReport

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

ENDINGS = (".parquet", ".csv")


def check_path(path: str | os.PathLike[str]) -> Path:
    """Check that a synthetic table can be written to a path, before anything is charged.

    Raises:
        InvalidParameter: the ending is neither .parquet nor .csv, the folder is not there, or the path is one.
    """
    file = Path(path)
    if file.suffix.lower() not in ENDINGS:
        raise InvalidParameter("The name has no ending of a table.", f"End it in {' or '.join(ENDINGS)}.")
    if file.is_dir():
        raise InvalidParameter(f"{file} is a folder.", "Give the table another name.")
    if not file.absolute().parent.is_dir():
        raise InvalidParameter(f"There is no folder {file.parent}.", "Make it first.")
    return file


@dataclass(frozen=True, repr=False)
class SyntheticTable:
    """Rows that nobody gave, with the marginals of those that people gave, as far as noise allows.

    Attributes:
        values: the rows, with the names and types of the private table.
        table: its name.
        epsilon: of the release.
        delta: of the release.
        left_out: the columns that are missing, with the reason of each.
        report: the errors of the marginals, and the limits of the table.
        replayed: whether it is an earlier one, which costs nothing again.
    """

    values: pa.Table
    table: str
    epsilon: Fraction
    delta: Fraction
    left_out: Mapping[str, str]
    report: SyntheticReport
    replayed: bool = False

    def __len__(self) -> int:
        return int(self.values.num_rows)

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return list(self.values.column_names)

    def to_arrow(self) -> pa.Table:
        """The rows as an Arrow table."""
        return self.values

    def to_pandas(self) -> pd.DataFrame:
        """The rows as a frame of pandas. Whole numbers and truth values keep their types beside NULL."""
        import pandas as pd
        import pyarrow as pa

        found: pd.DataFrame = self.values.to_pandas()
        for column in self.values.column_names:
            values = self.values[column]
            if values.null_count and pa.types.is_integer(values.type):
                found[column] = values.to_pandas(types_mapper=lambda _: pd.Int64Dtype())
            elif values.null_count and pa.types.is_boolean(values.type):
                found[column] = values.to_pandas(types_mapper=lambda _: pd.BooleanDtype())
        return found

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the rows to a .parquet or .csv file, whole or not at all.

        Raises:
            InvalidParameter: as `check_path`.
            OSError: it cannot be written there.
        """
        file = check_path(path)
        with whole(file) as unfinished:
            if file.suffix.lower() == ".csv":
                from pyarrow import csv

                csv.write_csv(flat(without_formulas(self.values)), unfinished)
            else:
                from pyarrow import parquet

                parquet.write_table(self.values, unfinished)
        return file

    def to_dict(self) -> dict[str, Any]:
        """The description of the table as JSON, without its rows."""
        return {
            "table": self.table,
            "rows": len(self),
            "columns": self.columns,
            "left_out": dict(self.left_out),
            "epsilon": show(self.epsilon, 12),
            "delta": show(self.delta, 12),
            "replayed": self.replayed,
            "report": self.report.to_dict(),
        }

    def __repr__(self) -> str:
        cost = "free: asked before" if self.replayed else f"epsilon {show(self.epsilon)}"
        if self.delta and not self.replayed:
            cost += f", delta {show(self.delta)}"
        head = f"{len(self):,} synthetic rows of {one_line(self.table)}, {len(self.columns)} columns · {cost}"
        left = [f"without {one_line(name)}: {reason}" for name, reason in self.left_out.items()]
        return "\n".join([head, *left, *self.report.lines()])
