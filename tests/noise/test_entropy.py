from __future__ import annotations

import inspect
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import pytest

from discreet import noise
from discreet.errors import EntropyError
from discreet.noise import entropy


@pytest.fixture
def source() -> entropy.RandomSource:
    return entropy._System()


def test_the_stream_is_aes_256_in_counter_mode(
    source: entropy.RandomSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    # NIST SP 800-38A, F.5.5 (CTR-AES256.Encrypt): the output blocks that are combined with the plaintext.
    key = bytes.fromhex("603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4")
    counter = bytes.fromhex("f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff")
    plain = bytes.fromhex("6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51")
    cipher = bytes.fromhex("601ec313775789a5b7a7f504bbf3d228f443e3ca4d62b59aca84e990cacaf5c5")
    monkeypatch.setattr(os, "urandom", lambda size: (key + counter)[:size])
    assert source.words(32, 8).tobytes() == bytes(a ^ b for a, b in zip(plain, cipher, strict=True))


def test_words_have_the_asked_type(source: entropy.RandomSource) -> None:
    assert source.words(5, 8).dtype == np.uint8
    assert source.words(5, 64).dtype == np.uint64
    assert source.words(0, 64).size == 0


FORK = """
import os
from discreet.noise import laplace
laplace(2**50, 8)                      # the parent's generator exists before the fork
read, write = os.pipe()
child = os.fork()
draws = laplace(2**50, 8).tolist()
if child == 0:
    os.write(write, repr(draws).encode())
    os._exit(0)
os.waitpid(child, 0)
theirs = eval(os.read(read, 10000))
assert len(theirs) == 8 and not set(theirs) & set(draws), (theirs, draws)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_has_a_stream_of_its_own() -> None:
    subprocess.run([sys.executable, "-c", FORK], check=True, timeout=60)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_the_fork_test_catches_a_generator_that_survives_the_fork() -> None:
    fault = "import discreet.noise.entropy as e\ne._process = lambda: (0, 0)\n"
    done = subprocess.run([sys.executable, "-c", fault + FORK], check=False, timeout=60, capture_output=True)
    assert b"AssertionError" in done.stderr


def test_a_new_process_number_alone_changes_the_key(
    source: entropy.RandomSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    source.words(1, 64)
    keyed = _count_keys(monkeypatch)
    source.words(1, 64)
    assert keyed == []
    monkeypatch.setattr(os, "getpid", lambda: -1)  # a fork made behind Python's back
    source.words(1, 64)
    assert keyed == [48]


def test_threads_draw_from_different_streams() -> None:
    start = Barrier(8)

    def draw(_: int) -> list[int]:
        start.wait()
        return [*noise.laplace(2**56, 300).tolist(), *noise.laplace(2**56, 5000).tolist()]

    with ThreadPoolExecutor(8) as pool:
        draws = [value for part in pool.map(draw, range(8)) for value in part]
    # 42,400 draws at scale 2^56: P(any two equal) < 42400^2 / 2^59 = 3e-9; equal streams repeat thousands.
    assert len(set(draws)) >= len(draws) - 1


@pytest.mark.parametrize("volume", [64, 1000])
def test_a_new_key_after_a_fixed_volume(
    source: entropy.RandomSource, monkeypatch: pytest.MonkeyPatch, volume: int
) -> None:
    monkeypatch.setattr(entropy, "VOLUME", volume)
    keyed = _count_keys(monkeypatch)
    words = source.words(1000, 64)  # one request of 8,000 bytes
    assert len(keyed) == 8000 // volume
    assert len(set(words.tolist())) == 1000  # P(a repeat) < 3e-14
    for _ in range(8):
        source.words(volume // 8, 8)
    assert len(keyed) == 8000 // volume + 1


@pytest.mark.parametrize("failure", [OSError("no device"), NotImplementedError()])
@pytest.mark.parametrize("size", [None, 3, 5000])
def test_a_failing_system_raises(
    monkeypatch: pytest.MonkeyPatch, failure: Exception, size: int | None
) -> None:
    def urandom(_: int) -> bytes:
        raise failure

    monkeypatch.setattr(entropy, "_SYSTEM", entropy._System())
    monkeypatch.setattr(os, "urandom", urandom)
    for _ in range(2):  # and again: no half-made generator is left behind
        with pytest.raises(EntropyError):
            noise.geometric(3, size) if size else noise.geometric(3)


def test_too_few_bytes_raise(source: entropy.RandomSource, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "urandom", lambda size: bytes(size - 1))
    with pytest.raises(EntropyError):
        source.words(1, 8)


def test_a_spent_stream_is_not_used_again_when_the_system_fails(
    source: entropy.RandomSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(entropy, "VOLUME", 64)
    source.words(8, 64)

    def urandom(_: int) -> bytes:
        raise OSError

    monkeypatch.setattr(os, "urandom", urandom)
    for _ in range(2):
        with pytest.raises(EntropyError):
            source.words(1, 8)


def test_no_public_function_takes_a_seed_or_a_source() -> None:
    allowed = {"scale", "size", "p", "x", "values", "noise", "weight", "n", "gaps", "variance"}
    allowed |= {"epsilon", "width", "inner"}
    for name in noise.__all__:
        assert set(inspect.signature(getattr(noise, name)).parameters) <= allowed


def _count_keys(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    keyed: list[int] = []
    urandom = os.urandom

    def counted(size: int) -> bytes:
        keyed.append(size)
        return urandom(size)

    monkeypatch.setattr(os, "urandom", counted)
    return keyed
