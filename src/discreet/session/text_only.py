"""Questions of clients that can only send text: with their price in it, and EXPLAIN and DESCRIBE of a query.

Where a parameter stands in the call and in the text, both must say the same. One that has its default in the call says
nothing: services, their clients and forms fill it in. EXPLAIN and DESCRIBE are answered from the
text and the policy, as `Session.explain` is, and cost nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from inspect import Parameter, signature
from typing import TYPE_CHECKING, Any, TypeVar, cast

from sqlglot import exp

from discreet.errors import InvalidParameter, QueryRefused
from discreet.rational import Number, decimal
from discreet.session.asking import asked
from discreet.session.base import OpenSession
from discreet.session.memory.paid import AGAIN, paid
from discreet.session.question import SessionQuestion
from discreet.sql.syntax.priced import looked_at, priced

if TYPE_CHECKING:
    from fractions import Fraction

    import pyarrow as pa

    from discreet.policy import Policy
    from discreet.sql.inspect.explain import Explanation

M = TypeVar("M", bound=Callable[..., Any])
WHOLE = frozenset({"max_rows", "max_groups", "max_rows_per_group"})
SWITCHES = frozenset({"nonnegative", "integers"})
DEFAULTS: Mapping[str, float | bool] = {"confidence": 0.95, **dict.fromkeys(SWITCHES, False)}
"""Of the parameters that may stand in a text, those that are something where nothing is said."""
WORDS = {
    "int64": "BIGINT", "double": "DOUBLE", "string": "VARCHAR", "bool": "BOOLEAN", "date32[day]": "DATE",
    "timestamp[us]": "TIMESTAMP",
}  # fmt: skip
"""The types of an answer as DuckDB calls them."""


def read_price(method: M) -> M:
    """Let a method of a session take parameters from the text of its question."""
    parameters = signature(method).parameters
    names = list(parameters)[2:]
    open_ = any(parameter.kind is Parameter.VAR_KEYWORD for parameter in parameters.values())
    price = parameters["epsilon"].default if "epsilon" in parameters else None
    unsaid = DEFAULTS if price in (None, Parameter.empty) else {**DEFAULTS, "epsilon": price}

    @wraps(method)
    def reading(self: Any, query: Any, *args: Any, **given: Any) -> Any:
        found = priced(query) if isinstance(query, str) else None
        if found is None:
            return method(self, query, *args, **given)
        given |= dict(zip(names, args, strict=False))
        said = {name: value for name, value in given.items() if not _is(value, unsaid.get(name))}
        merged = _merged(found.options, said, self._policy)
        # The plan depends on no confidence and no form of the numbers, which an explanation does not take.
        left = {name for name in DEFAULTS if name not in parameters and not open_}
        return method(self, found.text, **{name: v for name, v in merged.items() if name not in left})

    return cast("M", reading)


class ExplainingSession(OpenSession):
    """A session that shows plans."""

    @asked
    @read_price
    def explain(  # noqa: D417  most are those of `sql`
        self,
        query: str,
        epsilon: Number = 1,
        *,
        delta: Number | None = None,
        max_rows: int | None = None,
        max_groups: int | None = None,
        max_rows_per_group: int | None = None,
        split: Mapping[str, Number] | None = None,
        intervals: bool = True,
        sql: bool = False,
    ) -> Explanation:
        """Show the plan of a question, scope by scope, without reading data or charging.

        Args:
            query: as for `sql`.
            epsilon: the privacy loss to look at, which decides the grids and the noise.
            delta, max_rows, max_groups, max_rows_per_group, split, intervals: as for `sql`.
            sql: whether to show the SQL of the engine, too. How many slices it asks a large table in is not shown.

        Returns:
            A tree: its `repr` is text, `to_dict()` is for machines, `to_svg()` is a picture.

        Raises:
            InvalidParameter: epsilon is out of range.
            QueryRefused: as for `sql`.

        Example:
            >>> import pyarrow as pa
            >>> import discreet as dp
            >>> ages = pa.table({"age": [31, 47, 62]})
            >>> session = dp.protect(ages, privacy_unit="row", bounds={"age": (0, 120)}, budget=3)
            >>> session.explain("SELECT SUM(age) AS years FROM data WHERE age >= 18", epsilon=0.5)
            post-processing of noisy tables, which costs nothing
            │  epsilon  0.5
            │  sql      SELECT __release_1.a0 AS "years" FROM __release_1
            └─ release __release_1
               │  epsilon  0.5
               │  hides    one row, added or removed
               │  groups   1
               │  measure  1  sum of age: 1 integer per group
               │              clamped to 0 … 120 on a grid of step g = 1
               │              one row moves them by M = 120, one unit by 120, in L1
               │              epsilon 0.5: noise of scale 240 = 240 of age on each integer
               │  output   years = SUM(age) ← measure 1; its noise has standard deviation 339.4
               └─ rows that are aggregated
                  │  cap  each row is one unit
                  └─ rows that are filtered
                     │  where  age >= 18
                     └─ private table data
                           unit    each row is one unit
                           column  age: clamped to 0 … 120
        """
        from discreet.sql.inspect.explain import explain

        question = SessionQuestion.read(query, epsilon, delta=delta, max_rows=max_rows, max_groups=max_groups,
                                 max_rows_per_group=max_rows_per_group, split=split, intervals=intervals)  # fmt: skip
        plan = self._queries.planned(question)
        self._queries.rehearse(plan)
        known = AGAIN if paid(self._queries, plan) else ""
        return explain(plan, self._catalog, self._policy, sql, self._engine.dialect, known)


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
            from discreet.release.shown import PLAN

            return method(self, _listed([PLAN], [(line,) for line in repr(lines).split("\n")]))
        return method(self, _listed(["column_name", "column_type"], _described(self, inner, taken)))

    return cast("M", reading)


def _described(session: Any, query: str, given: dict[str, Any]) -> list[tuple[str, ...]]:
    """Names and types of the columns of an answer."""
    from discreet.sql.finish.rehearsal import schema_of

    plan = session._queries.planned(SessionQuestion.read(query, **{"epsilon": 1, **given}))
    schema: pa.Schema = schema_of(plan, session._catalog.public)
    return [(field.name, WORDS.get(str(field.type), str(field.type))) for field in schema]


def _is(value: object, default: object) -> bool:
    """Whether a parameter has its default, however that is written."""
    if default is None or isinstance(default, bool):
        return default is not None and value is default
    try:
        return decimal(cast("Number", value)) == decimal(cast("Number", default))
    except InvalidParameter:
        return False  # it is refused where it is read


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
        switch = name in SWITCHES
        if out.get(name) is not None and (out[name] if switch else decimal(out[name], name)) != value:
            raise InvalidParameter(f"{name} is one number in the call and another in the text of the question.",
                                   "Leave one of them out.")  # fmt: skip
        if out.get(name) is None:
            out[name] = value
    return out


def _number(name: str, text: str) -> Fraction | int | float | bool:
    if name in SWITCHES:
        if text.lower() not in ("true", "false"):
            raise InvalidParameter(f"{name} is neither TRUE nor FALSE.", f"Write {name} = TRUE.")
        return text.lower() == "true"
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
