"""One peer, one file, one privacy unit: run its script and read its answers."""

from __future__ import annotations

import json
import os
import signal
import statistics
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Timer

import numpy as np

from benchmarks.peers.data import FloatArray, Truth
from benchmarks.peers.environments import ROOT, last_word

LIMIT = 300.0


@dataclass(frozen=True)
class Peer:
    """A library, how its environment is called, which script asks it, and with which settings."""

    name: str
    script: str
    environment: str | None = None
    settings: tuple[tuple[str, str], ...] = ()


OURS = Peer("discreet", "ours")
PEERS = (
    OURS,
    Peer("OpenDP (Polars)", "opendp", "opendp"),
    Peer("OpenDP, centred by hand", "opendp", "opendp", (("CENTRED", "1"),)),
    Peer("SmartNoise SQL", "smartnoise", "smartnoise"),
    Peer("PipelineDP (local)", "pipelinedp", "pipelinedp"),
    Peer("Tumult Analytics (Spark)", "tumult", "tumult"),
    Peer("diffprivlib", "diffprivlib", "diffprivlib"),
)


@dataclass(frozen=True)
class Answers:
    """What a script said.

    Attributes:
        loading: seconds from the file to the form in which the peer is asked; 0 where it was not timed.
        seconds: of each answer.
        counts: (answers, groups).
        means: (answers, groups).
        versions: of the packages that count.
        cannot: why there are no answers; empty where there are.
    """

    loading: float = 0.0
    seconds: tuple[float, ...] = ()
    counts: tuple[tuple[float, ...], ...] = ()
    means: tuple[tuple[float, ...], ...] = ()
    versions: dict[str, str] = field(default_factory=dict)
    cannot: str = ""

    def __add__(self, other: Answers) -> Answers:
        """The answers of two runs of one peer."""
        return replace(
            self,
            loading=min(self.loading, other.loading),
            seconds=self.seconds + other.seconds,
            counts=self.counts + other.counts,
            means=self.means + other.means,
        )

    @property
    def median(self) -> float:
        """Seconds of an answer from loaded data."""
        return statistics.median(self.seconds)


def ask(
    peer: Peer, python: Path, path: Path, unit: str, *options: str, told: Callable[[int], None]
) -> Answers:
    """Run the script of a peer; where it fails or takes longer than the limit, its lines until then count."""
    command = [str(python), "-m", f"benchmarks.peers.{peer.script}", str(path), unit, *options]
    lines, words = said(command, peer.settings, LIMIT, told)
    return read(lines, f"no answer: {words}")


def said(
    command: Sequence[str], settings: Sequence[tuple[str, str]], limit: float, told: Callable[[int], None]
) -> tuple[list[str], str]:
    """The lines of a script's stdout until it ended or was ended, and the last word of its stderr."""
    environment = {**os.environ, **dict(settings), "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'src'}"}
    lines: list[str] = []
    with tempfile.TemporaryFile("w+", encoding="utf-8") as words, tempfile.TemporaryDirectory() as folder:
        running = subprocess.Popen(
            command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=words, text=True,
            start_new_session=True,
        )  # fmt: skip
        assert running.stdout is not None
        # The whole group, since Spark has children of its own.
        timer = Timer(limit, os.killpg, (running.pid, signal.SIGKILL))
        timer.start()
        try:
            for line in running.stdout:
                lines.append(line)
                told(len(lines))
        except BaseException:
            os.killpg(running.pid, signal.SIGKILL)
            raise
        finally:
            timer.cancel()
            running.stdout.close()
            running.wait()
        words.seek(0)
        return lines, last_word(words.read())


def read(lines: Sequence[str], otherwise: str) -> Answers:
    """The answers in the lines of a script.

    Args:
        lines: of its stdout; those that are no JSON object are not its own.
        otherwise: why there are none, where it does not say so itself.
    """
    said = [json.loads(line) for line in lines if line.startswith("{")]
    head = said[0] if said else {}
    answers = said[1:]
    if not answers:
        return Answers(versions=head.get("versions", {}), cannot=head.get("cannot", otherwise))
    return Answers(
        loading=head["loading"],
        seconds=tuple(one["seconds"] for one in answers),
        counts=tuple(tuple(one["counts"]) for one in answers),
        means=tuple(tuple(one["means"]) for one in answers),
        versions=head["versions"],
    )


@dataclass(frozen=True)
class Error:
    """A root mean square error and the standard error of that estimate, in the units of what was asked."""

    rms: float
    spread: float


def error(answers: Sequence[Sequence[float]] | FloatArray, truth: FloatArray) -> Error:
    """The root mean square of answers minus truth over all groups of all answers."""
    squares = (np.asarray(answers, np.float64) - truth) ** 2
    rms = float(np.sqrt(np.mean(squares)))
    # The error of the mean of the squares; a square root halves a relative error.
    spread = float(np.std(squares) / np.sqrt(squares.size)) / (2 * rms) if rms else 0.0
    return Error(rms, spread)


def errors(answers: Answers, truth: Truth) -> dict[str, Error]:
    """The errors of both columns."""
    return {"count": error(answers.counts, truth.counts), "mean": error(answers.means, truth.means)}
