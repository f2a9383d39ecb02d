"""Questions over HTTP: forms, errors, history, and all that an analyst could try to get around the budget."""

from __future__ import annotations

import inspect
import io
import json
import threading
from collections.abc import Iterator
from dataclasses import asdict
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray
from pyarrow import parquet

from discreet.errors import EngineError
from discreet.federation import nodes
from discreet.release.documents import from_arrow
from discreet.server.api import analyst
from discreet.server.records.sent import Sent
from discreet.session.analyst import AnalystSession
from discreet.session.queries import Queries
from discreet.session.question import SessionQuestion
from tests.server.conftest import COUNT, Answer, Running, run

HOSPITAL = "/api/v1/datasets/hospital"
OLDER = "SELECT county, COUNT(*) AS n FROM visits WHERE age > {} GROUP BY county"


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    yield from run(tmp_path_factory.mktemp("service"))


def ask(running: Running, who: str, body: object, form: str = "json") -> Answer:
    return running.call("POST", f"{HOSPITAL}/query?format={form}", who, body)


def spent(running: Running, who: str) -> tuple[Fraction, Fraction]:
    said = running.call("GET", f"{HOSPITAL}/budget", who).json
    return Fraction(said["spent"]), Fraction(said["data_set"]["spent"])


def test_integers_of_data_that_changes_meanwhile_are_told_as_charged(
    running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = nodes.given

    def late(session: AnalystSession, asked: SessionQuestion) -> NDArray[np.int64]:
        with monkeypatch.context() as patch:
            patch.setattr(Queries, "versions", lambda self: ("another",))
            return given(session, asked)

    monkeypatch.setattr(analyst, "given", late)
    before = spent(running, "ana")
    body = {"query": OLDER.format(97), "epsilon": "0.0625"}
    found = running.call("POST", f"{HOSPITAL}/integers", "ana", body)
    assert (found.status, found.json["error"]) == (502, "EngineError")
    assert found.json["charged"]["epsilon"] == "0.0625"
    assert spent(running, "ana")[0] - before[0] == Fraction(1, 16)


def test_one_question_in_four_forms_is_one_charge(running: Running) -> None:
    before = spent(running, "ana")
    question = {"query": COUNT, "epsilon": "0.125"}
    said = ask(running, "ana", question).json
    counts = [row["n"] for row in said["rows"]]
    assert [row["county"] for row in said["rows"]] == ["A", "B", "C"]
    assert all(row["n_low"] < row["n"] < row["n_high"] for row in said["rows"])
    assert (
        ask(running, "ana", question, "csv").data.decode().splitlines()[0] == '"county","n","n_low","n_high"'
    )
    release = from_arrow(ask(running, "ana", question, "arrow").data)
    assert (release["n"], release.epsilon, release.replayed) == (counts, Fraction(1, 8), True)
    stored = parquet.read_table(io.BytesIO(ask(running, "ana", question, "parquet").data))
    assert stored.column("n").to_pylist() == counts
    with pa.ipc.open_stream(ask(running, "ana", question, "arrow").data) as stream:
        assert stream.read_all().column_names == ["county", "n", "n_low", "n_high"]
    after = spent(running, "ana")
    assert (after[0] - before[0], after[1] - before[1]) == (Fraction(1, 8), Fraction(1, 8))


def test_the_form_is_that_which_the_client_accepts(running: Running) -> None:
    question = {"query": COUNT, "epsilon": "0.125"}
    for accept, kind in (
        ("text/csv", "text/csv"),
        ("a/b, text/csv;q=1", "text/csv"),
        ("*/*", "application/json"),
    ):
        answer = running.call("POST", f"{HOSPITAL}/query", "ana", question, Accept=accept)
        assert answer.headers["content-type"].startswith(kind)
    assert ask(running, "ana", question, "xml").status == 422


def test_history_shows_what_was_paid_for_and_only_to_its_owner(running: Running) -> None:
    question = {"query": "SELECT AVG(age) AS age FROM visits", "epsilon": "0.25"}
    rows = ask(running, "ana", question).json["rows"]
    newest = running.call("GET", f"{HOSPITAL}/releases", "ana").json["releases"][0]
    assert (newest["epsilon"], newest["answered"], newest["asked"]["query"]) == (
        "0.25",
        True,
        question["query"],
    )
    before = spent(running, "ana"), spent(running, "ben")
    path = f"{HOSPITAL}/releases/{newest['key']}"
    assert running.call("GET", path, "ana").json["rows"] == rows
    assert running.call("GET", path, "ben").status == 404
    assert newest["key"] not in [
        one["key"] for one in running.call("GET", f"{HOSPITAL}/releases", "ben").json["releases"]
    ]
    assert (spent(running, "ana"), spent(running, "ben")) == before
    ask(running, "ben", question)  # now ben has paid for it, alone
    assert running.call("GET", path, "ben").json["rows"] == rows
    assert (spent(running, "ben")[0] - before[1][0], spent(running, "ben")[1]) == (
        Fraction(1, 4),
        before[0][1],
    )


def test_the_steward_sees_who_asked_which_question(running: Running) -> None:
    ask(running, "ana", {"query": "SELECT COUNT(*) AS planted FROM visits", "epsilon": "0.5"})
    newest = running.call("GET", f"{HOSPITAL}/log?limit=1", "stella").json["charges"][0]
    assert (newest["who"], newest["epsilon"], newest["answered"]) == ("ana", "0.5", True)
    assert "planted" in newest["question"]
    assert running.call("POST", f"{HOSPITAL}/verify", "stella").json["verified"] is True


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ({"query": "SELECT age FROM visits", "epsilon": "0.1"}, "QueryRefused"),
        ({"query": COUNT, "epsilon": "0"}, "InvalidParameter"),
        ({"query": COUNT, "epsilon": "NaN"}, "InvalidParameter"),
        ({"query": COUNT, "epsilon": "1e999999999"}, "InvalidParameter"),
        ({"query": COUNT, "epsilon": -1}, "InvalidParameter"),
        ({"query": COUNT}, "InvalidParameter"),
        ({"query": COUNT, "epsilon": True}, "InvalidParameter"),
        ({"query": COUNT, "epsilon": [1]}, "InvalidParameter"),
        ({"query": COUNT, "epsilon": "0.1", "confidence": 2}, "InvalidParameter"),
        ({"query": COUNT, "epsilon": "0.1", "Epsilon": "9"}, "InvalidParameter"),
        ({"query": COUNT, "epsilon": "0.1", "options": {"epsilon": 9}}, "InvalidParameter"),
        ({"query": {"query": COUNT, "epsilon": 9}, "epsilon": "0.1"}, "InvalidParameter"),
        ({"query": "x" * 100_001, "epsilon": "0.1"}, "InvalidParameter"),
        ({"query": COUNT, "epsilon": "49"}, "BudgetExceeded"),
        ({"query": "SELECT * FROM read_csv('/etc/passwd')", "epsilon": "0.1"}, "QueryRefused"),
        ({"query": COUNT, "epsilon": "0.1", "progress": "x"}, "InvalidParameter"),
        ([], "InvalidParameter"),
    ],
)  # fmt: skip
def test_refusals_cost_nothing_and_have_one_shape(running: Running, body: object, error: str) -> None:
    before = spent(running, "ana")
    answer = ask(running, "ana", body)
    assert answer.status in (409, 422)
    assert (answer.json["error"], answer.json["charged"]) == (error, None)
    assert spent(running, "ana") == before


@pytest.mark.parametrize(
    "raw", [b"", b"{", b"[" * 100_000, b'{"query": ' + b"9" * 9_000, b"\xff", b'{"query":NaN}']
)
def test_bodies_that_are_no_json(running: Running, raw: bytes) -> None:
    answer = running.call("POST", f"{HOSPITAL}/query", "ana", raw=raw)
    assert answer.status == 422
    assert set(answer.json) == {"error", "cause", "fix", "charged"}


def test_two_prices_that_disagree_are_refused(running: Running) -> None:
    text = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.5) COUNT(*) AS n FROM visits"
    assert ask(running, "ana", {"query": text, "epsilon": "0.1"}).json["error"] == "InvalidParameter"
    before = spent(running, "ben")
    assert ask(running, "ben", {"query": text}).status == 200
    assert spent(running, "ben")[0] - before[0] == Fraction(1, 2)


@pytest.mark.parametrize("address", ["query", "preview", "explain", "mock"])
@pytest.mark.parametrize("option", ["nonnegative = TRUE", "integers = TRUE", "confidence = 0.5"])
def test_an_option_of_the_text_that_the_body_leaves_out_holds(
    running: Running, address: str, option: str
) -> None:
    text = f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.25, {option}) COUNT(*) AS n FROM visits"
    answer = running.call("POST", f"{HOSPITAL}/{address}", "ben", {"query": text})
    assert (answer.status, answer.json["epsilon"] if address != "explain" else "0.25") == (200, "0.25")
    if address in ("query", "preview"):
        assert answer.json["confidence"] == (0.5 if "confidence" in option else 0.95)


def test_a_price_of_the_text_beside_an_error_is_refused(running: Running) -> None:
    text = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.5) COUNT(*) AS n FROM visits"
    answer = ask(running, "ana", {"query": text, "within": {"n": 5}})
    assert (answer.status, answer.json["error"]) == (422, "InvalidParameter")


def test_an_error_after_the_charge_has_fixed_words_and_names_its_price(
    running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise EngineError("patient 4711 has a value at /srv/visits.parquet", "Look at 4711.")

    monkeypatch.setattr(Queries, "run", fails)
    question = {"query": "SELECT COUNT(*) AS unlucky FROM visits", "epsilon": "0.75"}
    before = spent(running, "ben")
    answer = ask(running, "ben", question)
    assert answer.status == 502
    assert answer.json["charged"]["delta"] == "0"
    assert b"4711" not in answer.data
    assert b"/srv" not in answer.data
    assert (
        Fraction(answer.json["charged"]["epsilon"]) == spent(running, "ben")[0] - before[0] == Fraction(3, 4)
    )
    newest = running.call("GET", f"{HOSPITAL}/releases", "ben").json["releases"][0]
    assert newest["answered"] is False  # a charge that bought nothing is told


def test_an_error_that_nobody_foresaw_says_nothing(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Queries, "run", lambda *_: [][4711])
    answer = ask(running, "ben", {"query": "SELECT COUNT(*) AS odd FROM visits", "epsilon": "0.875"})
    assert (answer.status, answer.json["error"]) == (500, "ServerError")
    assert answer.json["charged"]["delta"] == "0"
    assert b"index" not in answer.data


def test_free_addresses_charge_nothing(running: Running) -> None:
    before = spent(running, "ana")
    body = {"query": COUNT, "epsilon": "0.3"}
    assert running.call("POST", f"{HOSPITAL}/preview", "ana", body).json["epsilon"] == "0.3"
    within = {"query": COUNT, "within": {"n": 50}}
    assert float(running.call("POST", f"{HOSPITAL}/preview", "ana", within).json["epsilon"]) > 0
    assert "release" in running.call("POST", f"{HOSPITAL}/explain", "ana", body).json["text"]
    mock = running.call("POST", f"{HOSPITAL}/mock", "ana", {**body, "rows": 100}).json
    assert [row["county"] for row in mock["rows"]] == ["A", "B", "C"]
    assert running.call("POST", f"{HOSPITAL}/mock", "ana", {**body, "rows": 10**9}).status == 422
    assert running.call("POST", f"{HOSPITAL}/query", "ana", {"query": "SHOW TABLES"}).status == 200
    assert spent(running, "ana") == before


def test_the_schema_names_keys_and_bounds_and_no_row(running: Running) -> None:
    (table,) = running.call("GET", HOSPITAL, "ana").json["tables"]
    columns = {one["column_name"]: one for one in table["columns"]}
    assert columns["county"]["values"] == ["A", "B", "C"]
    assert (columns["age"]["lower_bound"], columns["age"]["upper_bound"]) == ("0", "120")


def test_threads_of_two_analysts_never_overdraw(running: Running, tmp_path: Path) -> None:
    for name in ("cyd", "dan"):
        running.person(name, epsilon="0.35")
    statuses: list[int] = []

    def many(who: str) -> None:
        for at in range(5):
            body = {"query": f"SELECT COUNT(*) AS n FROM visits WHERE age > {at}", "epsilon": "0.1"}
            statuses.append(ask(running, who, body).status)

    threads = [threading.Thread(target=many, args=(who,)) for who in ("cyd", "dan") for _ in range(3)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert set(statuses) <= {200, 409}
    assert all(spent(running, who)[0] == Fraction(3, 10) for who in ("cyd", "dan"))


def test_nothing_that_is_answered_names_a_place(running: Running) -> None:
    folder = running.service.datasets["hospital"].session.ledger.where.rpartition("/")[0]
    said = b"".join(
        [
            running.call("GET", HOSPITAL, "ana").data,
            running.call("GET", "/api/v1/datasets", "ana").data,
            running.call("GET", "/api/v1/openapi.json").data,
            running.call("POST", f"{HOSPITAL}/verify", "stella").data,
            json.dumps([asdict(one) for one in running.service.state.audit(100)]).encode(),
        ]
    )
    assert folder.encode() not in said


def waiting() -> set[str]:
    """The dependencies of the addresses that FastAPI would run in a thread, which each request then waits for."""
    found, open_ = set(), [route.dependant for route in analyst.router.routes]  # type: ignore[attr-defined]
    while open_:
        one = open_.pop()
        open_ += one.dependencies
        if one.call is not None and not inspect.iscoroutinefunction(one.call):
            found.add(one.call.__name__)
    return found


def test_no_request_waits_for_a_thread_before_its_work(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not waiting()
    route = next(iter(analyst.router.routes))
    (first, *_) = route.dependant.dependencies  # type: ignore[attr-defined]
    monkeypatch.setattr(first, "call", len)  # the planted fault
    assert waiting() == {"len"}


def test_an_answer_is_given_again_from_its_text_as_from_the_ledger(
    running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    question = {"query": OLDER.format(41), "epsilon": "0.0625"}
    first = ask(running, "ana", question).json
    before = spent(running, "ana")
    with monkeypatch.context() as patched:
        patched.setattr(Queries, "planned", None)  # whoever plans it fails
        again = ask(running, "ana", question).json
        assert ask(running, "ana", {**question, "confidence": 0.9}).status == 500
    monkeypatch.setattr(running.service, "sent", Sent())
    from_ledger = ask(running, "ana", question).json
    assert again == {**first, "replayed": True, "budget": again["budget"]}
    assert again == from_ledger
    assert spent(running, "ana") == before


def test_a_text_is_for_who_paid_and_for_as_long_as_they_may_ask(running: Running) -> None:
    question = {"query": OLDER.format(42), "epsilon": "0.0625"}
    running.person("owner", epsilon=1)
    token = running.tokens["owner"]
    assert ask(running, "owner", question).status == ask(running, "owner", question).status == 200
    before = spent(running, "ana")
    # Shown to another analyst, it has its price, and says so.
    assert not ask(running, "ana", question).json["replayed"]
    assert spent(running, "ana")[0] - before[0] == Fraction(1, 16)
    running.service.people.withdraw("test", "owner", "hospital")
    assert ask(running, "owner", question).status == 404
    running.service.people.grant("test", "owner", "hospital", 1)
    assert ask(running, "owner", question).status == 200
    running.service.people.revoke("test", token.split("_")[1])
    assert ask(running, "owner", question).status == 401


def test_a_text_about_earlier_data_is_given_to_nobody(
    running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    question = {"query": OLDER.format(43), "epsilon": "0.0625"}
    assert ask(running, "ana", question).status == 200
    before = spent(running, "ana")
    monkeypatch.setattr(Queries, "versions", lambda _: ("visits of tomorrow",))
    assert not ask(running, "ana", question).json["replayed"]
    assert spent(running, "ana")[0] - before[0] == Fraction(1, 16)


def test_a_text_that_anybody_finds_would_be_seen(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    question = {"query": OLDER.format(44), "epsilon": "0.0625"}
    assert ask(running, "ana", question).status == 200
    find = Sent.find
    monkeypatch.setattr(Sent, "find", lambda self, dataset, asked, _: find(self, dataset, asked, "ana"))
    before = spent(running, "ben")
    assert ask(running, "ben", question).status == 200
    assert spent(running, "ben") == before  # where `find` is right, ben pays
