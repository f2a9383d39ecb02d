"""Noisy integers come out of the ledger as they went in, in few columns, whatever their shape."""

from __future__ import annotations

import datetime as dt
import io
import zipfile

import numpy as np
import pyarrow as pa
import pytest

from discreet.release import answer_archive

ENDS = [0, 1, -1, 127, -128, 128, 2**31 - 1, -(2**31), 2**31, 2**62, -(2**62), 2**63 - 1, -(2**63)]


def packed(entries: np.ndarray[tuple[int, int], np.dtype[np.int64]]) -> zipfile.ZipFile:
    out = io.BytesIO()
    packer = answer_archive.Packer(out, dt.datetime(2020, 1, 1))
    packer.block(0, 0, entries)
    packer.close()
    return zipfile.ZipFile(out)


@pytest.mark.parametrize("shape", [(0, 5), (1, 1), (1, 3000), (2, 3), (3, 2), (3, 3), (3000, 1)])
@pytest.mark.parametrize("few", [answer_archive.FEW, 0])  # earlier versions wrote no block as text
def test_what_goes_in_comes_out(shape: tuple[int, int], few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answer_archive, "FEW", few)
    entries = np.asfortranarray(np.resize(np.array(ENDS, np.int64), shape))
    found = answer_archive.block_of(packed(entries), 0, 0, 0)
    assert found is not None
    assert found.dtype == np.int64
    assert found.shape == shape
    assert (found == entries).all()


@pytest.mark.parametrize("asked", ["", "SELECT 'é'", "x" * 70_000])
def test_a_short_answer_is_a_plain_archive(asked: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is written without `zipfile`, and any program reads it as the same."""
    entries = np.array([ENDS])
    made: list[bytes] = []
    for short in (answer_archive.SHORT, -1):
        monkeypatch.setattr(answer_archive, "SHORT", short)
        out = io.BytesIO()
        packer = answer_archive.Packer(out, dt.datetime(2020, 1, 1), asked)
        packer.block(0, 0, entries)
        packer.close()
        made.append(out.getvalue())
    ours, theirs = (zipfile.ZipFile(io.BytesIO(data)) for data in made)
    assert ours.testzip() is None
    assert ours.namelist() == theirs.namelist() == ["about.json"]
    assert ours.read("about.json") == theirs.read("about.json")
    assert len(made[0]) == len(made[1])
    assert answer_archive.asked_of(ours) == asked
    found = answer_archive.block_of(ours, 0, 0, 0)
    assert found is not None
    assert found.tolist() == entries.tolist()


@pytest.mark.parametrize(("shape", "columns"), [((1, 3000), 2), ((3000, 2), 4), ((20, 30), 40)])
def test_a_block_has_no_more_columns_than_its_shorter_side_needs(
    shape: tuple[int, int], columns: int
) -> None:
    wide = packed(np.full(shape, 2**40))
    assert answer_archive.table_of(wide, "release0/0/0").num_columns == columns


def test_blocks_of_earlier_versions_are_read() -> None:
    entries = np.array([[1, 2**40, 3]])
    assert (
        answer_archive._wide(pa.table({"0": [1], "low1": [0], "high1": [256], "2": [3]})) == entries
    ).all()
