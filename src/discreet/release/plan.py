"""A release as a producer hands it to the gate: the question, its cost, its mechanisms and its computation.

SQL, a steward's own number and a local node are producers; each says the same few things, and the gate does the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import IO, Any, Generic, TypeVar

from discreet.accounting.loss import Loss
from discreet.records import dataclass, field
from discreet.release.draw import Draw, Use

Noisy = TypeVar("Noisy")
Answer = TypeVar("Answer")


@dataclass(frozen=True)
class ReleasePlan(Generic[Noisy, Answer]):
    """One release: everything that the gate needs to charge it, run it, keep it and answer it.

    Privacy: `compute` is the only step that touches private data. It gives exact values to `draw`, and its result
    is made of the results of `draw` and of public values alone; so every later step is post-processing.

    Attributes:
        question: the canonical one, which the ledger knows: same text, same answer.
        words: the question in words, for the steward who reads the ledger.
        loss: the loss charged for all of it.
        uses: the mechanisms, by name.
        compute: computes exact values, has noise drawn on them, and returns noisy ones.
        answer: builds the answer from those, and the copy of it that the ledger keeps.
        caps: how many rows of a unit each part counts, for the record of the guarantee.
        size: about how many bytes the ledger keeps.
        rehearse: runs the post-processing on invented numbers; refuses a question that would fail.
        probe: sees that the engine could compute it; reads no row.
        replay: builds the answer from the copy that the ledger kept, and from whether it is free now: one that
            another analyst had bought is not. None where nothing is replayed.
        keep: makes the copy from the noisy values alone, where the answer cannot be built from them.
        file: takes the copy that the ledger kept, and gives it to `replay`, where it is large; else it is bytes.
        held: whether a copy that the ledger kept is not to be had yet; whoever asks waits until it is.
    """

    question: str
    words: str
    loss: Loss
    uses: Mapping[str, Use]
    compute: Callable[[Draw], Noisy]
    answer: Callable[[Noisy], tuple[Answer, bytes | IO[bytes]]]
    caps: tuple[int, ...] = ()
    size: int = 0
    rehearse: Callable[[], object] = field(default=lambda: None)
    probe: Callable[[], object] = field(default=lambda: None)
    replay: Callable[[Any, bool], Answer] | None = None
    keep: Callable[[Noisy], bytes] | None = None
    file: IO[bytes] | None = None
    held: Callable[[], bool] = field(default=lambda: False)
