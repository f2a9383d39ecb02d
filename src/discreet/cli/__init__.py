"""The command line: `discreet demo`, `init`, `query`, `preview`, `explain`, `plan` and `budget`.

Answers go to stdout, words and progress to stderr. Exit codes: 0 answered, 2 bad usage, bad policy or refused
query, 3 refused budget, 130 interrupted, 1 anything else. One command is one file; what is heavy is imported
inside the command that needs it, so that `--help` is quick.
"""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line on the arguments of this process, and exit."""
    from discreet.cli.app import app
    from discreet.cli.signals import clean_up_on_signals

    clean_up_on_signals()
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot write "±" shows "?"; it does not lose an answer that was paid for.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    app(prog_name="discreet")


__all__ = ["main"]
