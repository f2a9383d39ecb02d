"""The catalogue that tools of PostgreSQL look at: its tables, filled from the policy alone.

`columns.txt` has the columns of the tables of a real PostgreSQL. Most of them are empty here. No data, private or
public, is ever in them: a question about the catalogue runs in the sandbox over these tables and over nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from discreet.pgwire.types import KINDS, OTHERS, TEXT, WORDS

if TYPE_CHECKING:
    import pyarrow as pa

SCHEMA, VERSION = "public", "16.0"
PUBLIC, CATALOG, OWNER, DATABASE, FIRST, CLASSES = 2200, 11, 10, 5, 16384, 1259
"""Numbers: of the schema, of pg_catalog, of the only role, of the database, of the first table, and of pg_class."""
Row = Mapping[str, Any]
_DEFAULTS = {"i": 0, "s": None, "b": False, "f": 0.0, "I": None, "S": None, "B": None, "F": None}


def table_name(name: str) -> str:
    """The name in the sandbox of a table of the catalogue; `pg_class` there would be DuckDB's own."""
    return "of_" + name.replace(".", "_")


@cache
def columns() -> dict[str, dict[str, str]]:
    """The columns of each table, with a letter for their types: i, s, b, f, and the same in capitals for lists."""
    lines = files("discreet.pgwire").joinpath("columns.txt").read_text("utf-8").splitlines()
    out = {}
    for line in lines:
        name, *rest = line.split()
        out[name] = dict(pair.rsplit("=", 1) for pair in rest)
    return out


def tables(schema: Sequence[Mapping[str, Any]], dataset: str, user: str) -> dict[str, pa.Table]:
    """The tables of the catalogue, by their names in the sandbox.

    Args:
        schema: the tables of the policy, as `DataSet.schema` has them.
        dataset: is the name of the database.
        user: is the name of the only role.
    """
    import pyarrow as pa

    kinds = {"i": pa.int64(), "s": pa.string(), "b": pa.bool_(), "f": pa.float64()}
    filled: dict[str, list[Row]] = {**_own(dataset, user), **_types(), **_of_policy(schema, dataset, user)}
    out = {}
    for name, known in columns().items():
        rows = filled.get(name, [])
        arrays = []
        for column, letter in known.items():
            kind = kinds[letter.lower()] if letter.islower() else pa.list_(kinds[letter.lower()])
            arrays.append(pa.array([row.get(column, _DEFAULTS[letter]) for row in rows], kind))
        out[table_name(name)] = pa.table(arrays, list(known))
    return out


def _own(dataset: str, user: str) -> dict[str, list[Row]]:
    """The tables that are the same for every policy."""
    role = {"rolname": user, "usename": user, "oid": OWNER, "usesysid": OWNER, "rolinherit": True,
            "rolcanlogin": True, "rolconnlimit": -1}  # fmt: skip
    schemas = ((CATALOG, "pg_catalog"), (PUBLIC, SCHEMA), (13000, "information_schema"))
    settings = {"server_version": VERSION, "standard_conforming_strings": "on", "max_index_keys": "32",
                "TimeZone": "UTC", "search_path": SCHEMA, "server_encoding": "UTF8"}  # fmt: skip
    return {
        "pg_namespace": [{"oid": oid, "nspname": name, "nspowner": OWNER} for oid, name in schemas],
        "pg_database": [
            {"oid": DATABASE, "datname": dataset, "datdba": OWNER, "encoding": 6, "datlocprovider": "c",
             "datcollate": "C", "datctype": "C", "datallowconn": True, "datconnlimit": -1, "dattablespace": 1663},
        ],
        "pg_roles": [role],
        "pg_user": [role],
        "pg_authid": [role],
        "pg_am": [{"oid": 2, "amname": "heap", "amtype": "t"}],
        "pg_tablespace": [{"oid": 1663, "spcname": "pg_default", "spcowner": OWNER}],
        "pg_settings": [{"name": name, "setting": value} for name, value in settings.items()],
        "information_schema.schemata": [
            {"catalog_name": dataset, "schema_name": name, "schema_owner": user} for _, name in schemas
        ],
    }  # fmt: skip


def _types() -> dict[str, list[Row]]:
    return {
        "pg_type": [
            {"oid": kind.oid, "typname": kind.name, "typnamespace": CATALOG, "typowner": OWNER, "typlen": kind.size,
             "typtype": "b", "typcategory": kind.category, "typispreferred": kind is TEXT, "typisdefined": True,
             "typdelim": ",", "typarray": kind.array, "typtypmod": -1, "typstorage": "p", "typalign": "i",
             "typelem": next((other.oid for other in KINDS if other.array == kind.oid), 0),
             "typinput": "array_in" if kind.category == "A" else f"{kind.name}in"}
            for kind in (*KINDS, *OTHERS)
        ]
    }  # fmt: skip


def _of_policy(schema: Sequence[Mapping[str, Any]], dataset: str, user: str) -> dict[str, list[Row]]:
    """The tables and columns of the policy."""
    classes: list[Row] = []
    attributes: list[Row] = []
    notes: list[Row] = []
    named: list[Row] = []
    listed: list[Row] = []
    columned: list[Row] = []
    for oid, table in enumerate(schema, FIRST):
        name, found = table["table_name"], table["columns"]
        classes.append({"oid": oid, "relname": name, "relnamespace": PUBLIC, "relowner": OWNER, "relam": 2,
                        "relkind": "r", "relnatts": len(found), "relpersistence": "p", "reltuples": -1.0,
                        "relispopulated": True, "relreplident": "d"})  # fmt: skip
        named.append({"schemaname": SCHEMA, "tablename": name, "tableowner": user})
        place = {"table_catalog": dataset, "table_schema": SCHEMA, "table_name": name}
        listed.append({**place, "table_type": "BASE TABLE", "is_insertable_into": "NO", "is_typed": "NO"})
        for column in found:
            number, called = column["ordinal_position"], column["column_name"]
            kind = WORDS.get(column["data_type"], TEXT)
            attributes.append({"attrelid": oid, "attname": called, "atttypid": kind.oid, "attlen": kind.size,
                               "attnum": number, "atttypmod": -1, "attidentity": "", "attgenerated": "",
                               "attstorage": "p", "attcompression": "", "attislocal": True, "attstattarget": -1,
                               })  # fmt: skip
            words = f"{column['declared']}; answers {column['answers']}"
            notes.append({"objoid": oid, "classoid": CLASSES, "objsubid": number, "description": words})
            columned.append({**place, "column_name": called, "ordinal_position": number, "is_nullable": "YES",
                             "data_type": kind.sql, "udt_catalog": dataset, "udt_schema": "pg_catalog",
                             "udt_name": kind.name, "is_identity": "NO", "is_generated": "NEVER",
                             "is_updatable": "NO"})  # fmt: skip
    return {
        "pg_class": classes,
        "pg_attribute": attributes,
        "pg_description": notes,
        "pg_tables": named,
        "information_schema.tables": listed,
        "information_schema.columns": columned,
    }
