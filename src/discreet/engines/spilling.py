"""A DuckDB for arithmetic above noisy tables that are larger than memory should be.

Like `sandbox` it can reach no file, network or setting, but for the noisy tables, which lie in Parquet files in a
private folder, and for a part of that folder that it spills into. Nothing in either is a secret: it is noisy.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from discreet.engines.duckdb.connection import connect, literal, seal
from discreet.engines.sandbox import refused
from discreet.quoting import quote

if TYPE_CHECKING:
    import pyarrow as pa

MEMORY = "256MB"
"""How much memory it takes before it spills."""
THREADS = "2"
"""Each thread needs memory of its own, so that more of them than this would not fit."""


class Spilling:
    """Runs SQL over noisy tables in files and public tables in memory, and over nothing else."""

    def __init__(self, files: Mapping[str, Path], tables: Mapping[str, pa.Table], folder: Path) -> None:
        """Open the tables.

        Args:
            files: Parquet files by the name of the table.
            tables: the public tables.
            folder: a private folder to spill into.
        """
        self._connection = connect(
            memory_limit=MEMORY, threads=THREADS, temp_directory=str(folder), preserve_insertion_order="true"
        )
        for name, file in files.items():
            self._connection.execute(
                f"CREATE TEMP VIEW {quote(name)} AS SELECT * FROM read_parquet({literal(str(file))})"
            )
        for name, table in tables.items():
            self._connection.register(name, table)
        seal(self._connection, [str(file) for file in files.values()])

    def run(self, sql: str, rows: int = 1 << 16) -> Iterator[pa.Table]:
        """Run one SELECT and yield its result in pieces, at least one, which may be empty.

        Raises:
            PostProcessingError: the query is no single SELECT, failed, or took too much memory. The message quotes
                DuckDB, which has seen released and public numbers only.
        """
        import duckdb
        import pyarrow as pa

        try:
            (statement,) = self._connection.extract_statements(sql)
            if statement.type != duckdb.StatementType.SELECT:
                raise ValueError("it is not one SELECT.")
            reader = self._connection.sql(statement).to_arrow_reader(rows)
            yield reader.schema.empty_table()
            for batch in reader:
                yield pa.Table.from_batches([batch])
        except (duckdb.Error, pa.ArrowException, ValueError) as error:
            said = str(error).partition("\n")[0]
        else:
            return
        raise refused(sql, said)

    def close(self) -> None:
        """Release the tables."""
        self._connection.close()

    def __enter__(self) -> Spilling:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
