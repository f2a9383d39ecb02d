"""Engines hold private data and hand out integers. DuckDB is the default; PostgreSQL, Spark, ClickHouse are others."""
