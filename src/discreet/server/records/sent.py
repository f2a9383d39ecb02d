"""Answers that were sent, kept as text for those who ask the same again.

To show a settled answer again costs nothing of the budget, and is post-processing; planned, looked up, read and written
anew it would cost the processor half as much as a new question. An answer is kept once it was sent in its slot, so that
nobody has it here before. It is for those alone who were sent it, each of whom was charged, and for the versions of the
data that it was asked of. It is small, and of all of them the latest few are kept, in memory only.
"""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

from discreet.records import dataclass, field
from discreet.release.documents import AnswerText

MOST_BYTES, LONGEST = 32 << 20, 1 << 16
"""Characters of all answers that are kept, and of one."""


@dataclass(frozen=True)
class SentAnswer:
    """An answer that was sent.

    Attributes:
        versions: of the data.
        told: its text.
        names: the analysts who were sent it.
    """

    versions: tuple[str, ...]
    told: AnswerText
    names: set[str] = field(default_factory=set)

    @property
    def size(self) -> int:
        """Characters of the text."""
        return len(self.told.head) + len(self.told.tail)


class Sent:
    """The answers that one process sent last.

    Example:
        >>> sent, asked = Sent(), {"query": "SELECT COUNT(*) FROM visits", "epsilon": "0.1"}
        >>> sent.keep("hospital", asked, "ana", ("visits 1",), AnswerText('{"a": 1, ', '"rows": []'))
        >>> sent.find("hospital", asked, "ana") is not None, sent.find("hospital", asked, "ben")
        (True, None)
    """

    def __init__(self, most: int = MOST_BYTES) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, SentAnswer] = OrderedDict()
        self._size = 0

    def keep(
        self, dataset: str, asked: Mapping[str, Any], name: str, versions: tuple[str, ...], told: AnswerText
    ) -> None:
        """Keep an answer that was sent to an analyst, whose slot is over.

        Args:
            dataset: its name.
            asked: the question, as keyword arguments of `Session.sql`.
            name: of the analyst, who was charged for it.
            versions: of the data that was asked, before and after.
            told: the answer.
        """
        question, new = _named(dataset, asked), SentAnswer(versions, told)
        if new.size > LONGEST:
            return
        with self._lock:
            known = self._kept.get(question)
            if known is not None and (known.versions, known.told) == (versions, told):
                known.names.add(name)
                return
            self._size += new.size - (known.size if known is not None else 0)
            new.names.add(name)
            self._kept[question] = new
            while self._size > self._most:
                self._size -= self._kept.popitem(last=False)[1].size

    def find(self, dataset: str, asked: Mapping[str, Any], name: str) -> SentAnswer | None:
        """The answer to the same question, which this analyst was sent; None where none is kept.

        It is right as long as the versions of the data are still its own.
        """
        question = _named(dataset, asked)
        with self._lock:
            known = self._kept.get(question)
            if known is None or name not in known.names:
                return None
            self._kept.move_to_end(question)
            return known


def _named(dataset: str, asked: Mapping[str, Any]) -> str:
    return json.dumps([dataset, asked], sort_keys=True, default=str)
