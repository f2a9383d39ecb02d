"""The noise of a stream is bought through the gate, once, and the ledger knows it by a hash that betrays nothing."""

from __future__ import annotations

import hashlib
import json
from fractions import Fraction
from pathlib import Path

import pytest

from discreet.errors import InvalidParameter, QueryRefused
from discreet.ledger import open_ledger
from discreet.mechanisms.numeric.laplace_vector import LaplaceVector
from discreet.streams.buying import noise_of
from discreet.streams.spec import StreamSpec
from discreet.streams.state import StreamFolder
from tests.streams.invented import charges, payer, spec


def test_the_ledger_keeps_the_hash_and_verifies(tmp_path: Path) -> None:
    declared, state = spec(sums=("cost",)), StreamFolder(tmp_path / "state")
    with open_ledger(None) as ledger, state.locked():
        bought = noise_of(declared, state, ledger, payer(ledger))
        again = noise_of(declared, state, ledger, payer(ledger))
        kept = ledger.replay(declared.question)
        assert kept is not None
        digest = hashlib.sha256((tmp_path / "state" / "noise.npz").read_bytes()).hexdigest()
        assert json.loads(kept) == {"noise": digest}
        assert ledger.spent("the data set").epsilon == Fraction(1)
        assert ledger.verify() == 2
    assert all((bought[name] == again[name]).all() for name in ("count", "sum_cost"))
    assert (tmp_path / "state").stat().st_mode & 0o077 == 0


def test_the_same_noise_has_another_hash(tmp_path: Path) -> None:
    state = StreamFolder(tmp_path)
    assert len({state.keep_noise({}, "q") for _ in range(3)}) == 3


def test_noise_for_less_than_the_sensitivity_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = StreamSpec.mechanism
    monkeypatch.setattr(
        StreamSpec,
        "mechanism",
        lambda self, one: LaplaceVector(
            vars(real(self, one))["scale"] / 2, vars(real(self, one))["sensitivity"]
        ),
    )
    state = StreamFolder(tmp_path / "state")
    with (
        pytest.raises(QueryRefused, match="add up"),
        open_ledger(tmp_path / "ledger.db") as ledger,
        state.locked(),
    ):
        noise_of(spec(), state, ledger, payer(ledger))
    assert charges(tmp_path) == 0


def test_too_many_numbers_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discreet.streams.buying.MOST_NODES", 15)
    with pytest.raises(InvalidParameter, match="16 noisy numbers"), open_ledger(None) as ledger:
        noise_of(spec(method="period"), StreamFolder(tmp_path), ledger, payer(ledger))
