"""What the ledger keeps of an answer: the answer itself, and the noisy integers behind it.

The integers are kept so that the same question at another confidence costs nothing. They are noisy, so keeping
them keeps no secret.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Sequence

import numpy as np

from discreet.query.answer import Release
from discreet.query.plan import Plan
from discreet.query.run import Noisy


def pack(release: Release, noisy: Sequence[Noisy]) -> bytes:
    """Put an answer and its noisy integers into one piece."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("answer.arrow", release.to_bytes())
        for at, one in enumerate(noisy):
            entries = io.BytesIO()
            np.save(entries, one.entries, allow_pickle=False)
            archive.writestr(f"release{at}.npy", entries.getvalue())
    return out.getvalue()


def unpack(data: bytes, plan: Plan) -> tuple[Release, list[Noisy]]:
    """Read what `pack` wrote, for the same plan."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        release = Release.from_bytes(archive.read("answer.arrow"))
        noisy = [
            Noisy(one, np.load(io.BytesIO(archive.read(f"release{at}.npy")), allow_pickle=False))
            for at, one in enumerate(plan.releases)
        ]
    return release, noisy
