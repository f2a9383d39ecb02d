"""stdout and stderr that are closed, full or read by nobody: words, exit code 2, and no answer lost for good."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.conftest import Run
from tests.depth import DEEP
from tests.warm import programs

from discreet.cli.terminal.standard_streams import Guarded, Unwritable

COUNT = "SELECT county, COUNT(*) AS n FROM visits GROUP BY county"
DISCREET = f"{sys.executable} -m discreet"
FULL = pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")


def shell(command: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-c", f"set -o pipefail\n{command}"], capture_output=True, text=True, timeout=120,
        env={**os.environ, "Q": COUNT, **env},
    )  # fmt: skip


def warm() -> str:
    """The program, for streams that the start of Python leaves alone; the others of this file see that start."""
    return str(programs() / "discreet")


def test_a_closed_stdout_is_seen_before_the_charge(folder: Path, run: Run) -> None:
    result = shell(f'{DISCREET} query "$Q" -e 0.5 >&-')
    assert result.returncode == 2
    assert "stdout is closed" in result.stderr
    assert "Traceback" not in result.stderr
    assert "(0 spent)" in run("budget").stdout


def test_a_closed_stdout_is_no_matter_for_an_answer_in_a_file(folder: Path) -> None:
    result = shell(f'{DISCREET} query "$Q" -e 0.5 -o answer.csv 0<&- >&- 2>&-')
    assert result.returncode == 0
    assert (folder / "answer.csv").read_text().startswith('"county"')


@FULL
@pytest.mark.parametrize(
    ("unbuffered", "form"), [("1", "--json"), ("", "--csv"), *[("", ""), ("1", "")] * DEEP]
)
def test_a_full_stdout_says_so_and_the_answer_is_kept(
    folder: Path, run: Run, unbuffered: str, form: str
) -> None:
    result = shell(f'{DISCREET} query "$Q" -e 0.5 {form} > /dev/full', PYTHONUNBUFFERED=unbuffered)
    assert result.returncode == 2
    assert "No space left" in result.stderr
    assert "free once it was answered" in result.stderr
    assert "Traceback" not in result.stderr
    again = run("query", COUNT, "-e", "0.5")
    assert "free: asked before" in again.stdout


# A deep run closes stderr, too; each run does so below with an answer in a file.
@FULL
@pytest.mark.parametrize("to", ["/dev/full", "&-"][: 1 + DEEP])
def test_words_that_nobody_can_read_cost_no_answer(folder: Path, to: str) -> None:
    result = shell(f'{warm() if to == "/dev/full" else DISCREET} query "$Q" -e 0.5 2>{to}')
    assert result.returncode == 0
    assert "±" in result.stdout


def test_a_pipe_that_nobody_reads_ends_in_words(folder: Path) -> None:
    result = shell(f"{warm()} plot --json | (exec <&-; sleep 0.2)")
    assert result.returncode == 2
    assert "stdout cannot be written to" in result.stderr
    assert "Traceback" not in result.stderr


def test_a_pipe_whose_reader_has_gone_is_seen_before_the_charge(folder: Path, run: Run) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    result = subprocess.run(
        [warm(), "query", COUNT, "-e", "0.5"], stdout=writer, stderr=subprocess.PIPE, text=True
    )
    os.close(writer)
    assert result.returncode == 2
    assert "nobody reads" in result.stderr
    assert "(0 spent)" in run("budget").stdout


def test_a_stream_that_fails_is_not_written_to_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken:
        def write(self, text: str) -> int:
            raise OSError(28, "No space left on device")

        def flush(self) -> None:
            """Do nothing."""

    monkeypatch.setattr(Guarded, "_give_up", lambda self: None)
    needed, beside = Guarded(Broken(), 1, True), Guarded(Broken(), 2, False)  # type: ignore[arg-type]
    assert needed.write("") == 0
    for _ in range(2):
        with pytest.raises(Unwritable, match="No space left"):
            needed.write("x")
    needed.flush()  # at the end of the process
    assert beside.write("x") == 1


def test_the_files_of_a_process_never_become_its_streams(folder: Path) -> None:
    code = (
        "import os\nfrom discreet.cli.terminal.standard_streams import guard\nguard()\n"
        "raise SystemExit(os.open('policy.toml', 0) > 2)"
    )
    assert shell(f'{sys.executable} -c "{code}" 0<&- >&- 2>&-').returncode == 1
