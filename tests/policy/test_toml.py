"""Policy files as editors and people write them: each fault is typed, names its key, and is exit code 2."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet
from tests.depth import in_turn
from typer.testing import CliRunner

import discreet as dp
from discreet.cli.app import app
from discreet.errors import PolicyError, SourceError
from discreet.policy import Policy

TEXT = """\
[budget]
epsilon = 1
[source]
url = "parquet:visits.parquet"
[tables.visits]
privacy_unit = "who"
max_rows = 3
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    parquet.write_table(pa.table({"who": [1, 2]}), tmp_path / "visits.parquet")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def exit_code(path: Path) -> int:
    return (
        CliRunner()
        .invoke(app, ["query", "-p", str(path), "SELECT COUNT(*) FROM visits", "-e", "1"])
        .exit_code
    )


def test_a_byte_order_mark_is_passed_over(folder: Path) -> None:
    path = folder / "policy.toml"
    path.write_text(TEXT, "utf-8-sig")
    assert Policy.from_toml(path).tables["visits"].max_rows == 3
    assert exit_code(path) == 0


@pytest.mark.parametrize(
    "raw", [TEXT.encode("utf-16"), b"\xff\xfe\xfa", b"x = '\xe9'", b"x = " + b"[" * 100_000]
)
def test_what_is_no_policy_is_said(folder: Path, raw: bytes) -> None:
    path = folder / "policy.toml"
    path.write_bytes(raw)
    with pytest.raises(PolicyError):
        Policy.from_toml(path)
    assert exit_code(path) == 2


@pytest.mark.parametrize(
    "rows", ["99999999999999999999", "9223372036854775807", "2147483648", "1e30", "nan", "0", "3.5", "true"]
)
def test_a_number_of_rows_out_of_range_is_named(folder: Path, rows: str) -> None:
    path = folder / "policy.toml"
    path.write_text(TEXT.replace("max_rows = 3", f"max_rows = {rows}"))
    with pytest.raises(PolicyError) as caught:
        Policy.from_toml(path)
    assert caught.value.key == "tables.visits.max_rows"
    assert caught.value.fix
    assert exit_code(path) == 2


def test_the_greatest_number_of_rows_can_be_asked(folder: Path) -> None:
    path = folder / "policy.toml"
    path.write_text(TEXT.replace("max_rows = 3", "max_rows = 2147483647"))
    assert exit_code(path) == 0


# A deep run writes each at both places.
@pytest.mark.parametrize(("url", "where"), in_turn(
    ["x:y", "parquet:", "", "  ", "csv:///", "duckdb:", "visits", "http://localhost/x.csv", "s3://b/x.parquet",
     "parquet:none.parquet", "parquet:visits.parquet#x", "csv:none.csv", "duckdb:none.db", "parquet:a\\u0000b",
     "parquet:a\\u001bb", "postgresql://user@[::1/x"], ["source", "table"],
))  # fmt: skip
def test_a_place_that_cannot_be_opened_is_named(folder: Path, url: str, where: str) -> None:
    path = folder / "policy.toml"
    text = TEXT.replace("parquet:visits.parquet", url)
    if where == "table":
        text = TEXT.replace("max_rows = 3", f'max_rows = 3\nurl = "{url}"')
    path.write_text(text)
    with pytest.raises(PolicyError) as caught:
        dp.protect(policy=path)
    assert caught.value.key in (("source", "source.url") if where == "source" else ("tables.visits.url",))
    assert caught.value.fix
    assert exit_code(path) == 2


def test_it_is_the_error_of_a_source_as_well(folder: Path) -> None:
    path = folder / "policy.toml"
    path.write_text(TEXT.replace("visits.parquet", "none.parquet"))
    with pytest.raises(SourceError, match=r"source\.url"):
        dp.protect(policy=path)


def test_a_source_on_the_command_line_is_bad_usage(folder: Path) -> None:
    for source in ("http://localhost/x.csv", "none.parquet", "x:y"):
        words = [
            "query",
            "--source",
            source,
            "--unit",
            "row",
            "--budget",
            "1",
            "SELECT COUNT(*) FROM x",
            "-e",
            "1",
        ]
        result = CliRunner().invoke(app, words)
        assert result.exit_code == 2
        assert "--source" in result.stderr
