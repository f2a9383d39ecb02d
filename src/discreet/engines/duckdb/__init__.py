"""The built-in engine: DuckDB over files, frames and databases."""

from discreet.engines.duckdb.engine import DuckDBEngine

__all__ = ["DuckDBEngine"]
