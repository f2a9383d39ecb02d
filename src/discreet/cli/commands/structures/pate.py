"""`discreet pate`: how right a student of noisy teachers is, against epsilon."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from discreet.cli import options as opt
from discreet.cli.progress import Progress


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
    delta: Annotated[
        str, typer.Option("--delta", metavar="DELTA", help="At which losses are shown.")
    ] = "1e-5",
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="A picture: .png, .svg or .html.")
    ] = None,
    as_json: opt.Json = False,
) -> None:
    """Teach a student handwritten digits by the noisy votes of teachers (PATE), and test it.

    Each teacher has learned from its own images. They vote on public images, the winner is named with exact noise, and
    a student learns from these labels. The epsilon of all labels is shown at a delta, by moments that depend on no
    vote.

    \b
    Examples:
      discreet pate
      discreet pate --teachers 50 --labels 200 --gamma 0.05 --gamma 0.1 -o pate.svg
    """  # noqa: D301
    from discreet.learning.digits import DigitsExperiment
    from discreet.release.documents import dump

    if output is not None:
        from discreet.plots.render import check_path

        check_path(output)
    asked = {} if gammas is None else {"gammas": tuple(gammas)}
    experiment = DigitsExperiment(teachers, labels, delta=delta, **asked)
    experiment.see()
    points = []
    all_private, true_labels = experiment.reference()
    if not as_json:
        typer.echo(f"gamma   epsilon at delta {delta}   labels right   student right")
    with Progress("asking teachers") as progress:
        for point in experiment.run(
            lambda done, of: progress.say(f"teachers that have voted: {done:,} of {of:,}")
        ):
            points.append(point)
            if not as_json:
                typer.echo(
                    f"{float(point.gamma):<7g} {point.epsilon:<{17 + len(delta)}.2f} {point.named:>8.1%} "
                    f"{point.accuracy:>15.1%}"
                )
    if output is not None:
        from discreet.learning.picture import accuracies
        from discreet.plots.render import save

        save(accuracies(points, true_labels, delta), output)
    if as_json:
        runs = [{**asdict(point), "gamma": float(point.gamma), "pure": float(point.pure)} for point in points]
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
