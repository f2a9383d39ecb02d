"""`discreet card`: the record of a deployment, for its readers and for registries."""

from __future__ import annotations

import enum
from typing import Annotated

import typer

from discreet.cli.option_groups import grouped
from discreet.cli.place import SourceOptions
from discreet.cli.remote import ServerOptions


class Form(enum.StrEnum):
    """The forms of a card."""

    markdown = "markdown"
    yaml = "yaml"
    json = "json"


@grouped
def command(
    place: SourceOptions,
    remote: ServerOptions,
    form: Annotated[Form, typer.Option("--form", help="markdown, yaml or json.")] = Form.markdown,
) -> None:
    """Print the card of the deployment: unit, guarantee, bounds, budget, accounting, and who answers for it.

    It is free, and comes from the policy and the ledger. The facts that only people know stand in [about] of the
    policy; the card lists those that are missing. In Python, each answer has its own: release.card().to_yaml().

    \b
    Examples:
      discreet card -p hospital/policy.toml
      discreet card -p hospital/policy.toml --form yaml > card.yaml
      discreet card --server https://stats.example.org
    """  # noqa: D301
    with remote.open(place) or place.open() as session:
        card = session.card()
    text = {Form.markdown: card.to_markdown, Form.yaml: card.to_yaml, Form.json: card.to_json}[form]()
    typer.echo(text.rstrip("\n"))
