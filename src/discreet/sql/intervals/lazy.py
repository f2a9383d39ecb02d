"""Values made when they are first looked at: the intervals of ten million groups take longer than their values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

Value = TypeVar("Value")


class LazyMapping(Mapping[str, Value]):
    """A mapping whose values are made on the first look, and then kept.

    Two threads that look at once may both make a value; it must be the same, however often it is made. It is
    pickled as the plain dictionary that it stands for.

    Example:
        >>> ends = LazyMapping({"n": lambda: print("made") or 3})
        >>> "n" in ends, len(ends)
        (True, 1)
        >>> ends["n"], ends["n"]
        made
        (3, 3)
    """

    def __init__(self, makers: Mapping[str, Callable[[], Value]]) -> None:
        self._makers = dict(makers)
        self._made: dict[str, Value] = {}

    def __getitem__(self, name: str) -> Value:
        if name not in self._made:
            self._made[name] = self._makers[name]()
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._makers)

    def __len__(self) -> int:
        return len(self._makers)

    def __contains__(self, name: object) -> bool:
        return name in self._makers

    def __reduce__(self) -> tuple[type[dict[str, Value]], tuple[dict[str, Value]]]:
        return dict, (dict(self),)
