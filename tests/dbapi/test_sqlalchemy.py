from __future__ import annotations

import tomllib
from collections.abc import Iterator
from importlib import import_module

import pandas as pd
import pytest
from sqlalchemy import Engine, MetaData, Table, create_engine, func, inspect, select, text
from sqlalchemy.dialects import registry
from sqlalchemy.exc import ArgumentError, NoSuchTableError

from discreet.dbapi.sqlalchemy import DiscreetDialect
from tests.server.conftest import COUNT, Running, make_hospital, running  # noqa: F401
from tests.test_readme import ROOT


@pytest.fixture(scope="module", autouse=True)
def known() -> None:
    """The dialect, also where the package was installed before it had one."""
    registry.register("discreet", "discreet.dbapi.sqlalchemy", "DiscreetDialect")


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    path = make_hospital(tmp_path_factory.mktemp("hospital"))
    made = create_engine(f"discreet:///{path}?epsilon=0.5")
    yield made
    made.dispose()


def test_the_package_names_its_dialect() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    module, _, name = project["entry-points"]["sqlalchemy.dialects"]["discreet"].partition(":")
    assert getattr(import_module(module), name) is DiscreetDialect


def test_pandas_reads_an_answer(engine: Engine) -> None:
    frame = pd.read_sql(COUNT, engine)
    assert sorted(frame["county"]) == ["A", "B", "C"]
    named = pd.read_sql(text(COUNT.replace("GROUP", "WHERE age > :age GROUP")), engine, params={"age": 30})
    assert len(named) == 3


def test_tables_and_columns_are_those_of_the_policy(engine: Engine) -> None:
    looked = inspect(engine)
    assert looked.get_schema_names() == ["main"]
    assert looked.get_table_names() == ["visits"]
    assert looked.get_table_names("other") == []
    assert looked.has_table("visits")
    assert not looked.has_table("nothing")
    assert looked.get_view_names() == []
    assert looked.get_pk_constraint("visits")["constrained_columns"] == []
    assert [one["name"] for one in looked.get_columns("visits")] == ["patient_id", "age", "county"]
    with pytest.raises(NoSuchTableError):
        looked.get_columns("nothing")


def test_expressions_are_compiled_and_limited(engine: Engine) -> None:
    visits = Table("visits", MetaData(), autoload_with=engine)
    number = func.count().label("n")
    asked = select(visits.c.county, number, func.avg(visits.c.age)).where(visits.c.age > 30)
    asked = asked.group_by(visits.c.county).order_by(number.desc()).limit(2)
    with engine.connect() as connection:
        assert len(connection.execute(asked).all()) == 2


def test_settings_transactions_and_intervals(engine: Engine) -> None:
    with engine.connect() as connection:
        connection.execute(text("SET discreet.intervals = on"))
        assert list(connection.execute(text(COUNT)).keys()) == ["county", "n", "n_low", "n_high"]
        connection.rollback()
        connection.execute(text("SET discreet.epsilon = 50000"))
        connection.execute(text("RESET ALL"))
        assert list(connection.execute(text(COUNT)).keys()) == [
            "county",
            "n",
        ]  # at the epsilon of the address


def test_rows_are_refused(engine: Engine) -> None:
    with pytest.raises(pd.errors.DatabaseError, match="private table"):
        pd.read_sql_table("visits", engine)


def test_a_server_is_a_database_too(running: Running) -> None:  # noqa: F811
    address = f"127.0.0.1:{running.port}/hospital?epsilon=1&intervals=on"
    for user in (running.tokens["ana"], f"ana:{running.tokens['ana']}"):
        made = create_engine(f"discreet://{user}@{address}")
        assert list(pd.read_sql(COUNT, made).columns) == ["county", "n", "n_low", "n_high"]
        assert inspect(made).get_table_names() == ["visits"]
        made.dispose()
    assert running.tokens["ana"] not in repr(made.url)


@pytest.mark.parametrize(
    "url", ["discreet://", "discreet:///p.toml?epsilom=1", "discreet:///p.toml?epsilon=1&epsilon=2"]
)
def test_an_address_that_says_too_little_or_too_much_is_refused(url: str) -> None:
    with pytest.raises(ArgumentError):
        create_engine(url).connect()


def test_another_host_is_asked_through_tls_alone() -> None:
    from sqlalchemy.engine import make_url

    args, keywords = DiscreetDialect().create_connect_args(make_url("discreet://t@stats.example.org/h"))
    assert args == ["https://stats.example.org"]
    assert keywords == {"intervals": False, "token": "t", "dataset": "h"}


def test_a_setting_ends_with_its_turn_in_the_pool(engine: Engine) -> None:
    """Else whoever has the connection next pays a price that somebody else has set."""
    with engine.connect() as connection:
        connection.exec_driver_sql("SET discreet.epsilon = 7")
        assert connection.exec_driver_sql("SHOW discreet.epsilon").scalar() == "7"
        connection.rollback()
        assert connection.exec_driver_sql("SHOW discreet.epsilon").scalar() == "7"
    with engine.connect() as connection:
        assert connection.exec_driver_sql("SHOW discreet.epsilon").scalar() == "0.5"
