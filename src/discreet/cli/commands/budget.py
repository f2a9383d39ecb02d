"""`discreet budget`: the losses spent, their questions, and whether the record is unchanged."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet import escaping
from discreet.cli import options as opt
from discreet.cli import place
from discreet.cli.option_groups import grouped
from discreet.cli.remote import ServerOptions
from discreet.cli.served.account import forecast_remote, one_line, show_remote, verify_remote
from discreet.errors import LedgerError
from discreet.records import dataclass

if TYPE_CHECKING:
    from discreet.client import RemoteSession
    from discreet.ledger import Entry, Head, Ledger, Loss
    from discreet.release.guarantee import Guarantee

app = typer.Typer(invoke_without_command=True, rich_markup_mode=None, add_completion=False)

OnlyLedger = Annotated[
    str | None,
    typer.Option("--ledger", metavar="FILE|URL", help="The ledger itself, when there is no policy file."),
]


LIMIT = 20
"""How many charges are shown unless more are asked for."""


@app.callback()
@grouped
def show(
    ctx: typer.Context,
    remote: ServerOptions,
    policy: opt.PolicyFile = None,
    ledger: OnlyLedger = None,
    limit: Annotated[
        int, typer.Option("-n", "--limit", metavar="N", min=0, help="Show the newest N charges.")
    ] = LIMIT,
    every: Annotated[bool, typer.Option("--all", help="Show all charges.")] = False,
    as_json: opt.Json = False,
) -> None:
    """Show the charges, each with its user and its question, and the budget left: the newest last.

    It reads the policy and the ledger, not the data. With --server it shows your own questions and budget there.

    \b
    Examples:
      discreet budget
      discreet budget --limit 100
      discreet budget --server https://stats.example.org
      discreet budget --ledger visits.csv.ledger.db --all --json
      discreet budget forecast --epsilon 0.1
      discreet budget verify
    """  # noqa: D301
    if ctx.invoked_subcommand is not None:
        if remote != ServerOptions() and ctx.invoked_subcommand == "adopt":
            raise opt.Usage("budget adopt takes over a ledger at hand, not that of a server")
        ctx.obj = (policy, ledger, remote)
        return
    session = remote.connected(policy is not None or ledger is not None)
    if session is not None:
        show_remote(session, None if every else limit, as_json)
        return
    from discreet.cli.output import print_table, say
    from discreet.ledger import named
    from discreet.rational import show as short
    from discreet.rational import small
    from discreet.release.documents import dump, state
    from discreet.session import BudgetState

    where, account, granted, guarantee = _declared(policy, ledger)
    known = _read(where, account, granted, guarantee, None if every else limit)
    granted, spent, charges = known.limit, known.spent, known.charges
    budget = BudgetState(granted.epsilon, spent.epsilon, granted.delta, spent.delta,
                         {} if guarantee is None else guarantee.shares)  # fmt: skip
    if as_json:
        since = None if known.since is None else known.since.isoformat()
        document = {"ledger": named(where), **state(budget), "problem": known.problem, "since": since,
                    "count": known.count, "charges": [charge.document() for charge in charges]}  # fmt: skip
        typer.echo(dump(document))
        return
    typer.echo(repr(budget))
    since = "nothing was charged yet"
    if known.since is not None:
        since = f"since the first charge, {known.since:%Y-%m-%d %H:%M:%S} (UTC)"
    say(f"{since}; the ledger is {escaping.name(named(where))}")
    if charges and charges[-1].rule != "pure":
        last = charges[-1]
        typer.echo(
            f"by {last.rule} at delta {small(last.limit.delta)}; the sum of epsilons is {short(last.sum)}"
        )
    if charges:
        body = [
            [str(c.number), f"{c.time:%Y-%m-%d %H:%M:%S}", short(c.loss.epsilon), short(c.total.epsilon),
             "yes" if c.answered else "no", one_line(c.who, 16), one_line(c.what, 60)]
            for c in charges
        ]  # fmt: skip
        header = ["entry", "time (UTC)", "epsilon", "spent", "answered", "by", "question"]
        print_table(header, body, [True, False, True, True, False, False, False])
    if len(charges) < known.count:
        say(f"the newest {len(charges):,} of {known.count:,} charges; --all shows all, --limit N more")
    if known.problem:
        say(f"warning: {known.problem}")


@app.command("verify")
@grouped
def verify(
    ctx: typer.Context,
    remote: ServerOptions,
    policy: opt.PolicyFile = None,
    ledger: OnlyLedger = None,
    noted: Annotated[
        str | None,
        typer.Option("--noted", metavar="NUMBER:HASH", help="A head that an earlier verify printed."),
    ] = None,
    as_json: opt.Json = False,
) -> None:
    """Recompute every hash and total of the ledger.

    The chain shows an entry that was altered, removed or moved; the head file beside the ledger, entries cut
    off at the end. An old copy of both files is seen only beside a head that was noted elsewhere.

    \b
    Examples:
      discreet budget verify
      discreet budget verify --noted 12:9f2c…
      discreet budget verify --server https://stats.example.org     (with a steward's token)
    """  # noqa: D301
    from discreet.ledger import named
    from discreet.release.documents import dump

    policy, ledger, there = _chosen(ctx, policy, ledger, remote)
    before = head_of(noted)
    if there is not None:
        verify_remote(there, before, as_json)
        return
    where, _ = _ledger(policy, ledger)
    with _open(where) as opened:
        count = opened.verify(before)
        head = opened.head()
    if as_json:
        typer.echo(dump({"ledger": named(where), "entries": count, "head": f"{head.number}:{head.hash}"}))
        return
    entries = "1 entry" if count == 1 else f"{count:,} entries"
    typer.echo(f"{entries}, each unchanged\nhead {head.number}:{head.hash}")


@app.command("adopt")
def adopt(
    ctx: typer.Context,
    policy: opt.PolicyFile = None,
    ledger: OnlyLedger = None,
    lost: Annotated[
        str | None,
        typer.Option(
            "--lost", metavar="EPSILON[:DELTA]", help="The loss that may have been spent and is not recorded."
        ),
    ] = None,
    as_json: opt.Json = False,
) -> None:
    """Take over a ledger that was refused: a backup that was put back, or one without its head.

    Nothing that was spent comes back. Where the head beside the ledger knows of more, that is charged. Where
    the head is lost, give with --lost the loss that may have been spent since; it is charged too.

    \b
    Examples:
      discreet budget adopt
      discreet budget adopt --lost 0.5
    """  # noqa: D301
    from discreet.ledger import Loss, named
    from discreet.ledger.sqlite.adopt import adopt as take_over
    from discreet.rational import show as short
    from discreet.release.documents import dump
    from discreet.release.exactly import exact

    outer = ctx.obj or (None, None)
    where, account = _ledger(policy or outer[0], ledger or outer[1])
    epsilon, _, delta = (lost or "").partition(":")
    spent = None if lost is None else Loss(epsilon, delta or 0)
    done = take_over(where, lost=spent, accounts=[account])
    charged = done.charged.get(account, Loss(0))
    if as_json:
        document = {"ledger": named(where), "charged": exact(charged.epsilon), "delta": exact(charged.delta),
                    "head": f"{done.head.number}:{done.head.hash}"}  # fmt: skip
        typer.echo(dump(document))
        return
    words = f"epsilon {short(charged.epsilon)} was charged for the lost entries"
    typer.echo(f"{words if done.charged else 'nothing was lost'}\nhead {done.head.number}:{done.head.hash}")


@app.command("forecast")
@grouped
def forecast(
    ctx: typer.Context,
    remote: ServerOptions,
    epsilon: Annotated[str, typer.Option("-e", "--epsilon", metavar="EPSILON", help="Of each release.")],
    releases: Annotated[
        int,
        typer.Option("--releases", metavar="N", min=1, help="How many are wanted: 30 for a month of days."),
    ] = 30,
    policy: opt.PolicyFile = None,
    ledger: OnlyLedger = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="A picture: .png, .svg or .html.")
    ] = None,
    as_json: opt.Json = False,
) -> None:
    """Look ahead: how many releases of one epsilon the budget has room for, and the most that each may cost.

    It reads the policy and the ledger, and charges nothing. With a delta, all accountants are shown; the policy's
    `accountant` decides which of them counts.

    \b
    Examples:
      discreet budget forecast --epsilon 0.1
      discreet budget forecast --epsilon 0.02 --releases 365 -o year.svg
      discreet budget forecast --epsilon 0.1 --server https://stats.example.org
    """  # noqa: D301
    from discreet.cli.forecast import look_ahead

    policy, ledger, there = _chosen(ctx, policy, ledger, remote)
    if there is not None:
        if output is not None:
            raise opt.Usage("--output is for a ledger at hand, not that of a server")
        forecast_remote(there, epsilon, releases, as_json)
        return
    where, account, granted, _ = _declared(policy, ledger)
    look_ahead(where, account, granted, epsilon, releases, output, as_json)


def _chosen(
    ctx: typer.Context, policy: Path | None, ledger: str | None, remote: ServerOptions
) -> tuple[Path | None, str | None, RemoteSession | None]:
    """The ledger of a command, or the server, each named before the command or behind it."""
    before: tuple[Path | None, str | None, ServerOptions] = ctx.obj or (None, None, ServerOptions())
    policy, ledger = policy or before[0], ledger or before[1]
    remote = ServerOptions(remote.server or before[2].server, remote.dataset or before[2].dataset)
    return policy, ledger, remote.connected(policy is not None or ledger is not None)


def head_of(noted: str | None) -> Head | None:
    """A head from its printed form.

    Raises:
        Usage: it has another form.
    """
    from discreet.ledger import Head

    if noted is None:
        return None
    number, colon, digest = noted.partition(":")
    if not (colon and number.isdecimal() and digest):
        raise opt.Usage("--noted: write the head in its printed form, NUMBER:HASH")
    return Head(int(number), digest)


def _ledger(policy: Path | None, ledger: str | None) -> tuple[str, str]:
    """The place of the ledger, and the account of the data set."""
    where, account, _, _ = _declared(policy, ledger)
    return where, account


def _declared(policy: Path | None, ledger: str | None) -> tuple[str, str, Loss | None, Guarantee | None]:
    """The place of the ledger, the account of the data set, and the budget and guarantee that the policy declares."""
    from discreet.ledger import Loss, exists, named
    from discreet.session.budget import DATA_SET, account_of

    if ledger is not None and policy is None:
        if not exists(ledger):
            raise LedgerError(f"There is no ledger {named(ledger)}.", "It is made by the first question.")
        return ledger, DATA_SET, None, None
    from discreet.policy import Policy
    from discreet.release.guarantee import Guarantee
    from discreet.session.sources.ledger_place import beside_policy

    path = place.policy_file(policy)
    declared = Policy.from_toml(path)
    where = ledger or declared.ledger or str(beside_policy(path))
    limit = Loss(declared.budget.epsilon, declared.budget.delta)
    return where, account_of(DATA_SET, declared.budget.version), limit, Guarantee.declared(declared)


def _open(where: str) -> Ledger:
    from discreet.ledger import exists, named, open_ledger

    if not exists(where):
        raise LedgerError(f"There is no ledger {named(where)} yet.", "It is made by the first question.")
    return open_ledger(where, may_read=True)


@dataclass
class _AccountRecord:
    """The record of one account in a ledger."""

    limit: Loss
    spent: Loss
    charges: list[_Charge]
    count: int
    problem: str = ""
    since: dt.datetime | None = None


def _read(
    where: str, account: str, granted: Loss | None, guarantee: Guarantee | None, count: int | None
) -> _AccountRecord:
    """The loss spent as the policy counts it now, and the newest charges."""
    from discreet.errors import PolicyError
    from discreet.ledger import Account, Loss, exists
    from discreet.release.account import DataAccount

    if not exists(where):
        return _AccountRecord(
            granted or Loss(0), Loss(0), [], 0
        )  # nobody has asked yet, and looking makes no file
    with _open(where) as ledger:
        newest = _newest(ledger, account, 1 if count is None else max(count, 1))
        if not newest:
            return _AccountRecord(granted or Loss(0), Loss(0), [], 0)
        last = newest[-1]
        limit, problem = granted or last.limit, ""
        spent = last.total if granted is None else ledger.spent(Account(account, limit, last.rule))
        if guarantee is not None:
            try:
                spent = DataAccount(
                    ledger, Account(account, limit, last.rule), guarantee, exact=False
                ).spent()
            except PolicyError as error:
                problem = f"{error.cause} {error.fix}"
        if count is None:
            newest = _newest(ledger, account, last.count)
        begun = ledger.since(0, 1)[0].time
        return _AccountRecord(limit, spent, [] if count == 0 else newest, last.count, problem, begun)


def _newest(ledger: Ledger, account: str, count: int) -> list[_Charge]:
    """The newest charges of an account, oldest first; settlements stand behind their charges."""
    look = 2 * count + 8
    while True:
        entries = ledger.newest(look)
        found = _charges(entries, account)
        if len(found) >= count or len(entries) < look:
            return found[-count:]
        look *= 4


class _Charge:
    """A charge of one account and its outcome."""

    def __init__(self, entry: Entry, account: str, answered: bool) -> None:
        from discreet.ledger.description import who_and_what

        (line,) = (line for line in entry.postings if line.account == account)
        self.number, self.time, self.question = entry.number, entry.time, entry.question
        self.loss, self.total, self.limit = line.loss, line.spent, line.limit
        self.rule, self.sum, self.count = line.rule, line.total.epsilon, line.count
        self.who, self.what = who_and_what(entry.description)
        self.guarantee = entry.guarantee
        self.answered = answered

    def document(self) -> dict[str, object]:
        from discreet.release.exactly import exact

        return {
            "entry": self.number,
            "time": self.time.isoformat(),
            "epsilon": exact(self.loss.epsilon),
            "delta": exact(self.loss.delta),
            "spent": exact(self.total.epsilon),
            "answered": self.answered,
            "by": self.who,
            "question": self.what,
            "guarantee": json.loads(self.guarantee) if self.guarantee else None,
            "key": self.question,
        }


def _charges(entries: Iterable[Entry], account: str) -> list[_Charge]:
    listed = list(entries)
    settled = {entry.settles for entry in listed}
    return [
        _Charge(entry, account, entry.number in settled)
        for entry in listed
        if any(line.account == account for line in entry.postings)
    ]
