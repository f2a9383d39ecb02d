"""The journey of a steward: somebody new, a budget, a token, which then asks; and its end."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from tests.server.conftest import COUNT, Running, run
from tests.server.visit import Visit


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    yield from run(tmp_path_factory.mktemp("service"))


def test_from_a_name_to_a_question_and_its_end(running: Running) -> None:
    steward = Visit(running, "stella")
    people = "/steward/people"
    assert steward.send(f"{people}/add", name="gil", role="analyst").status == 303
    assert steward.send(f"{people}/budget", name="gil", dataset="hospital", epsilon="0.3").status == 303
    made = steward.send(f"{people}/token", name="gil", days="7").data.decode()
    found = re.search(r"discreet_[0-9a-f]{12}_[\w-]+", made)
    assert found is not None
    running.tokens["gil"] = found[0]
    assert found[0].encode() not in steward.get(people).data  # shown once
    gil = Visit(running, "gil")
    assert gil.send("/data/hospital/ask", query=COUNT, epsilon="0.2").status == 303
    assert gil.send("/data/hospital/ask", query=COUNT, epsilon="0.15").status == 200  # refused: too much
    seen = steward.get("/steward").data.decode()
    assert "gil" in seen
    assert "SELECT county" in seen
    assert "All 2 entries verify" in steward.send("/steward/verify/hospital").data.decode()
    assert "answered 0.2" in seen
    assert "the rest lasts for <strong>249 days" in seen  # 49.8 at 0.2 a day
    kept = steward.get("/steward/audit/export").data.splitlines()
    verified = steward.send("/steward/audit/verify").data.decode()
    assert f"All {len(kept) - 1} lines verify" in verified
    token = next(one["id"] for one in running.service.people.tokens() if one["name"] == "gil")
    assert steward.send(f"{people}/revoke", token=token).status == 303
    assert gil.get("/data").status == 303
    assert steward.send(f"{people}/withdraw", name="gil", dataset="hospital").status == 303
    assert b"token revoked" in steward.get("/steward/audit").data


def test_a_question_is_held_until_its_slot(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    steward = Visit(running, "stella")

    def gauge(part: str) -> float:
        found = re.search(rf"{part} ([0-9.]+)", steward.get("/steward").data.decode())
        return float(found[1]) if found else 0.0

    before = gauge("answered"), gauge("held")
    monkeypatch.setattr(running.service.asks, "_slot", 1e6)
    running.session("ana").sql(COUNT, epsilon="0.125")
    # Of the others, too, which were answered just now, the slot has not come.
    assert (gauge("answered"), gauge("held")) == pytest.approx((0, sum(before) + 0.125))
    monkeypatch.setattr(
        running.service.asks, "_slot", 0.0
    )  # so without slots the moment of the answer is seen
    assert (gauge("answered"), gauge("held")) == pytest.approx((before[0] + 0.125, before[1]))


def test_a_long_question_is_folded(running: Running) -> None:
    long = f"SELECT COUNT(*) AS n FROM visits WHERE age IN ({', '.join(map(str, range(200)))})"
    assert Visit(running, "ana").send("/data/hospital/ask", query=long, epsilon="0.01").status == 303
    seen = Visit(running, "stella").get("/steward").data.decode()
    assert f"<summary><code>{long[:300]}…</code></summary><code>{long}</code>" in seen


def test_the_policy_with_its_checks(running: Running) -> None:
    seen = Visit(running, "stella").get("/steward/policy/hospital").data.decode()
    assert "<strong>Look:</strong> The budget is epsilon 50: from about 10 on" in seen
    assert "<strong>Fine:</strong> visits: every column has bounds or keys." in seen
    assert "visits.parquet" not in seen
    assert Visit(running, "stella").get("/steward/policy/missing").status == 404


def test_a_fault_keeps_the_fields(running: Running) -> None:
    steward = Visit(running, "stella")
    sent = {"name": "ana", "dataset": "hospital", "epsilon": "0.25", "most": "0.75", "until": "2030-01-31"}
    page = steward.send("/steward/people/budget", **sent).data.decode()
    assert "One question may not cost epsilon 0.75 where all may cost 0.25." in page
    assert "<option selected>ana</option>" in page
    for name in ("epsilon", "most", "until"):
        assert re.search(rf'name="{name}" value="{sent[name]}"', page), name
    page = steward.send("/steward/people/add", name="a<b", role="steward").data.decode()
    assert 'value="a&lt;b"' in page
    assert "<option selected>steward</option>" in page
    assert 'value="0.25"' not in page  # of the form that was at fault alone
    assert (
        'name="days" value="x"' in steward.send("/steward/people/token", name="ana", days="x").data.decode()
    )


def test_a_budget_beyond_that_of_the_data_set_is_said(running: Running) -> None:
    steward = Visit(running, "stella")
    assert "which holds" not in steward.get("/steward/people").data.decode()
    steward.send("/steward/people/add", name="nora", role="analyst")
    assert (
        steward.send("/steward/people/budget", name="nora", dataset="hospital", epsilon="1e9").status == 303
    )
    assert "the data set has 50 for all, which holds" in steward.get("/steward/people").data.decode()
    assert steward.send("/steward/people/withdraw", name="nora", dataset="hospital").status == 303


@pytest.mark.parametrize(
    ("action", "fields"),
    [
        ("budget", {"name": "ana", "dataset": "hospital", "epsilon": "1", "most": "2"}),
        ("add", {"name": "Ana"}),
        ("add", {"name": "ana"}),
        ("budget", {"name": "ana", "dataset": "missing", "epsilon": "1"}),
        ("budget", {"name": "ana", "dataset": "hospital", "epsilon": "x"}),
        ("budget", {"name": "stella", "dataset": "hospital", "epsilon": "1"}),
        ("token", {"name": "ana", "days": "x"}),
        ("token", {"name": "ana", "days": "9999"}),
        ("revoke", {"token": "missing"}),
        ("withdraw", {"name": "rita", "dataset": "missing"}),
        ("missing", {"name": "x"}),
    ],
)
def test_what_cannot_be_done_is_said(running: Running, action: str, fields: dict[str, str]) -> None:
    answer = Visit(running, "stella").send(f"/steward/people/{action}", **fields)
    assert answer.status in (404, 422)
    assert b'role="alert"' in answer.data


def test_older_questions_are_folded(running: Running) -> None:
    """Else the gauge of the next data set would stand fifty questions below."""
    ana = Visit(running, "ana")
    for age in range(1, 12):
        asked = ana.send(
            "/data/hospital/ask", query=f"SELECT COUNT(*) AS n FROM visits WHERE age = {age}", epsilon="0.01"
        )
        assert asked.status == 303
    seen = Visit(running, "stella").get("/steward").data.decode()
    first, _, rest = seen.partition(" earlier ones</summary>")
    assert first.count("<code>SELECT COUNT(*) AS n FROM visits WHERE age = ") == 10
    assert "WHERE age = 1</code>" in rest
