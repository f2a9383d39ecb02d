"""The rows of a SQL ledger as one transaction sees them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from datetime import datetime
from fractions import Fraction
from typing import Any, cast

import sqlalchemy as sa

from discreet.accounting.loss import Loss
from discreet.accounting.tally import RULES
from discreet.ledger.chain import corrupt
from discreet.ledger.entry import Entry, Head, Kind, Posting, genesis
from discreet.ledger.schema import entries, identity, postings, salts

_RATIONAL = re.compile(r"\d{1,100}(/[1-9]\d{0,99})?")
_SQUARES = re.compile(r"\d{1,200}(/[1-9]\d{0,199})?")
_LOSSES = ("loss", "total", "limit")
# All but the answer, which may be large.
_ENTRY = [column for column in entries.columns if column.name != "answer"]


class SqlRows:
    """Reads and appends within a transaction that its store has begun."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def genesis(self) -> Head:
        """See `Rows`."""
        return genesis(str(self._connection.execute(sa.select(identity.c.identity)).scalar_one()))

    def last(self) -> Entry | None:
        """See `Rows`."""
        return self._one(sa.select(*_ENTRY).order_by(entries.c.number.desc()).limit(1))

    def entry(self, number: int) -> Entry | None:
        """See `Rows`."""
        return self._one(sa.select(*_ENTRY).where(entries.c.number == number))

    def last_charge(self, account: str) -> Entry | None:
        """See `Rows`."""
        latest = sa.select(sa.func.max(postings.c.number)).where(postings.c.account == account)
        number = self._connection.execute(latest).scalar()
        if number is None:
            return None
        entry = self.entry(number)
        if entry is None or all(line.account != account for line in entry.postings):
            raise corrupt(number, "is gone, but not its postings")
        return entry

    def settlement(self, charge: int) -> Entry | None:
        """See `Rows`."""
        return self._one(sa.select(*_ENTRY).where(entries.c.settles == charge))

    def first_settlement(self, question: str) -> Entry | None:
        """See `Rows`."""
        same = (entries.c.question_key == _key(question)) & (entries.c.kind == "settle")
        return self._one(sa.select(*_ENTRY).where(same).order_by(entries.c.number).limit(1))

    def answer(self, number: int) -> bytes:
        """See `Rows`."""
        found = self._connection.execute(sa.select(entries.c.answer).where(entries.c.number == number))
        answer = found.scalar()
        return answer if isinstance(answer, bytes) else b""

    def after(self, number: int, count: int) -> list[Entry]:
        """See `Rows`."""
        return self._entries(
            sa.select(*_ENTRY).where(entries.c.number > number).order_by(entries.c.number).limit(count)
        )

    def stray(self) -> bool:
        """See `Rows`."""
        orphan = sa.select(postings.c.number).where(postings.c.number.not_in(sa.select(entries.c.number)))
        return self._connection.execute(orphan.limit(1)).first() is not None

    def append(self, entry: Entry, answer: bytes | None = None) -> None:
        """See `Rows`."""
        row = {
            "number": entry.number,
            "time": entry.time.isoformat(timespec="microseconds"),
            "kind": entry.kind,
            "question": entry.question,
            "question_key": _key(entry.question),
            "settles": entry.settles,
            "digest": entry.digest,
            "previous": entry.previous,
            "hash": entry.hash,
            "answer": answer,
        }
        self._connection.execute(entries.insert(), row)
        lines = [_posting_row(entry.number, i, line) for i, line in enumerate(entry.postings)]
        if lines:
            self._connection.execute(postings.insert(), lines)

    def salt(self, dataset: str) -> int | None:
        """See `Rows`."""
        found = self._connection.execute(sa.select(salts.c.salt).where(salts.c.dataset_key == _key(dataset)))
        text = found.scalar()
        return None if text is None else int(text, 16)

    def add_salt(self, dataset: str, salt: int) -> None:
        """See `Rows`."""
        row = {"dataset_key": _key(dataset), "dataset": dataset, "salt": f"{salt:016x}"}
        self._connection.execute(salts.insert(), row)

    def probe(self) -> None:
        """Write nothing, which fails where nothing can be written."""
        self._connection.execute(salts.delete().where(sa.false()))

    def _one(self, query: sa.Select[Any]) -> Entry | None:
        return next(iter(self._entries(query)), None)

    def _entries(self, query: sa.Select[Any]) -> list[Entry]:
        rows = self._connection.execute(query).all()
        charges = [row.number for row in rows if row.kind == "charge"]
        lines: dict[int, list[sa.Row[Any]]] = {}
        if charges:
            mine = (
                postings.c.number.between(min(charges), max(charges))
                if len(charges) > 1
                else (postings.c.number == charges[0])
            )
            found = sa.select(postings).where(mine).order_by(postings.c.number, postings.c.position)
            for line in self._connection.execute(found):
                lines.setdefault(line.number, []).append(line)
        return [_entry(row, lines.get(row.number, ())) for row in rows]


def _entry(row: sa.Row[Any], lines: Sequence[sa.Row[Any]]) -> Entry:
    try:
        posted = tuple(map(_posting, lines))
        time = datetime.fromisoformat(row.time)
        if row.question_key == _key(row.question) and isinstance(row.number, int):
            return Entry(
                row.number,
                time,
                cast(Kind, row.kind),
                row.question,
                posted,
                row.settles,
                row.digest,
                row.previous,
                row.hash,
            )
    except (ValueError, TypeError, AttributeError):
        pass  # a field is not what we wrote; the database's text stays in here
    raise corrupt(row.number, "was altered")


def _posting(line: sa.Row[Any]) -> Posting:
    if not isinstance(line.charges, int) or line.rule not in RULES:
        raise ValueError
    squares = _rational(line.squares, _SQUARES)
    loss, total, limit = (_loss(line, what) for what in _LOSSES)
    return Posting(line.account, loss, total, limit, line.rule, squares, line.charges)


def _loss(line: sa.Row[Any], what: str) -> Loss:
    return Loss(_rational(getattr(line, f"{what}_epsilon")), _rational(getattr(line, f"{what}_delta")))


def _rational(text: str, pattern: re.Pattern[str] = _RATIONAL) -> Fraction:
    if not pattern.fullmatch(text):
        raise ValueError
    return Fraction(text)


def _posting_row(number: int, position: int, line: Posting) -> dict[str, object]:
    row: dict[str, object] = {"account": line.account, "number": number, "position": position}
    for what in _LOSSES:
        loss: Loss = getattr(line, what)
        row[f"{what}_epsilon"], row[f"{what}_delta"] = str(loss.epsilon), str(loss.delta)
    row |= {"rule": line.rule, "squares": str(line.squares), "charges": line.count}
    return row


def _key(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
