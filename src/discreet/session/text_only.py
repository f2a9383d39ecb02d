"""Questions of clients that can only send text: with their price in it, and EXPLAIN and DESCRIBE of a query.

Where a parameter stands in the call and in the text, both must say the same. EXPLAIN and DESCRIBE are answered from the
text and the policy, as `Session.explain` is, and cost nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import TYPE_CHECKING, Any, TypeVar, cast

from sqlglot import exp

from discreet.errors import InvalidParameter, QueryRefused
from discreet.rational import decimal
from discreet.session.question import Question
from discreet.sql.syntax.priced import looked_at, priced

if TYPE_CHECKING:
    from fractions import Fraction

    import pyarrow as pa

    from discreet.policy import Policy

M = TypeVar("M", bound=Callable[..., Any])
WHOLE = frozenset({"max_rows", "max_groups", "max_rows_per_group"})
WORDS = {
    "int64": "BIGINT", "double": "DOUBLE", "string": "VARCHAR", "bool": "BOOLEAN", "date32[day]": "DATE",
    "timestamp[us]": "TIMESTAMP",
}  # fmt: skip
"""The types of an answer as DuckDB calls them."""


def read_price(method: M) -> M:
    """Let a method of a session take parameters from the text of its question."""
    names = list(signature(method).parameters)[2:]

    @wraps(method)
    def reading(self: Any, query: Any, *args: Any, **given: Any) -> Any:
        found = priced(query) if isinstance(query, str) else None
        if found is None:
            return method(self, query, *args, **given)
        given |= dict(zip(names, args, strict=False))
        return method(self, found.text, **_merged(found.options, given, self._policy))

    return cast("M", reading)


def answer_about(method: M) -> M:
    """Let `Session.sql` answer EXPLAIN and DESCRIBE of a query."""

    @wraps(method)
    def reading(self: Any, query: Any, *args: Any, **given: Any) -> Any:
        about = looked_at(query) if isinstance(query, str) else None
        if about is None:
            return method(self, query, *args, **given)
        word, inner = about
        found = priced(inner)
        options = given if not args else {**given, "epsilon": args[0]}
        if found is not None:
            inner, options = found.text, _merged(found.options, options, self._policy)
        names = ("epsilon", "delta", "max_rows", "max_groups", "max_rows_per_group", "split", "intervals")
        taken = {name: options[name] for name in names if options.get(name) is not None}
        lines = self.explain(inner, **taken)
        if word == "EXPLAIN":
            return method(self, _listed(["plan"], [(line,) for line in repr(lines).split("\n")]))
        return method(self, _listed(["column_name", "column_type"], _described(self, inner, taken)))

    return cast("M", reading)


def _described(session: Any, query: str, given: dict[str, Any]) -> list[tuple[str, ...]]:
    """Names and types of the columns of an answer."""
    from discreet.sql.finish.postprocess import schema_of

    plan = session._queries.planned(Question.read(query, **{"epsilon": 1, **given}))
    schema: pa.Schema = schema_of(plan, session._catalog.public)
    return [(field.name, WORDS.get(str(field.type), str(field.type))) for field in schema]


def _merged(options: dict[str, str], given: dict[str, Any], policy: Policy) -> dict[str, Any]:
    """The parameters of the call and of the text.

    Raises:
        InvalidParameter: they disagree.
        QueryRefused: the text names another privacy unit than the policy.
    """
    out = dict(given)
    for name, text in options.items():
        if name == "privacy_unit_column":
            units = [t.privacy_unit for t in policy.tables.values() if t.privacy_unit]
            if text.lower() not in [unit.lower() for unit in units]:
                raise QueryRefused(
                    f"The policy has no privacy unit {text}.",
                    f"Leave privacy_unit_column out: the policy says {' and '.join(sorted(set(units)))}.",
                )
            continue
        value = _number(name, text)
        if out.get(name) is not None and decimal(out[name], name) != value:
            raise InvalidParameter(f"{name} is one number in the call and another in the text of the question.",
                                   "Leave one of them out.")  # fmt: skip
        if out.get(name) is None:
            out[name] = value
    return out


def _number(name: str, text: str) -> Fraction | int | float:
    value = decimal(text, name)
    if name in WHOLE and value.denominator == 1:
        return int(value)
    return float(value) if name == "confidence" else value


def _listed(names: list[str], rows: list[tuple[str, ...]]) -> str:
    """A SELECT that answers some rows of texts, in their order."""
    values = [
        exp.Tuple(expressions=[exp.Literal.number(index), *map(exp.Literal.string, row)])
        for index, row in enumerate(rows)
    ]
    columns = [exp.to_identifier(name) for name in ("place", *names)]
    source = exp.Values(
        expressions=values, alias=exp.TableAlias(this=exp.to_identifier("v"), columns=columns)
    )
    return exp.select(*names).from_(source).order_by("place").sql("duckdb")
