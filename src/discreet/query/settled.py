"""What the ledger keeps of an answer: the answer itself, and the noisy integers behind it.

The integers are kept so that the same question at another confidence costs nothing. They are noisy, so keeping
them keeps no secret.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from discreet import arrow
from discreet.query import keys as ks
from discreet.query.answer import Release, table_bytes
from discreet.query.plan import Plan
from discreet.query.run import Noisy

if TYPE_CHECKING:
    import pyarrow as pa


def pack(release: Release, noisy: Sequence[Noisy]) -> bytes:
    """Put an answer and its noisy integers into one piece."""
    import pyarrow as pa

    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:  # the pieces are compressed already
        archive.writestr("answer.arrow", release.to_bytes())
        for at, one in enumerate(noisy):
            if one.plan.discovery is not None:
                archive.writestr(f"keys{at}.arrow", table_bytes(_found(one)))
            columns = {str(n): arrow.column(one.entries[:, n]) for n in range(one.entries.shape[1])}
            archive.writestr(f"release{at}.arrow", table_bytes(pa.table(columns)))
    return out.getvalue()


def unpack(data: bytes, plan: Plan) -> tuple[Release, list[Noisy]]:
    """Read what `pack` wrote, for the same plan."""
    import pyarrow as pa

    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        release = Release.from_bytes(archive.read("answer.arrow"))
        noisy = []
        for at, one in enumerate(plan.releases):
            if one.discovery is not None:
                columns = pa.ipc.open_stream(archive.read(f"keys{at}.arrow")).read_all().to_pydict().values()
                one = replace(one, keys=ks.found(one.keys, map(tuple, columns)))
            columns = pa.ipc.open_stream(archive.read(f"release{at}.arrow")).read_all().columns
            noisy.append(Noisy(one, np.stack([arrow.numbers(column) for column in columns], axis=1)))
    return release, noisy


def _found(noisy: Noisy) -> pa.Table:
    """The groups that were found, as columns."""
    import pyarrow as pa

    keys = noisy.plan.keys
    return pa.table({f"k{at}": key.arrow() for at, key in enumerate(keys) if not key.public})
