"""Sources of tables for DuckDB: files, databases and frames, in types that no value decides."""
