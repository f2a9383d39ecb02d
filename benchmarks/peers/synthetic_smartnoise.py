"""SmartNoise Synth's MST and AIM over columns of whole numbers: `FILE.npz mst|aim EPSILON DELTA RHO OUT.npy`.

Its own `fit` would learn the categories from the data; here they are the public sizes, so that all of epsilon is for
the table. It is told the exact number of rows, as it always is.
"""

from __future__ import annotations

import contextlib
import sys
import warnings

import numpy as np
from mbi import Dataset, Domain
from snsynth.aim import AIMSynthesizer
from snsynth.mst import MSTSynthesizer
from snsynth.utils import cdp_rho

warnings.simplefilter("ignore")


def main(file: str, algorithm: str, epsilon: float, delta: float, out: str) -> None:
    """Make one table and write it."""
    with np.load(file) as given:
        rows, sizes = given["rows"], given["sizes"].tolist()
    names = [f"c{at}" for at in range(len(sizes))]
    data = Dataset(rows, Domain(names, sizes))
    if algorithm == "mst":
        mst = MSTSynthesizer(epsilon=epsilon, delta=delta)
        mst.MST(data, epsilon, delta)
        made = mst.undo_compress_fn(mst.synthesizer.synthetic_data(rows=len(rows)))
    else:
        aim = AIMSynthesizer(epsilon=epsilon, delta=delta)
        aim.rho = cdp_rho(epsilon, delta)
        aim.AIM(data, aim.get_workload(data, degree=2, max_cells=10_000))
        made = aim.synthesizer.synthetic_data(rows=len(rows))
    np.save(out, made.df[names].to_numpy().astype(np.int64))


if __name__ == "__main__":
    with contextlib.redirect_stdout(sys.stderr):
        main(sys.argv[1], sys.argv[2], float(sys.argv[3]), float(sys.argv[4]), sys.argv[6])
