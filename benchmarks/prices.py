"""What OpenDP, dp-accounting and we say of the same events: `python -m benchmarks.prices` prints the table of the docs.

OpenDP is asked for its own composition, conversion and amplification. Where it has none, the cell is empty. Of many
Laplace releases it can compose zCDP from pure losses (make_pureDP_to_zCDP) and convert (make_zCDP_to_approxDP).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

from discreet.accounting import (
    ACCOUNTANTS,
    Accountant,
    Event,
    GaussianNoise,
    LaplaceNoise,
    Neighbours,
    ReplaceOne,
    Sampled,
)
from discreet.errors import InvalidParameter, UnsupportedEvent

DELTA = 1e-6


def rows() -> Iterator[tuple[str, str, str, str, str]]:
    """Event; OpenDP; ours by pure, zcdp and pld, each as epsilon at delta 1e-6."""
    import opendp.prelude

    dp: Any = opendp.prelude
    dp.enable_features("contrib", "honest-but-curious")
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64")
    laplace = dp.m.make_laplace(*space, scale=10.0)
    gauss = dp.m.make_gaussian(dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T=float), scale=10.0)

    def at_delta(measurement: Any, distance: float) -> float:
        return float(dp.c.make_zCDP_to_approxDP(measurement).map(distance).epsilon(delta=DELTA))

    def composed(measurement: Any, count: int) -> Any:
        return dp.c.make_composition([measurement] * count)

    noise = LaplaceNoise(10, neighbours="add_remove")
    both: Neighbours = "replace_one"
    yield _row("1 Laplace, scale 10, sensitivity 1", lambda: laplace.map(1), noise, 1)
    yield _row("the same for replace_one", lambda: laplace.map(2), ReplaceOne(noise), 1, both)
    yield _row("50 times, OpenDP by its sum", lambda: composed(laplace, 50).map(1), noise, 50)
    as_zcdp = dp.c.make_pureDP_to_zCDP(laplace)
    yield _row("50 times, OpenDP by zCDP", lambda: at_delta(composed(as_zcdp, 50), 1), noise, 50)
    yield _row("1,000 times, OpenDP by zCDP", lambda: at_delta(composed(as_zcdp, 1000), 1), noise, 1000)
    yield _row(
        "50 Gaussian, sd 10, L2 sensitivity 1",
        lambda: at_delta(composed(gauss, 50), 1.0),
        GaussianNoise(10, neighbours="add_remove"),
        50,
    )
    whole = (
        (dp.vector_domain(dp.atom_domain(T="i64", bounds=(0, 1)), size=50), dp.symmetric_distance())
        >> dp.t.then_sum()
        >> dp.m.then_laplace(scale=1.0)
    )
    sample = Sampled(LaplaceNoise(1, 1, neighbours="replace_one"), Fraction(1, 20), "fixed_size")
    yield _row(
        "1 Laplace, scale 1, of 50 in 1,000",
        lambda: dp.c.make_population_amplification(whole, population_size=1000).map(2),
        sample,
        1,
        both,
    )


def _row(
    name: str, theirs: Callable[[], float], event: Event, count: int, neighbours: Neighbours = "add_remove"
) -> tuple[str, str, str, str, str]:
    found = [_ours(ACCOUNTANTS[one](neighbours), event, count) for one in ("pure", "zcdp", "pld")]
    return name, f"{theirs():.4f}", found[0], found[1], found[2]


def _ours(accountant: Accountant, event: Event, count: int) -> str:
    try:
        return f"{float(accountant.add(event, count).epsilon(DELTA)):.4f}"
    except (UnsupportedEvent, InvalidParameter):
        return ""


def main() -> None:
    """Print the table as Markdown."""
    print("| events | OpenDP | `pure` | `zcdp` | `pld` |\n|---|---|---|---|---|")
    for row in rows():
        print(f"| {' | '.join(row)} |")


if __name__ == "__main__":
    main()
