"""All pictures by name, each with its formula, the code that draws it and the numbers in it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from types import MappingProxyType
from typing import Any, Final, TypeAlias

import numpy as np

from discreet.errors import InvalidParameter
from discreet.local import height_experiment
from discreet.plots import budget, examples, height_curve, laplace, means, precision, releases
from discreet.plots.theme import Size
from discreet.records import dataclass

Numbers: TypeAlias = list[tuple[str, str]]


@dataclass(frozen=True)
class Figure:
    """A picture and its texts.

    Attributes:
        name: its key among `FIGURES`.
        title: the subject, in a few words.
        formula: in HTML.
        says: its lesson, in a sentence or two.
        code: Python that draws it as `chart`.
        numbers: computes the numbers that can be read from it, as pairs of words and value.
        draw: draws it at a size.

    Example:
        >>> FIGURES["neighbours"].numbers()[1]
        ('their ratio, and the bound', '2.7183 ≤ 2.7183')
    """

    name: str
    title: str
    formula: str
    says: str
    code: str
    numbers: Callable[[], Numbers]
    draw: Callable[[str | Size], Any]


def draw(name: str, size: str | Size = "slide") -> Any:
    """Draw a picture by name.

    Args:
        name: one of `FIGURES`.
        size: "slide", "column" or a `Size`.

    Raises:
        InvalidParameter: no picture or no size has this name.
        MissingExtra: the libraries that draw are not installed.

    Example:
        >>> draw("densities").to_dict()["title"]["text"]
        'Laplace noise: the density for several scales'
        >>> list(FIGURES)[:3]
        ['densities', 'functions', 'neighbours']
    """
    if name not in FIGURES:
        raise InvalidParameter(f"There is no picture {name}.", f"Choose from {', '.join(FIGURES)}.")
    return FIGURES[name].draw(size)


def _peaks() -> Numbers:
    scales = (1, 2, 4, 7)
    return [
        (f"peak at b = {b}", f"{laplace.density(laplace.distribution(b), np.zeros(1))[0]:.3g}")
        for b in scales
    ]


def _functions() -> Numbers:
    noise = laplace.distribution(1)
    return [
        ("P(noise ≤ 1), b = 1", f"{noise.cdf(1):.4f}"),
        ("P(noise > 3), b = 1", f"{noise.survival(3):.4f}"),
        ("quantile at .975, b = 1", f"{noise.quantile(0.975):.4f}"),
        ("mean size, sd, b = 1", f"{noise.mean_abs:.4f}, {noise.sd:.4f}"),
    ]


def _neighbours() -> Numbers:
    noise = laplace.distribution(1)
    here, there = (float(laplace.density(noise, np.array([1.3 - answer]))[0]) for answer in (0.0, 1.0))
    loss = 0.5 * (abs(38.2 - 38.9) - abs(38.2 - 37.9))
    return [
        ("densities at output 1.3", f"{here:.4f} and {there:.4f}"),
        ("their ratio, and the bound", f"{there / here:.4f} ≤ {math.e:.4f}"),
        ("loss of the output 38.2 for answers 37.9 and 38.9, ε = .5", f"{loss:.3g}"),
    ]


def _memory() -> Numbers:
    return [("S(1)", f"{math.exp(-1):.4f}"), ("S(3 | above 2)", f"{math.exp(-3) / math.exp(-2):.4f}")]


def _gaps() -> Numbers:
    return [(f"gap at ε = {e:g}", f"{100 * budget.gap(e):.3g} %") for e in (0.1, 0.5, 1)]


def _composition() -> Numbers:
    every = budget.accounted(100, Fraction(1, 10), 1e-6)
    return [
        ("100 releases of .1, their sum", "10"),
        *((f"the same with δ = 1e-06, {name}", f"{value:.3f}") for name, value in every),
        ("over disjoint data", "0.1"),
        ("how many fit into a budget of 3, by sums", "30"),
    ]


def _errors() -> Numbers:
    counties, b = 3143, 20.0
    harmonic = math.fsum(1 / index for index in range(1, counties + 1))
    return [
        ("b of a count, ε = .1, replace one", f"{b:g}"),
        ("mean and rms error of one", f"{b:g}, {math.sqrt(2) * b:.2f}"),
        ("mean of the largest of 3,143: bound b (ln d + 1)", f"{b * (math.log(counties) + 1):.2f}"),
        ("the same exactly, b H_d", f"{b * harmonic:.2f}"),
        ("ε = 1/n: rms error of a proportion", f"{math.sqrt(2):.3f}, so the answer says nothing"),
    ]


def _sizes() -> Numbers:
    return [
        (f"people for an error of .01, ε = {e:g}: {name}", f"{of(0.01, e):,.0f}")
        for e in (0.1, 1)
        for name, of in (
            ("Laplace", precision.laplace_size),
            ("randomised response", precision.response_size),
        )
    ]


def _mean() -> Numbers:
    cases = means.mean_releases(people=[500], epsilons=[1, 0.1, 0.01], rounds=2000)
    return [
        (
            f"n = 500, ε = {case.epsilon:g}: band, share within",
            f"± {case.radius:.3g}, {100 * case.coverage:.1f} %",
        )
        for case in cases
    ]


def _heights() -> Numbers:
    run = height_experiment(epsilons=[0.1, 1], rounds=400)
    return [
        (
            f"sensitivity {p.sensitivity:g}, ε = {p.epsilon:g}: measured, formula",
            f"{p.error:.3g}, {p.expected:.3g} cm",
        )
        for p in run.points
    ] + [("measured error / b", f"{run.ratio:.4f}")]


def _bars() -> Numbers:
    return [("scale of the noise: 3 visits of a patient, ε = .1", "30"), ("95 % of it is within", "± 90")]


def _grid() -> Numbers:
    return [("scale of the noise: 4 sightings of a person, ε = .5", "8"), ("95 % of it is within", "± 24")]


def _code(call: str, extra: str = "") -> str:
    return f"import discreet.plots as plots\n{extra}\nchart = plots.{call}" if extra else (
        f"import discreet.plots as plots\n\nchart = plots.{call}"
    )  # fmt: skip


_LAP = "p(x) = e<sup>−|x|/b</sup> / 2b"
_ALL: Final = (
    Figure("densities", "The density for several scales", _LAP, "Four times the scale, a quarter of the peak.",
           _code("densities(scales=[1, 2, 4, 7])"), _peaks, lambda size: laplace.densities(size=size)),
    Figure("functions", "Density, distribution, quantiles and draws",
           f"{_LAP}; F(x) = e<sup>x/b</sup>/2 for x ≤ 0; F<sup>−1</sup>(p) = b ln 2p for p ≤ 1/2",
           "Exact draws, and uniform floats through the quantiles: they look alike, but only the first are safe.",
           _code("functions(scale=1, draws=2000)"), _functions, lambda size: laplace.functions(size=size)),
    Figure("neighbours", "Two neighbouring data sets",
           "e<sup>−ε</sup> ≤ p(y | D) / p(y | D′) ≤ e<sup>ε</sup>, with b = S/ε",
           "Every output is at most e<sup>ε</sup> times as likely with one data set as with the other.",
           _code("neighbours(epsilon=1, answers=(0, 1), output=1.3)"), _neighbours,
           lambda size: laplace.neighbours(size=size)),
    Figure("memorylessness", "Why the ratio is the same everywhere", "P(X &gt; x | X &gt; t) = P(X &gt; x − t)",
           "Each half of the Laplace distribution is exponential: from any point on, it is the same curve again.",
           _code("memorylessness(scale=1, waits=[0, 1, 2])"), _memory, lambda size: laplace.memorylessness(size=size)),
    Figure("one-plus-epsilon", "Reading a small ε", "e<sup>ε</sup> ≈ 1 + ε",
           "At ε = .1 an output becomes about 10 % more likely at most; at 1 the rule of thumb is far off.",
           _code("one_plus_epsilon(marks=[0.1, 0.5, 1])"), _gaps, lambda size: budget.one_plus_epsilon(size=size)),
    Figure("composition", "How losses add up",
           "Σε<sub>i</sub>; max ε<sub>i</sub> over disjoint data; of 2010, ε√(2k ln 1/δ) + kε(e<sup>ε</sup> − 1)",
           "A budget refuses the release that would overdraw it. A small δ makes many releases cheaper, few not, and "
           "the accountants here say less than the bound of 2010.",
           _code("composition(epsilon=0.1, budget=3)"), _composition, lambda size: budget.composition(size=size)),
    Figure("errors", "Error against ε, people and sensitivity",
           "E|Z| = b, rms = √2 b, P(|Z| &gt; t b) = e<sup>−t</sup>",
           "On logarithmic axes everything is a straight line: half the ε, twice the error.",
           _code("errors(epsilon=0.1, people=1000)"), _errors, lambda size: precision.errors(size=size)),
    Figure("mean-release", "A mean, released again and again",
           "mean + Lap(R/(n ε)); within b ln(1/α) with probability 1 − α",
           "The band narrows as n and ε grow, and holds the promised share of the releases.",
           _code("mean_release(cases)", "cases = plots.mean_releases(bounds=(1, 16), rounds=200)"), _mean,
           lambda size: means.mean_release(size=size)),
    Figure("release", "A release with its intervals", "count + Lap(S/ε), ± the least m with P(|Z| ≤ m) ≥ 95 %",
           "A pale bar is one that the noise alone could have made. A cross is a group without an answer.",
           _code("release(counts())", "from discreet.plots.examples import counts"), _bars,
           lambda size: releases.release(examples.counts(), "Visits by county", size=size)),
    Figure("grid", "A grid of sightings", "count + Lap(cap/ε) in every cell",
           "Each person counts for a capped number of sightings, so the noise of a cell does not grow with the grid.",
           _code("release(sightings())", "from discreet.plots.examples import sightings"), _grid,
           lambda size: releases.release(examples.sightings(), "Sightings of a bird", size=size)),
    Figure("randomised-response", "The cost of trusting nobody",
           "n = √2/(α ε) against n = e<sup>ε</sup>/(α<sup>2</sup>(e<sup>ε</sup> − 1)<sup>2</sup>)",
           "With a trusted curator hundreds are enough where the local model needs a million.",
           _code("randomized_response(error=0.01)"), _sizes, lambda size: precision.randomized_response(size=size)),
    Figure("heights", "500 people report their heights", "E|error| ≈ 2b/√(π n) = .0505 b, b = S/ε",
           "The mean of the reports is off by a twentieth of the noise of one of them.",
           _code("heights(height_experiment(people=500, rounds=100))",
                 "from discreet.local import height_experiment"), _heights,
           lambda size: height_curve.heights(size=size)),
)  # fmt: skip

FIGURES: Final[Mapping[str, Figure]] = MappingProxyType({figure.name: figure for figure in _ALL})
"""Every picture, by name."""
