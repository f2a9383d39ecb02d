"""`discreet budget forecast`: the budget of a data set, some releases ahead."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from discreet.ledger import Loss


def look_ahead(
    where: str,
    account: str,
    granted: Loss | None,
    epsilon: str,
    releases: int,
    output: Path | None,
    as_json: bool,
) -> None:
    """Print how many releases fit, and draw their sum.

    Args:
        where: the place of the ledger; there may be none yet.
        account: of the data set.
        granted: the budget of the policy; None where a ledger alone was named, which tells it.
        epsilon: of each release.
        releases: how many are wanted.
        output: of a picture; None for none.
        as_json: whether it is printed as JSON.
    """
    from discreet.planning.forecast import forecast
    from discreet.rational import epsilon_of, show
    from discreet.release.documents import dump

    if output is not None:
        from discreet.plots.render import check_path

        check_path(output)
    loss = epsilon_of(epsilon)
    limit, past = _standing(where, account, granted)
    found = forecast(limit, past, loss, releases)
    if output is not None:
        from discreet.plots.budget import spending
        from discreet.plots.render import save

        save(spending(found, limit.epsilon, loss, releases), output)
    if as_json:
        shown: list[dict[str, Any]] = []
        for prediction in found:
            spent = [float(each) for each in prediction.spent]
            shown.append(
                {
                    "accountant": prediction.rule,
                    "fit": len(spent),
                    "most": float(prediction.most),
                    "spent": spent,
                }
            )
        said = {
            "epsilon": float(loss),
            "releases": releases,
            "limit": float(limit.epsilon),
            "forecast": shown,
        }
        typer.echo(dump(said))
        return
    typer.echo(f"of epsilon {show(limit.epsilon)}, {past.count:,} charge{'s' * (past.count != 1)} so far")
    typer.echo(f"accountant   releases of epsilon {show(loss)} that fit   most for {releases:,} releases")
    for prediction in found:
        fit = f"{len(prediction.spent):,}" + (" or more" if len(prediction.spent) == releases else "")
        typer.echo(f"{prediction.rule:<12} {fit:<{31 + len(show(loss))}} {float(prediction.most):g}")


def _standing(where: str, account: str, granted: Loss | None) -> tuple[Loss, Any]:
    """The limit of an account, and the charges so far."""
    from discreet.accounting.loss import Loss
    from discreet.accounting.tally import Tally
    from discreet.ledger import exists, open_ledger

    last = None
    if exists(where):
        with open_ledger(where, may_read=True) as ledger:
            last = ledger.posting(account)
    if last is None:
        return granted or Loss(0), Tally()
    return granted or last.limit, last.tally
