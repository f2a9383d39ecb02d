"""DuckDB's parser with whole expressions behind ON of a PIVOT, such as `ON age > 50`."""

from __future__ import annotations

from sqlglot import exp
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.parsers.duckdb import DuckDBParser
from sqlglot.tokenizer_core import TokenType


class _Parser(DuckDBParser):
    """The parser of sqlglot reads arithmetic and IN behind ON, and stops at a comparison."""

    def _parse_simplified_pivot(self, is_unpivot: bool | None = None) -> exp.Pivot:
        if is_unpivot:
            return super()._parse_simplified_pivot(is_unpivot)
        this = self._parse_table()
        on = self._match(TokenType.ON) and self._parse_csv(self._parse_turned)
        using = self._match(TokenType.USING) and self._parse_csv(
            lambda: self._parse_alias(self._parse_column())
        )
        return self.expression(exp.Pivot(this=this, expressions=on, using=using, group=self._parse_group()))

    def _parse_turned(self) -> exp.Expr | None:
        found = self._parse_disjunction()
        plain = not isinstance(found, exp.Predicate | exp.Connector | exp.Not) or isinstance(found, exp.In)
        return found if plain or found is None else exp.paren(found, copy=False)


def statements(text: str) -> list[exp.Expr]:
    """The statements of a text.

    Raises:
        ParseError: it cannot be parsed.
        TokenError: it has no tokens.

    Example:
        >>> print(statements("PIVOT t ON x > 5 USING COUNT(*)")[0].sql("duckdb"))
        PIVOT t ON (x > 5) USING COUNT(*)
    """
    dialect = DuckDB()
    return [one for one in _Parser(dialect=dialect).parse(dialect.tokenize(text), text) if one is not None]
