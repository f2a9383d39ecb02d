"""An attack on the record of one observer: was there a nest, which nobody else saw, in that cell of the map?"""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable
from typing import Any, Final

import pyarrow as pa

from discreet.errors import InvalidParameter
from discreet.rational import Number, epsilon_of
from discreet.records import dataclass
from discreet.spatial.cell import Cell
from discreet.spatial.counting import heat_map

MOST: Final = 300
"""So many rows of cells at most."""
CROWD: Final = 500
"""So many observers were in the wood that the map is for."""


@dataclass(frozen=True)
class NestAttack:
    """The share of right guesses about nests, and that of nests that the map showed.

    Attributes:
        cells: that were attacked, each with a coin of its own: a nest or none.
        right: the share of right guesses.
        expected: this share in the long run.
        most: the share that no guess on an epsilon-private map exceeds, e^epsilon / (1 + e^epsilon).
        shown: the share of nests whose cell was drawn as more than noise.
        wood: the cell that many observers visited; None where it was drawn as noise.
    """

    cells: int
    right: float
    expected: float
    most: float
    shown: float
    wood: Cell | None


def nest_attack(
    protect: Callable[..., Any], epsilon: Number = "0.5", cap: int = 4, side: int = 100
) -> NestAttack:
    """Attack one map of side x side cells.

    In each cell a coin decides whether one observer saw a nest there, `cap` times. The attacker knows how all is
    made but the coins, and guesses each from the number of its cell. The observers are different ones, so that this
    is as many attacks on one observer each, with noise of their own. In one more cell, the wood, were 500 observers.

    Privacy: all data are invented, so nothing is charged to anybody.

    Args:
        protect: makes a session of a table: `discreet.protect`.
        epsilon: of the map.
        cap: so many sightings of an observer count.
        side: so many cells to each side, from 2 to 300.

    Raises:
        InvalidParameter: a number is out of its range.

    Example:
        >>> import discreet as dp
        >>> attack = nest_attack(dp.protect, "0.5", side=20)
        >>> attack.cells, round(attack.expected, 3), round(attack.most, 3)
        (399, 0.611, 0.622)
    """
    loss = epsilon_of(epsilon)
    if not 2 <= side <= MOST:
        raise InvalidParameter(f"A map of {side} cells to each side is not attacked.", f"Choose 2 to {MOST}.")
    if not 1 <= cap <= 1000:
        raise InvalidParameter(f"A cap of {cap} is not attacked.", "Choose 1 to 1000.")
    coins = [False, *(bool(secrets.randbits(1)) for _ in range(1, side * side))]  # the first is the wood
    ends = (-1, side + 1)
    session = protect(
        _sightings(coins, cap, side),
        privacy_unit="observer",
        max_rows=cap,
        budget=loss,
        bounds={"x": ends, "y": ends},
    )
    made = heat_map(session, "data", "1m", loss, area=(0, 0, side, side), x="x", y="y", crs="EPSG:3857")
    cells = {int(cell.box[1]) * side + int(cell.box[0]): cell for cell in made.cells}
    guesses = [cells[number].value > cap / 2 for number in range(1, side * side)]
    right = sum(guess == nest for guess, nest in zip(guesses, coins[1:], strict=True))
    nests = [cells[number] for number, nest in enumerate(coins) if nest]
    return NestAttack(
        len(guesses),
        right / len(guesses),
        _expected(float(loss) / cap, cap),
        1 / (1 + math.exp(-float(loss))),
        sum(not cell.explained for cell in nests) / max(1, len(nests)),
        None if cells[0].explained else cells[0],
    )


def _sightings(coins: list[bool], cap: int, side: int) -> pa.Table:
    """A crowd in the first cell, and an observer for each nest, who saw it `cap` times."""
    cells = [0] * CROWD + [cell for cell, nest in enumerate(coins) if nest for _ in range(cap)]
    return pa.table({
        "observer": list(range(-CROWD, 0)) + cells[CROWD:],
        "x": [cell % side + 0.5 for cell in cells],
        "y": [cell // side + 0.5 for cell in cells],
    })  # fmt: skip


def _expected(rate: float, cap: int) -> float:
    """How often the guess *more than half of the cap* is right, under discrete Laplace noise of scale 1/rate."""
    half = cap // 2  # without a nest, noise above it is wrong; with one, noise of at most half - cap
    tail = math.exp(-rate * (half + 1)) + math.exp(-rate * (cap - half))
    return 1 - tail / (1 + math.exp(-rate)) / 2
