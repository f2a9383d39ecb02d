"""A file system that fails: it writes down every write and sync of a charge and a settlement, and damages them.

Run as `python damage.py FAULTS [SEED]` to count what became of so many faults. Three kinds:

- after a run: the files as a kill, a power cut, a lost, torn or flipped write would leave them. A power cut keeps any
  subset, in any order, of what was written to a file since its last sync;
- at rest: a flipped bit anywhere, or an old copy of one of the files;
- in a run: a write or a sync that fails, once or from then on, with a full disk or an error, and the run goes on.

What became of a fault is `harmless`, when all that was charged and nothing else is on record; `more`, when a charge
that was not acknowledged stands; `detected`, when the ledger is refused or `verify` rejects it; `overdrawn`, when it
would grant what was spent already, which must never be.
"""

from __future__ import annotations

import os
import random
import sqlite3
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import apsw

from discreet.errors import BudgetExceeded, LedgerError
from discreet.ledger import Account, Ledger, Loss, open_ledger
from discreet.ledger.sqlite import head

LIMIT, EACH = Fraction(3), Fraction(1, 4)
VISITS = Account("the data set", Loss(LIMIT))
ANA = Account("analyst ana", Loss(2))


class Op(NamedTuple):
    """One thing done to a file: write, truncate, sync or delete."""

    action: str
    file: str
    at: int = 0
    data: bytes = b""


class Disk:
    """Writes down what is done to the files, and fails where it is told to."""

    def __init__(self) -> None:
        self.log: list[Op] = []
        self.fail_at = -1
        self.fail_for = 1
        self.how = "io"

    def do(self, op: Op, really: Callable[[bytes], object]) -> None:
        """Do it, or fail."""
        at = len(self.log)
        self.log.append(op)
        if 0 <= at - self.fail_at < self.fail_for and self.fail_at >= 0:
            if op.action == "write" and self.how == "torn":
                really(op.data[: len(op.data) // 2])
            raise self.error(op)
        really(op.data)

    def error(self, op: Op) -> Exception:
        """What a system reports; SQLite and Python each in their own way."""
        if op.file.endswith("-head"):
            return OSError(28 if self.how == "full" else 5, "planted")
        return apsw.FullError("planted") if self.how == "full" else apsw.IOError("planted")


class _File(apsw.VFSFile):
    def __init__(self, disk: Disk, name: Any, flags: Any) -> None:
        self._disk = disk
        self._name = Path(name if isinstance(name, str) else name.filename()).name
        super().__init__("", name, flags)

    def xWrite(self, data: Any, offset: int) -> None:  # noqa: N802
        self._disk.do(
            Op("write", self._name, offset, bytes(data)), lambda some: super(_File, self).xWrite(some, offset)
        )

    def xTruncate(self, newsize: int) -> None:  # noqa: N802
        self._disk.do(Op("truncate", self._name, newsize), lambda _: super(_File, self).xTruncate(newsize))

    def xSync(self, flags: int) -> None:  # noqa: N802
        self._disk.do(Op("sync", self._name), lambda _: super(_File, self).xSync(flags))


class _System(apsw.VFS):
    def __init__(self, disk: Disk) -> None:
        self._disk = disk
        super().__init__("damage", "")

    def xOpen(self, name: Any, flags: Any) -> _File:  # noqa: N802
        return _File(self._disk, name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:  # noqa: N802
        self._disk.do(
            Op("delete", Path(filename).name), lambda _: super(_System, self).xDelete(filename, syncdir)
        )


class _Connection:
    """What the ledger uses of a connection of `sqlite3`, by a SQLite that lets Python be its file system."""

    def __init__(self, path: str, timeout: float = 5, **_: object) -> None:
        self._inner = apsw.Connection(path, vfs="damage")
        self._inner.set_busy_timeout(int(timeout * 1000))

    @property
    def in_transaction(self) -> bool:
        return self._inner.in_transaction

    def execute(self, sql: str, values: Any = ()) -> _Rows:
        try:
            return _Rows(list(self._inner.execute(sql, values)))
        except apsw.Error as error:
            problem = sqlite3.OperationalError("planted")
            problem.sqlite_errorname = "SQLITE_FULL" if isinstance(error, apsw.FullError) else _name(error)
        raise problem

    def close(self) -> None:
        with suppress(apsw.Error):
            self._inner.close(True)


def _name(error: apsw.Error) -> str:
    code = getattr(error, "extendedresult", apsw.SQLITE_IOERR)
    return str({**apsw.mapping_result_codes, **apsw.mapping_extended_result_codes}.get(code, "SQLITE_IOERR"))


class _Rows:
    def __init__(self, rows: list[Any]) -> None:
        self._rows = rows

    def fetchone(self) -> Any:
        return self._rows[0] if self._rows else None

    def fetchall(self) -> list[Any]:
        return self._rows

    def __iter__(self) -> Iterator[Any]:
        return iter(self._rows)


@contextmanager
def mounted(disk: Disk) -> Iterator[None]:
    """Put both files of the ledger onto the disk."""
    system = _System(disk)
    write, sync, connect = head._write, head._sync, sqlite3.connect

    def writing(fd: int, data: bytes, offset: int) -> None:
        disk.do(Op("write", "ledger.db-head", offset, data), lambda some: write(fd, some, offset))

    def syncing(fd: int) -> None:
        disk.do(Op("sync", "ledger.db-head"), lambda _: sync(fd))

    head._write, head._sync = writing, syncing
    sqlite3.connect = _Connection  # type: ignore[assignment]
    try:
        yield
    finally:
        head._write, head._sync, sqlite3.connect = write, sync, connect
        system.unregister()


def before(folder: Path) -> None:
    """Four entries of the past."""
    with open_ledger(folder / "ledger.db") as ledger:
        for at in range(2):
            charge = ledger.charge(f"past {at}", Loss(EACH), [VISITS, ANA])
            ledger.settle(charge, b"an answer" * 30)


def one_more(ledger: Ledger, acknowledged: list[int], log: list[Op]) -> None:
    """A charge and its settlement; notes after how many operations the charge was acknowledged."""
    charge = ledger.charge("now", Loss(EACH), [VISITS, ANA], guarantee="{}", description="x" * 300)
    acknowledged.append(len(log))
    ledger.settle(charge, bytes(range(256)) * 40)


def files_of(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in sorted(folder.iterdir())}


class Recorded:
    """One run: the files before it, what was done to them, and when each charge was acknowledged."""

    def __init__(self) -> None:
        with tempfile.TemporaryDirectory(dir=memory()) as name:
            folder = Path(name)
            before(folder)
            self.start = files_of(folder)
            disk, self.acknowledged = Disk(), list[int]()
            with mounted(disk), open_ledger(folder / "ledger.db") as ledger:
                one_more(ledger, self.acknowledged, disk.log)
                one_more(ledger, self.acknowledged, disk.log)
            self.log = disk.log
            self.end = files_of(folder)

    def charged(self, done: int) -> int:
        """How many charges were acknowledged after so many operations, with those of the past."""
        return 2 + sum(at <= done for at in self.acknowledged)

    def after(
        self, done: int, change: Callable[[int, Op], list[Op]] = lambda _, op: [op]
    ) -> dict[str, bytes]:
        """The files after so many operations, each changed in some way."""
        files = {name: bytearray(data) for name, data in self.start.items()}
        for at, op in enumerate(self.log[:done]):
            for each in change(at, op):
                _apply(files, each)
        return {name: bytes(data) for name, data in files.items()}


def _apply(files: dict[str, bytearray], op: Op) -> None:
    if op.action == "delete":
        files.pop(op.file, None)
        return
    file = files.setdefault(op.file, bytearray())
    if op.action == "truncate":
        del file[op.at :]
    elif op.action == "write":
        file.extend(bytes(max(0, op.at - len(file))))
        file[op.at : op.at + len(op.data)] = op.data


def memory() -> str | None:
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


# Faults: each gives the files that are left, and how many charges were acknowledged -------------------------

Left = tuple[dict[str, bytes], int]


def killed(run: Recorded, rng: random.Random) -> Left:
    done = rng.randint(0, len(run.log))
    return run.after(done), run.charged(done)


def power_cut(run: Recorded, rng: random.Random) -> Left:
    done = rng.randint(0, len(run.log))
    synced = {op.file: at for at, op in enumerate(run.log[:done]) if op.action == "sync"}
    files = {name: bytearray(data) for name, data in run.start.items()}
    open_ops = []
    for at, op in enumerate(run.log[:done]):
        if at <= synced.get(op.file, -1):
            _apply(files, op)
        elif rng.random() < 0.5:
            open_ops.append(op._replace(data=op.data[: _cut(op, rng)]) if rng.random() < 0.3 else op)
    rng.shuffle(open_ops)
    for op in open_ops:
        _apply(files, op)
    return {name: bytes(data) for name, data in files.items()}, run.charged(done)


def _cut(op: Op, rng: random.Random) -> int:
    return 512 * rng.randint(0, max(1, len(op.data) // 512))


def _one_write(run: Recorded, rng: random.Random, change: Callable[[Op], list[Op]]) -> Left:
    which = rng.choice([at for at, op in enumerate(run.log) if op.action == "write" and op.data])
    done = rng.choice([len(run.log), rng.randint(which + 1, len(run.log))])
    return run.after(done, lambda at, op: change(op) if at == which else [op]), run.charged(done)


def lost_write(run: Recorded, rng: random.Random) -> Left:
    return _one_write(run, rng, lambda _: [])


def torn_write(run: Recorded, rng: random.Random) -> Left:
    return _one_write(run, rng, lambda op: [op._replace(data=op.data[: _cut(op, rng)])])


def flipped_write(run: Recorded, rng: random.Random) -> Left:
    return _one_write(run, rng, lambda op: [op._replace(data=_flip(op.data, rng))])


def misplaced_write(run: Recorded, rng: random.Random) -> Left:
    return _one_write(run, rng, lambda op: [op._replace(at=4096 * rng.randint(0, 12))])


def late_write(run: Recorded, rng: random.Random) -> Left:
    """Two writes next to one another in time change places."""
    which = rng.randrange(len(run.log) - 1)
    done = rng.choice([len(run.log), rng.randint(which + 1, len(run.log))])
    order = {which: which + 1, which + 1: which}
    return run.after(done, lambda at, _: [run.log[order.get(at, at)]]), run.charged(done)


def lying_sync(run: Recorded, rng: random.Random) -> Left:
    """One file stays as it was from some moment on, whatever was written to it and synced."""
    name = rng.choice(["ledger.db", "ledger.db-head", "ledger.db-journal"])
    since, done = sorted(rng.sample(range(len(run.log) + 1), 2))
    return run.after(done, lambda at, op: [] if at >= since and op.file == name else [op]), run.charged(done)


def flipped_at_rest(run: Recorded, rng: random.Random) -> Left:
    done = rng.choice([len(run.log), rng.randint(0, len(run.log))])
    files = run.after(done)
    name = rng.choice([name for name, data in files.items() if data])
    return {**files, name: _flip(files[name], rng)}, run.charged(done)


def old_copy(run: Recorded, rng: random.Random) -> Left:
    """One of the files is that of an earlier moment between two commits, or gone."""
    name = rng.choice(["ledger.db", "ledger.db-head", "ledger.db-journal"])
    files = dict(run.end)
    earlier = run.after(rng.choice([0, run.acknowledged[0]])).get(name)
    files.pop(name, None)
    if earlier is not None and rng.random() < 0.7:
        files[name] = earlier
    return files, run.charged(len(run.log))


def _flip(data: bytes, rng: random.Random) -> bytes:
    at, changed = rng.randrange(len(data)), bytearray(data)
    changed[at] ^= 1 << rng.randrange(8)
    return bytes(changed)


AFTER = (killed, power_cut, lost_write, torn_write, flipped_write, misplaced_write, late_write, lying_sync,
         flipped_at_rest, old_copy)  # fmt: skip
IN_A_RUN = ("full", "io", "torn")


# What becomes of a fault ------------------------------------------------------------------------------------


def judge(folder: Path, charged: int) -> str:
    """Open what is left, as the next process would, and try to spend what was spent already."""
    spent = charged * EACH
    try:
        with open_ledger(folder / "ledger.db") as ledger:
            recorded = ledger.spent(VISITS.name).epsilon
            with suppress(BudgetExceeded):
                ledger.charge("greedy", Loss(LIMIT - spent + Fraction(1, 1000)), [VISITS])
                return "overdrawn"
            if min(recorded, ledger.spent(ANA.name).epsilon) < spent:
                return "overdrawn"
            ledger.verify()
            ledger.charge("another", Loss(Fraction(1, 1000)), [VISITS])
    except LedgerError:
        return "detected"
    return "harmless" if recorded == spent else "more"


def judged_after(run: Recorded, fault: Callable[[Recorded, random.Random], Left], rng: random.Random) -> str:
    files, charged = fault(run, rng)
    with tempfile.TemporaryDirectory(dir=memory()) as name:
        for file, data in files.items():
            (Path(name) / file).write_bytes(data)
        return judge(Path(name), charged)


def judged_in_a_run(run: Recorded, how: str, rng: random.Random) -> str:
    with tempfile.TemporaryDirectory(dir=memory()) as name:
        folder, disk, acknowledged = Path(name), Disk(), list[int]()
        for file, data in run.start.items():
            (folder / file).write_bytes(data)
        disk.fail_at, disk.how = rng.randrange(len(run.log)), how
        disk.fail_for = rng.choice([1, 1, 3, 10_000])
        with mounted(disk):
            ledger = None
            for _ in range(4):  # the fault, and going on after it
                try:
                    ledger = ledger or open_ledger(folder / "ledger.db")
                    one_more(ledger, acknowledged, disk.log)
                except LedgerError:
                    if rng.random() < 0.5:
                        disk.fail_for = 0  # someone made room
            if ledger is not None:
                ledger.close()
        return judge(folder, 2 + len(acknowledged))


def count(faults: int, seed: int = 0) -> dict[str, Counter[str]]:
    """What became of so many faults, by kind."""
    run, found = Recorded(), dict[str, Counter[str]]()
    kinds: list[Any] = [*AFTER, *IN_A_RUN]
    for number in range(faults):
        rng, kind = random.Random(f"{seed} {number}"), kinds[number % len(kinds)]
        in_a_run = isinstance(kind, str)
        became = judged_in_a_run(run, kind, rng) if in_a_run else judged_after(run, kind, rng)
        name = f"{kind} in a run" if in_a_run else kind.__name__.replace("_", " ")
        found.setdefault(name, Counter())[became] += 1
    return found


def table(found: dict[str, Counter[str]]) -> str:
    total: Counter[str] = sum(found.values(), Counter())
    columns = ("harmless", "more", "detected", "overdrawn")
    lines = [f"{'fault':<18}" + "".join(f"{name:>11}" for name in columns)]
    lines += [
        f"{name:<18}" + "".join(f"{counts[column]:>11,}" for column in columns)
        for name, counts in [*found.items(), ("all", total)]
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    print(table(count(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0)))
