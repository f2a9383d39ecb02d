"""Private temporary folders that go with their process, however it ends.

A process that is killed removes nothing. So a folder is held by a lock of the operating system, which goes with the
process, and whoever makes the next folder removes those of this user that nobody holds any more.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import tempfile
from pathlib import Path

if sys.platform != "win32":
    import fcntl

HOLDER = "held"
"""The file in a folder that is locked as long as the folder is used."""


class Folder:
    """A folder that only this user can read.

    Attributes:
        path: of the folder.
    """

    def __init__(self, prefix: str, within: str | os.PathLike[str] | None = None) -> None:
        """Make it, after removing the folders of processes that are gone.

        Args:
            prefix: of its name, and of those that are looked for.
            within: the folder that it lies in; by default the one for temporary files.

        Raises:
            OSError: it cannot be made.
        """
        place = os.fspath(within) if within is not None else tempfile.gettempdir()
        sweep(place, prefix)
        self.path = Path(tempfile.mkdtemp(prefix=prefix, dir=place))
        self._process = os.getpid()
        self._holder = _held(self.path)

    def remove(self) -> None:
        """Remove it with all that is in it; a forked child leaves it to its parent."""
        if os.getpid() != self._process:
            return
        shutil.rmtree(self.path, ignore_errors=True)
        holder, self._holder = self._holder, -1
        if holder >= 0:
            os.close(holder)


def sweep(place: str, prefix: str) -> None:
    """Remove the folders of this user that nobody holds; after a failure they are left to the next one."""
    if sys.platform == "win32":
        return
    with contextlib.suppress(OSError), os.scandir(place) as found:
        for entry in found:
            if entry.name.startswith(prefix) and entry.is_dir(follow_symlinks=False):
                with contextlib.suppress(OSError):
                    _sweep_one(entry.path)


def _sweep_one(path: str) -> None:
    if os.stat(path, follow_symlinks=False).st_uid != os.getuid():
        return
    # One without this file is being made, or of another program.
    holder = os.open(os.path.join(path, HOLDER), os.O_RDWR | os.O_NOFOLLOW)
    try:
        fcntl.flock(holder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(path, ignore_errors=True)
    finally:
        os.close(holder)


def _held(folder: Path) -> int:
    """Hold a folder: the file appears under its name when it is locked, so that nobody comes in between."""
    if sys.platform == "win32":
        return -1
    making = folder / f"{HOLDER}.new"
    holder = os.open(making, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    with contextlib.suppress(OSError):  # where a file system has no locks, nothing is swept
        fcntl.flock(holder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.rename(making, folder / HOLDER)
    return holder
