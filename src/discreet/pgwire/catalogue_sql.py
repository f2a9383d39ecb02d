"""Questions about the catalogue, from PostgreSQL's SQL to that of the sandbox, as trees and never as text."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence, Set
from itertools import pairwise
from typing import NamedTuple

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import Token, TokenType

from discreet.dbapi.binding import tokens
from discreet.engines.functions import ALLOWED_TABLE_FUNCTIONS, FORBIDDEN_FUNCTIONS
from discreet.pgwire.catalogue import CLASSES, SCHEMA, VERSION, columns, table_name
from discreet.pgwire.types import KINDS, OTHERS
from discreet.sql.syntax.parse import MAX_DEPTH

SAID = f"PostgreSQL {VERSION} (discreet)"
_NOTHING = frozenset({
    "pg_get_expr", "pg_get_constraintdef", "pg_get_indexdef", "pg_get_viewdef", "pg_get_triggerdef",
    "shobj_description",
    "pg_get_statisticsobjdef_columns", "pg_get_ruledef", "pg_get_function_result", "pg_get_partkeydef",
    "pg_get_function_arguments", "pg_get_functiondef", "pg_get_function_identity_arguments", "pg_get_serial_sequence",
    "pg_relation_filenode", "pg_encoding_to_char", "pg_tablespace_location", "pg_describe_object", "inet_client_addr",
    "inet_server_addr", "pg_get_partition_constraintdef", "pg_sequence_last_value", "pg_get_publication_tables",
    "row_security_active", "json_build_object", "jsonb_build_object", "row_to_json", "pg_my_temp_schema",
})  # fmt: skip
_YES = frozenset({
    "has_table_privilege", "has_schema_privilege", "has_database_privilege", "has_column_privilege",
    "has_any_column_privilege", "pg_table_is_visible", "pg_type_is_visible", "pg_function_is_visible",
    "pg_opclass_is_visible", "pg_has_role", "has_sequence_privilege", "has_function_privilege",
    "pg_relation_is_publishable",
})  # fmt: skip
_NO = frozenset(
    {"pg_is_in_recovery", "pg_is_other_temp_schema", "pg_column_is_updatable", "pg_extension_is_visible"}
)
_ZERO = frozenset({"pg_total_relation_size", "pg_relation_size", "pg_table_size", "pg_database_size", "pg_backend_pid",
                   "pg_relation_is_updatable", "pg_indexes_size", "txid_current",
                   "array_lower", "array_upper"})  # fmt: skip
_MAKE_ROWS = (exp.GenerateSeries, exp.ExplodingGenerateSeries, exp.Unnest, exp.Explode)
_TYPES = {kind.sql: kind.oid for kind in (*KINDS, *OTHERS)} | {
    kind.name: kind.oid for kind in (*KINDS, *OTHERS)
}
_NAMES = {
    "oid": "BIGINT",
    "name": "TEXT",
    "regnamespace": "TEXT",
    "cardinal_number": "BIGINT",
    "char": "TEXT",
}


_STATEMENTS = frozenset({TokenType.SELECT, TokenType.INSERT, TokenType.UPDATE, TokenType.DELETE})


class Elsewhere(Exception):
    """A question that is not about the catalogue."""


class CatalogueRefused(Exception):
    """A question about the catalogue that cannot be answered here."""


class CatalogueContext(NamedTuple):
    """Who asks, and about which data set.

    Attributes:
        tables: the numbers of the tables of the policy, by name.
        dataset: the name of the database.
        user: who asks.
    """

    tables: Mapping[str, int]
    dataset: str
    user: str


def rewritten(text: str, asked: CatalogueContext) -> tuple[str, bool]:
    """A question about the catalogue as SQL of the sandbox, and whether it reads a table of it.

    Args:
        text: PostgreSQL's SQL.
        asked: by whom, and about which data set.

    Raises:
        Elsewhere: it reads a table of the policy, or is no question about the catalogue at all.
        Unknown: it cannot be read.
    """
    read = tokens(text)
    first = next((token.text.upper() for token in read if token.text != "("), "")
    if first not in ("SELECT", "WITH", "VALUES"):
        raise Elsewhere  # the parser would make one piece of it, and say so in a log
    try:
        found = sqlglot.parse(_quoted(text, read), read="postgres")
    except (SqlglotError, RecursionError):
        raise Elsewhere from None
    if len(found) != 1 or not isinstance(found[0], exp.Query):
        raise Elsewhere
    tree = found[0]
    _see_place(tree, frozenset(map(str.lower, asked.tables)))
    about = any(_catalogue_name(table) is not None for table in tree.find_all(exp.Table))
    _name_columns(tree)
    try:
        # From the leaves up: a change that moves a part finds it changed.
        for node in reversed(list(tree.walk())):
            other = _changed(node, asked)
            if other is not node:
                node.replace(other)
        _see_functions(tree)
        return tree.sql("duckdb"), about
    except (SqlglotError, RecursionError, ValueError, AttributeError):
        raise CatalogueRefused from None


def _quoted(text: str, read: Sequence[Token]) -> str:
    """The text with names behind AS in quotes that are the first words of statements; PostgreSQL takes them bare."""
    names = [token for before, token in pairwise(read) if before.text.upper() == "AS"
             and token.token_type in _STATEMENTS]  # fmt: skip
    for token in reversed(names):
        text = f'{text[: token.start]}"{token.text.lower()}"{text[token.end + 1 :]}'
    return text


def _see_place(tree: exp.Expr, private: Set[str]) -> None:
    """See that a question reads the catalogue, or no table but those that it makes itself."""
    own = {cte.alias.lower() for cte in tree.find_all(exp.CTE)}
    for table in tree.find_all(exp.Table):
        if not isinstance(table.this, exp.Identifier):
            continue  # a function
        name = table.name.lower()
        if _catalogue_name(table) is None and (name in private or name not in own):
            raise Elsewhere


def _see_functions(tree: exp.Expr) -> None:
    """See that nothing is left that a question above noisy tables may not call either, and that it is not too deep."""
    for node in tree.walk():
        name = _called(node) if isinstance(node, exp.Func) else ""
        endless = isinstance(node, exp.With) and node.args.get("recursive")
        makes_rows = isinstance(node.parent, exp.Table) and name and not isinstance(node, _MAKE_ROWS) and (
            name not in ALLOWED_TABLE_FUNCTIONS)  # fmt: skip
        if name in FORBIDDEN_FUNCTIONS or endless or makes_rows or node.depth > MAX_DEPTH:
            raise CatalogueRefused


def _arguments(function: exp.Func) -> Sequence[exp.Expr]:
    return function.expressions or [
        argument for argument in function.args.values() if isinstance(argument, exp.Expr)
    ]


def _called_of(table: exp.Table) -> str:
    return _called(table.this) if isinstance(table.this, exp.Func) else ""


def _called(function: exp.Func) -> str:
    return (function.name if isinstance(function, exp.Anonymous) else function.sql_name()).lower()


def _name_columns(tree: exp.Query) -> None:
    """Name the columns of the result as PostgreSQL does where the question does not."""
    select = tree
    while isinstance(select, exp.SetOperation):
        select = select.this
    if not isinstance(select, exp.Select):
        return
    for item in list(select.expressions):
        inner = item
        while isinstance(inner, exp.Cast | exp.Paren):
            inner = inner.this
        if isinstance(item, exp.Alias | exp.Star) or (isinstance(item, exp.Column) and item is inner):
            continue
        inner = inner.expression if isinstance(inner, exp.Dot) else inner
        if isinstance(inner, exp.Func):
            name = _called(inner)
        else:
            kind = item.to.sql("postgres").lower() if isinstance(item, exp.Cast) else "?column?"
            name = inner.name.lower() if isinstance(inner, exp.Column) else kind
        item.replace(exp.alias_(item.copy(), _CALLED.get(name, name), quoted=True))


_CALLED = {"current_version": "version"}


def _catalogue_name(table: exp.Table) -> str | None:
    name, schema = table.name.lower(), table.db.lower()
    if schema == "information_schema":
        name = f"information_schema.{name}"
    elif schema not in ("", "pg_catalog"):
        return None
    return name if name in columns() else None


def _changed(node: exp.Expr, asked: CatalogueContext) -> exp.Expr:
    """One node of the tree, as the sandbox has it."""
    if isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier):
        name = _catalogue_name(node)
        if name is not None:
            alias = node.args.get("alias") or exp.TableAlias(this=exp.to_identifier(node.name))
            joins = node.args.get("joins")  # in brackets they hang on the first table
            return exp.Table(this=exp.to_identifier(table_name(name)), alias=alias, joins=joins)
    if isinstance(node, exp.Table):
        if _called_of(node) == "pg_get_keywords":
            row = exp.select(exp.alias_(exp.Literal.string("discreet"), "word"))
            return exp.Subquery(this=row, alias=node.args.get("alias"))
        node.set("db", None)  # of a function, such as pg_catalog.generate_series(1, 3)
        return node
    if isinstance(node, exp.Column) and node.args.get("db") is not None:
        node.set("db", None)
        node.set("catalog", None)
        return node
    if isinstance(node, exp.Dot) and not isinstance(node.expression, exp.Identifier):
        return exp.paren(node.expression, copy=False)  # pg_catalog.f(x)
    if isinstance(node, exp.Collate):
        return exp.paren(node.this, copy=False)
    if isinstance(node, exp.Operator):
        return exp.RegexpLike(this=node.this, expression=node.expression)  # OPERATOR(pg_catalog.~)
    if isinstance(node, exp.Cast):
        return _cast(node, asked)
    if isinstance(node, exp.Func):
        return _function(node, asked)
    return node


def _cast(node: exp.Cast, asked: CatalogueContext) -> exp.Expr:
    """Casts to types that only PostgreSQL has: of the names of tables and types, and their numbers."""
    said = node.to.sql("postgres").lower().replace('"', "")
    kind = said.rpartition(".")[2]
    value = node.this
    if kind.endswith("[]") and isinstance(value, exp.Literal) and value.is_string:
        items = value.name.strip("{}").split(",") if value.name.strip("{}") else []
        return exp.cast(exp.Array(expressions=[exp.Literal.string(item) for item in items]), node.to)
    if kind in ("regclass", "regtype"):
        numbers = _TYPES if kind == "regtype" else {"pg_class": CLASSES, **asked.tables}
        if isinstance(value, exp.Literal) and value.is_string:
            number = numbers.get(value.name.rpartition(".")[2].strip('"'))
            return exp.null() if number is None else exp.Literal.number(number)
        if isinstance(value, exp.Anonymous) and value.name == "concat":  # format('%I.%I', schema, table)
            case = exp.Case(this=value)
            for name, number in asked.tables.items():
                case = case.when(exp.Literal.string(f"{SCHEMA}.{name}"), exp.Literal.number(number))
            return case
        if not isinstance(value, exp.Column):
            return exp.TryCast(this=value, to=exp.DataType.build("BIGINT", dialect="duckdb"))
        case = exp.Case(this=value.copy())
        for name, number in numbers.items():
            case = case.when(exp.Literal.number(number), exp.Literal.string(name))
        return case.else_(exp.cast(value.copy(), "text"))
    if kind in ("regproc", "regprocedure", "regrole", "regoper", "regoperator"):
        return exp.cast(value, "text")
    if kind in _NAMES:
        return exp.TryCast(this=value, to=exp.DataType.build(_NAMES[kind], dialect="duckdb"))
    return node if "." not in said else exp.cast(value, kind, dialect="postgres")


def _function(node: exp.Func, asked: CatalogueContext) -> exp.Expr:
    name = _called(node)
    if name in _NOTHING:
        return exp.cast(exp.null(), "text")
    if name in _YES or name in _NO:
        return exp.true() if name in _YES else exp.false()
    if name in _ZERO:
        return exp.Literal.number(0)
    if name in ("obj_description", "col_description"):
        return _described(node)
    if isinstance(node, exp.Format):
        return _formatted([node.this, *node.expressions])
    arguments = _arguments(node)
    if name in ("to_regclass", "to_regtype"):
        return _cast(exp.Cast(this=arguments[0], to=exp.DataType.build(name[3:], dialect="postgres")), asked)
    made = _MADE.get(name)
    if made is not None:
        return made(arguments)
    constant = {"version": SAID, "current_version": SAID, "current_database": asked.dataset,
                "current_catalog": asked.dataset,
                "current_schema": SCHEMA, "current_user": asked.user, "session_user": asked.user, "user": asked.user,
                "pg_get_userbyid": asked.user, "pg_client_encoding": "UTF8"}.get(name)  # fmt: skip
    return node if constant is None else exp.Literal.string(constant)


def _format_type(arguments: Sequence[exp.Expr]) -> exp.Expr:
    case = exp.Case(this=arguments[0].copy())
    for kind in (*KINDS, *OTHERS):
        case = case.when(exp.Literal.number(kind.oid), exp.Literal.string(kind.sql))
    return case.else_(exp.Literal.string("text"))


def _setting(arguments: Sequence[exp.Expr]) -> exp.Expr:
    source = exp.Table(this=exp.to_identifier(table_name("pg_settings")))
    return exp.Subquery(
        this=exp.select("setting").from_(source).where(exp.column("name").eq(arguments[0].copy()))
    )


def _schemas(arguments: Sequence[exp.Expr]) -> exp.Expr:
    names = [SCHEMA] if arguments and arguments[0].sql().lower() == "false" else ["pg_catalog", SCHEMA]
    return exp.Array(expressions=[exp.Literal.string(name) for name in names])


def _described(node: exp.Func) -> exp.Expr:
    """The words about a table or a column."""
    arguments = _arguments(node)
    if len(arguments) < 2:
        return exp.cast(exp.null(), "text")
    number = (
        exp.Literal.number(0)
        if isinstance(arguments[1], exp.Literal) and arguments[1].is_string
        else arguments[1]
    )
    source = exp.Table(this=exp.to_identifier(table_name("pg_description")))
    found = exp.select("description").from_(source).where(exp.column("objoid").eq(arguments[0].copy()),
                                                           exp.column("objsubid").eq(number.copy()))  # fmt: skip
    return exp.Subquery(this=found)


def _formatted(arguments: Sequence[exp.Expr]) -> exp.Expr:
    """The texts of format('%s.%I', …); DuckDB's function of this name has other places."""
    form, *values = arguments
    pieces = re.split("%[sI]", form.name) if isinstance(form, exp.Literal) else []
    if len(pieces) != len(values) + 1 or "%" in "".join(pieces):
        raise ValueError
    parts: list[exp.Expr] = [exp.Literal.string(pieces[0])]
    for value, piece in zip(values, pieces[1:], strict=True):
        parts += [value, exp.Literal.string(piece)]
    return exp.Anonymous(this="concat", expressions=parts)


_MADE: dict[str, Callable[[Sequence[exp.Expr]], exp.Expr]] = {
    "format_type": _format_type,
    "current_setting": _setting,
    "current_schemas": _schemas,
    "generate_subscripts": lambda arguments: exp.Anonymous(this="unnest", expressions=[arguments[0]]),
    "pg_size_pretty": lambda _: exp.Literal.string("0 bytes"),
    "_pg_expandarray": lambda _: exp.Struct(
        expressions=[
            exp.PropertyEQ(this=exp.to_identifier(name), expression=exp.Literal.number(0)) for name in "xn"
        ]
    ),
    "quote_ident": lambda arguments: arguments[0],
    "pg_char_to_encoding": lambda _: exp.Literal.number(6),
    "array_to_string": lambda arguments: exp.Anonymous(
        this="array_to_string", expressions=list(arguments[:2])
    ),
}
