"""The address of forecasts: the account of the caller alone, and nothing of other analysts but the data set's rest."""

from __future__ import annotations

from tests.server.conftest import COUNT, Running

AT = "/api/v1/datasets/hospital"


def test_each_analyst_sees_their_own_account_and_the_data_set(running: Running) -> None:
    assert running.call("POST", f"{AT}/query", "ana", {"query": COUNT, "epsilon": "3"}).status == 200
    found = {
        who: running.call("GET", f"{AT}/forecast?epsilon=1&releases=50", who)
        for who in ("ana", "ben", "rita")
    }
    assert "analyst ana" not in found["ben"].data.decode()
    own, whole = found["ana"].json["forecast"]
    assert own["account"] == "analyst ana"
    assert own["fit"] <= whole["fit"]
    assert set(own) == {"account", "accountant", "fit", "most"}
    assert found["ben"].json["forecast"][1] == whole


def test_numbers_out_of_range_are_refused(running: Running) -> None:
    for asked in (
        "epsilon=0",
        "epsilon=nan",
        "epsilon=-1",
        "releases=0",
        "releases=1001",
        "epsilon=" + "9" * 101,
    ):
        assert running.call("GET", f"{AT}/forecast?{asked}", "ana").status == 422, asked
    tiny = running.call("GET", f"{AT}/forecast?epsilon=1e-9&releases=1000", "ana")
    assert tiny.json["forecast"][0]["fit"] == 1000
