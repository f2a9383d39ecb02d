"""OpenDP's MST and AIM over columns of whole numbers: `FILE.npz mst|aim EPSILON DELTA RHO OUT.npy`.

It takes a rho, the one that epsilon and delta buy. All keys are public, so that no threshold needs a delta.
"""

from __future__ import annotations

import sys
import warnings

import numpy as np
import opendp.prelude as dp
import polars as pl

warnings.simplefilter("ignore")
LESS = 1 - 1e-9
"""Its MST splits its rho over as many choices as there are columns but one, each the next float below an equal part.
Their sum is rounded up at every step, and so lies above the whole by some last bits ("insufficient budget for query:
0.0006249999993749995 > 0.0006249999993749994"). Parts that are smaller by this do not."""


def main(file: str, algorithm: str, rho: float, out: str) -> None:
    """Make one table and write it."""
    dp.enable_features("contrib")
    setattr(sys.modules[dp.mbi.MST.__module__], "prior", lambda part: part * LESS)  # noqa: B010
    with np.load(file) as given:
        rows, sizes = given["rows"], given["sizes"].tolist()
    names = [f"c{at}" for at in range(len(sizes))]
    frame = pl.DataFrame({name: rows[:, at].astype(np.int64) for at, name in enumerate(names)}).lazy()
    context = dp.Context.compositor(
        data=frame, privacy_unit=dp.unit_of(contributions=1), privacy_loss=dp.loss_of(rho=rho)
    )
    chosen = dp.mbi.MST() if algorithm == "mst" else dp.mbi.AIM()
    keys = {name: list(range(size)) for name, size in zip(names, sizes, strict=True)}
    table = (
        context.query(rho=rho * (1 - 1e-9))
        .select(*names)
        .contingency_table(keys=keys, algorithm=chosen)
        .release()
    )
    made = table.synthesize().select(names).fill_null(0).to_numpy()
    np.save(out, made.astype(np.int64))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], float(sys.argv[5]), sys.argv[6])
