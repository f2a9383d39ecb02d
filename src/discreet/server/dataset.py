"""A data set of the service: its session, the sessions of its analysts, and the facts that are shown about it."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.errors import DiscreetError, PolicyError
from discreet.ledger.terms import Terms
from discreet.policy.values import KeyReference
from discreet.rational import show
from discreet.release.documents import rows, state
from discreet.release.exactly import exact
from discreet.server.history import History
from discreet.server.problems import told
from discreet.session import Session, protect
from discreet.session.analyst import NAME, AnalystSession

if TYPE_CHECKING:
    from discreet.server.records.asks import Asks


class DataSet:
    """One data set under one policy.

    Args:
        name: in addresses and on pages.
        session: over the data.

    Attributes:
        asks: of the service that serves it, which keeps answers back until their slot; None without one.
    """

    def __init__(self, name: str, session: Session) -> None:
        self.name = name
        self.session = session
        self.history = History(session.ledger)
        self.asks: Asks | None = None
        self._lock = threading.Lock()
        self._analysts: dict[str, AnalystSession] = {}

    def analyst(self, name: str, terms: Terms) -> AnalystSession:
        """The session of an analyst with a budget."""
        with self._lock:
            known = self._analysts.get(name)
            if known is None or known.terms != terms:
                known = AnalystSession(
                    self.session, name, terms.epsilon, most=terms.most, until=terms.until,
                    hidden=partial(self._hidden, name), held=self._held,
                )  # fmt: skip
                self._analysts[name] = known
            return known

    def standing(self, name: str, terms: Terms) -> dict[str, Any]:
        """The budget of an analyst and the loss spent of it; where the ledger is refused, why, in place of the loss."""
        try:
            return state(self.analyst(name, terms).budget)
        except DiscreetError as error:  # of this data set, which says nothing about the others
            return {"epsilon": exact(terms.epsilon), "refused": told(error).cause}

    def _hidden(self, name: str, key: str) -> bool:
        """Whether an answer is as good as not there for an analyst: its slot has not come.

        The desk is looked at first: while it is at work, nothing that is read here tells of the question's time.
        """
        if self.asks is None:
            return False
        if self.asks.at_work(self.name, key) or not self.history.paid(name, key):
            return True
        # The same is read whether it is there or not, or the time of a preview would tell when it came.
        there, held = self.session.ledger.has_settled(key), self.asks.held_back(self.name, key)
        return held or not there

    def _held(self, key: str) -> bool:
        """Whether whoever asks the same has to wait for an answer: the slot of who asked first has not come."""
        if self.asks is None:
            return False
        self.history.newest(0)  # reads the ledger's new entries
        return self.asks.to_wait_for(self.name, key)

    def schema(self) -> list[dict[str, Any]]:
        """The tables, each with its columns and the questions that these can answer, from the policy alone."""
        tables = rows(self.session.sql("SELECT * FROM information_schema.tables"))
        columns = rows(self.session.sql("SELECT * FROM information_schema.columns"))
        keys, references = self._keys(), self._references()
        for column in columns:
            known = keys.get((column["table_name"].lower(), column["column_name"].lower()))
            column["values"] = known
            column["keys_of"] = references.get((column["table_name"].lower(), column["column_name"].lower()))
        return [
            {
                **table,
                "columns": [column for column in columns if column["table_name"] == table["table_name"]],
            }
            for table in tables
        ]

    def _keys(self) -> Mapping[tuple[str, str], list[str]]:
        """The public keys that the policy lists itself, by table and column, as texts."""
        found: dict[tuple[str, str], list[str]] = {}
        for table, declared in self.session.policy.tables.items():
            for column, rule in declared.columns.items():
                if isinstance(rule.keys, tuple | list):
                    found[table.lower(), column.lower()] = [str(key) for key in rule.keys]
        return found

    def _references(self) -> Mapping[tuple[str, str], dict[str, str]]:
        """The columns of public tables that hold the keys of columns, by table and column."""
        return {
            (table.lower(), column.lower()): {"table": rule.keys.table, "column": rule.keys.column}
            for table, declared in self.session.policy.tables.items()
            for column, rule in declared.columns.items()
            if isinstance(rule.keys, KeyReference)
        }

    def words(self) -> list[tuple[str, str]]:
        """The things that are protected and how, in plain words, as (subject, words)."""
        policy = self.session.policy
        step = "added or removed" if policy.neighbours == "add_remove" else "replaced by another one"
        out = []
        for name, table in policy.tables.items():
            if table.public:
                out.append((name, "Public: nothing in it is private."))
            elif table.privacy_unit == "row":
                out.append((name, f"Protected is each row: no answer shows whether one was {step}."))
            else:
                one_row = table.max_rows == 1
                most = "1 row of each counts" if one_row else f"{table.max_rows} rows of each count"
                out.append(
                    (
                        name,
                        f"Protected is each {table.privacy_unit}, with all of its rows: no answer shows whether one "
                        f"was {step}. At most {most}.",
                    )
                )
        budget = policy.budget
        out.append(("budget", f"epsilon {show(budget.epsilon)} for all questions of all analysts together."))
        return out


def open_dataset(path: Path, ledger: str = "") -> DataSet:
    """Open the data set of a policy file, named after the file, or after its folder where it is `policy.toml`.

    Args:
        path: of the policy.
        ledger: the url of a database where its ledger has a schema of its own; empty for the one of the policy.

    Raises:
        DiscreetError: as for `protect`; or the name cannot be used.
    """
    stem = path.stem if path.stem != "policy" else path.absolute().parent.name
    name = stem.lower()
    if not NAME.fullmatch(name):
        raise PolicyError(
            f"The name {stem!r} cannot stand in an address.",
            "Name the policy file a-z, 0-9, such as visits.toml.",
        )
    return DataSet(name, protect(policy=path, ledger=f"{ledger}#discreet_ledger_{name}" if ledger else None))
