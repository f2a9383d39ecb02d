"""The state of a stream on disk: the noise that was bought, and how far the input was counted.

Two files in one folder that only its owner may read. `noise` is written once, before the ledger settles, and never
again; the ledger keeps its hash, so that other noise is refused. `progress` is replaced as a whole, after its bytes
are on the disk, with the counts and the place in the input to which they belong: a kill at any point leaves the state
before or the state after. Both are as secret as the data: the noise of a number that was shown betrays the number.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile

import numpy as np

from discreet.errors import StreamError
from discreet.records import dataclass, field
from discreet.streams.counting.seen import Seen

if TYPE_CHECKING:
    import numpy.typing as npt

    Arrays = Mapping[str, npt.NDArray[Any]]

NOISE = "noise.npz"
PROGRESS = "progress.npz"
SALT, QUESTION = "a salt", "a question"


@dataclass
class StreamProgress:
    """How far a stream has come.

    Attributes:
        closed: how many periods have closed.
        read: how many bytes of the input were counted.
        digest: the SHA-256 of these bytes, as hexadecimal text.
        counts: by measure, int64 (periods, groups).
        seen: how many rows of a unit were counted, by its digest.
        key: of the digests; random.
    """

    closed: int
    read: int
    digest: str
    counts: dict[str, npt.NDArray[np.int64]]
    seen: Seen = field(default_factory=Seen)
    key: bytes = field(default_factory=lambda: secrets.token_bytes(32))


class StreamFolder:
    """The folder of one stream."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Be the only process with this state.

        Raises:
            StreamError: another one has it, or the folder cannot be made.
        """
        import fcntl

        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            handle = os.open(self.folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise StreamError(
                f"The state of the stream cannot be kept in {self.folder}: {error.strerror}.",
                "Name another folder with --state.",
            ) from None
        try:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise StreamError("Another process runs this stream.", "End it first.") from None
            yield
        finally:
            os.close(handle)

    def see_free(self, question: str) -> None:
        """See that this is not the state of another stream, whose noise would be lost.

        Raises:
            StreamError: it is.
        """
        try:
            found = _unpacked((self.folder / NOISE).read_bytes())
        except FileNotFoundError:
            return
        except (OSError, ValueError, EOFError, BadZipFile):
            found = {}
        if QUESTION not in found or found[QUESTION].tobytes() != question.encode():
            raise StreamError(
                f"The folder {self.folder} is the state of a stream with other declarations.",
                "Give this one another --name or --state.",
            )

    def keep_noise(self, noise: Arrays, question: str) -> str:
        """Keep the noise, durably, and return its hash, which a secret beside it makes useless for guessing."""
        secret = np.frombuffer(secrets.token_bytes(32), np.uint8)
        text = _packed({**noise, SALT: secret, QUESTION: np.frombuffer(question.encode(), np.uint8)})
        self._replace(NOISE, text)
        return hashlib.sha256(text).hexdigest()

    def noise(self, digest: str) -> dict[str, npt.NDArray[np.int64]]:
        """The noise that the ledger knows by its hash.

        Raises:
            StreamError: it is gone or another one. It is never drawn again: a second draw would betray the counts.
        """
        try:
            text = (self.folder / NOISE).read_bytes()
        except OSError:
            text = b""
        if hashlib.sha256(text).hexdigest() != digest:
            raise StreamError(
                f"The noise of this stream is not in {self.folder}: the ledger says that it was bought.",
                "Restore the folder; or begin a stream of another --name, which is charged anew.",
            )
        found = _unpacked(text)
        return {name: array for name, array in found.items() if name not in (SALT, QUESTION)}

    def keep(self, progress: StreamProgress) -> None:
        """Keep the progress, durably."""
        head = {"closed": progress.closed, "read": progress.read, "digest": progress.digest}
        # Periods that have not come yet are zeros.
        last = max(
            (int(np.flatnonzero(array.any(axis=1)).max(initial=-1)) for array in progress.counts.values()),
            default=0,
        )
        arrays = {f"counts {name}": array[: last + 1] for name, array in progress.counts.items()}
        arrays["key"] = np.frombuffer(progress.key, np.uint8)
        arrays["head"] = np.frombuffer(json.dumps(head).encode(), np.uint8)
        units, arrays["rows"] = progress.seen.kept()
        arrays["units"] = units.astype("<u8").reshape(-1).view(np.uint8)
        self._replace(PROGRESS, _packed(arrays))

    def progress(self, periods: int) -> StreamProgress | None:
        """The progress that was kept, with counts of so many periods; None before the first."""
        try:
            found = _unpacked((self.folder / PROGRESS).read_bytes())
        except FileNotFoundError:
            return None
        head = json.loads(found["head"].tobytes())
        units = found["units"].view("<u8").astype(np.uint64, copy=False).reshape(-1, 2)
        seen = Seen(units, found["rows"])
        counts = {}
        for name, array in found.items():
            if name.startswith("counts "):
                whole = np.zeros((periods, array.shape[1]), np.int64)
                whole[: len(array)] = array
                counts[name.removeprefix("counts ")] = whole
        return StreamProgress(
            head["closed"], head["read"], head["digest"], counts, seen, found["key"].tobytes()
        )

    def forget_progress(self) -> None:
        """Forget the progress of noise that was never settled: nothing was shown with it."""
        (self.folder / PROGRESS).unlink(missing_ok=True)

    def _replace(self, name: str, text: bytes) -> None:
        part = self.folder / f"{name}.part"
        handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, self.folder / name)
        place = os.open(self.folder, os.O_RDONLY)
        try:
            os.fsync(place)
        finally:
            os.close(place)


def _packed(arrays: Arrays) -> bytes:
    out = io.BytesIO()
    np.savez(out, **arrays)  # type: ignore[arg-type]  # names are ours
    return out.getvalue()


def _unpacked(text: bytes) -> dict[str, Any]:
    with np.load(io.BytesIO(text), allow_pickle=False) as found:
        return {name: found[name] for name in found.files}
