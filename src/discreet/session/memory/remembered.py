"""The releases of earlier answers that a session has read in its ledger so far."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from discreet.records import dataclass, field

if TYPE_CHECKING:
    from discreet.sql.finish.estimates import EarlierRelease, Sums


@dataclass(eq=False)
class Remembered:
    """The releases of earlier answers, and how far the ledger was read.

    Attributes:
        lock: held by whoever reads on.
        seen: the number of the last entry that was read.
        data: the versions of the tables that they are of.
        sources: by the identity of the question.
        between: which of them are sums of others, as far as that was looked at.
    """

    lock: threading.Lock = field(default_factory=threading.Lock)
    seen: int = 0
    data: tuple[str, ...] = ()
    sources: dict[str, list[EarlierRelease]] = field(default_factory=dict)
    between: dict[tuple[EarlierRelease, int, EarlierRelease], Sums | None] = field(default_factory=dict)

    def of_data(self, data: tuple[str, ...]) -> None:
        """Forget the releases of other versions of the data."""
        if data != self.data:
            self.seen, self.data, self.sources, self.between = 0, data, {}, {}
