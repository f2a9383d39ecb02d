"""Forms that the parser takes and DuckDB does not have: refused, as nobody reads them."""
