"""stream(...): from a policy to a running stream, charged to the budget of the data set."""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from discreet.errors import EngineError, InvalidParameter, LedgerError, SourceError, StreamError, tell
from discreet.ledger import Account, Loss, open_ledger
from discreet.policy import Policy
from discreet.rational import Number, decimal, epsilon_of
from discreet.release.account import DataAccount
from discreet.release.bill import Bill, billed
from discreet.release.guarantee import Guarantee
from discreet.session.budget import DATA_SET, account_of
from discreet.session.sources.ledger_place import beside_policy
from discreet.session.sources.policy_sources import opening_of
from discreet.session.sources.polled_table import PolledTable
from discreet.streams import Stream, StreamQuestion, StreamSpec, open_stream, time_of
from discreet.streams import declared as of_policy


@contextmanager
def stream(
    policy: str | os.PathLike[str],
    table: str,
    *,
    start: str | dt.datetime,
    epsilon: Number,
    periods: int | None = None,
    delta: Number = 0,
    every: str = "day",
    time: str = "time",
    by: str | None = None,
    count: bool = True,
    sums: Sequence[str] = (),
    means: Sequence[str] = (),
    window: int = 0,
    method: str = "",
    name: str = "",
    state: str | os.PathLike[str] | None = None,
    ledger: str | os.PathLike[str] | None = None,
    confidence: float = 0.95,
    poll: object = False,
    see: Callable[[StreamSpec], object] | None = None,
) -> Iterator[Stream]:
    """Begin a stream, which charges all of it once, or go on with it, which is free.

    The budget is that of the policy's data set: a stream and the questions to a session share one ledger.

    Args:
        policy: a TOML file.
        table: the private table that the rows are of.
        start: of the first period, in UTC.
        epsilon: of the whole stream.
        periods: how many there are; None where no last one is known, and then there may be 131,071.
        delta: that the whole stream may spend; above zero its noise is Gaussian where that errs less.
        every: `minute`, `hour`, `day`, `week` or `month`.
        time: the column with the time of a row.
        by: a column with public keys, for one number of each group.
        count: whether rows are counted.
        sums: bounded columns to add up.
        means: bounded columns of which the mean is wanted.
        window: totals are of so many periods; 0 for all so far.
        method: `period`, `tree`, `root`, `doubling`, `even` or `fraction`; by default the one with the least
            predicted error.
        name: of the stream; by default that of the table.
        state: the folder of its state, as secret as the data; by default beside the policy.
        ledger: where the budget is kept; by default as the policy says.
        confidence: of the intervals.
        poll: a table that is read when periods have ended, by `Stream.poll`: True for that of the policy's source, or
            a source that `protect` opens. By default rows are added, and periods closed, by the caller.
        see: called with the declarations before anything is charged, which it may refuse by raising.

    Raises:
        PolicyError, InvalidParameter: a declaration does not fit. Nothing was charged.
        BudgetExceeded: the budget does not have so much left. Nothing was charged.
        StreamError: the state is gone, of another stream, or in use. Nothing was charged.
        LedgerError: the ledger cannot be read or written.

    Privacy: `StreamSpec` says of an event or of a unit; epsilon-differentially private for the whole stream, by the
    Laplace mechanism on the nodes of a strategy (`discreet.streams.strategy`); with a delta (epsilon, delta), by the
    Gaussian mechanism on them.
    """
    path, begin = Path(policy), time_of(start) if isinstance(start, str) else start
    if begin is None:
        raise InvalidParameter("start is no time.", 'Write "2026-01-01" or "2026-01-01T06:00Z".')
    declared = Policy.from_toml(path)
    asked = StreamQuestion(
        time, begin, every, periods, epsilon_of(epsilon), decimal(delta, "delta"), name, by, count, tuple(sums),
        tuple(means), window, method, poll is not False,
    )  # fmt: skip
    spec = of_policy(declared, table, asked)
    limit = Loss(declared.budget.epsilon, declared.budget.delta)
    account = Account(account_of(DATA_SET, declared.budget.version), limit, declared.budget.accountant)
    folder = state or path.with_name(f"{path.stem}.stream.{spec.name}")
    with open_ledger(ledger or declared.ledger or str(beside_policy(path))) as book:
        payer = DataAccount(book, account, Guarantee.declared(declared), exact=False)
        with ExitStack() as stack:
            with Bill() as paying, billed(paying):
                polled = None
                if poll is not False:
                    polled = PolledTable(declared, opening_of(declared, None if poll is True else poll))
                    polled.see(spec)
                if see is not None:
                    see(spec)
                running = stack.enter_context(open_stream(spec, folder, book, payer, confidence))
            running.charged, running.table = paying.loss, polled
            try:
                yield running
            except (StreamError, SourceError, EngineError, LedgerError) as error:
                tell(error, paying.loss)
                raise
