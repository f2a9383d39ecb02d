"""The guarantee that a charge bought, and how many times it counts when the policy says another one later.

An epsilon means nothing without its neighbours: 1 for each row is 3 for a person of three rows. So the guarantee stands
with each charge: the privacy unit of every private table, the neighbours, and the caps. When the policy changes, the
loss spent is worth something else. Let every mechanism so far be epsilon-DP for the old neighbours. If two data sets
that are neighbours now are at most k old steps apart, it is k epsilon-DP for the new ones (group privacy: Dwork and
Roth 2014, theorem 2.2); if no number of old steps leads from one to the other, or nobody knows how many, nothing is.

| before | now | k |
|---|---|---|
| unit added or removed | the same unit replaced | 2: out, in |
| unit added or removed | one row added or removed | 2: out, in with a row fewer |
| unit added or removed | one row replaced | 4: so for two units |
| unit replaced | unit added or removed; rows | none: replacing keeps the number of units, which may be shown exactly |
| row | unit | none: it is the number of rows of a unit, which has no public bound |
| one unit column, or one way to it | another one | none |

Caps (`max_rows`) change nothing: a charge covers all rows of a unit, kept or not, under any cap.

Where people allow different parts of epsilon, each charge cost a class its share at that time. A share that falls, a
policy that begins to name classes after it was charged, and another column of classes would leave people with a loss
that their class does not allow: they are refused. A share that rises, and classes that go, take nothing back.

A k is charged as an entry of its own, (k - 1) times the loss spent, before the next question. That is exact where
losses add up and no delta was spent; by another accountant, and with a delta, the change is refused.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Protocol

from discreet.errors import PolicyError
from discreet.policy.classes import personal_of
from discreet.records import dataclass, field

if TYPE_CHECKING:
    from discreet.policy import Policy

ROW = "row"
"""The unit of a table in which each row is one."""


class Named(Protocol):
    """A column."""

    @property
    def name(self) -> str:
        """Its name, as the data spells it."""


class Private(Protocol):
    """A private table."""

    @property
    def unit(self) -> Named | None:
        """The column that tells units apart; None where each row is one."""

    @property
    def unit_words(self) -> str:
        """That column, and the way to it where it stands in another table."""

    @property
    def max_rows(self) -> int:
        """How many rows of a unit are kept."""


class PrivateTables(Protocol):
    """The private tables of a data set; the catalogue of SQL is one such value."""

    @property
    def private(self) -> Mapping[str, Private]:
        """By name."""


@dataclass(frozen=True)
class Guarantee:
    """The things that an epsilon of a policy protects.

    Attributes:
        neighbours: `add_remove` or `replace_one`.
        units: the privacy unit by table, a column, with the way to it where it stands in another table, or "row".
        caps: how many rows of a unit are kept, by table.
        shares: by class of people, the part of an epsilon that it allows; empty where everybody allows the same.
        classes: the column that names the classes, with its table; empty where there are none.
    """

    neighbours: str
    units: Mapping[str, str]
    caps: Mapping[str, int]
    shares: Mapping[str, Fraction] = field(default_factory=dict)
    classes: str = ""

    @classmethod
    def of(cls, policy: Policy, catalog: PrivateTables) -> Guarantee:
        """The guarantee of a policy, with columns as the data spells them."""
        tables = sorted(catalog.private.items())
        units = {name: ROW if table.unit is None else f"column {table.unit_words}" for name, table in tables}
        caps = {name: table.max_rows for name, table in tables}
        return cls(policy.neighbours, units, caps, *_classes(policy))

    @classmethod
    def declared(cls, policy: Policy) -> Guarantee:
        """The guarantee of a policy without its data, whose spelling of columns is not known."""
        from discreet.policy.path import unit_words

        tables = sorted((name.lower(), table) for name, table in policy.tables.items() if not table.public)
        units = {n: ROW if t.privacy_unit == ROW else f"column {unit_words(t)}" for n, t in tables}
        caps = {name: table.max_rows or 1 for name, table in tables}
        return cls(policy.neighbours, units, caps, *_classes(policy))

    @classmethod
    def read(cls, text: str) -> Guarantee | None:
        """Read the text that stands with a charge; None where none does that is understood."""
        try:
            known = json.loads(text)
            shares = {name: Fraction(share) for name, share in dict(known.get("shares", {})).items()}
            of = str(known.get("classes", ""))
            return cls(str(known["neighbours"]), dict(known["units"]), dict(known["caps"]), shares, of)
        except (ValueError, KeyError, TypeError, ZeroDivisionError):
            return None

    def text(self, kept: Iterable[int] = ()) -> str:
        """As canonical JSON.

        Args:
            kept: the caps of one question, where they are its own.
        """
        known: dict[str, Any] = {
            "neighbours": self.neighbours,
            "units": dict(self.units),
            "caps": dict(self.caps),
        }
        if self.shares:
            known["shares"] = {name: str(share) for name, share in self.shares.items()}
            known["classes"] = self.classes
        if kept := sorted(set(kept)):
            known["kept"] = kept
        return json.dumps(known, sort_keys=True, ensure_ascii=False)

    def after(self, before: Guarantee | None) -> Guarantee:
        """The same, with the tables that it no longer names, so that one that comes back is recognised."""
        if before is None:
            return self
        shares = {**before.shares, **self.shares} if self.shares else {}
        units, caps = {**before.units, **self.units}, {**before.caps, **self.caps}
        return Guarantee(self.neighbours, units, caps, shares, self.classes)

    def times(self, before: Guarantee | None, exact: bool = True) -> int:
        """How many times an epsilon of an earlier guarantee counts under this one.

        A table that is new where another one is gone may be that one by a new name, so it is compared with it.

        Args:
            before: the earlier one; None where nobody said it: then it counts once.
            exact: whether columns are spelled as the data does.

        Raises:
            PolicyError: no number of times is right.
        """
        if before is None:
            return 1
        self._see_shares(before)
        added = [name for name in self.units if name not in before.units]
        worst = 1
        for table, unit in before.units.items():
            now = (
                [self.units[table]] if table in self.units else [unit, *(self.units[name] for name in added)]
            )
            for other in now:
                k = _steps(unit, before.neighbours, other, self.neighbours, exact)
                if k is None:
                    raise _refused(table, unit, before.neighbours, other, self.neighbours)
                worst = max(worst, k)
        return worst

    def _see_shares(self, before: Guarantee) -> None:
        """See that no class of people lost more by the charges so far than its share of them."""
        fix = (
            "Restore the earlier declaration; or keep that ledger as a record, name a new one with "
            'ledger = "…", and grant it only the loss that each class can still bear.'
        )
        if self.shares and before.classes != self.classes:
            # So it is where all shares are 1, too: a class that is declared next would seem to have lost nothing.
            raise PolicyError(
                "The questions so far were charged without the classes of people that the policy now declares, so "
                "that nothing tells the loss of each class.",
                fix,
                key="personal",
            )
        for name, share in self.shares.items():
            if before.shares.get(name, Fraction(0)) > share:
                raise PolicyError(
                    f"The questions so far cost the people of the class {name} more than the part of epsilon that the "
                    "policy now gives them.",
                    fix,
                    key="personal",
                )


def _classes(policy: Policy) -> tuple[Mapping[str, Fraction], str]:
    """The shares of the classes of people, and the column that names them, in lower case."""
    found = personal_of(policy.tables)
    return ({}, "") if found is None else (found[1].shares, f"{found[0]}.{found[1].column}".lower())


def _steps(unit: str, neighbours: str, now: str, neighbours_now: str, exact: bool) -> int | None:
    """How many old steps lead to a new neighbour; see above."""
    same = unit == now or (not exact and unit.lower() == now.lower())
    if same and neighbours == neighbours_now:
        return 1
    if neighbours != "add_remove":
        return None
    if same:
        return 2
    if now == ROW:
        return 2 if neighbours_now == "add_remove" else 4
    return None


def _refused(table: str, unit: str, neighbours: str, now: str, neighbours_now: str) -> PolicyError:
    key = f"tables.{table}.privacy_unit" if unit != now else "neighbours"
    return PolicyError(
        f"The loss charged so far protects {_words(unit, neighbours)}, and the policy now says "
        f"{_words(now, neighbours_now)}: that loss cannot be converted, and the budget would say too little.",
        "Restore the earlier declaration; or keep that ledger as a record, name a new one with "
        'ledger = "…" (without a policy --ledger, or the argument ledger in Python), and grant it only the loss that '
        "the data set can still bear beside the answers that were given.",
        key=key,
    )


def _words(unit: str, neighbours: str) -> str:
    verb = "added or removed" if neighbours == "add_remove" else "replaced"
    return f"one row, {verb}" if unit == ROW else f"one unit of the {unit}, {verb}"


def cannot_reprice(times: int, why: str) -> PolicyError:
    """The error for a change that has a factor, but not by this accountant."""
    return PolicyError(
        f"Under the present policy, the loss charged so far counts {times} times, which {why} cannot express.",
        "Restore the earlier privacy_unit and neighbours, or start a new ledger with a budget that allows for it.",
        key="neighbours",
    )
