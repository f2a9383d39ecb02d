"""`python -m benchmarks.corpus.refused`: the SQL that is refused over private rows, by reason.

Every scalar function and aggregate of DuckDB is asked, of arguments of its types, and every question of the corpus for
which no private answer exists. No list is kept by hand but the reasons.
"""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product

import duckdb
import pyarrow as pa
from rich.console import Console

import discreet as dp
from benchmarks.corpus.data import load, sources
from benchmarks.corpus.judge import judge
from benchmarks.corpus.question import read
from benchmarks.corpus.reasons import REASONS
from discreet.engines.functions import FORBIDDEN_FUNCTIONS
from discreet.errors import DiscreetError, QueryRefused
from discreet.sql.functions import names
from discreet.sql.plan.planner import plan
from discreet.sql.syntax.rewrites import UNSUPPORTED

SHOWN = 24
"""How many names of a reason are printed."""
ARGUMENTS = {
    "BOOLEAN": ("b",), "BIGINT": ("n", "1"), "DOUBLE": ("x", "0.5"), "VARCHAR": ("s", "'a'", "'day'"), "DATE": ("d",),
    "TIMESTAMP": ("t",), "VARCHAR[]": ("l",), "ANY": ("x", "s", "d"),
    "T": ("s", "x"), "T[]": ("l", "['a']", "[1, 2]"), "ANY[]": ("l",),
    "INTERVAL": ("INTERVAL 1 DAY",),
}  # fmt: skip
"""What stands for an argument of a type: a column, or a literal."""
INTEGERS = [
    "TINYINT",
    "SMALLINT",
    "INTEGER",
    "HUGEINT",
    "UBIGINT",
    "UINTEGER",
    "UTINYINT",
    "USMALLINT",
    "UHUGEINT",
]
LIKE = {
    **dict.fromkeys(INTEGERS, "BIGINT"), **dict.fromkeys(("FLOAT", "DECIMAL"), "DOUBLE"),
    "TIMESTAMP WITH TIME ZONE": "TIMESTAMP",
}  # fmt: skip
MOST_TRIES = 60
OF_TYPE = "it takes values of a type that private rows do not have here"
UNSAID = "not in the table of functions: nobody has said its bounds and its meaning on every engine; of {}"
NO_SUM = (
    "it is no sum over the rows, so one unit may move it without limit, or it shows values of single rows"
)
CONSTANTS = "it takes no value of a row, or names an operator"
COLUMNS = {
    "b": {}, "n": {"bounds": [0, 9]}, "x": {"bounds": [0, 9]}, "s": {"keys": ["a", "b"]}, "l": {},
    "d": {"bounds": ["2024-01-01", "2024-12-31"]}, "t": {"bounds": ["2024-01-01T00:00:00", "2024-12-31T00:00:00"]},
}  # fmt: skip


def main() -> int:
    """Print the three lists."""
    console = Console(highlight=False, soft_wrap=True)
    for title, groups in (
        ("functions of single rows", functions("scalar")),
        ("aggregates", functions("aggregate")),
        ("questions of the corpus", questions()),
    ):
        console.print(f"\n{title}: {sum(map(len, groups.values()))} are refused", style="bold")
        for reason, found in sorted(groups.items(), key=lambda pair: -len(pair[1])):
            more = f", and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
            console.print(f"- {reason} ({len(found)}): {', '.join(found[:SHOWN])}{more}", markup=False)
    return 0


def functions(kind: str) -> dict[str, list[str]]:
    """The functions of DuckDB of a kind that are refused however they are called, by reason."""
    groups: dict[str, list[str]] = defaultdict(list)
    session = _session()
    for name, overloads in _known(kind).items():
        if not any(_answered(session, sql) for sql in _calls(kind, name, overloads)):
            groups[_reason(kind, name, overloads)].append(name)
    return dict(groups)


def questions() -> dict[str, list[str]]:
    """The refused questions of the corpus, by reason."""
    groups: dict[str, list[str]] = defaultdict(list)
    for folder in sources():
        for question in read(folder):
            if question.reason:
                data = load(folder)
                assert judge(question, data).verdict == "refused with reason", question
                groups[REASONS[question.reason]].append(question.words)
    return dict(groups)


def _known(kind: str) -> dict[str, list[Sequence[str]]]:
    """The functions of DuckDB that people call by a name, with the types of their arguments."""
    rows = duckdb.execute(
        "SELECT function_name, parameter_types, varargs FROM duckdb_functions() WHERE database_name = 'system' "
        f"AND schema_name = 'main' AND function_type = '{kind}' ORDER BY ALL"
    ).fetchall()
    found: dict[str, list[Sequence[str]]] = defaultdict(list)
    for name, types, more in rows:
        if re.fullmatch(r"[a-z][a-z0-9_]*", name) and not name.startswith(
            ("st_", "icu_", "pg_", "finalize", "combine")
        ):
            found[name].append([*types, *([more, more] if more else [])])
    return dict(found)


def _session() -> dp.Session:
    table = pa.table({
        "b": [True], "n": [1], "x": [1.0], "s": ["a"], "l": pa.array([["a"]], pa.list_(pa.string())),
        "d": pa.array([19_800], pa.int32()).cast(pa.date32()), "t": pa.array([0], pa.timestamp("us")),
    })  # fmt: skip
    policy = {"budget": {"epsilon": 1}, "tables": {"data": {"privacy_unit": "row", "columns": COLUMNS}}}
    return dp.protect({"data": table}, policy=dp.Policy.model_validate(policy))


def _calls(kind: str, name: str, overloads: Sequence[Sequence[str]]) -> Iterator[str]:
    for types in overloads:
        places = [ARGUMENTS.get(_plain(one), ("x", "s")) for one in types]
        for number, arguments in enumerate(product(*places)):
            call = f"{name}({', '.join(arguments)})"
            if number < MOST_TRIES:
                yield (
                    f"SELECT {call} AS v FROM data"
                    if kind == "aggregate"
                    else f"SELECT COUNT({call}) AS v FROM data"
                )
                if kind == "aggregate" and len(arguments) == 1:
                    yield f"SELECT {name}(0.5) WITHIN GROUP (ORDER BY x) AS v FROM data"


def _answered(session: dp.Session, sql: str) -> bool:
    try:
        plan(sql, session._catalog, Fraction(1))
    except (QueryRefused, DiscreetError):
        return False
    return True


def _reason(kind: str, name: str, overloads: Sequence[Sequence[str]]) -> str:
    if name in FORBIDDEN_FUNCTIONS:
        return FORBIDDEN_FUNCTIONS[name]
    if name in names.REASONS:
        return names.REASONS[name][0].rstrip(".")
    if name in UNSUPPORTED:
        return "another question says the same, which the refusal writes out"
    if kind == "aggregate":
        return NO_SUM
    if all(any(plain not in ARGUMENTS for plain in map(_plain, types)) for types in overloads):
        return OF_TYPE
    types = {_plain(one) for one in overloads[0]}
    if not types or name in OPERATORS:
        return CONSTANTS
    kinds = {
        "JSON texts": name.startswith(("json", "from_json", "array_to_json", "row_to_json", "to_json")),
        "lists": any(one.endswith("[]") for one in types)
        or name.startswith(("list_", "array_", "str_split", "string_")),
        "dates and time stamps": bool(types & {"DATE", "TIMESTAMP", "INTERVAL"}) or name.startswith("to_"),
        "texts": "VARCHAR" in types,
    }
    return UNSAID.format(next((one for one, holds in kinds.items() if holds), "numbers and any values"))


OPERATORS = ("add", "subtract", "multiply", "divide", "mod", "alias", "xor")


def _plain(kind: str) -> str:
    """A type without its width or its zone."""
    plain = re.sub(r"\(.*\)", "", kind)
    return LIKE.get(plain, plain)


if __name__ == "__main__":
    sys.exit(main())
