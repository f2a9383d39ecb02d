"""How much was cut off, in every form of an answer."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
from tests import shared
from tests.sql.plan.test_cut_off import GIVEN, MEAN, TABLE
from typer.testing import CliRunner

from discreet.cli.app import app
from discreet.release.answer import Release


def test_every_form_of_an_answer_tells_it(tmp_path: Path) -> None:
    session = shared.protect(TABLE, **GIVEN)
    answer = session.sql(MEAN, epsilon=40, diagnose="0.5")
    rows, values = answer.cut_off
    assert (rows.subject, rows.by, rows.counted) == ("rows", "max_rows = 3", 12)
    assert rows.low < rows.share < rows.high
    assert "of the rows were dropped by max_rows = 3" in str(rows)
    assert "of cost was clamped to its bounds" in str(values)
    for text in (repr(answer), answer._repr_html_(), answer.card()):
        assert "dropped by max_rows" in text
        assert "diagnose" not in text
    assert Release.from_bytes(answer.to_bytes()).cut_off == answer.cut_off
    written = session.write(MEAN, 40, tmp_path / "mean.csv", diagnose="0.5")
    assert written.replayed
    assert written.cut_off == answer.cut_off
    plain = session.sql(MEAN, epsilon=1)
    assert plain.cut_off == ()
    assert "diagnose 0.05" in plain.card()


def test_the_command_line_and_its_json(tmp_path: Path) -> None:
    pq.write_table(TABLE, tmp_path / "visits.parquet")
    command = ["query", MEAN, "--source", str(tmp_path / "visits.parquet"), "--unit", "who", "--max-rows", "3",
               "--budget", "99", "--bounds", "cost=0:50", "--epsilon", "40", "--diagnose", "0.5"]  # fmt: skip
    told_ = CliRunner().invoke(app, command)
    assert "dropped by max_rows = 3" in told_.stdout
    shares = json.loads(CliRunner().invoke(app, [*command, "--json"]).stdout)["cut_off"]
    assert [share["subject"] for share in shares] == ["rows", "cost"]
    assert shares[0]["text"] in told_.stdout
