"""Refuses a text of several statements where one is asked for."""

from __future__ import annotations

from discreet.cli.options import Usage


def see_one(text: str) -> None:
    """Refuse a text of several statements, which `discreet query` and `discreet preview` take."""
    from discreet.dbapi.named_statements import statements

    if len(statements(text)) > 1:
        raise Usage(
            "several statements are one workload, which `discreet query` takes, and `discreet preview` for nothing"
        )
