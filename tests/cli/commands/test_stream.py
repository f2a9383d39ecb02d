"""`discreet stream` counts lines by period, is charged once, and goes on where it stopped."""

from __future__ import annotations

import json
import math
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from tests.cli.conftest import Run
from tests.warm import programs

from discreet.cli.commands import stream as stream_command
from discreet.errors import SourceError
from discreet.streams import Stream

GIVEN = ("stream", "policy.toml", "--table", "visits", "--start", "2026-01-01", "--periods", "4", "-e", "1/2")
ROWS = "patient_id,time,county,age\n" + "".join(
    f"{n},2026-01-0{1 + n % 3}T10:00,{'ABC'[n % 3]},{n % 100}\n" for n in range(300)
)


def lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def test_periods_from_stdin(folder: Path, run: Run) -> None:
    done = run(*GIVEN, "--by", "county", "--json", text=ROWS)
    assert done.exit_code == 0, done.stderr
    assert "all rows of one patient_id" in done.stderr
    assert "epsilon 1/2 was charged" in done.stderr.replace("0.5", "1/2")
    found = lines(done.stdout)
    assert [(one["period"], one["county"]) for one in found[:3]] == [
        ("2026-01-01", county) for county in "ABC"
    ]
    assert len(found) == 4 * 3
    # Noise of scale 6: 200 has a chance of e^-33.
    assert all(
        abs(one["value"] - 100 * (one["county"] == "ABC"[i // 3 % 4] if i < 9 else 0)) < 200
        for i, one in enumerate(found)
    )
    again = run(*GIVEN, "--by", "county", "--json", text=ROWS)
    assert again.stdout == done.stdout
    assert "charged" not in again.stderr
    assert run(*GIVEN, "--by", "county", "--new", text=ROWS).stdout == ""
    assert len(json.loads(run("budget", "--json").stdout)["charges"]) == 1


def test_counts_are_whole_numbers(folder: Path, run: Run) -> None:
    """Of the method that only adds numbers of periods, also in JSON."""
    given = (*GIVEN, "--method", "period", "--sum", "age", "--count")
    shown = run(*given, text=ROWS).stdout.splitlines()
    assert all(
        re.fullmatch(r"\S+  count -?[\d,]+ ± [\d,]+  total -?[\d,]+ ± [\d,]+", line) for line in shown[::2]
    )
    assert all("." in line for line in shown[1::2])
    for one in lines(run(*given, "--json", text=ROWS).stdout)[::2]:
        assert (type(one["value"]), type(one["total"])) == (int, int)


@pytest.mark.parametrize("value", [-7.0, 12.4, 12.5, -0.3, 1e6 + 0.75])
@pytest.mark.parametrize("error", [0.2, 5.5, 11.0, 1234.5])
def test_a_whole_number_has_the_interval_of_its_estimate(value: float, error: float) -> None:
    near, wide = (int(one.replace(",", "")) for one in stream_command._whole(value, error).split(" ± "))
    inside = {
        n for n in range(math.floor(value - error), math.ceil(value + error) + 1) if abs(n - value) <= error
    }
    assert inside <= set(range(near - wide, near + wide + 1))
    assert wide <= error + 0.5


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--mean", "agee"), "Did you mean age?"), (("--sum", "Age"), "Did you mean age?"),
        (("--by", "countie"), "Did you mean county?"), (("--table", "visit"), "Did you mean visits?"),
        (("--mean", "nothing_like_it"), "Choose from age"),
    ],
)  # fmt: skip
def test_a_name_that_was_meant_is_proposed(more: tuple[str, ...], said: str, folder: Path, run: Run) -> None:
    done = run(*GIVEN, *more, text=ROWS)
    assert (done.exit_code, said in done.stderr) == (2, True)


def test_the_null_device_is_refused_before_the_charge(folder: Path, run: Run) -> None:
    with Path(os.devnull).open() as nothing:
        done = subprocess.run(
            [programs() / "discreet", *GIVEN], stdin=nothing, capture_output=True, text=True, check=False
        )
    assert done.returncode == 1
    assert "/dev/null" in done.stderr
    assert run(*GIVEN, "--input", os.devnull).exit_code == 1
    assert json.loads(run("budget", "--json").stdout)["charges"] == []
    assert run(*GIVEN, text="patient_id,time\n").exit_code == 0  # no row today is an answer like any other


def test_more_lines_come_later(folder: Path, run: Run) -> None:
    begun = run(*GIVEN, "--count", "--sum", "age", "--until", "2026-01-03", text=ROWS)
    assert [line[:10] for line in begun.stdout.splitlines()] == ["2026-01-01"] * 2 + ["2026-01-02"] * 2
    rest = run(*GIVEN, "--count", "--sum", "age", "--new", text=ROWS + "400,2026-01-04,A,3\n")
    assert [line[:10] for line in rest.stdout.splitlines()] == ["2026-01-03"] * 2 + ["2026-01-04"] * 2
    other = run(*GIVEN, "--count", "--sum", "age", text=ROWS.replace("2026-01-01", "2026-01-02"))
    assert other.exit_code == 1
    assert "does not begin with the lines" in other.stderr


def test_ticks_close_periods(folder: Path, run: Run) -> None:
    one = '{"patient_id": 1, "time": "2026-01-01"}\n'
    text = f"{one}#tick 2026-01-02\n{one}#tick x\n"
    done = run(*GIVEN, "--ticks", "--until", "2026-01-02", "--json", text=text)
    assert len(lines(done.stdout)) == 1
    assert run(*GIVEN, "--until", "2026-01-02", "--json", "--name", "b", text=text).exit_code == 0


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--start", "soon"), "write a time"), (("--every", "blue"), "No period"), (("--method", "x"), "No method"),
        (("--by", "age"), "public keys"), (("--sum", "county"), "bounds"), (("--table", "x"), "no private table"),
        (("-e", "0"), "epsilon"),
    ],
)  # fmt: skip
def test_bad_usage_charges_nothing(more: tuple[str, ...], said: str, folder: Path, run: Run) -> None:
    done = run(*GIVEN, *more, text=ROWS)
    assert done.exit_code == 2
    assert said in done.stderr
    assert json.loads(run("budget", "--json").stdout)["charges"] == []


def test_a_refused_budget(folder: Path, run: Run) -> None:
    done = run(*GIVEN, "-e", "2", text=ROWS)
    assert done.exit_code == 3
    assert done.stdout == ""


def test_a_file_is_followed(folder: Path) -> None:
    file = folder / "visits.csv"
    file.write_text(ROWS)
    command = [
        sys.executable,
        "-m",
        "discreet",
        *GIVEN,
        "--input",
        "visits.csv",
        "--follow",
        "--ticks",
        "--json",
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ) as process:
        assert process.stdout is not None
        try:
            for day in (2, 3, 4):
                with file.open("a") as end:
                    end.write(f"#tick 2026-01-0{day}\n")
                assert json.loads(process.stdout.readline())["period"] == f"2026-01-0{day - 1}"
        finally:
            process.send_signal(signal.SIGTERM)
            deadline = time.monotonic() + 60
            while process.poll() is None and time.monotonic() < deadline:
                time.sleep(0.05)
            process.kill()


ENDLESS = (
    "stream",
    "policy.toml",
    "--table",
    "visits",
    "--start",
    "2026-01-01",
    "-e",
    "1/4",
    "--until",
    "2026-01-04",
)


def test_batches_of_arrow_and_parquet_without_a_last_period(folder: Path, run: Run) -> None:
    rows = pa.csv.read_csv(pa.BufferReader(ROWS.encode()))
    with pa.ipc.new_stream(folder / "visits.arrows", rows.schema) as writer:
        writer.write_table(rows, max_chunksize=70)
    pa.parquet.write_table(rows, folder / "visits.parquet")
    given = ("--mean", "age", "--window", "2", "--json")
    batches = run(*ENDLESS, *given, "--input", "visits.arrows")
    assert batches.exit_code == 0, batches.stderr
    assert "at most 131,071 periods" in batches.stderr
    found = lines(batches.stdout)
    assert [(one["period"], one["measure"], one["window"]) for one in found] == [
        (f"2026-01-0{day}", "mean_age", 2) for day in (1, 2, 3)
    ]
    other = run(*ENDLESS, *given, "--name", "b", "--input", "visits.parquet")
    assert other.exit_code == 0, other.stderr
    assert len(lines(other.stdout)) == 3
    again = run(*ENDLESS, *given, "--input", "visits.arrows")
    assert again.stdout == batches.stdout
    assert "charged" not in again.stderr


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--format", "xml"), "No format"), (("--format", "arrow", "--ticks"), "Only lines"),
        (("--input", "none.csv"), "No such file"), (("--input", "redis://127.0.0.1:1/visits"), "does not answer"),
        (("--input", "nats://127.0.0.1:1/visits"), "does not answer"), (("--input", "amqp://x/y"), "No broker"),
        (("--periods", "3", "--window", "4"), "longer than"), (("--delta", "1e-6", "--periods", "2048"), "delta"),
        (("--mean", "county"), "bounds"),
    ],
)  # fmt: skip
def test_inputs_that_cannot_be_read_charge_nothing(
    more: tuple[str, ...], said: str, folder: Path, run: Run
) -> None:
    done = run(*ENDLESS, *more, text=ROWS)
    assert done.exit_code in (1, 2, 3)
    assert said in done.stderr
    assert "fix: " in done.stderr
    assert json.loads(run("budget", "--json").stdout)["charges"] == []


def charges(run: Run) -> list[Any]:
    return list(json.loads(run("budget", "--json").stdout)["charges"])


@pytest.mark.parametrize(
    "name", ["visits.csv", "-", "visits.arrows", "visits.arrow", "visits.parquet", "parts"]
)
def test_a_wrong_column_charges_nothing(name: str, folder: Path, run: Run) -> None:
    rows = pa.csv.read_csv(pa.BufferReader(ROWS.encode()))
    (folder / "visits.csv").write_text(ROWS)
    for made in (pa.ipc.new_stream, pa.ipc.new_file):
        with made(folder / f"visits.arrow{'s' * (made is pa.ipc.new_stream)}", rows.schema) as writer:
            writer.write_table(rows)
    (folder / "parts").mkdir()
    for path in ("visits.parquet", "parts/1.parquet"):
        pa.parquet.write_table(rows, folder / path)
    given = (*GIVEN, "--input", name, "--until", "2026-01-04")
    done = run(*given, "--time", "at", text=ROWS)
    assert done.exit_code == 1
    assert "column at" in done.stderr
    assert "charged: nothing" in done.stderr
    assert charges(run) == []
    done = run(*given, text=ROWS)
    assert done.exit_code == 0, done.stderr
    assert len(done.stdout.splitlines()) == 3
    assert len(charges(run)) == 1


def test_columns_that_are_read_after_the_charge_are_found(
    folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("discreet.streams.feeds.text.TextFeed.look", lambda self: None)
    done = run(*GIVEN, "--time", "at", text=ROWS)
    assert len(charges(run)) == 1
    assert "column at" in done.stderr
    # The error says so at least.
    assert "charged: epsilon 0.5, which stays charged" in done.stderr


def test_an_input_that_is_no_arrow_charges_nothing(folder: Path, run: Run) -> None:
    for text in (ROWS, "x", "ARROW1\0\0x", "\xff"):
        done = run(*GIVEN, "--format", "arrow", text=text)
        assert done.exit_code == 1
        done = run(*GIVEN, "--format", "parquet", text=text)
        assert done.exit_code == 1
    assert charges(run) == []
    assert run(*GIVEN, "--format", "arrow", text="").exit_code == 0  # no batch yet is no fault


POLLED = ("stream", "polled.toml", "--start", "2026-01-01", "--periods", "4", "-e", "1/2", "--poll", "--json")


def polled(folder: Path) -> None:
    """A policy over a DuckDB file."""
    policy = (folder / "policy.toml").read_text()
    (folder / "polled.toml").write_text(
        policy.replace(policy[: policy.find("[tables")], 'budget = 1\nsource.url = "duckdb:visits.db"\n')
    )
    rows = pa.csv.read_csv(pa.BufferReader(ROWS.encode()))  # noqa: F841  DuckDB reads it
    with duckdb.connect(str(folder / "visits.db")) as file:
        file.sql("CREATE TABLE visits AS SELECT * REPLACE (CAST(time AS TIMESTAMP) AS time) FROM rows")


def test_a_table_is_polled(folder: Path, run: Run) -> None:
    polled(folder)
    first = run(*POLLED, "--until", "2026-01-03")
    assert first.exit_code == 0, first.stderr
    assert [one["period"] for one in lines(first.stdout)] == ["2026-01-01", "2026-01-02"]
    assert abs(lines(first.stdout)[0]["value"] - 100) < 200  # noise of scale 6
    with duckdb.connect(str(folder / "visits.db")) as file:  # nobody holds the file between polls
        file.sql("INSERT INTO visits SELECT * REPLACE (TIMESTAMP '2026-01-02' AS time) FROM visits")
        file.sql("INSERT INTO visits SELECT * REPLACE (TIMESTAMP '2026-01-04' AS time) FROM visits LIMIT 9")
    rest = run(*POLLED, "--follow", "--grace", "60")  # all periods are over
    assert rest.exit_code == 0, rest.stderr
    assert lines(rest.stdout)[:2] == lines(first.stdout)  # late rows change nothing that was shown
    assert len(lines(rest.stdout)) == 4
    assert len(json.loads(run("budget", "-p", "polled.toml", "--json").stdout)["charges"]) == 1


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--time", "age"), "date or a time stamp"), (("--time", "at"), "such as --time "),
        (("--ticks",), "--poll reads"), (("--input", "duckdb:none.db"), "none.db"),
        (("--format", "lines"), "--poll reads"), (("--grace", "1e300"), "a number of seconds"),
    ],
)  # fmt: skip
def test_a_table_that_cannot_be_polled_charges_nothing(
    more: tuple[str, ...], said: str, folder: Path, run: Run
) -> None:
    polled(folder)
    done = run(*POLLED, *more)
    assert done.exit_code in (1, 2)
    assert said in done.stderr
    assert json.loads(run("budget", "-p", "polled.toml", "--json").stdout)["charges"] == []


@pytest.mark.parametrize("follow", [True, False])
def test_a_table_that_cannot_be_read_for_a_while_is_tried_again(
    follow: bool, folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    polled(folder)
    read, asked = Stream.poll, []

    def poll(*given: Any) -> Any:
        asked.append(given)
        if len(asked) < 3:
            raise SourceError("The file is in use by another process.", "Try again.")
        return read(*given)

    monkeypatch.setattr(Stream, "poll", poll)
    monkeypatch.setattr(stream_command, "PAUSE", 0)
    done = run(*POLLED, *(["--follow", "--grace", "60"] if follow else []))
    assert done.exit_code == (0 if follow else 1), done.stderr
    assert (done.stderr.count("in use"), len(asked)) == ((1, 3) if follow else (1, 1))
    assert len(lines(done.stdout)) == (4 if follow else 0)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--grace", "90"), "and 90 seconds of --grace are over: all have ended."),
        (("--ticks",), "when a line #tick with its end, or a later time, has come."),
    ],
)
def test_who_follows_a_file_is_told_when_a_period_is_printed(
    more: tuple[str, ...], said: str, folder: Path, run: Run
) -> None:
    """A day may pass before the first line."""
    (folder / "visits.csv").write_text(ROWS + "#tick 2026-01-05\n" * ("--ticks" in more))
    done = run(*GIVEN, "--input", "visits.csv", "--follow", *more)
    assert done.exit_code == 0, done.stderr
    assert said in " ".join(done.stderr.split())
    assert len(done.stdout.splitlines()) == 4


def test_a_stream_before_the_end_of_its_first_period_says_so(folder: Path, run: Run) -> None:
    done = run(*GIVEN, "--until", "2026-01-01T23:00", text=ROWS)
    assert (done.exit_code, done.stdout) == (0, "")
    assert "No period has ended yet: the first one ends 2026-01-02 00:00 UTC." in " ".join(
        done.stderr.split()
    )
