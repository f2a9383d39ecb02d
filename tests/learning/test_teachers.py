"""Teachers elsewhere: through a process boundary, through back ends of every kind, and errors that say their cost."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np
import pytest

pytest.importorskip("sklearn")

import joblib
from joblib.parallel import ParallelBackendBase, register_parallel_backend

from discreet.errors import InvalidParameter
from discreet.learning import PrivateArrays, gnmax, pate
from discreet.learning.teachers import votes

LABELS = np.arange(90) % 3
ROWS = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0]])[LABELS] + np.random.default_rng(1).normal(
    0, 0.3, (90, 2)
)
PUBLIC = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0]])


class Elsewhere(ParallelBackendBase):  # type: ignore[misc]  # joblib has no types
    """A back end whose worker is another process: all that it is told is pickled, as on the way to a machine."""

    supports_retrieve_callback = True
    supports_return_generator = True
    pool: ProcessPoolExecutor
    sent = 0

    def effective_n_jobs(self, n_jobs: int) -> int:
        """Two, so that it is asked for several at once."""
        return 2

    def submit(self, func: Any, callback: Any = None) -> Any:
        """Send a batch of teachers."""
        type(self).sent += 1
        future = self.pool.submit(func)
        future.add_done_callback(callback)
        return future

    def retrieve_result_callback(self, out: Any) -> Any:
        """Their answers."""
        return out.result()


class AllAtOnce(Elsewhere):
    """One that gives all answers together, as that of Ray does."""

    supports_return_generator = False


class Gone(Elsewhere):
    """One whose machine is gone."""

    def submit(self, func: Any, callback: Any = None) -> Any:
        """Fail."""
        raise ConnectionError("The machine is gone.")


@pytest.fixture(scope="module", autouse=True)
def worker() -> Iterator[None]:
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        Elsewhere.pool = pool
        for kind in (Elsewhere, AllAtOnce, Gone):
            register_parallel_backend(kind.__name__, kind)
        yield


def cast(**more: Any) -> Any:
    from sklearn.neighbors import NearestCentroid

    return votes(NearestCentroid(), ROWS, LABELS, np.arange(90) // 3 % 6, 6, 3, PUBLIC, **more)


@pytest.mark.parametrize("backend", ["Elsewhere", "AllAtOnce"])
def test_teachers_in_another_process_vote_alike(backend: str) -> None:
    """All answers at once were an error of joblib, after the charge."""
    seen: list[tuple[int, int]] = []
    before, here = Elsewhere.sent + AllAtOnce.sent, cast()
    with joblib.parallel_config(backend=backend):
        assert (cast(progress=lambda done, of: seen.append((done, of))) == here).all()
    assert Elsewhere.sent + AllAtOnce.sent > before
    assert seen == [(done, 6) for done in range(1, 7)]


def test_dask_takes_teachers() -> None:
    distributed = pytest.importorskip("distributed", reason="Dask is heavy, and no requirement of the tests.")
    cluster = distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None
    )
    with cluster, distributed.Client(cluster), joblib.parallel_config(backend="dask"):
        assert (cast() == cast(jobs=1)).all()


def people() -> PrivateArrays:
    return PrivateArrays(ROWS, LABELS, budget=10)


@pytest.mark.parametrize("jobs", [0, True, 2.5, "two", [1]])
def test_a_number_of_workers_that_is_none_is_free(jobs: Any) -> None:
    """joblib refused it when the labels had been charged."""
    from sklearn.neighbors import NearestCentroid

    known: dict[str, Any] = {"classes": [0, 1, 2], "teachers": 6, "jobs": jobs}
    some = people()
    with pytest.raises(InvalidParameter, match="number of workers"):
        pate(some, NearestCentroid(), PUBLIC, gamma=1, **known)
    with pytest.raises(InvalidParameter, match="number of workers"):
        gnmax(some, NearestCentroid(), PUBLIC, epsilon=1, delta="1e-5", **known)
    assert some.budget.spent == 0


def test_a_machine_that_is_gone_is_an_error_that_says_its_cost() -> None:
    from sklearn.neighbors import NearestCentroid

    some = people()
    with joblib.parallel_config(backend="Gone"), pytest.raises(ConnectionError) as caught:
        pate(some, NearestCentroid(), PUBLIC, classes=[0, 1, 2], teachers=6, gamma=1)
    assert caught.value.__notes__ == ["Charged: epsilon 6. It stays charged."]
    assert some.budget.spent == 6
