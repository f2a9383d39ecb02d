"""The feed of a stream, by the name of its input and by its format."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final, Protocol, cast
from urllib.parse import urlsplit

from discreet.errors import StreamError
from discreet.streams.feeds.arrow import ArrowFeed
from discreet.streams.feeds.broker import Broker, BrokerFeed
from discreet.streams.feeds.followed import Followed
from discreet.streams.feeds.parquet import ParquetFeed
from discreet.streams.feeds.text import Piece, TextFeed

if TYPE_CHECKING:
    from discreet.streams.spec import StreamSpec

FORMATS: Final = ("lines", "arrow", "parquet")
_ENDINGS: Final = {
    ".arrow": "arrow",
    ".arrows": "arrow",
    ".ipc": "arrow",
    ".feather": "arrow",
    ".parquet": "parquet",
}


class Feed(Protocol):
    """Rows that come in pieces, and the place behind the last one.

    Attributes:
        read: how much was read.
        digest: the place.
    """

    read: int

    @property
    def digest(self) -> str:
        """The place, or a hash of the input up to it."""

    def look(self) -> None:
        """See, before a charge, that the input has the columns, as far as it can tell without a row.

        Raises:
            StreamError: it lacks one.
        """

    def skip(self, read: int, digest: str) -> None:
        """Go to the place up to which rows were counted before."""

    def pieces(self) -> Iterator[Piece]:
        """The pieces that are there."""


@contextmanager
def open_feed(
    source: str, form: str = "", follow: bool = False, ticks: bool = False
) -> Iterator[Callable[[StreamSpec], Feed]]:
    """Open an input, before a stream that reads it is charged; the result makes the feed of that stream.

    Args:
        source: a file, a folder of Parquet, `-` for stdin, or the address of a broker.
        form: `lines`, of CSV with a header or of JSON; `arrow`, IPC; `parquet`; by default as the file is named.
        follow: whether the end of the input is not the end.
        ticks: whether lines `#tick TIME` name times.

    Raises:
        StreamError: no such format, or ticks in another one than lines, or the broker does not answer, or the input
            is the null device, or the file cannot be opened.
    """
    at_broker = "://" in source
    folder = source != "-" and not at_broker and Path(source).is_dir()
    form = form or ("parquet" if folder else _ENDINGS.get(Path(source).suffix.lower(), "lines"))
    if form not in FORMATS:
        raise StreamError(f"No format has the name {form}.", f"Choose from {', '.join(FORMATS)}.")
    if ticks and (form != "lines" or at_broker):
        raise StreamError("Only lines have ticks.", "Leave out --ticks, or give lines.")
    with ExitStack() as stack:
        if at_broker:
            broker = broker_of(source)
            stack.callback(broker.close)
            yield lambda spec: BrokerFeed(broker, spec.columns)
            return
        if form == "parquet" and folder:
            yield lambda spec: ParquetFeed(Path(source), spec.columns)
            return
        file = sys.stdin.buffer if source == "-" else stack.enter_context(_opened(Path(source), follow, form))
        if _is_nothing(file):
            raise StreamError(
                "The input is /dev/null, which never has a row.",
                "Give rows on stdin, or a file with --input.",
            )
        yield lambda spec: _of(file, spec, form, follow, ticks)


def _is_nothing(file: IO[bytes]) -> bool:
    """Whether a file is the null device; that is a fact of the command, where an empty file is one of the data."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), os.stat(os.devnull))
    except (OSError, ValueError):
        return False


@contextmanager
def _opened(path: Path, follow: bool, form: str) -> Iterator[IO[bytes]]:
    """A file; one that is followed, by its name, unless it is a pipe."""
    by_name = follow and form != "parquet" and path.is_file()
    try:
        file = cast("IO[bytes]", Followed(path, form == "lines")) if by_name else path.open("rb")
    except OSError as error:
        raise StreamError(
            f"{path}: {error.strerror or 'it cannot be read'}.",
            "Name a file of rows that can be read; on the command line with --input, where - is stdin.",
        ) from None
    with closing(file):
        yield file


def _of(file: IO[bytes], spec: StreamSpec, form: str, follow: bool, ticks: bool) -> Feed:
    if form == "arrow":
        return ArrowFeed(file, follow, spec.columns)
    if form == "parquet":
        return ParquetFeed(file, spec.columns)
    return TextFeed(
        file, follow, spec.columns, ticks, [measure.column for measure in spec.measures if measure.column]
    )


def broker_of(url: str) -> Broker:
    """The broker of an address: `redis://host/stream`, `nats://host/stream` or `kafka://host/topic`.

    Raises:
        StreamError: there is no such kind, the client is not installed, or the broker does not answer.
    """
    where = urlsplit(url)
    if not where.hostname or not where.path.strip("/"):
        raise StreamError("The address names no host or no stream.", "Write redis://host/stream.")
    if where.scheme in ("redis", "rediss"):
        from discreet.streams.feeds.redis import RedisLog

        return RedisLog(where)
    if where.scheme == "nats":
        from discreet.streams.feeds.nats import NatsLog

        return NatsLog(where)
    if where.scheme == "kafka":
        from discreet.streams.feeds.kafka import KafkaLog

        return KafkaLog(where)
    raise StreamError(
        "No broker is known of this kind.",
        "Write redis://, nats:// or kafka://; or --poll, to read a table of a database.",
    )
