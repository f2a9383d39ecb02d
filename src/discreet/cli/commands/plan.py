"""`discreet plan`: error, epsilon and numbers of people, each from the others, before there is any data."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli import options as opt
from discreet.cli.option_groups import grouped
from discreet.cli.stream_plan import Streamed
from discreet.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable

_WORDS = {"add_remove": "one unit added or removed", "replace_one": "one unit replaced"}
_SPELLINGS = {
    "add_remove": "add_remove", "add-remove": "add_remove", "add": "add_remove", "remove": "add_remove",
    "replace_one": "replace_one", "replace-one": "replace_one", "replace": "replace_one",
}  # fmt: skip


@dataclass(frozen=True)
class Demanded:
    """The options of a plan for demands on one number."""

    sd: Annotated[
        str | None, typer.Option("--sd", metavar="S", help="Demand a standard deviation of at most S.")
    ] = None
    tail: Annotated[
        str | None,
        typer.Option("--tail", metavar="T:P", help="Demand errors above T with probability at most P."),
    ] = None
    sensitivity: Annotated[
        str, typer.Option("--sensitivity", metavar="S", help="Of the number that --sd and --tail speak of.")
    ] = "1"
    ceiling: Annotated[
        str | None, typer.Option("--ceiling", metavar="EPSILON", help="The most that the steward allows.")
    ] = None


@grouped
def command(
    streamed: Streamed,
    demanded: Demanded,
    counts: Annotated[
        int | None,
        typer.Option(
            "--counts", metavar="N", min=1, help="Plan N counts of disjoint groups, such as counties."
        ),
    ] = None,
    proportion: Annotated[bool, typer.Option("--proportion", help="Plan a proportion.")] = False,
    mean: Annotated[
        str | None, typer.Option("--mean", metavar="LO:HI", help="Plan a mean of values from LO to HI.")
    ] = None,
    epsilon: Annotated[
        str | None, typer.Option("-e", "--epsilon", metavar="EPSILON", help="The loss.")
    ] = None,
    error: Annotated[
        str | None,
        typer.Option("--error", metavar="X", help="The error: rms; of counts, the expected largest."),
    ] = None,
    people: Annotated[
        int | None, typer.Option("-n", "--people", metavar="N", min=1, help="How many people.")
    ] = None,
    neighbours: Annotated[
        str, typer.Option("--neighbours", metavar="HOW", help="Of counts: add_remove or replace.")
    ] = "add_remove",
    confidence: opt.Confidence = 0.95,
    as_json: opt.Json = False,
) -> None:
    """Work out error, epsilon or how many people, from the other two.

    It needs no data, no policy and no budget.

    \b
    Counts: the error of one and of the largest, or the epsilon for an error of the largest.
      discreet plan --counts 3143 --epsilon 0.1 --neighbours replace
      discreet plan --counts 3143 --error 50

    \b
    A proportion, with a trusted curator and with randomised response, and a mean; two of three are given.
      discreet plan --proportion --error 0.01 --epsilon 1
      discreet plan --proportion --people 5000 --epsilon 0.1
      discreet plan --mean 0:120 --people 5000 --error 0.5

    \b
    A stream: the errors of its running totals by each method, and the best one.
      discreet plan --stream 365 --epsilon 1 -o errors.svg
      discreet plan --stream 365 --epsilon 1 --delta 1e-6 --window 7

    \b
    Demands on one number: the least epsilon, and whether a ceiling allows it.
      discreet plan --sd 5 --tail 20:0.001 --ceiling 1
    """  # noqa: D301
    modes = {
        "--counts": counts is not None,
        "--proportion": proportion,
        "--mean": mean is not None,
        "--stream": streamed.stream is not None,
        "--sd or --tail": demanded.sd is not None or demanded.tail is not None,
    }
    chosen = [name for name, given in modes.items() if given]
    if len(chosen) != 1:
        raise opt.Usage(f"give one of {', '.join(modes)}")
    _only(
        chosen[0],
        {"--people": people, "--ceiling": demanded.ceiling, "--epsilon": epsilon, "--error": error,
         "--output": streamed.output, "--max-rows": None if streamed.rows == 1 else streamed.rows,
         "--delta": None if streamed.delta == "0" else streamed.delta, "--window": streamed.window or None},
    )  # fmt: skip
    plans: dict[str, Callable[[], tuple[dict[str, Any], list[str]]]] = {
        "--counts": lambda: _counts(counts or 0, epsilon, error, _neighbours(neighbours), confidence),
        "--proportion": lambda: _proportion(error, epsilon, people),
        "--mean": lambda: _mean(mean or "", error, epsilon, people, confidence),
        "--stream": lambda: _stream(streamed, epsilon, _neighbours(neighbours)),
        "--sd or --tail": lambda: _demands(
            demanded.sd, demanded.tail, demanded.ceiling, demanded.sensitivity
        ),
    }
    document, lines = plans[chosen[0]]()
    if as_json:
        from discreet.release.documents import dump

        typer.echo(dump(document))
    else:
        typer.echo("\n".join(lines))


def _only(mode: str, given: dict[str, object]) -> None:
    """An option that does not go with a mode is bad usage, not silence."""
    allowed = {
        "--counts": {"--epsilon", "--error"},
        "--proportion": {"--epsilon", "--error", "--people"},
        "--mean": {"--epsilon", "--error", "--people"},
        "--stream": {"--epsilon", "--output", "--max-rows", "--delta", "--window"},
        "--sd or --tail": {"--ceiling"},
    }[mode]
    for option, value in given.items():
        if value is not None and option not in allowed:
            raise opt.Usage(f"{option} does not go with {mode}")


def _counts(
    d: int, epsilon: str | None, error: str | None, neighbours: str, confidence: float
) -> tuple[dict[str, Any], list[str]]:
    from discreet.planning import VectorError, WholeError, epsilon_for_expected_max
    from discreet.planning.read import sensitivity_of

    if (epsilon is None) == (error is None):
        raise opt.Usage("--counts needs either --epsilon 0.1 or --error 50")
    if epsilon is None:
        loss: Any = epsilon_for_expected_max(error or "", d, sensitivity_of(neighbours))
    else:
        loss = epsilon
    plan = VectorError.of_counts(d, loss, neighbours)
    drawn = WholeError.of(d, loss, sensitivity_of(neighbours))
    document = {
        "counts": plan.d,
        "epsilon": _epsilon(loss),
        "neighbours": neighbours,
        "scale": plan.scale,
        "one": {"expected": plan.one.mean_abs, "rms": plan.one.rms, "radius": drawn.radius(confidence)},
        "largest": {
            "expected": plan.expected_max,
            "bound": plan.bound_max,
            "radius": drawn.max_radius(confidence),
        },
        "drawn": {
            "one": {"expected": drawn.mean_abs, "rms": drawn.rms},
            "largest": {"expected": drawn.expected_max},
        },
        "confidence": confidence,
    }
    percent = f"{100 * confidence:g} %"
    lines = [
        f"{plan.d:,} count{'s' * (plan.d != 1)} · epsilon {_short(_epsilon(loss))} · {_WORDS[neighbours]} · "
        f"noise of scale {_short(plan.scale)}",
        f"one      expected error {plan.one.mean_abs:,.2f} · rms {plan.one.rms:,.2f} · "
        f"within {drawn.radius(confidence):,} at {percent}",
        f"largest  expected error {plan.expected_max:,.2f} · bound {plan.bound_max:,.2f} · "
        f"within {drawn.max_radius(confidence):,} at {percent}",
        f"Expected errors are those of a density with this scale, as in textbooks. In the whole numbers that are "
        f"drawn they are {drawn.mean_abs:,.2f} (rms {drawn.rms:,.2f}) and {drawn.expected_max:,.2f}; "
        f"the radii ('within') are exact for these.",
    ]
    return document, lines


def _stream(streamed: Streamed, epsilon: str | None, neighbours: str) -> tuple[dict[str, Any], list[str]]:
    from discreet.accounting.events import neighbours_of
    from discreet.cli.stream_plan import stream

    return stream(streamed, epsilon, neighbours_of(neighbours))


def _proportion(
    error: str | None, epsilon: str | None, people: int | None
) -> tuple[dict[str, Any], list[str]]:
    if sum(each is not None for each in (error, epsilon, people)) != 2:
        raise opt.Usage("--proportion needs two of --error, --epsilon and --people")
    if people is None:
        return _people_for_proportion(error or "", epsilon or "")
    if epsilon is None:
        return _epsilon_for_proportion(error or "", people)
    return _error_of_proportion(epsilon, people)


def _people_for_proportion(error: str, epsilon: str) -> tuple[dict[str, Any], list[str]]:
    from discreet import planning

    sizes = planning.sample_sizes(error, epsilon)
    document: dict[str, Any] = {
        "error": _number(error),
        "epsilon": _epsilon(epsilon),
        "laplace": {"n": sizes.laplace, "least": sizes.least_laplace},
        "randomised_response": {
            "n": sizes.randomised_response,
            "least": sizes.least_randomised_response,
        },
    }
    times = sizes.randomised_response / sizes.laplace
    lines = [
        f"proportion · rms error {error} · epsilon {epsilon}",
        f"trusted curator, Laplace   n = {sizes.laplace:,.0f} (at least {sizes.least_laplace:,} people)",
        f"randomised response        n = {sizes.randomised_response:,.0f} "
        f"(at least {sizes.least_randomised_response:,} people), {times:,.3g} times as many",
        "Half the error takes 2 times as many with a curator, and 4 times without.",
    ]
    return document, lines


def _epsilon_for_proportion(error: str, people: int) -> tuple[dict[str, Any], list[str]]:
    from discreet import planning

    curator, local = planning.epsilon_for_proportion(error, people)
    document: dict[str, Any] = {
        "error": _number(error),
        "people": people,
        "epsilon": {"laplace": curator, "randomised_response": local},
    }
    lines = [
        f"proportion · rms error {error} · {people:,} people",
        f"trusted curator, Laplace   epsilon {_short(curator)}",
        f"randomised response        epsilon {_short(local)}",
    ]
    return document, lines


def _error_of_proportion(epsilon: str, people: int) -> tuple[dict[str, Any], list[str]]:
    from discreet import planning

    found = planning.proportion_error(people, epsilon)
    document: dict[str, Any] = {
        "people": people,
        "epsilon": _epsilon(epsilon),
        "rms": {"laplace": found.laplace, "randomised_response": found.randomised_response},
        "useless": found.useless,
    }
    lines = [
        f"proportion · {people:,} people · epsilon {epsilon}",
        f"trusted curator, Laplace   rms error {_short(found.laplace)}",
        f"randomised response        rms error {_short(found.randomised_response)}",
    ]
    if found.useless:
        lines.append(
            "Useless: saying one half without asking anybody is no worse. Take more people or epsilon."
        )
    return document, lines


def _mean(
    bounds: str, error: str | None, epsilon: str | None, people: int | None, confidence: float
) -> tuple[dict[str, Any], list[str]]:
    from discreet import planning

    if sum(each is not None for each in (error, epsilon, people)) != 2:
        raise opt.Usage("--mean needs two of --error, --epsilon and --people")
    lo, colon, hi = bounds.partition(":")
    if not (lo and colon and hi):
        raise opt.Usage(f'--mean {bounds}: write it like "0:120"')
    ends = _in_order(lo, hi)
    n = planning.sample_size_for_mean(ends, error or "", epsilon or "") if people is None else people
    loss: Any = planning.epsilon_for_mean(ends, error or "", n) if epsilon is None else epsilon
    found = planning.mean_error(ends, n, loss)
    document = {
        "bounds": list(ends),
        "people": n,
        "epsilon": _epsilon(loss),
        "rms": found.rms,
        "radius": found.radius(confidence),
        "confidence": confidence,
    }
    lines = [
        f"mean of values from {ends[0]} to {ends[1]} · {n:,} people · epsilon {_short(_epsilon(loss))} · "
        f"one unit replaced",
        f"rms error {_short(found.rms)} · within {_short(found.radius(confidence))} at {100 * confidence:g} %",
    ]
    return document, lines


def _in_order(lo: str, hi: str) -> tuple[str, str]:
    """The bounds of --mean, the least first."""
    from discreet.errors import InvalidParameter
    from discreet.rational import decimal

    try:
        ordered = decimal(lo) < decimal(hi)
    except InvalidParameter:
        raise opt.Usage(f'--mean {lo}:{hi}: write two numbers, like "0:120"') from None
    if not ordered:
        raise opt.Usage(f'--mean {lo}:{hi}: write the least value first, like "0:120"')
    return lo, hi


def _demands(
    sd: str | None, tail: str | None, ceiling: str | None, sensitivity: str
) -> tuple[dict[str, Any], list[str]]:
    from discreet.planning import demands

    pair = None
    if tail is not None:
        t, colon, beta = tail.partition(":")
        if not (t and colon and beta):
            raise opt.Usage(f'--tail {tail}: write it like "20:0.001"')
        pair = (t, beta)
    plan = demands(sd, pair, ceiling, sensitivity)
    document = {
        "scale": plan.scale,
        "epsilon": plan.epsilon,
        "density": plan.density,
        "whole": plan.whole,
        "binding": plan.binding,
        "ceiling": plan.ceiling,
        "feasible": plan.feasible,
        "relax": list(plan.relax),
    }
    asked = [f"standard deviation at most {sd}"] * (sd is not None)
    asked += [f"an error above {pair[0]} with probability at most {pair[1]}"] if pair else []
    decides = {"sd": "the standard deviation", "tail": "the tail"}[plan.binding]
    lines = [
        " · ".join(asked),
        f"noise of scale at most {_down(plan.scale)}, so epsilon at least {_up(plan.epsilon)}; {decides} decides",
    ]
    if plan.whole is not None:
        lines.append(
            f"that holds for whole numbers, such as counts, which alone need {_up(plan.whole)}, and for others, "
            f"which need {_up(plan.density)}"
        )
    if plan.ceiling is not None:
        verdict = "feasible" if plan.feasible else "not feasible"
        lines.append(f"{verdict} under the ceiling of epsilon {_short(plan.ceiling)}")
        lines += [f"at that ceiling, {each}" for each in plan.relax]
    return document, lines


def _neighbours(text: str) -> str:
    found = _SPELLINGS.get(text.lower())
    if found is None:
        raise opt.Usage(f"--neighbours {text}: write add_remove or replace")
    return found


def _epsilon(value: Any) -> float:
    from discreet.planning.read import epsilon

    return epsilon(value)


def _number(value: str | None) -> float:
    from discreet.planning.read import above_zero

    return above_zero(value or "", "error")


def _up(value: float) -> str:
    """Five digits that are not below the value: an epsilon that is typed in in its printed form will do."""
    step = 10.0 ** (math.floor(math.log10(value)) - 4)
    return _short(math.ceil(value / step * (1 - 1e-12)) * step)


def _down(value: float) -> str:
    """Five digits that are not above the value."""
    step = 10.0 ** (math.floor(math.log10(value)) - 4)
    return _short(math.floor(value / step * (1 + 1e-12)) * step)


def _short(value: float) -> str:
    return f"{value:,.5g}"
