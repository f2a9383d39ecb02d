"""Which person a claim of the provider names: those that the steward has written down, and nobody else.

Nothing is made at a sign-in: no person, no budget, no link. So the first who comes wins nothing. Values are compared
character by character, and only printable ASCII can be linked, so that no two that look alike lead to one person.
"""

from __future__ import annotations

import secrets
from typing import Any

from discreet.errors import InvalidParameter
from discreet.server.people import BY_PROVIDER, SCOPES, SIGNED_IN, Caller, People
from discreet.server.tokens import new_token

LONGEST_IDENTITY = 200


class Identities:
    """The links between claims and people.

    Args:
        people: of the service.
        issuer: the provider's address.
    """

    def __init__(self, people: People, issuer: str) -> None:
        self._people = people
        self._state = people.state
        self._issuer = issuer

    def link(self, by: str, value: str, name: str) -> None:
        """Let whoever the provider names so sign in as a person.

        Raises:
            InvalidParameter: the value cannot be used or is taken, or nobody has this name.
        """
        if (
            not value.isascii()
            or not value.isprintable()
            or not 1 <= len(value) <= LONGEST_IDENTITY
            or value != value.strip()
        ):
            raise InvalidParameter(
                f"The account is not 1 to {LONGEST_IDENTITY} printable characters of ASCII.",
                "Write it exactly as the provider does; with other letters, link the claim sub instead.",
            )
        self._people.role(name)
        with self._state.writing():
            found = self._named(value)
            if found is not None:
                raise InvalidParameter("This account is linked already.", "Unlink it first.")
            self._state.run(
                "INSERT INTO identities VALUES (?, ?, ?, ?)", (self._issuer, value, name, self._state.now())
            )
            self._state.note(by, "sign-in linked", f"{value} to {name}")

    def unlink(self, by: str, value: str) -> None:
        """Take a link away, and sign out everybody who came by it.

        Raises:
            InvalidParameter: there is none.
        """
        with self._state.writing():
            name = self._named(value)
            if name is None:
                raise InvalidParameter("No such account is linked.", "Look at the list.")
            self._state.run("DELETE FROM identities WHERE issuer = ? AND value = ?", (self._issuer, value))
            now = self._state.now()
            for row in self._state.all(
                "SELECT id FROM tokens WHERE name = ? AND id LIKE ? AND revoked IS NULL AND expires > ?",
                (name, f"{BY_PROVIDER}%", now),
            ):
                self._people.revoke(by, str(row["id"]))
            self._state.note(by, "sign-in unlinked", f"{value} from {name}")

    def all(self) -> list[dict[str, Any]]:
        """All links of this provider, by account."""
        rows = self._state.all(
            "SELECT value, name FROM identities WHERE issuer = ? ORDER BY value", (self._issuer,)
        )
        return [{"account": str(row["value"]), "name": str(row["name"])} for row in rows]

    def sign_in(self, value: str) -> str | None:
        """The secret of a cookie for whoever the provider names so; None for somebody unknown, who is written down."""
        with self._state.writing():
            name = self._named(value) if value.isascii() and value.isprintable() else None
            if name is None:
                self._state.note(
                    "the provider", "sign-in refused", f"{value[:LONGEST_IDENTITY]!a} is not linked"
                )
                return None
            return self._people.sign_in(self._token(name))

    def _named(self, value: str) -> str | None:
        found = self._state.first_row(
            "SELECT name FROM identities WHERE issuer = ? AND value = ?", (self._issuer, value)
        )
        return None if found is None else str(found["name"])

    def _token(self, name: str) -> Caller:
        """A token for as long as the sign-in, which the steward can revoke as any other; nobody knows its text."""
        now, role = self._state.now(), self._people.role(name)
        old = ("expires <= ? AND id LIKE ?", (now, f"{BY_PROVIDER}%"))
        self._state.run(f"DELETE FROM signins WHERE token IN (SELECT id FROM tokens WHERE {old[0]})", old[1])
        self._state.run(f"DELETE FROM tokens WHERE {old[0]}", old[1])
        made = BY_PROVIDER + secrets.token_hex(6)
        self._state.run(
            "INSERT INTO tokens VALUES (?, ?, ?, ?, ?, ?, NULL)",
            (made, name, new_token().digest, " ".join(sorted(SCOPES[role])), now, now + SIGNED_IN),
        )
        return Caller(name, role, frozenset(SCOPES[role]), made)
