"""Settings that decide the meaning of a query, and let none fail by the size of the data; they override profiles."""

from __future__ import annotations

MEANING = {
    "enable_analyzer": "1", "prefer_column_name_to_alias": "1", "join_use_nulls": "1", "cast_keep_nullable": "1",
    "transform_null_in": "0", "aggregate_functions_null_for_empty": "0", "group_by_use_nulls": "0",
    "empty_result_for_aggregation_by_empty_set": "0", "count_distinct_implementation": "'uniqExact'",
    "least_greatest_legacy_null_behavior": "0", "precise_float_parsing": "1", "session_timezone": "'UTC'",
    "short_circuit_function_evaluation": "'force_enable'", "enable_positional_arguments": "1",
    "allow_experimental_correlated_subqueries": "1", "union_default_mode": "'ALL'", "use_query_cache": "0",
    "asterisk_include_materialized_columns": "0", "asterisk_include_alias_columns": "0",
    "limit": "0", "offset": "0", "extremes": "0",
    "max_bytes_ratio_before_external_group_by": "0.5", "max_bytes_ratio_before_external_sort": "0.5",
    "output_format_arrow_string_as_string": "1", "output_format_arrow_low_cardinality_as_dictionary": "0",
    "output_format_arrow_compression_method": "'none'",
}  # fmt: skip
LIMITED = (
    "max_execution_time", "max_memory_usage", "max_rows_to_read", "max_bytes_to_read", "max_rows_to_group_by",
    "max_rows_to_sort", "max_bytes_to_sort", "max_result_rows", "max_result_bytes", "max_rows_in_set",
    "max_bytes_in_set",
    "max_rows_in_join", "max_bytes_in_join", "max_rows_in_distinct", "max_bytes_in_distinct", "max_columns_to_read",
    "max_temporary_columns", "max_rows_to_read_leaf", "max_bytes_to_read_leaf", "max_estimated_execution_time",
    "min_execution_speed",
)  # fmt: skip
LIMITS = dict.fromkeys(LIMITED, "0")
"""Where a query would fail, or return a part, because there is too much data."""
PARSER = {
    "max_query_size": "4000000000", "max_ast_elements": "100000000", "max_expanded_ast_elements": "100000000",
    "max_ast_depth": "100000", "max_parser_depth": "100000", "max_parser_backtracks": "0",
    "max_subquery_depth": "10000",
}  # fmt: skip
"""Known before the text is read, so they cannot stand in it."""
CLAUSE = " SETTINGS " + ", ".join(f"{name} = {value}" for name, value in {**MEANING, **LIMITS}.items())
