"""The producer of a synthetic table: its plan for the gate, its counts, and the table of released numbers."""

from __future__ import annotations

import hashlib
import io
import json
import math
import secrets
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from discreet.accounting.gaussian.gdp import GDP
from discreet.accounting.zcdp import ZCDP
from discreet.errors import InvalidParameter
from discreet.escaping import name as one_line
from discreet.ledger import Loss
from discreet.mechanisms.adaptive import AdaptiveRounds
from discreet.rational import show
from discreet.records import dataclass
from discreet.release.draw import Draw, Use
from discreet.release.gate import event_of
from discreet.release.plan import ReleasePlan
from discreet.session.budget import DATA_SET
from discreet.session.waiting.interruption import interruptibly
from discreet.sql.lower.groups.group_numbers import words
from discreet.sql.lower.run import counted_cells
from discreet.sql.plan.plan import QueryPlan
from discreet.synthetic.adaptive import (
    MOST_CELLS,
    ReleasedMarginals,
    measure,
    most_draws,
    see_possible,
    workload_of,
)
from discreet.synthetic.axes import table_of
from discreet.synthetic.counts import Counts
from discreet.synthetic.drawing import sample_rows
from discreet.synthetic.errors import MarginalError, errors_of
from discreet.synthetic.fitting import Fitting, NoisyMarginal, total_of
from discreet.synthetic.foretold import SynthesisPreview, marginals_of
from discreet.synthetic.report import SyntheticReport
from discreet.synthetic.table import SyntheticTable

if TYPE_CHECKING:
    from discreet.session.queries import Queries
    from discreet.session.synthesis.columns import Planning
    from discreet.sql.algebra.catalog import PrivateTable
    from discreet.sql.plan.plan import PlannedRelease
    from discreet.synthetic.adaptive import MarginalWorkload
    from discreet.synthetic.inference import MarginalModel

SLACK: Final = 1 << 18
USE: Final = "rounds"


@dataclass(frozen=True)
class Synthesis:
    """A synthetic table that is asked for.

    Attributes:
        queries: the producer of the session, whose engine, policy and ledger it shares.
        table: the private one.
        cap: how many rows of a unit count.
        columns: that are taken.
        weights: of the marginals that matter.
        left_out: the other columns, with the reason of each.
        rows: how many to draw; None for about as many as there are.
    """

    queries: Queries
    table: PrivateTable
    cap: int
    columns: Sequence[Planning]
    weights: Mapping[tuple[int, ...], int]
    left_out: Mapping[str, str]
    rows: int | None

    @property
    def sizes(self) -> tuple[int, ...]:
        """The numbers of classes of the columns."""
        return tuple(column.axis.size for column in self.columns)

    @property
    def workload(self) -> MarginalWorkload:
        """The marginals that matter and that a model can hold."""
        return workload_of(self.sizes, self.weights)

    def joint(self) -> PlannedRelease:
        """The count of rows by all columns: the engine gives the combinations that have rows.

        The bound of rows in one group stands in its SQL; but rows of several groups meet in a marginal, so it is no
        part of the sensitivity.
        """
        alone = self.columns[0].alone
        part = alone.parts[0]
        keys = tuple(column.key for column in self.columns)
        by_group = self.table.per_group if part.rows.per_unit else None
        grouped = replace(part, keys=tuple(key.expression for key in keys), cap=self.cap,
                          per_group=by_group if by_group is not None and by_group < self.cap else None)  # fmt: skip
        return replace(alone, name="synthetic", keys=keys, parts=(grouped,))

    def mechanism(self, epsilon: Fraction, delta: Fraction) -> AdaptiveRounds:
        """The rounds of a loss: Gaussian where a delta buys it and it errs less, else Laplace."""
        cap, factor = self.cap, self.columns[0].alone.unit_factor
        # The counts of a unit that leaves and of one that comes are both positive: at right angles at worst.
        pure = AdaptiveRounds(epsilon, factor * cap, factor * cap**2, concentrated=False)
        if not delta:
            return pure
        made = self._gaussian(Loss(epsilon, delta))
        share = Fraction(1, 3 * len(self.columns))
        better = made.deviation(share * made.amount) < pure.deviation(share * epsilon)
        return made if better else pure

    def _gaussian(self, loss: Loss) -> AdaptiveRounds:
        """The rounds with Gaussian noise that a loss buys: by the exact curve, or by zCDP where noise is small."""
        moved = self.columns[0].alone.unit_factor * self.cap
        plain = AdaptiveRounds(ZCDP.bought(loss).rho, moved, moved * self.cap, concentrated=True)
        with suppress(InvalidParameter):
            draws = most_draws(len(self.columns))
            amount = GDP.bought(loss, draws).square / 2
            tight = AdaptiveRounds(amount, moved, moved * self.cap, concentrated=True, draws=draws)
            if tight.deviation(amount) < plain.deviation(plain.amount):  # and so for all smaller parts
                return tight
        return plain

    def _bought(self, question: Any) -> tuple[AdaptiveRounds, Loss]:
        """The rounds of a question and their loss.

        Raises:
            InvalidParameter: the noise cannot be drawn.
        """
        pure = self.queries.policy.budget.accountant == "pure"
        mechanism = self.mechanism(question.epsilon, Fraction(0) if pure else question.delta)
        loss = Loss(question.epsilon, question.delta if mechanism.concentrated else Fraction(0))
        see_possible(mechanism, self.workload)
        return mechanism, loss

    def preview(self, question: Any, rows: int, available: Fraction) -> SynthesisPreview:
        """The cost and the noise of the table, if the private one has so many rows; from the plan alone."""
        self.joint()
        mechanism, loss = self._bought(question)
        left = self.queries.account.left
        event = event_of({USE: self._use(mechanism)}, loss) if mechanism.concentrated else loss
        axes = [column.axis for column in self.columns]
        return SynthesisPreview(
            table=self.table.name,
            epsilon=loss.epsilon,
            delta=loss.delta,
            cost=max(Fraction(0), left() - left(event)),
            available=available,
            gaussian=mechanism.concentrated,
            columns={axis.name: axis.size for axis in axes},
            classes={axis.name: axis.words for axis in axes},
            left_out=dict(self.left_out),
            marginals=marginals_of(mechanism, axes, self.workload, rows),
            too_large=len(self.weights) - len(self.workload.weights),
            table_rows=rows,
        )

    def _use(self, mechanism: AdaptiveRounds) -> Use:
        return Use(mechanism, "add_remove" if self.columns[0].alone.unit_factor == 1 else "replace_one", 1)

    def plan(
        self, question: Any, say: Callable[[str], None]
    ) -> ReleasePlan[ReleasedMarginals, SyntheticTable]:
        """The plan that the gate releases.

        Args:
            question: its epsilon, delta and caps.
            say: takes words on the progress.

        Raises:
            InvalidParameter: the noise cannot be drawn.
        """
        queries, joint, workload = self.queries, self.joint(), self.workload
        mechanism, loss = self._bought(question)
        asked = replace(joint, shares=(loss.epsilon,))
        whole = QueryPlan(self._words(loss), "", (asked,), None)  # type: ignore[arg-type]

        def compute(draw: Draw) -> ReleasedMarginals:
            say("reading the data")
            salt = queries.ledger.salt(DATA_SET)
            cells, rows = interruptibly(queries.engine, lambda: counted_cells(joint, queries.engine, salt))
            runs = [[len(joint.keys[index].values) for (index,) in run] for run in words(joint.keys)]
            counts = Counts(cells, rows, runs)
            say("choosing marginals")
            found: ReleasedMarginals = draw(USE, lambda rounds: measure(rounds, mechanism, counts, workload))
            return found

        def answer(found: ReleasedMarginals) -> tuple[SyntheticTable, bytes]:
            say("drawing rows")
            model = self._fitted(found.measured)
            kept = _Kept.of(found, model, workload, mechanism.concentrated)
            return self._table(kept, model, loss), kept.to_bytes()

        def again(stored: bytes, free: bool) -> SyntheticTable:
            kept = _Kept.read(stored)
            return replace(self._table(kept, self._fitted(kept.measured), loss), replayed=free)

        return ReleasePlan(
            question=self._question(queries.identity(whole), mechanism),
            words=self._words(loss),
            loss=loss,
            uses={USE: self._use(mechanism)},
            compute=compute,
            answer=answer,
            caps=tuple(part.cap for part in joint.parts if part.rows.per_unit),
            size=SLACK + 16 * (sum(self.sizes) + MOST_CELLS),
            probe=lambda: queries.probe(replace(whole, releases=(joint,))),
            replay=again,
        )

    def _words(self, loss: Loss) -> str:
        kind = "discrete Gaussian" if loss.delta else "discrete Laplace"
        return f"a synthetic table like {self.table.name}, {len(self.columns)} columns, {kind} noise"

    def _question(self, counted: str, mechanism: AdaptiveRounds) -> str:
        """The canonical question: the counts, the noise and the marginals that matter; not how many rows are drawn."""
        weights = sorted((list(key), weight) for key, weight in self.weights.items())
        noise = [
            mechanism.concentrated,
            str(mechanism.amount),
            mechanism.l1,
            mechanism.square,
            mechanism.draws,
        ]
        axes = [[column.axis.name, column.axis.type.name, column.axis.classes, list(map(str, column.axis.edges))]
                for column in self.columns]  # fmt: skip
        said = json.dumps(["synthesize", counted, noise, axes, weights])
        return hashlib.sha256(said.encode()).hexdigest()

    def _fitted(self, measured: Sequence[NoisyMarginal]) -> MarginalModel:
        return Fitting(self.sizes).fit(measured)

    def _table(self, kept: _Kept, model: MarginalModel, loss: Loss) -> SyntheticTable:
        """The table of released numbers; the same ones give the same rows."""
        random = np.random.default_rng(kept.seed)
        total = total_of(kept.measured)
        count = self.rows if self.rows is not None else min(round(total), 1 << 24)
        axes = [column.axis for column in self.columns]
        values = table_of(axes, sample_rows(model, count, random), random)
        price = f"epsilon {show(loss.epsilon)}" + (f", delta {show(loss.delta)}" if loss.delta else "")
        made = f"Of the table {one_line(self.table.name)}, for {price}."
        report = SyntheticReport(tuple(axis.name for axis in axes), kept.errors, total, made)
        return SyntheticTable(values, self.table.name, loss.epsilon, loss.delta, dict(self.left_out), report)


@dataclass(frozen=True)
class _Kept:
    """The released numbers of a synthetic table, as the ledger keeps them."""

    measured: tuple[NoisyMarginal, ...]
    errors: tuple[MarginalError, ...]
    seed: int

    @classmethod
    def of(
        cls, found: ReleasedMarginals, model: MarginalModel, workload: MarginalWorkload, concentrated: bool
    ) -> _Kept:
        errors = tuple(errors_of(found, model, workload, concentrated))
        return cls(found.measured, errors, secrets.randbits(64))

    def to_bytes(self) -> bytes:
        head = {
            "seed": self.seed,
            "measured": [
                [list(marginal.columns), marginal.deviation, list(marginal.counts.shape)]
                for marginal in self.measured
            ],
            "errors": [[list(error.columns), error.measured, error.most] for error in self.errors],
        }
        out = io.BytesIO()
        flat = np.concatenate([marginal.counts.ravel() for marginal in self.measured])
        np.savez_compressed(out, head=np.array(json.dumps(head)), counts=flat)
        return out.getvalue()

    @classmethod
    def read(cls, kept: bytes) -> _Kept:
        with np.load(io.BytesIO(kept), allow_pickle=False) as file:
            head, flat = json.loads(str(file["head"])), file["counts"]
        measured, offset = [], 0
        for columns, deviation, shape in head["measured"]:
            size = math.prod(shape)
            measured.append(
                NoisyMarginal(tuple(columns), flat[offset : offset + size].reshape(shape), deviation)
            )
            offset += size
        errors = tuple(MarginalError(tuple(columns), own, most) for columns, own, most in head["errors"])
        return cls(tuple(measured), errors, head["seed"])
