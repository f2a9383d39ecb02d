"""`connect`: the same questions, answers and errors as at hand, through a server that really listens."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Iterator
from fractions import Fraction

import pytest

import discreet as dp
from discreet.cli import options as opt
from discreet.cli.commands import query as asking
from discreet.cli.place import AnswerOptions
from discreet.client import RemoteSession
from discreet.client.transport import call
from discreet.errors import BudgetExceeded, InvalidParameter, NotAllowed, QueryRefused, ServerError
from discreet.ledger.terms import Terms
from discreet.server import bodies
from discreet.session import parameters
from discreet.session.analyst import AnalystSession
from discreet.sql.syntax.priced import NAMES
from tests.server.conftest import COUNT, Running, run


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    yield from run(tmp_path_factory.mktemp("service"))


@pytest.fixture
def far(running: Running) -> RemoteSession:
    return dp.connect(running.url, token=running.tokens["ana"])


@pytest.fixture
def near(running: Running) -> AnalystSession:
    return running.service.datasets["hospital"].analyst("ana", Terms(Fraction(20)))


def test_an_answer_is_the_same_far_and_near(far: RemoteSession, near: AnalystSession) -> None:
    query = f"{COUNT} ORDER BY n DESC"
    there, here = far.sql(query, 0.5), near.sql(query, 0.5)
    assert (there.replayed, here.replayed) == (False, True)
    assert there.to_dict() == here.to_dict()
    assert there.values.schema == here.values.schema
    assert (there.epsilon, there.notes, there.made, there.question) == (
        here.epsilon, here.notes, here.made, here.question,
    )  # fmt: skip
    assert repr(there).splitlines()[:5] == repr(here).splitlines()[:5]
    assert far.budget == near.budget
    assert repr(far.budget) == repr(near.budget)


def test_previews_and_plans_are_the_same_far_and_near(far: RemoteSession, near: AnalystSession) -> None:
    query = "SELECT county, AVG(age) AS age, COUNT(*) AS n FROM visits GROUP BY county"
    assert far.preview(query, "1/3") == near.preview(query, "1/3")
    assert far.preview(query, within={"n": 50}) == near.preview(query, within={"n": 50})
    assert far.explain(query, 0.1) == near.explain(query, 0.1)
    assert repr(far.explain(query, 0.1)) == repr(near.explain(query, 0.1))


def test_the_parameters_of_a_question_arrive(far: RemoteSession, near: AnalystSession) -> None:
    options = {"confidence": 0.9, "simultaneous": True, "max_rows": 2, "split": {"n": 3}}
    query = "SELECT county, AVG(age) AS age, COUNT(*) AS n FROM visits GROUP BY county"
    there = far.sql(query, Fraction(1, 4), **options)  # type: ignore[arg-type]
    assert (there.confidence, there.simultaneous) == (0.9, True)
    assert near.sql(query, Fraction(1, 4), **options).replayed  # type: ignore[arg-type]


def test_invented_data_is_free(far: RemoteSession) -> None:
    before = far.budget
    mock = far.mock(rows=100)
    assert len(mock.sql(COUNT, epsilon=5)) == 3
    assert far.budget == before
    assert "invented" in repr(mock)


def test_errors_are_those_of_a_session_at_hand(far: RemoteSession, near: AnalystSession) -> None:
    for query, epsilon in (
        ("SELECT age FROM visits", 0.1),
        (COUNT, 49),
        (COUNT, 0),
        (COUNT, None),
        ("SELECT (", 1),
    ):
        with pytest.raises((QueryRefused, BudgetExceeded, InvalidParameter)) as here:
            near.sql(query, epsilon)
        with pytest.raises(type(here.value)) as there:
            far.sql(query, epsilon)
        assert str(there.value) == str(here.value)
        assert there.value.charged is None
        kept = {"cause", "fix", "place", "line", "column", "picture", "account", "asked", "left"}
        for name in kept & set(vars(here.value)):
            assert getattr(there.value, name) == getattr(here.value, name)


def test_the_token_decides(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(NotAllowed, match=r"\$DISCREET_TOKEN"):
        dp.connect(running.url, token="discreet_x_y")
    with pytest.raises(InvalidParameter, match="no token"):
        dp.connect(running.url)
    with pytest.raises(InvalidParameter, match="no data set"):
        dp.connect(running.url, token=running.tokens["nobody"])
    with pytest.raises(InvalidParameter, match="none of them"):
        dp.connect(running.url, token=running.tokens["ana"], dataset="other")
    monkeypatch.setenv("DISCREET_TOKEN", running.tokens["rita"])
    with dp.connect(running.url, dataset="hospital") as session, pytest.raises(NotAllowed, match="scope ask"):
        session.sql(COUNT, 0.1)


def test_a_server_that_is_not_there() -> None:
    with pytest.raises(ServerError, match="cannot be reached"):
        dp.connect("http://127.0.0.1:1", token="discreet_x_y")


def test_tables_and_questions_that_were_paid_for(far: RemoteSession) -> None:
    (table,) = far.tables()
    assert [one["column_name"] for one in table["columns"]] == ["patient_id", "age", "county"]
    far.sql(f"{COUNT} LIMIT 2", 0.25)
    newest = far.releases()[0]
    assert (newest["epsilon"], newest["answered"]) == ("0.25", True)
    assert newest["asked"]["query"].startswith("SELECT county")


WORKLOAD = {"all": "SELECT COUNT(*) AS n FROM visits", "by": f"{COUNT} ORDER BY n DESC"}


def test_a_workload_is_the_same_far_and_near(far: RemoteSession, near: AnalystSession) -> None:
    seen = far.preview_workload(WORKLOAD, "0.3")
    assert dict(seen) == dict(near.preview_workload(WORKLOAD, "0.3"))
    assert repr(seen) == repr(near.preview_workload(WORKLOAD, "0.3"))
    spent = far.budget.spent
    there = far.workload(WORKLOAD, "0.3", integers=True)
    assert far.budget.spent == spent + Fraction(3, 10)
    here = near.workload(WORKLOAD, "0.3", integers=True)
    assert (there.replayed, here.replayed, there.epsilon) == (False, True, here.epsilon)
    assert {name: one.to_arrow(False) for name, one in there.items()} == {
        name: one.to_arrow(False) for name, one in here.items()
    }
    (asked,) = [one for one in far.releases() if "queries" in one["asked"]]
    with pytest.raises(QueryRefused, match="workload"):
        far.read(dict, call(far._address, "GET", f"{far._path()}/releases/{asked['key']}"))
    with pytest.raises(InvalidParameter, match="one by one"):
        far.mock().workload(WORKLOAD, 1)
    with pytest.raises(InvalidParameter, match="by name"):
        far.workload(["SELECT 1"], 1)  # type: ignore[arg-type]
    with pytest.raises(QueryRefused, match="nothing"):
        far.workload({"a": "SELECT nothing FROM visits"}, 1)


def test_the_least_epsilon_for_an_error_is_charged(far: RemoteSession) -> None:
    least = far.preview(COUNT, within={"n": 20}).epsilon
    answer = far.sql(COUNT, within={"n": 20}, diagnose=None, nonnegative=True)
    assert answer.epsilon == least
    assert any("bias" in note for note in answer.notes)
    mean = "SELECT AVG(age) AS age FROM visits"
    large = far.preview(mean, within={"age": 2}, group_rows=5000)
    assert large.epsilon * 2 < far.preview(mean, within={"age": 2}).epsilon
    assert far.sql(mean, within={"age": 2}, group_rows=5000).epsilon == large.epsilon
    with pytest.raises(InvalidParameter, match="group_rows decides the price of an error"):
        far.sql(COUNT, 1, group_rows=5000)
    with pytest.raises(InvalidParameter, match="either epsilon or within"):
        far.sql(COUNT, 1, within={"n": 20})
    with pytest.raises(InvalidParameter, match="invented"):
        far.mock().sql(COUNT, within={"n": 20})


# The options of a method that one of the faces does not have, each with the reason.
HERE_ONLY = {
    "progress": "words at each step do not cross a network",
    "reuse": "an analyst sees no answer that was given to another",
    "sql": "the SQL of the engine is for the steward",
}
NOT_SQL = {"confidence", "simultaneous"}  # of `explain`, whose body takes them as `sql` does, and drops them
METHODS = ("sql", "preview", "explain", "workload", "preview_workload")


def options(method: object) -> set[str]:
    """The names of the parameters of a method."""
    return set(inspect.signature(method).parameters) - {"self"}  # type: ignore[arg-type]


@pytest.mark.parametrize("name", METHODS)
def test_a_session_and_a_remote_one_take_the_same_options(name: str) -> None:
    near, far = options(getattr(dp.Session, name)), options(getattr(RemoteSession, name))
    assert near - set(HERE_ONLY) == far


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("sql", bodies.PricedQuestion), ("preview", bodies.PreviewQuestion), ("workload", bodies.Workload),
        ("preview_workload", bodies.WorkloadLook), ("explain", bodies.ExplainQuestion),
    ],
)  # fmt: skip
def test_a_body_takes_the_options_of_its_method(name: str, body: type[bodies.Body]) -> None:
    found = set(body.model_fields) - (NOT_SQL if name == "explain" else set())
    assert found == options(getattr(RemoteSession, name))


def test_the_size_of_groups_is_the_same_by_default_everywhere() -> None:
    found = {bodies.PricedQuestion.model_fields["group_rows"].default, opt.GROUP_ROWS}
    assert found == {parameters.GROUP_ROWS}


def test_the_command_line_takes_the_options_of_a_question() -> None:
    given = {field.name for field in dataclasses.fields(AnswerOptions)} | {
        "epsilon",
        "within",
        "group_rows",
        "reuse",
        "diagnose",
    }
    known = {"no_intervals": "intervals", "sql": "query"}
    assert {known.get(name, name) for name in given} - {"file"} == options(dp.Session.sql) - {
        "progress",
        "max_rows",
    }
    assert {"epsilon", "within", "group_rows", "reuse", "diagnose"} <= options(asking.command)


def test_the_text_of_a_question_takes_its_options() -> None:
    numbers = {"epsilon", "delta", "confidence", "max_rows", "max_groups", "max_rows_per_group"}
    assert set(NAMES.values()) - {"privacy_unit_column"} == numbers | {"nonnegative", "integers"}
    assert numbers < options(dp.Session.sql)


def test_an_option_that_one_face_lacks_is_seen() -> None:
    """The planted fault: a session with one option more."""

    class More(dp.Session):
        def sql(self, query: str, epsilon: object = None, *, further: int = 1) -> object:  # type: ignore[override]
            return further

    assert options(More.sql) - set(HERE_ONLY) != options(RemoteSession.sql)
