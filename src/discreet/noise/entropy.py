"""The source of random bits: AES-256 in counter mode, keyed by the operating system.

Each thread has a generator of its own, so no lock is taken and no two threads share a stream. A generator
is thrown away, and a new one keyed by the operating system takes its place, in the child of a fork and
after `VOLUME` bytes. Nothing is kept between two requests: a word is made when it is asked for.

A fork may fall into the middle of a draw, where a signal handler forks and its child goes on after it. The words
drawn so far, and the stream itself, are then in both processes. So every request looks at its end whether it is still
in the process that it began in, and so does every public function around all of its requests (`undivided`): the child
begins again, with a key of its own.

Under the usual assumption that AES-256 is a pseudorandom permutation, the words cannot be told from
independent uniform ones (NIST SP 800-38A, CTR mode; 2^22 blocks under one key are far below its birthday
bound of 2^64).
"""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Callable
from typing import Any, Final, ParamSpec, Protocol, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from discreet.errors import EntropyError

Words: TypeAlias = npt.NDArray[np.unsignedinteger]

VOLUME: Final = 1 << 26
"""Bytes drawn under one key."""

_ZEROS: Final = memoryview(bytes(1 << 20))


class RandomSource(Protocol):
    """Anything that gives independent uniform words. The public functions use `system()` and nothing else."""

    def words(self, count: int, width: int) -> Words:
        """Return `count` words, each uniform on [0, 2^width).

        Args:
            count: how many.
            width: bits of a word, 1 to 64; uint8 for at most 8 bits, else uint64.
        """
        ...


class _Aes:
    """A counter-mode stream of one thread of one process."""

    def __init__(self) -> None:
        from cryptography.hazmat.primitives.ciphers import Cipher
        from cryptography.hazmat.primitives.ciphers.algorithms import AES
        from cryptography.hazmat.primitives.ciphers.modes import CTR

        self.owner = _process()
        self._left = VOLUME
        seed = _from_system(48)
        self._stream: Any = Cipher(AES(seed[:32]), CTR(seed[32:])).encryptor()

    def spent(self, size: int) -> bool:
        """Tell whether a request of `size` bytes needs a new key."""
        return self._left < size

    def fill(self, out: memoryview) -> None:
        """Overwrite `out`, at most VOLUME bytes, with the next bytes of the stream."""
        self._left -= len(out)
        for start in range(0, len(out), len(_ZEROS)):
            part = out[start : start + len(_ZEROS)]
            self._stream.update_into(_ZEROS[: len(part)], part)


class _System:
    """The generator of the thread that asks."""

    def __init__(self) -> None:
        self._local = threading.local()

    def words(self, count: int, width: int) -> Words:
        if width not in (8, 64):
            raise AssertionError("the system source gives bytes and 64-bit words")
        words: Words = np.empty(count, np.uint8 if width == 8 else np.uint64)
        out = words.view(np.uint8).data
        for start in range(0, len(out), VOLUME):
            part = out[start : start + VOLUME]
            while True:
                generator = self._generator(len(part))
                generator.fill(part)
                # Else a fork fell between, and the parent has these bytes too.
                if generator.owner == _process():
                    break
        return words

    def _generator(self, size: int) -> _Aes:
        generator: _Aes | None = getattr(self._local, "generator", None)
        if generator is None or generator.owner != _process() or generator.spent(size):
            # Forgotten first: when the system fails below, the old stream must not be used again.
            self._local.generator = None
            generator = _Aes()
            self._local.generator = generator
        return generator


_forks = 0


def _forked() -> None:
    global _forks
    _forks += 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


def _process() -> tuple[int, int]:
    # The count of forks tells a child from its parent even when a process number is used again; the
    # number tells them apart even when a C extension forked without running Python's hooks.
    return os.getpid(), _forks


Given = ParamSpec("Given")
Drawn = TypeVar("Drawn")


def undivided(draw: Callable[Given, Drawn]) -> Callable[Given, Drawn]:
    """Make a function that draws begin again in the child of a fork that fell into the middle of it.

    Without it parent and child would share the part of a draw that was made before the fork.
    """

    @functools.wraps(draw)
    def whole(*args: Given.args, **kwargs: Given.kwargs) -> Drawn:
        while True:
            begun = _process()
            drawn = draw(*args, **kwargs)
            if begun == _process():
                return drawn

    return whole


def _from_system(size: int) -> bytes:
    try:
        seed = os.urandom(size)
    except (OSError, NotImplementedError) as error:
        raise EntropyError(
            "The operating system gave no randomness.", "Check /dev/urandom or its equivalent."
        ) from error
    if len(seed) != size:
        raise EntropyError("The operating system gave too little randomness.", "Check its random source.")
    return seed


_SYSTEM: Final = _System()


def system() -> RandomSource:
    """Return the source that every public function draws from."""
    return _SYSTEM
