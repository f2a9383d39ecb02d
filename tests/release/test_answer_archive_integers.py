"""Noisy integers come back from the ledger as they went in, of any size, and a block that is not there is None."""

from __future__ import annotations

import datetime as dt
import io
import zipfile

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from discreet.release.answer_archive import Packer, answer_of, block_of, made_of, table_of

MADE = dt.datetime(2024, 2, 29, 12, tzinfo=dt.UTC)
ENDS = [0, -1, 127, -128, 2**31, -(2**31) - 1, 2**32 + 5, 2**62, -(2**62), 2**63 - 1, -(2**63)]
INTEGERS = st.one_of(st.sampled_from(ENDS), st.integers(-(2**63), 2**63 - 1))


def archive(**blocks: np.ndarray[tuple[int, int], np.dtype[np.int64]]) -> zipfile.ZipFile:
    out = io.BytesIO()
    packer = Packer(out, MADE)
    for block in blocks.values():
        packer.block(0, 1, block)
    packer.table("keys", pa.table({"k0": ["a", None]}))
    packer.close()
    return zipfile.ZipFile(io.BytesIO(out.getvalue()))


@given(st.lists(st.tuples(INTEGERS, INTEGERS), max_size=5))
def test_every_integer_comes_back(rows: list[tuple[int, int]]) -> None:
    first = np.array(rows, np.int64).reshape(len(rows), 2)
    second = np.array([[3]], np.int64)
    with archive(first=first, second=second) as read:
        for at, block in enumerate((first, second)):
            found = block_of(read, 0, 1, at)
            assert found is not None
            assert found.dtype == np.int64
            assert found.tolist() == block.tolist()
        assert block_of(read, 0, 1, 2) is None
        assert block_of(read, 1, 1, 0) is None


def test_the_rest_comes_back_too() -> None:
    with archive() as read:
        assert made_of(read) == MADE
        assert table_of(read, "keys").to_pydict() == {"k0": ["a", None]}
        assert answer_of(read) is None
