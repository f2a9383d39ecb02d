"""SQL text -> one parsed query that can do nothing but read the tables of the session."""

from __future__ import annotations

import logging
import re
from itertools import pairwise

from sqlglot import exp
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.errors import ParseError, SqlglotError, TokenError
from sqlglot.tokenizer_core import TokenType

from discreet.engines.functions import ALLOWED_TABLE_FUNCTIONS, FORBIDDEN_FUNCTIONS
from discreet.engines.sandbox import for_strangers
from discreet.errors import QueryRefused
from discreet.sql.syntax import looking, named_windows, pivot_statement, rewrites
from discreet.sql.syntax.aggregate_names import RENAMED, has_other_names, use_known_names
from discreet.sql.syntax.forms import foreign_clauses, type_parameters
from discreet.sql.syntax.names.quoted import unquoted
from discreet.sql.syntax.nodes import every, has_window
from discreet.sql.syntax.refusal import refuse, refuse_at
from discreet.sql.syntax.rewrites import padded
from discreet.sql.syntax.select_lists import name_apart

MAX_TEXT = 100_000
MAX_DEPTH = 120
MOST_NODES, MOST_AGGREGATES = 20_000, 500
"""Parts and aggregates of the statement of a stranger, who does not pay for the time of planning it."""
RESERVED = "__"
ONE_AT_A_TIME = (
    "Send them one at a time, or all as one workload: `discreet query FILE.sql`, or Session.workload."
)

logging.getLogger("sqlglot").addHandler(logging.NullHandler())


def too_deep() -> QueryRefused:
    """The refusal of a question for which Python's stack would end."""
    return QueryRefused("The query is nested too deeply.", "Split it with WITH … AS (…).")


def parse(text: str) -> exp.Query:
    """Parse one SELECT statement in DuckDB's dialect; see `spelled`."""
    return spelled(text)[0]


def spelled(text: str) -> tuple[exp.Query, str]:
    """Parse one SELECT statement in DuckDB's dialect.

    Returns:
        The statement, and its text in one canonical spelling.

    Raises:
        QueryRefused: the text is no SQL, is more than one statement, is no SELECT, or names a function that
            reads files, settings or the environment.
    """
    if not isinstance(text, str):
        raise QueryRefused(
            f"The query is of type {type(text).__name__}, not a text.", "Pass the SQL as a string."
        )
    if len(text) > MAX_TEXT:
        raise QueryRefused(
            f"The query is longer than {MAX_TEXT} characters.", "Put long lists into a public table."
        )
    try:
        _see_lists(text)
        statements = _statements(text)
    except (ParseError, TokenError) as error:
        raise _syntax(text, error) from None
    except RecursionError:
        raise too_deep() from None
    except IndexError:  # the parser's own, at the end of words that it knows longer, such as SHOW ALL
        raise QueryRefused("This is not SQL that can be read.", "Write a SELECT statement.") from None
    if not statements:
        raise QueryRefused("The query is empty.", "Write a SELECT statement.")
    if len(statements) > 1:
        raise refuse(statements[1], text, "There is more than one statement.", ONE_AT_A_TIME)
    statement = statements[0]
    while isinstance(statement, exp.Subquery) and not any(
        v for k, v in statement.args.items() if k != "this"
    ):
        statement = statement.this
    statement = looking.as_query(statement, text)
    if isinstance(statement, exp.Pivot):
        statement = pivot_statement.as_select(statement)
    if not isinstance(statement, exp.Query):
        raise refuse(
            statement, text, f"This is {_kind(statement)}; only SELECT can be answered.", "Write a SELECT."
        )
    looking.rename(statement)
    return statement, _checked(statement, text)


_GAP = re.compile(r"(?:[(\[{,]|\b(?:select|distinct|by))\s*+,|--|/\*", re.IGNORECASE)
"""A comma with nothing before it, or a comment that may stand there; a text without either needs no second look."""
_BEFORE_A_LIST = frozenset({
    TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE, TokenType.COMMA, TokenType.SELECT, TokenType.DISTINCT,
    TokenType.GROUP_BY, TokenType.ORDER_BY, TokenType.PARTITION_BY,
})  # fmt: skip


def _see_lists(text: str) -> None:
    """See that nothing is missing before a comma: the parser reads on as if the comma were not there.

    Raises:
        QueryRefused: something is. A comma at the end of a list is DuckDB's own, and stays.
        TokenError: the text has no tokens.
    """
    if _GAP.search(text) is None:
        return
    for before, comma in pairwise(DuckDB().tokenize(text)):
        if comma.token_type is TokenType.COMMA and before.token_type in _BEFORE_A_LIST:
            raise refuse_at(text, comma.start, comma.end + 1, "Nothing stands before this comma.",
                            "Remove it, or write the column that is missing.")  # fmt: skip


def _statements(text: str) -> list[exp.Expr]:
    try:
        return pivot_statement.statements(text)
    except ParseError:
        turned = pivot_statement.with_order(text)
        if turned is None:
            raise
        return [turned]


def looks_around(text: str) -> bool:
    """Whether a text is one of these statements, by its first word, or asks for information_schema alone.

    Example:
        >>> [looks_around(text) for text in ("DESCRIBE visits", " show tables;", "SELECT COUNT(*) FROM visits")]
        [True, True, False]
    """
    try:
        query = parse(text)
    except QueryRefused:
        return False
    tables = [t.name.lower() for t in query.find_all(exp.Table) if isinstance(t.this, exp.Identifier)]
    return bool(tables) and set(tables) <= set(looking.INFORMATION)


def _kind(statement: exp.Expr) -> str:
    """A statement that is no query, by the word that it begins with; a bare expression, such as `hello`, is none."""
    if isinstance(statement, exp.Condition | exp.Alias | exp.Star | exp.Interval):
        return "no statement"
    kind = (statement.name if isinstance(statement, exp.Command) else statement.key).upper()
    return f"{'an' if kind[0] in 'AEIO' or kind == 'UPDATE' else 'a'} {kind} statement"


TWINS = ("Two columns of the answer have the same name.", "Give one of them another name with AS.")


def output_name(item: exp.Expr) -> str:
    """The name of a column of a result: its alias, the column that it is, or its text."""
    if isinstance(item, exp.Alias | exp.Column) or (isinstance(item, exp.Subquery) and item.alias):
        return item.alias_or_name
    return item.sql("duckdb", comments=False)


def _checked(statement: exp.Query, text: str) -> str:
    """The canonical spelling of a statement that may be asked."""
    try:
        return _check(statement, text)
    # The writer's own, over a form that lacks a part or has another one, as EXTRACT(YEAR FROM DATE ()) and DATETIME(1).
    except (SqlglotError, IndexError, TypeError, AttributeError):
        broken = True
    assert broken
    raise QueryRefused(
        "This SQL can be read, and not be understood: a part is missing.", "Write it out in full."
    )


def _check(statement: exp.Query, text: str) -> str:
    nodes = every(statement)
    if any(isinstance(node, exp.Lambda | exp.Bracket) for node in nodes):
        rewrites.read_arrows(statement)
        rewrites.keep_places(statement)
        nodes = every(statement)
    if any(node.depth > MAX_DEPTH for node in nodes):
        raise too_deep()
    if for_strangers():
        _see_size(nodes)
    foreign_clauses.see(nodes, text)
    type_parameters.see(nodes, text)
    kinds = {type(node) for node in nodes}
    if not kinds.isdisjoint({exp.Any, exp.All, exp.Values}):
        rewrites.quantified(statement)
        nodes = every(statement)
    if exp.Window in kinds:
        named_windows.write_out(nodes)
    name_apart(nodes, output_name)
    if any(issubclass(kind, RENAMED) for kind in kinds) and has_other_names(nodes):
        use_known_names(statement)
    nodes = every(statement)
    canonical = rewrites.sql(statement)
    _refuse_functions(statement, nodes, text, canonical)
    for node in nodes:
        if isinstance(node, exp.Table) and not isinstance(node.this, exp.Identifier):
            name = _function_name(node.this)
            if name not in ALLOWED_TABLE_FUNCTIONS:
                raise refuse(node, text, f"The table function {name} is not allowed in a query.",
                             "Name a table of the session; the steward can add one to the policy.")  # fmt: skip
        if isinstance(node, exp.Qualify) and not _has_windows(node.parent):
            raise refuse(node, text, "QUALIFY without a window function is not SQL.",
                         "Write the condition into HAVING, or into WHERE where nothing is aggregated.")  # fmt: skip
        if isinstance(node, exp.Select) and not node.expressions:
            raise QueryRefused("Nothing stands after SELECT.", "Write an aggregate there, such as COUNT(*).")
        if isinstance(node, exp.Group) and not any(node.args.values()):
            raise QueryRefused(
                "Nothing stands after GROUP BY.", "Name a column there, or leave GROUP BY out."
            )
        if isinstance(node, exp.Identifier) and node.name.startswith(RESERVED):
            raise refuse(
                node, text, "Names that begin with two underscores are reserved.", "Choose another name."
            )
        if isinstance(node, exp.Parameter | exp.Placeholder | exp.SessionParameter):
            raise refuse(node, text, "Parameters are not supported.", "Write the value into the query.")
        if isinstance(node, exp.Into | exp.Lock | exp.Command | exp.DML | exp.DDL) and not isinstance(
            node, exp.Query
        ):
            raise refuse(node, text, "A query can only read.", "Write a plain SELECT.")
    return canonical


def _has_windows(select: exp.Expr | None) -> bool:
    """Whether a SELECT has a window function in its list or in QUALIFY."""
    assert isinstance(select, exp.Expr)
    return any(map(has_window, [*select.expressions, select.args["qualify"]]))


def _see_size(nodes: list[exp.Expr]) -> None:
    counts = len(nodes), sum(isinstance(node, exp.AggFunc) for node in nodes)
    for count, most, word in zip(counts, (MOST_NODES, MOST_AGGREGATES), ("parts", "aggregates"), strict=True):
        if count > most:
            raise QueryRefused(
                f"The query has {count:,} {word}, and the service takes {most:,}.", "Ask for less at once."
            )


def _refuse_functions(statement: exp.Query, nodes: list[exp.Expr], text: str, canonical: str) -> None:
    """Refuse a function by the name that the parser knows it by, or by the one that is written out for the sandbox."""
    functions = [node for node in nodes if isinstance(node, exp.Func)]
    called = {_function_name(node) for node in functions}
    lowered = canonical.lower()
    if any(name in lowered for name in FORBIDDEN_FUNCTIONS):  # few texts have the letters of one anywhere
        tokens = DuckDB().tokenize(canonical)
        called |= {a.text.lower() for a, b in pairwise(tokens) if b.token_type is TokenType.L_PAREN}
    if "lpad" in called and padded(statement):
        called.remove("lpad")
    for name in sorted(called & FORBIDDEN_FUNCTIONS.keys()):
        written = (
            n for n in functions if name in (_function_name(n), n.sql("duckdb").partition("(")[0].lower())
        )
        fix = "Remove it: a query reads the tables of the session and nothing else."
        if name in ("lpad", "rpad", "repeat"):
            fix = "Write lpad(x, 3, '0'), with a literal width of at most 100 and one literal character; or left(x, 3)."
        raise refuse(next(written, None), text, f"The function {name} is not allowed in a query.", fix)


def _function_name(node: exp.Expr) -> str:
    if isinstance(node, exp.Anonymous):
        return node.name.lower()
    if isinstance(node, exp.Func):
        return node.sql_name().lower()
    return node.key


def _syntax(text: str, error: Exception) -> QueryRefused:
    details = getattr(error, "errors", None) or [{}]
    first = details[0]
    line, column = int(first.get("line") or 0), int(first.get("col") or 0)
    fault = _in_words(str(first.get("description") or "the text ends inside a quote or a comment"))
    picture = ""
    if line:
        shown = text.split("\n")[line - 1] if line <= text.count("\n") + 1 else ""
        wrong = str(first.get("highlight") or "")
        start = max(0, column - max(1, len(wrong)))
        picture = f"  {shown}\n  {' ' * start}{'^' * max(1, len(wrong))}"
    meant = rewrites.misspelt(text, _offset(text, line, column)) if line else None
    if meant is not None:
        start, end, keyword = meant
        return refuse_at(text, start, end, f"This is not SQL that can be read: {fault}.",
                        f"Did you mean {keyword}, where it says {text[start:end]}?")  # fmt: skip
    top = re.search(r"\bselect\s+top\s+(\d{1,9})\b", text, re.IGNORECASE)
    bounds = re.search(r"\bcontribution_bounds_per_(?:row|group)\s*=>", text, re.IGNORECASE)
    if bounds is not None:
        return refuse_at(text, *bounds.span(), "Bounds are not an argument of an aggregate here.",
                  "Write AVG(clamp(x, 0, 100)) for AVG(x, contribution_bounds_per_row => (0, 100)).")  # fmt: skip
    named = unquoted(text, _offset(text, line, column)) if line else None
    fix = (
        f"Leave TOP {top[1]} out and write LIMIT {top[1]} at the end, behind an ORDER BY."
        if top is not None
        else named
        or "Check the spelling there, and the comma before it; a name with spaces or signs in it stands in double "
        "quotes, a text in single ones."
    )
    return QueryRefused(f"This is not SQL that can be read: {fault}.", fix,
                        line=line, column=column, picture=picture)  # fmt: skip


_CLAUSES = ("WHERE", "HAVING", "ORDER BY", "LIMIT", "OFFSET", "QUALIFY", "JOIN", "AS")


def _in_words(fault: str) -> str:
    """The parser's message, without the names of its classes.

    Example:
        >>> _in_words("Required keyword: 'this' missing for <class 'sqlglot.expressions.query.Where'>.")
        'Something is missing after WHERE'
        >>> _in_words("Expected table name but got <Token token_type: TokenType.SENTINEL, text: SENTINEL>")
        'Expected table name'
    """
    missing = re.fullmatch(r"Required keyword: '\w+' missing for <class '[\w.]*?(\w+)'>\.?", fault)
    if missing is not None:
        after = {"Order": "ORDER BY", "Alias": "AS"}.get(missing[1], missing[1].upper())
        return f"Something is missing after {after}" if after in _CLAUSES else "Something is missing here"
    return re.sub(r" but got <.*", "", fault, flags=re.DOTALL).rstrip(".")


def _offset(text: str, line: int, column: int) -> int:
    """The place in a text of a line and a column, both from 1."""
    return sum(len(row) + 1 for row in text.split("\n")[: line - 1]) + column - 1
