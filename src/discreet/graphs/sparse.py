"""SciPy's sparse matrices, loaded on first use, and products of them in pieces of bounded memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from discreet.errors import MissingExtra

PIECE: Final = 1 << 24
"""So many multiplications are made at once, unless one row alone needs more: about 400 MB."""


def csr_array(*args: Any, **options: Any) -> Any:
    """A sparse matrix by rows.

    Raises:
        MissingExtra: SciPy is not installed.
    """
    return scipy_sparse().csr_array(*args, **options)


def scipy_sparse() -> Any:
    """The module `scipy.sparse` with its graph algorithms.

    Raises:
        MissingExtra: it is not installed.
    """
    try:
        import scipy.sparse
        import scipy.sparse.csgraph
    except ImportError:
        found = None
    else:
        found = scipy.sparse
    if found is None:
        raise MissingExtra("Graphs need SciPy.", 'Install it with pip install "discreet[graphs]".')
    return found


def products(left: Any, right: Any) -> Iterator[tuple[slice, Any]]:
    """The rows of left @ right, some at a time, with their places."""
    work = np.concatenate([[0], np.cumsum(_work(left, right))])
    start = 0
    while start < left.shape[0]:
        stop = max(start + 1, int(np.searchsorted(work, work[start] + PIECE, "right")) - 1)
        rows = slice(start, stop)
        yield rows, left[rows] @ right
        start = stop


def _work(left: Any, right: Any) -> Any:
    """How many multiplications each row of left @ right takes."""
    each = np.diff(right.indptr).astype(np.int64)[left.indices]
    sums = np.concatenate([[0], np.cumsum(each)])
    return sums[left.indptr[1:]] - sums[left.indptr[:-1]]
