"""The account of an analyst or of a data set on a server, as `discreet budget` shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from discreet.client import RemoteSession
    from discreet.ledger import Head


def show_remote(session: RemoteSession, limit: int | None, as_json: bool) -> None:
    """Show the questions that an analyst has paid for on a server, the newest last, and the budget."""
    from discreet.cli.output import print_table, say
    from discreet.release.documents import dump, state

    budget, paid = session.budget, session.releases()
    shown = paid[:limit][::-1]
    if as_json:
        typer.echo(dump({**state(budget), "count": len(paid), "charges": shown}))
        return
    typer.echo(repr(budget))
    if shown:
        body = [
            [charge["made"][:19].replace("T", " "), charge["epsilon"], "yes" if charge["answered"] else "no",
             one_line(charge["asked"].get("query", ""), 60)]
            for charge in shown
        ]  # fmt: skip
        print_table(["time (UTC)", "epsilon", "answered", "question"], body, [False, True, False, False])
    if len(shown) < len(paid):
        say(f"the newest {len(shown):,} of {len(paid):,} paid questions; --all shows all, --limit N more")


def verify_remote(session: RemoteSession, noted: Head | None, as_json: bool) -> None:
    """Have a server compute every hash and total of its ledger again; a steward's token is needed.

    Raises:
        LedgerCorrupt: the chain is broken, or does not have the noted head.
    """
    from discreet.release.documents import dump

    with session:
        count, head = session.verify(None if noted is None else f"{noted.number}:{noted.hash}")
    if as_json:
        typer.echo(dump({"data set": session.dataset, "entries": count, "head": head}))
        return
    entries = "1 entry" if count == 1 else f"{count:,} entries"
    typer.echo(f"{entries}, each unchanged\nhead {head}")


def forecast_remote(session: RemoteSession, epsilon: str, releases: int, as_json: bool) -> None:
    """Print how many releases of an epsilon fit into the budgets that a token is charged to."""
    from discreet.cli.output import print_table
    from discreet.rational import epsilon_of, show
    from discreet.release.documents import dump
    from discreet.release.exactly import exact

    loss = epsilon_of(epsilon)
    with session:
        found = session.forecast(loss, releases)
    if as_json:
        shown = [
            {
                "budget": standing.account,
                "accountant": standing.rule,
                "fit": standing.fit,
                "most": exact(standing.most),
            }
            for standing in found
        ]
        typer.echo(dump({"epsilon": exact(loss), "releases": releases, "forecast": shown}))
        return
    header = [
        "budget",
        "accountant",
        f"releases of epsilon {show(loss)} that fit",
        f"most for {releases:,} releases",
    ]
    body = [
        [
            standing.account,
            standing.rule,
            f"{standing.fit:,}" + (" or more" if standing.fit == releases else ""),
            f"{float(standing.most):g}",
        ]
        for standing in found
    ]
    print_table(header, body, [False, False, True, True])


def one_line(text: str, most: int) -> str:
    """A text of somebody else's for a terminal: one line, nothing that steers it, not too long."""
    plain = "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text)
    return plain if len(plain) <= most else plain[: most - 1] + "…"
