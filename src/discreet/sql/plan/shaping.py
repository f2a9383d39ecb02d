"""Options that shape released numbers: none below zero, whole counts. It is post-processing, and has a bias."""

from __future__ import annotations

from collections.abc import Iterator

from discreet.records import dataclass


@dataclass(frozen=True)
class Shaping:
    """How released numbers are shaped before they are shown.

    Attributes:
        nonnegative: whether counts, and sums of numbers that are not negative, are never below zero.
        integers: whether counts are whole where several tables are estimated together; elsewhere they are anyway.
    """

    nonnegative: bool = False
    integers: bool = False

    def __bool__(self) -> bool:
        return self.nonnegative or self.integers

    def notes(self, together: bool) -> Iterator[str]:
        """The bias that it brings.

        Args:
            together: whether tables are estimated together.
        """
        if self.nonnegative and together:
            yield (
                "the bias of `nonnegative`: cells below zero were raised to it and all others lowered, so that the "
                "total stays; small numbers are too high on average, large ones too low, and the intervals are of the "
                "numbers before"
            )
        elif self.nonnegative:
            yield (
                "the bias of `nonnegative`: numbers below zero are shown as zero, so that those of groups with few "
                "rows, and sums of them, are too high on average; the intervals are of the numbers before"
            )
        if self.integers and together:
            yield (
                "the bias of `integers`: counts were rounded so that totals stay the sums of their parts, by less than "
                "one in each cell; the intervals are of the numbers before, and reach to those shown"
            )


NO_SHAPING = Shaping()
