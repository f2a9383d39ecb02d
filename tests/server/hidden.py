"""Visits with a text in each that nobody may ever see, and the check that nobody saw one, nor a path, nor a trace."""

from __future__ import annotations

import io
import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from tests.server import conftest
from tests.server.conftest import Running, make_hospital, run

SECRET = "zqsecret"


def serving_hidden(folder: Path, analysts: tuple[str, ...], each: int = 100_000) -> Iterator[Running]:
    """A service over such visits, with analysts who have much budget."""

    def with_notes(place: Path) -> Path:
        policy = make_hospital(place)
        table = parquet.read_table(place / "visits.parquet")
        notes = pa.array([f"{SECRET}{at}" for at in range(len(table))])
        parquet.write_table(table.append_column("note", notes), place / "visits.parquet")
        policy.write_text(policy.read_text().replace("epsilon = 50", "epsilon = 1000000"))
        return policy

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(conftest, "make_hospital", with_notes)
        for one in run(folder):
            for name in analysts:
                if name not in one.tokens:
                    one.person(name)
                one.service.people.grant("test", name, "hospital", each)
            yield one


@contextmanager
def all_logged() -> Iterator[io.StringIO]:
    """Everything that any logger says."""
    said = io.StringIO()
    handler = logging.StreamHandler(said)
    logging.getLogger().addHandler(handler)
    yield said
    logging.getLogger().removeHandler(handler)


def see_nothing_private(running: Running, text: str, *sent: str) -> None:
    """See that a text holds no path, and no value of the data that was not sent."""
    folder = str(Path(running.service.datasets["hospital"].session.ledger.where).parent.parent)
    assert folder not in text
    if SECRET in text:
        told = set(re.findall(rf"{SECRET}\d*", text)) - set(re.findall(rf"{SECRET}\d*", " ".join(sent)))
        assert not told
    assert "Traceback" not in text
