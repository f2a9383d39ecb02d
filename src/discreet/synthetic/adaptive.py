"""The marginals to measure, chosen round by round (AIM: McKenna, Mullins, Sheldon and Miklau 2022).

All single columns are measured first. Then each round chooses, among the marginals of the workload that the model may
still hold, one that the model misses by much more than noise would: the score of a marginal is the L1 distance between
its counts and those of the model, less the L1 noise that it would get. It is measured and the model fitted again. Where
a round changed the model by no more than noise would, the later rounds get more of the loss, and are fewer. How many
rounds there are at first depends on the noisy number of rows: where noise weighs more, they are fewer and more exact.
Once all marginals of several columns would be noise, the single columns get the rest.

Scores are whole numbers: the counts of the model are rounded. One neighbour step moves a score by at most its L1
sensitivity, times the weight of the marginal.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from discreet.records import dataclass
from discreet.synthetic.fitting import Fitting, NoisyMarginal, total_of
from discreet.synthetic.inference import MarginalModel
from discreet.synthetic.junction import Clique, cells_needed, cells_of
from discreet.synthetic.sweeps import marginals_of

if TYPE_CHECKING:
    from discreet.mechanisms.adaptive import AdaptiveRounds, Rounds
    from discreet.synthetic.counts import Counts

Integers: TypeAlias = npt.NDArray[np.int64]

FIRST: Final = Fraction(2, 5)
"""The share of the loss for all single columns together."""
CHOICE: Final = Fraction(1, 10)
"""The share of a round for its choice."""
ROUNDS: Final = {True: 6, False: 3}
"""So many rounds for each column at most, with Gaussian and with Laplace noise; one at least. The deviation of the
former grows as the root of the number of rounds alone."""
GROWTH: Final = {True: 4, False: 2}
"""By how much the part of a round grows where it taught nothing: its noise halves."""
ENOUGH: Final = 0.2
"""The first round is given so much of the loss that its noise is this share of the rows, as far as there are rounds to
save: half of it errs more on invented people, and twice as much on digits."""
TOO_MUCH: Final = 1
"""A marginal whose noise is more than so many times the rows is not measured: single columns tell more."""
MOST_CELLS: Final = 1 << 17
"""How many numbers a model has at most."""
STEPS: Final = 100
"""Of the search for a model between two rounds, which begins where the last one ended: 30 err a twelfth more."""


@dataclass(frozen=True)
class MarginalWorkload:
    """The marginals that matter.

    Attributes:
        sizes: of the columns.
        weights: of the marginals of two columns or more, whole numbers from 1 on.
    """

    sizes: tuple[int, ...]
    weights: Mapping[Clique, int]


@dataclass(frozen=True)
class Round:
    """A choice among the marginals that were open. All of it is released.

    Attributes:
        chosen: the marginal.
        scored: the model's counts of all that could have been chosen, with the noise that was taken from their scores.
        slack: the score of another one is above that of the chosen one by more with a chance of 1 %.
        model: the counts of the model then, of all that could have been chosen.
        noisy: the counts of the chosen one.
    """

    chosen: Clique
    scored: Mapping[Clique, int]
    slack: float
    model: Mapping[Clique, Integers]
    noisy: NoisyMarginal


@dataclass(frozen=True)
class ReleasedMarginals:
    """The released numbers of a synthetic table.

    Attributes:
        measured: the noisy marginals.
        last: the last round; None where there was none.
    """

    measured: tuple[NoisyMarginal, ...]
    last: Round | None


def l1_of_noise(deviation: float, cells: int) -> int:
    """About the L1 norm of noise of a standard deviation on so many counts."""
    return round(math.sqrt(2 / math.pi) * deviation * cells)


def least_part(mechanism: AdaptiveRounds, workload: MarginalWorkload) -> Fraction:
    """No round takes a smaller part of the loss."""
    return mechanism.amount / (ROUNDS[mechanism.concentrated] * max(2, len(workload.sizes)))


def first_part(mechanism: AdaptiveRounds, workload: MarginalWorkload, rows: float) -> Fraction:
    """The part of the loss that the first round takes; later ones take no less.

    It is so large that the noise of the marginal of middle size is `ENOUGH` of the rows, but no less than `least_part`
    and no more than the loss over the number of columns: the more the noise weighs, the fewer are the rounds.

    Args:
        mechanism: of the rounds.
        workload: the marginals that matter.
        rows: of the table, as noisy counts tell them.
    """
    least = least_part(mechanism, workload)
    cells = statistics.median([cells_of(workload.sizes, columns) for columns in workload.weights] or [1])
    beyond = l1_of_noise(mechanism.deviation((1 - CHOICE) * least), math.ceil(cells)) / (ENOUGH * rows)
    grown = beyond**2 if mechanism.concentrated else beyond
    return least * math.ceil(min(ROUNDS[mechanism.concentrated], max(1, grown)))


def most_draws(columns: int) -> int:
    """How many tables are measured at most: each column twice, and rounds that take no less than the first part.

    Example:
        >>> most_draws(3)
        24
    """
    return 2 * columns + ROUNDS[True] * max(2, columns)


def see_possible(mechanism: AdaptiveRounds, workload: MarginalWorkload) -> None:
    """See that all noise that may be needed can be drawn.

    Raises:
        InvalidParameter: it cannot.
    """
    least = least_part(mechanism, workload)
    for part in (CHOICE * least, FIRST * mechanism.amount / len(workload.sizes), mechanism.amount):
        mechanism.noise(part)
        mechanism.choice(part, mechanism.l1 * max(workload.weights.values(), default=1))


def measure(
    rounds: Rounds,
    mechanism: AdaptiveRounds,
    counts: Counts,
    workload: MarginalWorkload,
    most_cells: int = MOST_CELLS,
) -> ReleasedMarginals:
    """Measure the marginals of single columns, and then those that are chosen.

    Privacy: exact counts are given to `rounds.measure`, and their distances to released counts to `rounds.choose`;
    nothing else reads them (`AdaptiveRounds`).

    Args:
        rounds: of the loss.
        mechanism: that the rounds are of.
        counts: exact.
        workload: the marginals that matter.
        most_cells: how many numbers a model has at most.
    """
    search = _MarginalSearch(mechanism, workload, most_cells)
    part = FIRST * mechanism.amount / len(workload.sizes)
    for column in range(len(workload.sizes)):
        search.add((column,), rounds.measure(counts.marginal((column,)), part), part)
    part, last = first_part(mechanism, workload, total_of(search.measured)), None
    while rounds.left and workload.weights:
        model = search.model
        part = rounds.left if rounds.left < 2 * part else part
        open_ = search.open(model, (1 - CHOICE) * part)
        if not open_:
            break
        told = search.counts(model, open_)
        scores = {
            columns: workload.weights[columns]
            * (int(np.abs(counts.marginal(columns) - told[columns]).sum()) - noise)
            for columns, noise in open_.items()
        }
        moves = mechanism.l1 * max(workload.weights[columns] for columns in open_)
        chosen = rounds.choose(scores, CHOICE * part, moves)
        slack = mechanism.choice(CHOICE * part, moves).error(len(open_), Fraction(99, 100))
        search.add(
            chosen, rounds.measure(counts.marginal(chosen), part - CHOICE * part), part - CHOICE * part
        )
        last = Round(chosen, open_, slack, told, search.measured[-1])
        if search.learned(model, chosen):
            continue
        part = min(rounds.left, part * GROWTH[mechanism.concentrated])
    if rounds.left:  # nothing more could be learned of several columns together
        part = rounds.left / len(workload.sizes)
        for column in range(len(workload.sizes)):
            search.add((column,), rounds.measure(counts.marginal((column,)), part), part)
    return ReleasedMarginals(tuple(search.measured), last)


class _MarginalSearch:
    """The released marginals so far, and the model of them."""

    def __init__(self, mechanism: AdaptiveRounds, workload: MarginalWorkload, most_cells: int) -> None:
        self._mechanism, self._workload, self._most = mechanism, workload, most_cells
        self._fitting = Fitting(workload.sizes)
        self._model: MarginalModel | None = None
        self._closed: set[Clique] = set()
        self.measured: list[NoisyMarginal] = []

    def add(self, columns: Clique, noisy: Integers, part: Fraction) -> None:
        self.measured.append(
            NoisyMarginal(columns, noisy.astype(np.float64), self._mechanism.deviation(part))
        )
        self._model = None

    @property
    def model(self) -> MarginalModel:
        if self._model is None:
            self._model = self._fitting.fit(self.measured, STEPS)
        return self._model

    def counts(self, model: MarginalModel, wanted: Iterable[Clique]) -> dict[Clique, Integers]:
        """The counts of a model, rounded."""
        rows = total_of(self.measured)
        return {
            columns: np.rint(rows * table).astype(np.int64)
            for columns, table in marginals_of(model, wanted).items()
        }

    def open(self, model: MarginalModel, part: Fraction) -> dict[Clique, int]:
        """The marginals that may be chosen, with their noise: the model can hold them, and they are not all noise.

        Both follow from released numbers and from the sizes of columns.
        """
        held = [marginal.columns for marginal in self.measured]
        deviation, rows = self._mechanism.deviation(part), total_of(self.measured)
        found = {}
        for columns in self._workload.weights:
            noise = l1_of_noise(deviation, cells_of(self._workload.sizes, columns))
            if noise > TOO_MUCH * rows:
                continue
            if columns in self._closed:
                continue
            fits = model.tree.holder(columns) >= 0 or self._bound(model, columns) <= self._most // 4
            if fits or cells_needed([*held, columns], self._workload.sizes) <= self._most:
                found[columns] = noise
            else:  # with more marginals a model has more cells
                self._closed.add(columns)
        return found

    def _bound(self, model: MarginalModel, columns: Clique) -> int:
        """At most so many numbers has the model with one more pair: its second column joins the path to the first."""
        if len(columns) != 2:
            return self._most + 1
        sizes, tree = self._workload.sizes, model.tree
        path = tree.between(*columns)
        added = sum(cells_of(sizes, tree.cliques[node]) for node in path) * sizes[columns[1]]
        return tree.cells + added + cells_of(sizes, columns)

    def learned(self, before: MarginalModel, columns: Clique) -> bool:
        """Whether the last marginal changed the model by more than its noise would."""
        (now,), (then,) = (self.counts(model, [columns]).values() for model in (self.model, before))
        change, last = np.abs(now - then).sum(), self.measured[-1]
        return bool(change > l1_of_noise(last.deviation, last.counts.size))


def workload_of(
    sizes: Sequence[int], wanted: Mapping[Clique, int], most_cells: int = MOST_CELLS
) -> MarginalWorkload:
    """A workload without marginals that no model could hold."""
    kept = {columns: weight for columns, weight in wanted.items() if cells_of(sizes, columns) <= most_cells}
    return MarginalWorkload(tuple(sizes), kept)
