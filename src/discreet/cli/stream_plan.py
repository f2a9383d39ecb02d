"""`discreet plan --stream T`: the errors of all methods for a stream, and the one to take."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.cli import options as opt

if TYPE_CHECKING:
    from discreet.accounting.events import Neighbours


def stream(
    periods: int, epsilon: str | None, rows: int, neighbours: Neighbours, output: Path | None
) -> tuple[dict[str, Any], list[str]]:
    """The errors of the running totals of counts: a document and lines; the curves go into a file.

    Args:
        periods: how many there are.
        epsilon: of the whole stream.
        rows: how many rows of a unit count in it.
        neighbours: as the policy says.
        output: of a picture.
    """
    from discreet.planning.read import epsilon as read_epsilon
    from discreet.streams import predictions
    from discreet.streams.tree import Tree

    if epsilon is None:
        raise opt.Usage("--stream needs --epsilon 1, say")
    made = predictions(periods, epsilon, rows, neighbours)
    if output is not None:
        from discreet.plots.render import save
        from discreet.plots.streams import stream_errors

        save(stream_errors(periods, epsilon, rows, neighbours), output)
    document = {
        "periods": periods,
        "epsilon": read_epsilon(epsilon),
        "rows": rows,
        "neighbours": neighbours,
        "best": made[0].strategy.name,
        "methods": [
            {"name": mechanism.strategy.name, "rms": mechanism.rms, "first": float(mechanism.errors[0]),
             "last": float(mechanism.errors[-1]), "worst": float(mechanism.errors.max())}
            for mechanism in made
        ],
    }  # fmt: skip
    many = f"{rows:,} row{'s' * (rows != 1)} of a unit"
    lines = [f"running totals of {periods:,} periods · epsilon {epsilon} in all · at most {many}",
             f"{'method':<10}{'rms':>14}{'first':>14}{'last':>14}{'worst':>14}"]  # fmt: skip
    for mechanism in made:
        errors = mechanism.errors
        cells = (mechanism.rms, errors[0], errors[-1], errors.max())
        lines.append(f"{mechanism.strategy.name:<10}" + "".join(f"{_short(cell):>14}" for cell in cells))
    best = made[0].strategy
    levels = f" of {best.height} levels" if isinstance(best, Tree) else ""
    lines.append(f"Take {best.name}: {best.words}{levels}.")
    return document, lines


def _short(value: float) -> str:
    return f"{value:,.1f}" if value < 1e6 else f"{value:.2g}"
