"""Sessions on servers as nodes of a federation, beside sessions at hand."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import discreet as dp
from discreet.client import node, transport
from discreet.client.wire import to_integers
from discreet.errors import (
    BudgetExceeded,
    Busy,
    InvalidParameter,
    NodeError,
    NotAllowed,
    QueryRefused,
    ServerError,
)
from tests.server.conftest import COUNT, POLICY, Running, run

ROWS = 900


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    yield from run(tmp_path_factory.mktemp("service"))


@pytest.fixture
def far(running: Running) -> dp.client.RemoteSession:
    return dp.connect(running.url, token=running.tokens["ana"])


def _near(folder: Path, policy: str = POLICY) -> dp.Session:
    rng = np.random.default_rng(4)
    table = {
        "patient_id": np.arange(ROWS),
        "age": rng.integers(0, 100, ROWS),
        "county": ["A", "B", "C"] * (ROWS // 3),
    }
    parquet.write_table(pa.table(table), folder / "visits.parquet")
    (folder / "policy.toml").write_text(policy)
    return dp.protect(policy=folder / "policy.toml")


def test_an_answer_of_both_is_the_sum(far: dp.client.RemoteSession, tmp_path: Path) -> None:
    near = _near(tmp_path)
    query, before = (
        "SELECT county, COUNT(*) AS n, AVG(age) AS age FROM visits GROUP BY county",
        far.budget.spent,
    )
    both = dp.federate({"near": near, "far": far})
    assert both.preview(query, "1/7").cost == Fraction(1, 7)
    answer = both.sql(query, "1/7", split={"n": 2})
    assert far.budget.spent - before == near.budget.spent == Fraction(1, 7)
    own, other = (one.sql(query, "1/7", split={"n": 2}) for one in (near, far))
    assert (own.replayed, other.replayed) == (True, True)
    assert all(
        abs(n - a - b) <= 1 for n, a, b in zip(answer["n"], own["n"], other["n"], strict=True)
    )  # rounded
    assert answer.epsilon == Fraction(1, 7)
    assert both.sql(query, "1/7", split={"n": 2}).replayed
    assert far.budget.spent - before == near.budget.spent == Fraction(1, 7)
    assert len(both.mock(100).sql(query, 1)) == 3


def test_servers_alone_need_a_session_that_plans(far: dp.client.RemoteSession, tmp_path: Path) -> None:
    with pytest.raises(InvalidParameter, match="none on this machine plans"):
        dp.federate([far])
    answer = dp.federate([far], like=_near(tmp_path)).sql(COUNT, 0.31)
    assert answer["n"] == far.sql(COUNT, 0.31)["n"]
    with pytest.raises(InvalidParameter, match="one ledger"):
        dp.federate([far, far], like=_near(tmp_path))
    with pytest.raises(InvalidParameter, match="Invented"):
        dp.federate([far.mock()], like=_near(tmp_path))


def test_a_server_with_too_little_budget_or_another_policy_stops_all(
    far: dp.client.RemoteSession, tmp_path: Path
) -> None:
    near, before = _near(tmp_path), far.budget.spent
    with pytest.raises(NodeError, match=r"far: The budget .*Nothing was charged") as caught:
        dp.federate({"near": near, "far": far}).sql(COUNT, 40, skip_down=True)
    assert isinstance(caught.value.__cause__, BudgetExceeded)
    near.close()
    (tmp_path / "b").mkdir()
    other = _near(tmp_path / "b", POLICY.replace("max_rows = 3", "max_rows = 2"))
    with pytest.raises(
        QueryRefused, match=r"visits: .*at most 2 of its rows in near, .*at most 3 of its rows in far"
    ):
        dp.federate({"near": other, "far": far}).sql(COUNT, 0.1)
    with pytest.raises(NodeError, match="max_rows_per_group"):
        dp.federate({"near": other, "far": far}).sql(COUNT, 0.1, max_rows_per_group=1)
    assert [far.budget.spent, other.budget.spent] == [before, 0]


def _often_busy(far: dp.client.RemoteSession, monkeypatch: pytest.MonkeyPatch, times: int) -> None:
    """Let the server of a node have too much to do for so many questions."""
    real, left = far.post, iter(range(times))

    def post(address: str, body: Any, accept: str = "") -> bytes:
        if address == "integers" and next(left, None) is not None:
            raise Busy("You have 4 requests at work, the most at once.", "Wait for one of them.")
        return real(address, body, accept)

    monkeypatch.setattr(far, "post", post)
    monkeypatch.setattr(node, "PAUSE", 0.0)


def test_a_server_that_is_busy_for_a_moment_is_asked_again(
    far: dp.client.RemoteSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    near = _near(tmp_path)
    _often_busy(far, monkeypatch, 3)
    assert len(dp.federate({"near": near, "far": far}).sql(COUNT, 0.37)) == 3


def test_a_server_that_is_not_asked_again_is_found(
    far: dp.client.RemoteSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    near = _near(tmp_path)
    _often_busy(far, monkeypatch, 10**9)
    monkeypatch.setattr(node, "PATIENCE", 0.0)
    with pytest.raises(NodeError, match=r"far: You have 4 requests.*Charged were near"):
        dp.federate({"near": near, "far": far}).sql(COUNT, 0.38)


def test_a_server_that_is_down_is_named(
    far: dp.client.RemoteSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    near, before = _near(tmp_path), far.budget.spent
    both = dp.federate({"near": near, "far": far})
    real = transport._connection

    def broken(address: transport.ServerAddress) -> None:
        raise OSError

    monkeypatch.setattr(transport, "_connection", broken)
    with pytest.raises(NodeError, match=r"far: The server .* cannot be reached.*Nothing was charged"):
        both.sql(COUNT, 0.2)
    assert near.budget.spent == 0
    assert "far is missing" in both.sql(COUNT, 0.2, skip_down=True).warnings[0]
    calls = []

    def breaks_off(address: transport.ServerAddress) -> object:
        calls.append(address)
        if len(calls) > 1:
            raise OSError
        return real(address)

    monkeypatch.setattr(transport, "_connection", breaks_off)
    with pytest.raises(NodeError, match=r"It may have charged 0\.3\. Charged were near \(.*far \("):
        both.sql(COUNT, 0.3)
    monkeypatch.undo()
    assert far.budget.spent == before


def test_a_token_that_is_refused_is_no_server_that_is_down(running: Running, tmp_path: Path) -> None:
    reader = dp.connect(running.url, token=running.tokens["rita"])
    near = _near(tmp_path)
    with pytest.raises(NodeError, match=r"far: .*Nothing was charged") as caught:
        dp.federate({"near": near, "far": reader}).sql(COUNT, 0.1, skip_down=True)
    assert isinstance(caught.value.__cause__, NotAllowed)
    assert near.budget.spent == 0


def test_questions_that_do_not_add_up_are_refused_by_the_server_before_the_charge(
    far: dp.client.RemoteSession,
) -> None:
    before = far.budget.spent
    for address in ("offer", "integers"):
        with pytest.raises(QueryRefused, match="quantiles"):
            far.post(address, {"query": "SELECT MEDIAN(age) AS m FROM visits", "epsilon": "0.1"})
        with pytest.raises(InvalidParameter, match="no epsilon"):
            far.post(address, {"query": COUNT})
    assert far.budget.spent == before


def test_other_things_than_integers_are_not_read(far: dp.client.RemoteSession) -> None:
    for wrong in (b"{}", b'{"integers": [[1.5]]}', b'{"integers": [[true]]}', b'{"integers": [1]}',
                  b'{"integers": [[9223372036854775808]]}', b'{"integers": [[1], [1, 2]]}'):  # fmt: skip
        with pytest.raises(ServerError, match="cannot be read"):
            far.read(to_integers, wrong)
