"""A data file is a regular file: who opens a pipe, a socket or a device may wait for its writer for ever."""

from __future__ import annotations

import os
import stat

from discreet.errors import SourceError

_KINDS = {
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def see_no_pipe(path: str) -> None:
    """See that a path leads to no pipe, socket or device; symbolic links are followed.

    Raises:
        SourceError: it does. Nothing was opened.
    """
    try:
        kind = _KINDS.get(stat.S_IFMT(os.stat(path).st_mode))
    except (OSError, ValueError):  # it is not there, as others say
        return
    if kind is not None:
        raise SourceError(
            f"{path} is {kind}, which can be read once at most, or never ends.",
            "Save the data as a file, and name that one.",
        )
