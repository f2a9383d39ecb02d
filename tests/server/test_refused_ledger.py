"""A ledger that is refused while the service runs hides its own data set, and no other one."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator

import pytest

from discreet.server.start import open_service
from tests.server.conftest import COUNT, FAST, Running, listening, make_hospital
from tests.server.visit import Visit


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """Two data sets, both asked once; then a part of one of the ledgers is gone."""
    folder = tmp_path_factory.mktemp("service")
    with listening(
        open_service([make_hospital(folder / name) for name in ("hospital", "clinic")], FAST)
    ) as running:
        running.person("stella", "steward")
        running.person("ana", epsilon=2)
        running.service.people.grant("test", "ana", "clinic", 2)
        ledger = folder / "clinic" / "policy.ledger.db"
        for name, epsilon in (("hospital", "0.5"), ("clinic", "0.5"), ("clinic", "0.25")):
            asked = {"query": COUNT, "epsilon": epsilon}
            assert running.call("POST", f"/api/v1/datasets/{name}/query", "ana", asked).status == 200
            if epsilon == "0.5" and name == "clinic":
                for end in ("", "-head"):
                    shutil.copy(f"{ledger}{end}", folder / f"earlier{end}")
        for end in ("", "-head"):
            shutil.copy(folder / f"earlier{end}", f"{ledger}{end}")
        assert running.call("GET", "/api/v1/datasets/clinic/budget", "ana").status == 503
        yield running


def test_the_other_data_set_is_answered(running: Running) -> None:
    asked = {"query": COUNT, "epsilon": "0.5"}
    assert running.call("POST", "/api/v1/datasets/hospital/query", "ana", asked).json["replayed"]
    assert running.call("POST", "/api/v1/datasets/clinic/query", "ana", asked).status == 503


def test_people_and_figures_are_told_without_it(running: Running) -> None:
    people = running.call("GET", "/api/v1/people", "stella").json["people"]
    parts = {one["dataset"]: one for one in next(row for row in people if row["name"] == "ana")["budgets"]}
    assert parts["hospital"]["spent"] == "0.5"
    assert parts["clinic"] == {"dataset": "clinic", "epsilon": "2", "refused": "The ledger cannot be used."}
    figures = running.call("GET", "/api/v1/metrics", "stella").data.decode()
    assert 'discreet_budget_epsilon{dataset="hospital",kind="spent"} 0.5' in figures
    assert 'discreet_ledger_refused{dataset="hospital"} 0' in figures
    assert 'discreet_ledger_refused{dataset="clinic"} 1' in figures
    assert 'discreet_charges_total{dataset="clinic"}' not in figures


@pytest.mark.parametrize(
    ("who", "page"), [("stella", "/steward"), ("stella", "/steward/people"), ("ana", "/data")]
)
def test_pages_show_the_others(running: Running, who: str, page: str) -> None:
    answer = Visit(running, who).get(page)
    assert answer.status == 200
    text = answer.data.decode()
    assert "The ledger cannot be used." in text
    assert "hospital" in text
    if page == "/steward":
        assert re.search(r'id="live-clinic" data-live>\s*<div class="fault"', text), (
            "a page that is open shows it"
        )


def test_a_new_token_is_shown_and_one_is_revoked(running: Running) -> None:
    """It was made, and never shown."""
    visit = Visit(running, "stella")
    shown = visit.send("/steward/people/token", name="ana", days="1")
    token = re.search(r"discreet_[0-9a-f]+_[\w-]+", shown.data.decode())
    assert shown.status == 200
    assert token is not None
    assert running.call("GET", "/api/v1/me", token[0]).json["name"] == "ana"
    assert visit.send("/steward/people/revoke", token=token[0].split("_")[1]).status == 303
    assert running.call("GET", "/api/v1/me", token[0]).status == 401
