"""The command line: `discreet demo`, `init`, `query`, `tables`, `preview`, `explain`, `plan` and `budget`.

Answers go to stdout, words and progress to stderr. Exit codes: 0 answered, 2 bad usage, bad policy or refused
query, 3 refused budget, 130 interrupted, 1 anything else. One command is one file, which is loaded when the command
is asked for; heavy modules are imported inside the command that needs them, so that `--help` is quick.
"""

from __future__ import annotations


def main() -> None:
    """Run the command line on the arguments of this process, and exit."""
    from discreet.cli.app import app
    from discreet.cli.terminal.signals import clean_up_on_signals

    clean_up_on_signals()
    from discreet.cli.commands.completion import prepare
    from discreet.cli.terminal.standard_streams import guard

    guard()
    prepare()
    app(prog_name="discreet")


__all__ = ["main"]
