"""Engines hold private data and hand out integers. DuckDB is the default; PostgreSQL and Spark are beside it."""
