"""The words that complete a question: tables and columns of the policy, functions, clauses and settings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from typing import TYPE_CHECKING

from discreet.dbapi.statements import PREFIX, ConnectionSettings
from discreet.quoting import quote
from discreet.records import dataclass
from discreet.release.documents import rows

if TYPE_CHECKING:
    from discreet.client import RemoteSession
    from discreet.session import Session

CLAUSES = (
    "SELECT", "FROM", "WHERE", "GROUP BY", "HAVING", "ORDER BY", "LIMIT", "JOIN", "LEFT JOIN", "USING", "WITH", "AS",
    "CASE", "WHEN", "THEN", "ELSE", "END", "DISTINCT", "BETWEEN", "DESC", "DESCRIBE", "SHOW TABLES", "SUMMARIZE", "SET",
)  # fmt: skip


@dataclass(frozen=True)
class Words:
    """All words, each with its kind.

    Attributes:
        known: each word in the spelling of a question, with its kind beside it.
    """

    known: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, session: Session | RemoteSession) -> Words:
        """The words of a session, from the policy alone."""
        from discreet.sql.functions import aggregates, names

        found: dict[str, str] = {}
        listed = session.sql("SELECT table_name, column_name, declared FROM information_schema.columns")
        for row in rows(listed):
            found.setdefault(quoted(row["table_name"]), "table")
            found.setdefault(quoted(row["column_name"]), row["declared"])
        found |= {f"{name}(": "aggregate" for name in aggregates.names()}
        found |= {f"{name.upper()}(": "function" for name in names.names() if f"{name.upper()}(" not in found}
        found |= dict.fromkeys(CLAUSES, "")
        found |= {f"{PREFIX}.{field.name}": "setting" for field in fields(ConnectionSettings)}
        return cls(tuple(found.items()))

    def after(self, text: str) -> Iterator[tuple[str, str, int]]:
        """The words that may stand at the end of a text: each with its kind, and how many characters it replaces.

        Example:
            >>> words = Words((("visits", "table"), ("VAR(", "aggregate"), ("discreet.epsilon", "setting")))
            >>> list(words.after("SELECT v")), list(words.after("SET discreet.e"))
            ([('visits', 'table', 1), ('VAR(', 'aggregate', 1)], [('discreet.epsilon', 'setting', 10)])
        """
        begun = text[len(text.rstrip("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.")) :]
        if begun:
            yield from (
                (word, kind, len(begun))
                for word, kind in self.known
                if word.lower().lstrip('"').startswith(begun.lower())
            )


def quoted(name: str) -> str:
    """A name as SQL takes it."""
    return name if name.isidentifier() and name.isascii() else quote(name)
