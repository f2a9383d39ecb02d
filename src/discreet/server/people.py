"""Who may do which things: people with one role each, their tokens with scopes, and their budgets."""

from __future__ import annotations

import datetime as dt
from fractions import Fraction
from typing import Any

from discreet.errors import InvalidParameter
from discreet.ledger.terms import Terms
from discreet.rational import epsilon_of
from discreet.records import dataclass
from discreet.release.exactly import exact
from discreet.server.records.state import ServiceState
from discreet.server.tokens import digest, fits, new_token, parts
from discreet.session.analyst import name_of

SCOPES = {"steward": ("audit", "manage"), "analyst": ("read", "ask")}
"""By role, the things that a token may allow: `audit` reads and `manage` changes; `read` costs nothing, `ask` does."""
DAYS, LONGEST_DAYS = 90, 366
"""How long a token holds, by default and at most."""
DAY = 86_400
BY_PROVIDER = "oidc-"
"""Begins the name of a token that a sign-in through the provider made: its text is known to nobody."""
SIGNED_IN = 8 * 3600
"""Seconds until somebody signs in again."""
ADMINISTRATOR = "administrator"
"""The first steward."""


@dataclass(frozen=True)
class Caller:
    """Somebody with a valid token.

    Attributes:
        name: of the person.
        role: `steward` or `analyst`.
        scopes: of the token.
        token: the name of the token.
    """

    name: str
    role: str
    scopes: frozenset[str]
    token: str


def end_of(day: str) -> int:
    """The end of a day in UTC, in seconds since 1970.

    Raises:
        InvalidParameter: it is no day.

    Example:
        >>> end_of("1970-01-01")
        86400
    """
    try:
        return int(dt.datetime.combine(dt.date.fromisoformat(day), dt.time(), dt.UTC).timestamp()) + DAY
    except (ValueError, OverflowError):
        pass
    raise InvalidParameter("The last day of the budget is no day.", "Write it as 2026-12-31.")


class People:
    """The people of a service."""

    def __init__(self, state: ServiceState) -> None:
        self.state = state

    # People and budgets ----------------------------------------------------------------------------------

    def add(self, by: str, name: object, role: str) -> None:
        """Add a person.

        Raises:
            InvalidParameter: the name cannot be used or is taken, or there is no such role.
        """
        new = name_of(name)
        if role not in SCOPES:
            raise InvalidParameter("The role is neither steward nor analyst.", "Choose one of them.")
        with self.state.writing():
            if self.state.first_row("SELECT 1 FROM people WHERE name = ?", (new,)):
                raise InvalidParameter("This name is taken.", "Choose another one.")
            self.state.run("INSERT INTO people VALUES (?, ?, ?)", (new, role, self.state.now()))
            self.state.note(by, "person added", f"{new}, {role}")

    def role(self, name: str) -> str:
        """The role of a person.

        Raises:
            InvalidParameter: nobody has this name.
        """
        found = next(iter(self.state.recall("SELECT role FROM people WHERE name = ?", (name,))), None)
        if found is None:
            raise InvalidParameter("Nobody has this name.", "Add the person first.")
        return str(found["role"])

    def names(self, role: str) -> list[str]:
        """The people of a role, by name."""
        rows = self.state.all("SELECT name FROM people WHERE role = ? ORDER BY name", (role,))
        return [str(row["name"]) for row in rows]

    def grant(
        self, by: str, name: str, dataset: str, epsilon: object, most: object = None, until: str | None = None
    ) -> None:
        """Set the most that an analyst may ever spend of a data set; it can be raised and lowered.

        Args:
            by: who sets it.
            name: of the analyst.
            dataset: its name.
            epsilon: in all.
            most: in one question.
            until: the last day, as 2026-12-31, in UTC.

        Raises:
            InvalidParameter: nobody has this name, a steward has, epsilon is no positive number, one question may cost
                more than all together, or the day is none.
        """
        limit = epsilon_of(epsilon)
        terms = Terms(
            limit, None if most is None else epsilon_of(most), None if until is None else end_of(until)
        )
        if terms.most is not None and terms.most > limit:
            raise InvalidParameter(
                f"One question may not cost epsilon {exact(terms.most)} where all may cost {exact(limit)}.",
                "Give a smaller number for one question, or leave it out.",
            )
        if self.role(name) != "analyst":
            raise InvalidParameter("Only an analyst has a budget.", "Name an analyst.")
        with self.state.writing():
            self.state.run(
                "INSERT INTO grants (name, dataset, epsilon, most, expires) VALUES (?, ?, ?, ?, ?) "
                "ON CONFLICT (name, dataset) DO UPDATE SET epsilon = excluded.epsilon, most = excluded.most, "
                "expires = excluded.expires",
                (name, dataset, str(limit), None if terms.most is None else str(terms.most), terms.until),
            )
            more = "" if terms.most is None else f", {exact(terms.most)} in one question"
            more += "" if until is None else f", until {until}"
            self.state.note(by, "budget set", f"{name}, {dataset}, epsilon {exact(limit)}{more}")

    def withdraw(self, by: str, name: str, dataset: str) -> None:
        """Take a data set from an analyst; the losses spent stay in its ledger.

        Raises:
            InvalidParameter: the analyst has no budget there.
        """
        with self.state.writing():
            if not self.state.run("DELETE FROM grants WHERE name = ? AND dataset = ?", (name, dataset)):
                raise InvalidParameter("The analyst has no budget for this data set.", "Look at the list.")
            self.state.note(by, "budget withdrawn", f"{name}, {dataset}")

    def grants(self, name: str) -> dict[str, Terms]:
        """The budgets of an analyst, by data set."""
        rows = self.state.recall("SELECT * FROM grants WHERE name = ? ORDER BY dataset", (name,))
        return {
            str(row["dataset"]): Terms(
                Fraction(row["epsilon"]), Fraction(row["most"]) if row["most"] else None, row["expires"]
            )
            for row in rows
        }

    # Tokens ----------------------------------------------------------------------------------------------

    def issue(self, by: str, name: str, days: int = DAYS, scopes: tuple[str, ...] = ()) -> str:
        """Make a token for a person, and return it: it cannot be had again.

        Args:
            by: who makes it.
            name: of the person.
            days: how long it holds.
            scopes: the things that it allows; by default all of the role.

        Raises:
            InvalidParameter: nobody has this name, the days are out of range, or a scope is not of the role.
        """
        own = SCOPES[self.role(name)]
        if not 1 <= days <= LONGEST_DAYS:
            raise InvalidParameter(f"A token holds 1 to {LONGEST_DAYS} days.", "Give a number of days.")
        chosen = scopes or own
        if not set(chosen) <= set(own):
            raise InvalidParameter(
                f"A scope is not of the role, which has {', '.join(own)}.", "Choose of them."
            )
        token, now = new_token(), self.state.now()
        with self.state.writing():
            self.state.run(
                "INSERT INTO tokens VALUES (?, ?, ?, ?, ?, ?, NULL)",
                (token.id, name, token.digest, " ".join(sorted(set(chosen))), now, now + days * DAY),
            )
            self.state.note(by, "token made", f"{token.id} for {name}, {days} days, {' '.join(chosen)}")
        return token.text

    def revoke(self, by: str, token: str) -> None:
        """Make a token worthless, and sign out everybody who came with it.

        Raises:
            InvalidParameter: there is none of this name, or it was revoked before.
        """
        with self.state.writing():
            changed = self.state.run(
                "UPDATE tokens SET revoked = ? WHERE id = ? AND revoked IS NULL", (self.state.now(), token)
            )
            if not changed:
                raise InvalidParameter("No valid token has this name.", "Look at the list.")
            self.state.run("DELETE FROM signins WHERE token = ?", (token,))
            self.state.note(by, "token revoked", token)

    def tokens(self) -> list[dict[str, Any]]:
        """All tokens, without their secrets, the newest first."""
        now = self.state.now()
        rows = self.state.all("SELECT * FROM tokens ORDER BY made DESC, id")
        return [
            {
                "id": row["id"],
                "name": row["name"],
                "scopes": row["scopes"].split(),
                "made": row["made"],
                "expires": row["expires"],
                "state": "revoked" if row["revoked"] else "expired" if row["expires"] <= now else "valid",
            }
            for row in rows
        ]

    def caller(self, text: str) -> Caller | None:
        """Who holds a token; None where it is unknown, expired or revoked."""
        name, _ = parts(text)
        rows = self.state.recall("SELECT * FROM tokens WHERE id = ?", (name,)) if name else []
        row = next(iter(rows), None)
        known = row["digest"] if row is not None else digest("")
        return self._valid(row) if fits(text, known) and row is not None else None

    def _valid(self, row: Any) -> Caller | None:
        if row is None or row["revoked"] is not None or row["expires"] <= self.state.now():
            return None
        role = self.role(row["name"])
        return Caller(row["name"], role, frozenset(row["scopes"].split()), row["id"])

    # Signed in -------------------------------------------------------------------------------------------

    def administrator(self) -> str:
        """A token of the first steward, who is added where there is none."""
        with self.state.writing():
            if ADMINISTRATOR not in self.names("steward"):
                self.add("the service", ADMINISTRATOR, "steward")
            return self.issue("the service", ADMINISTRATOR)

    def sign_in(self, caller: Caller) -> str:
        """The secret of a cookie for somebody who showed a token."""
        secret, now = new_token().text, self.state.now()
        with self.state.writing():
            self.state.run("DELETE FROM signins WHERE expires <= ?", (now,))
            self.state.run(
                "INSERT INTO signins VALUES (?, ?, ?)", (digest(secret), caller.token, now + SIGNED_IN)
            )
            self.state.note(caller.name, "signed in", caller.token)
        return secret

    def signed_in(self, secret: str) -> Caller | None:
        """Who came with a cookie; None where it is unknown or too old, or its token is no longer valid."""
        if not secret or len(secret) > 200:
            return None
        row = self.state.first_row(
            "SELECT tokens.* FROM signins JOIN tokens ON tokens.id = signins.token "
            "WHERE signins.digest = ? AND signins.expires > ?",
            (digest(secret), self.state.now()),
        )
        return self._valid(row)

    def sign_out(self, secret: str) -> None:
        """Forget a cookie; a token that only a sign-in through the provider made ends with it, as nobody can use it."""
        with self.state.writing():
            row = self.state.first_row(
                "SELECT tokens.* FROM signins JOIN tokens ON tokens.id = signins.token WHERE signins.digest = ?",
                (digest(secret),),
            )
            self.state.run("DELETE FROM signins WHERE digest = ?", (digest(secret),))
            if row is not None and row["id"].startswith(BY_PROVIDER) and row["revoked"] is None:
                self.revoke(row["name"], row["id"])
