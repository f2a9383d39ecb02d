"""`discreet budget`: what was spent, on what, and whether the record is as it was written."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli import options as opt
from discreet.errors import LedgerError

if TYPE_CHECKING:
    from discreet.ledger import Entry, Ledger, Loss

app = typer.Typer(invoke_without_command=True, rich_markup_mode=None)

OnlyLedger = Annotated[
    Path | None,
    typer.Option("--ledger", metavar="FILE", help="The ledger itself, when there is no policy file."),
]


@app.callback()
def show(
    ctx: typer.Context, policy: opt.PolicyFile = None, ledger: OnlyLedger = None, as_json: opt.Json = False
) -> None:
    """Show what was spent, on what, and what is left.

    It reads the policy and the ledger, not the data.

    \b
    Examples:
      discreet budget
      discreet budget --ledger visits.csv.ledger.db --json
      discreet budget verify
    """  # noqa: D301
    if ctx.invoked_subcommand is not None:
        ctx.obj = (policy, ledger)
        return
    from discreet.cli.output import dump, print_table, state
    from discreet.ledger import Loss
    from discreet.rational import show as short
    from discreet.rational import small
    from discreet.session import DATA_SET, BudgetState

    where, limit = _ledger(policy, ledger)
    entries = _entries(where)
    charges = _charges(entries, DATA_SET)
    spent = charges[-1].total if charges else Loss(0)
    if limit is None:
        limit = charges[-1].limit if charges else Loss(0)
    budget = BudgetState(limit.epsilon, spent.epsilon, limit.delta, spent.delta)
    if as_json:
        document = {"ledger": str(where), **state(budget), "charges": [one.document() for one in charges]}
        typer.echo(dump(document))
        return
    typer.echo(repr(budget))
    if charges and charges[-1].rule != "pure":
        last = charges[-1]
        typer.echo(
            f"by {last.rule} at delta {small(last.limit.delta)}; the sum of epsilons is {short(last.sum)}"
        )
    if charges:
        body = [
            [str(c.number), f"{c.time:%Y-%m-%d %H:%M:%S}", short(c.loss.epsilon), short(c.total.epsilon),
             "yes" if c.answered else "no", c.question[:12]]
            for c in charges
        ]  # fmt: skip
        header = ["entry", "time (UTC)", "epsilon", "spent", "answered", "question"]
        print_table(header, body, [True, False, True, True, False, False])


@app.command("verify")
def verify(
    ctx: typer.Context,
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
    """  # noqa: D301
    from discreet.cli.output import dump
    from discreet.ledger import Head

    outer = ctx.obj or (None, None)
    where, _ = _ledger(policy or outer[0], ledger or outer[1])
    before = None
    if noted is not None:
        number, colon, digest = noted.partition(":")
        if not (colon and number.isdecimal() and digest):
            raise opt.Usage("--noted: write it as it was printed, NUMBER:HASH")
        before = Head(int(number), digest)
    with _open(where) as opened:
        count = opened.verify(before)
        head = opened.head()
    if as_json:
        typer.echo(dump({"ledger": str(where), "entries": count, "head": f"{head.number}:{head.hash}"}))
        return
    entries = "1 entry" if count == 1 else f"{count:,} entries"
    typer.echo(f"{entries}, each as it was written\nhead {head.number}:{head.hash}")


@app.command("adopt")
def adopt(
    ctx: typer.Context,
    policy: opt.PolicyFile = None,
    ledger: OnlyLedger = None,
    lost: Annotated[
        str | None,
        typer.Option(
            "--lost", metavar="EPSILON[:DELTA]", help="What may have been spent and is not recorded."
        ),
    ] = None,
    as_json: opt.Json = False,
) -> None:
    """Take over a ledger that was refused: a backup that was put back, or one without its head.

    Nothing that was spent comes back. Where the head beside the ledger knows of more, that is charged. Where
    the head is lost, say with --lost what may have been spent since; it is charged too.

    \b
    Examples:
      discreet budget adopt
      discreet budget adopt --lost 0.5
    """  # noqa: D301
    from discreet.cli.output import dump, exact
    from discreet.ledger import Loss
    from discreet.ledger.adopt import adopt as take_over
    from discreet.rational import show as short
    from discreet.session import DATA_SET

    outer = ctx.obj or (None, None)
    where, _ = _ledger(policy or outer[0], ledger or outer[1])
    epsilon, _, delta = (lost or "").partition(":")
    spent = None if lost is None else Loss(epsilon, delta or 0)
    done = take_over(where, lost=spent, accounts=[DATA_SET])
    charged = done.charged.get(DATA_SET, Loss(0))
    if as_json:
        document = {"ledger": str(where), "charged": exact(charged.epsilon), "delta": exact(charged.delta),
                    "head": f"{done.head.number}:{done.head.hash}"}  # fmt: skip
        typer.echo(dump(document))
        return
    words = f"epsilon {short(charged.epsilon)} was charged for what is lost"
    typer.echo(f"{words if done.charged else 'nothing was lost'}\nhead {done.head.number}:{done.head.hash}")


def _ledger(policy: Path | None, ledger: Path | None) -> tuple[Path, Loss | None]:
    """The place of the ledger, and the budget that the policy declares."""
    if ledger is not None and policy is None:
        if not ledger.is_file():
            raise LedgerError(f"There is no ledger {ledger}.", "It is made by the first question.")
        return ledger, None
    from discreet.ledger import Loss
    from discreet.policy import Policy

    path = opt.policy_file(policy)
    declared = Policy.from_toml(path)
    from discreet.session.place import beside_policy

    where = ledger or Path(declared.ledger or beside_policy(path))
    return where, Loss(declared.budget.epsilon, declared.budget.delta)


def _open(where: Path) -> Ledger:
    from discreet.ledger import open_ledger

    if not where.is_file():
        raise LedgerError(f"There is no ledger {where} yet.", "It is made by the first question.")
    return open_ledger(where)


def _entries(where: Path) -> list[Entry]:
    if not where.is_file():
        return []  # nobody has asked yet, and looking makes no file
    with _open(where) as ledger:
        return ledger.entries()


class _Charge:
    """A charge of one account and what became of it."""

    def __init__(self, entry: Entry, account: str, answered: bool) -> None:
        (line,) = (line for line in entry.postings if line.account == account)
        self.number, self.time, self.question = entry.number, entry.time, entry.question
        self.loss, self.total, self.limit = line.loss, line.spent, line.limit
        self.rule, self.sum = line.rule, line.total.epsilon
        self.answered = answered

    def document(self) -> dict[str, object]:
        from discreet.cli.output import exact

        return {
            "entry": self.number,
            "time": self.time.isoformat(),
            "epsilon": exact(self.loss.epsilon),
            "delta": exact(self.loss.delta),
            "spent": exact(self.total.epsilon),
            "answered": self.answered,
            "question": self.question,
        }


def _charges(entries: Iterable[Entry], account: str) -> list[_Charge]:
    listed = list(entries)
    settled = {entry.settles for entry in listed}
    return [
        _Charge(entry, account, entry.number in settled)
        for entry in listed
        if any(line.account == account for line in entry.postings)
    ]
