"""Commands that ask a server: the session behind `--server`, and the options that go without it."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli import options as opt
from discreet.cli.place import SourceOptions

if TYPE_CHECKING:
    from discreet.client import RemoteSession


@dataclasses.dataclass(frozen=True)
class ServerOptions:
    """The place of a server; the token comes from the environment, where no list of processes shows it.

    Attributes:
        server: its address; None for data at hand.
        dataset: the name of the data set there.
    """

    server: Annotated[
        str | None,
        typer.Option("--server", metavar="URL", help="Ask a server, with the token in $DISCREET_TOKEN."),
    ] = None
    dataset: Annotated[
        str | None,
        typer.Option(
            "--dataset", metavar="NAME", help="The data set of the server, where there are several."
        ),
    ] = None

    def open(self, place: SourceOptions) -> RemoteSession | None:
        """The session on the server; None where none is named.

        Raises:
            Usage: options for data at hand are given too, or a data set without a server.
            DiscreetError: as for `connect`.
        """
        others = {field.name: getattr(place, field.name) for field in dataclasses.fields(place)}
        return self.connected(any(value for name, value in others.items() if name != "max_rows"))

    def connected(self, local: bool) -> RemoteSession | None:
        """The session on the server; None where none is named.

        Args:
            local: whether options for data at hand are given.

        Raises:
            Usage: they are, beside a server, or a data set is named without one.
            DiscreetError: as for `connect`.
        """
        if self.server is None:
            if self.dataset is not None:
                raise opt.Usage("--dataset goes with --server")
            return None
        if local:
            raise opt.Usage("--server has the policy and the data itself; leave the options for them out")
        from discreet.client import connect

        return connect(self.server, dataset=self.dataset)
