"""Which functions of DuckDB 2.0 post-processing must not call, and why; judged one by one.

The sandbox holds no data but noisy and public tables, and its connection is closed to files and settings.
These lists are the second wall: `sql.syntax.parse` refuses the names before the sandbox sees them. A
test compares them with the functions of the installed DuckDB, so that a new version cannot bring a new door unseen.
"""

from __future__ import annotations

ALLOWED_TABLE_FUNCTIONS = frozenset(
    {"generate_series", "json_each", "json_tree", "range", "repeat_row", "unnest"}
)
"""All that may stand after FROM with parentheses; every other table function is refused."""

_REASONS = {
    "runs text as SQL": """
        json_deserialize_sql json_execute_serialized_sql json_serialize_plan json_serialize_sql query query_table
    """,
    "reads or writes files": """
        checkpoint force_checkpoint glob parquet_bloom_probe parquet_file_metadata parquet_full_metadata
        parquet_kv_metadata parquet_metadata parquet_scan parquet_schema read_blob read_csv read_csv_auto
        read_duckdb read_json read_json_auto read_json_objects read_json_objects_auto read_ndjson
        read_ndjson_auto read_ndjson_objects read_parquet read_single_csv_file read_single_json_file
        read_single_parquet_file read_text sniff_csv hive_partition_component path_join parse_dirname
        parse_dirpath parse_filename parse_path
    """,
    "reads memory by its address or from raw bytes": """
        arrow_scan arrow_scan_dumb pandas_scan python_arrow_scan python_map_function seq_scan index_key
        combine finalize to_aggregate_state combine_aggr variant_bytes_to_variant variant_to_parquet_variant
        variant_comparator variant_normalize create_sort_key icu_sort_key bitstring_byte_comparable
        timetz_byte_comparable remap_struct cast_to_type replace_type vector_type constant_or_null
    """,
    "reveals or changes the state of the engine or the machine": """
        create_external_resource deregister_external_resource destroy_external_resource
        register_external_resource register_external_resource_type disable_logging enable_logging
        disable_profiling enable_profiling truncate_duckdb_logs write_log parse_duckdb_log_message
        duckdb_approx_database_count duckdb_available_metrics duckdb_columns duckdb_connection_count
        duckdb_constraints duckdb_coordinate_systems duckdb_databases duckdb_dependencies duckdb_dialects
        duckdb_eviction_queues duckdb_extension_repositories duckdb_extensions duckdb_external_file_cache
        duckdb_external_resource_types duckdb_external_resources duckdb_functions duckdb_grammar_extensions
        duckdb_indexes duckdb_keywords duckdb_log_contexts duckdb_logs duckdb_logs_parsed duckdb_memory
        duckdb_optimizers duckdb_prepared_statements duckdb_profiling_settings duckdb_schemas
        duckdb_secret_type_parameters duckdb_secret_types duckdb_secrets duckdb_sequences duckdb_settings
        duckdb_table_sample duckdb_tables duckdb_temporary_files duckdb_triggers duckdb_types
        duckdb_variables duckdb_views pragma_collations pragma_database_size pragma_metadata_info
        pragma_platform pragma_show pragma_storage_info pragma_table_info pragma_user_agent pragma_version
        which_secret icu_calendar_names pg_timezone_names test_all_types test_vector_types summary
        current_catalog current_connection_id current_database current_query current_query_id current_role
        current_schema current_schemas current_setting current_transaction_id current_user session_user user
        in_search_path getenv getvariable get_block_size stats version txid_current transaction_timestamp
        currval nextval setval setseed inet_client_addr inet_client_port inet_server_addr inet_server_port
        col_description obj_description shobj_description generate_subscripts format_pg_type format_type
        map_to_pg_oid has_any_column_privilege has_column_privilege has_database_privilege
        has_foreign_data_wrapper_privilege has_function_privilege has_language_privilege
        has_schema_privilege has_sequence_privilege has_server_privilege has_table_privilege
        has_tablespace_privilege pg_collation_is_visible pg_conf_load_time pg_conversion_is_visible
        pg_function_is_visible pg_get_constraintdef pg_get_expr pg_get_viewdef pg_has_role
        pg_is_other_temp_schema pg_my_temp_schema pg_opclass_is_visible pg_operator_is_visible
        pg_opfamily_is_visible pg_postmaster_start_time pg_size_pretty pg_table_is_visible
        pg_ts_config_is_visible pg_ts_dict_is_visible pg_ts_parser_is_visible pg_ts_template_is_visible
        pg_type_is_visible pg_typeof
    """,
    "belongs to the inside of the engine": """
        __between __cast __internal_barrier __internal_compress_geometry_point
        __internal_compress_integral_ubigint __internal_compress_integral_uinteger
        __internal_compress_integral_usmallint __internal_compress_integral_utinyint
        __internal_compress_string_hugeint __internal_compress_string_ubigint
        __internal_compress_string_uhugeint __internal_compress_string_uinteger
        __internal_compress_string_usmallint __internal_compress_string_utinyint
        __internal_compressed_materialization_cast __internal_decompress_geometry_point
        __internal_decompress_integral_bigint __internal_decompress_integral_hugeint
        __internal_decompress_integral_integer __internal_decompress_integral_smallint
        __internal_decompress_integral_ubigint __internal_decompress_integral_uhugeint
        __internal_decompress_integral_uinteger __internal_decompress_integral_usmallint
        __internal_decompress_string __internal_json_copy_to_geojson __internal_json_copy_to_json
        __internal_tablefilter_bloom_filter __internal_tablefilter_dynamic __internal_tablefilter_optional
        __internal_tablefilter_prefix_range __internal_tablefilter_selectivity_optional
        json_copy_strftime_if_date json_copy_strftime_if_timestamp
    """,
    "may take any amount of time or memory in one call, which cannot be interrupted": """
        sleep_ms pg_sleep repeat lpad rpad bar array_resize list_resize bitstring factorial
        levenshtein editdist3 damerau_levenshtein hamming mismatches jaccard jaro_similarity
        jaro_winkler_similarity printf format
    """,
}

FORBIDDEN_FUNCTIONS = {name: reason for reason, names in _REASONS.items() for name in names.split()}
"""Scalar, aggregate and table functions that `sql.syntax.parse` refuses by name -> the effect of each."""
