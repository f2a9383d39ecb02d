"""`discreet pate`: how right a student of noisy teachers is, against epsilon."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli import options as opt
from discreet.cli.progress import ProgressLine

if TYPE_CHECKING:
    from discreet.learning.digits import DigitsRun


def command(
    teachers: Annotated[int, typer.Option("--teachers", metavar="N", min=1, help="How many vote.")] = 100,
    labels: Annotated[
        int, typer.Option("--labels", metavar="N", min=1, help="How many public images get a label.")
    ] = 100,
    gammas: Annotated[
        list[str] | None,
        typer.Option(
            "--gamma", metavar="GAMMA", help="Noise of scale 1/gamma on each vote; may be repeated."
        ),
    ] = None,
    epsilons: Annotated[
        list[str] | None,
        typer.Option(
            "--epsilon",
            metavar="EPSILON",
            help="Gaussian noise for this loss, only where teachers agree; may be repeated.",
        ),
    ] = None,
    delta: Annotated[
        str, typer.Option("--delta", metavar="DELTA", help="At which losses are shown.")
    ] = "1e-5",
    account: Annotated[
        bool, typer.Option("--account", help="Only the losses of so many labels; no teacher is asked.")
    ] = False,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="A picture: .png, .svg or .html.")
    ] = None,
    as_json: opt.Json = False,
) -> None:
    """Teach a student handwritten digits by the noisy votes of teachers (PATE), and test it.

    Each teacher has learned from its own images. They vote on public images, the winner is named with exact noise, and
    a student learns from these labels. The epsilon of all labels is shown at a delta, by moments that depend on no
    vote. With Gaussian noise (GNMax) only images get a label on which teachers agree.

    \b
    Examples:
      discreet pate
      discreet pate --epsilon 1 --epsilon 2
      discreet pate --teachers 50 --labels 200 --gamma 0.05 --gamma 0.1 -o pate.svg
      discreet pate --account --gamma 0.05 --labels 1000
    """  # noqa: D301
    if account:
        if epsilons or output is not None:
            raise opt.Usage("--account tells the losses of --gamma: leave out --epsilon and --output")
        _account(tuple(gammas or ("0.02", "0.05", "0.1", "0.2", "0.5")), labels, delta, as_json)
        return
    from discreet.learning.digits import DigitsExperiment
    from discreet.release.documents import dump

    if output is not None:
        from discreet.plots.render import check_path

        check_path(output)
    asked: dict[str, tuple[str, ...]] = {}
    if gammas is not None or epsilons is not None:
        asked = {"gammas": tuple(gammas or ()), "epsilons": tuple(epsilons or ())}
    experiment = DigitsExperiment(teachers, labels, delta=delta, **asked)
    experiment.see()
    points = []
    all_private, true_labels = experiment.reference()
    if not as_json:
        typer.echo(f"noise      gamma   epsilon at delta {delta}   labels   right   student right")
    with ProgressLine("asking teachers") as progress:
        for point in experiment.run(
            lambda done, of: progress.say(f"teachers that have voted: {done:,} of {of:,}")
        ):
            points.append(point)
            if not as_json:
                typer.echo(_line(point, delta))
    if output is not None:
        from discreet.learning.picture import accuracies
        from discreet.plots.render import save

        save(accuracies(points, true_labels, delta), output)
    if as_json:
        runs = [_record(point) for point in points]
        said = {
            "teachers": teachers,
            "delta": delta,
            "without_privacy": all_private,
            "true_labels": true_labels,
        }
        typer.echo(dump({**said, "points": runs}))
        return
    typer.echo(
        f"a student of true labels: {true_labels:.1%}; a classifier of all private images: {all_private:.1%}"
    )
    typer.echo(
        "Each line is one run; another one draws other noise, and other shares: most where noise is large."
    )


def _line(point: DigitsRun, delta: str) -> str:
    """A run for people."""
    gamma = "" if point.gamma is None else f"{float(point.gamma):g}"
    return (
        f"{point.noise:<10} {gamma:<7} {point.epsilon:<{17 + len(delta)}.2f} {point.labels:>8} {point.named:>7.1%} "
        f"{point.accuracy:>15.1%}"
    )


def _account(gammas: tuple[str, ...], labels: int, delta: str, as_json: bool) -> None:
    """The losses of labels for all votes, by their moments and as a sum."""
    from discreet.learning.moments import data_independent
    from discreet.rational import decimal
    from discreet.release.documents import dump

    found = [
        (float(decimal(gamma, "gamma")), data_independent(gamma, labels, delta), 2 * labels * decimal(gamma))
        for gamma in gammas
    ]
    if as_json:
        points = [{"gamma": gamma, "epsilon": loss, "sum": float(total)} for gamma, loss, total in found]
        typer.echo(dump({"labels": labels, "delta": delta, "points": points}))
        return
    typer.echo(f"gamma   epsilon of {labels:,} labels at delta {delta}   in sequence, without delta")
    for gamma, loss, total in found:
        typer.echo(f"{gamma:<7g} {loss:<{31 + len(f'{labels:,}{delta}')}.4f} {float(total):g}")


def _record(point: DigitsRun) -> dict[str, Any]:
    """A run for machines."""
    gamma, pure = (None if value is None else float(value) for value in (point.gamma, point.pure))
    return {**asdict(point), "noise": point.noise, "gamma": gamma, "pure": pure}
