"""The commands of the command line, a file each, and the line of each in `discreet --help`."""

from __future__ import annotations

COMMANDS = {
    "demo": (
        "commands.demo",
        "Show private answers on invented hospital visits, with the truth beside them.",
    ),
    "init": (
        "commands.init",
        "Write a policy for a file, to be finished by you.",
    ),
    "tables": (
        "commands.tables",
        "List the tables, or the columns of one with the questions that they can answer.",
    ),
    "query": (
        "commands.query",
        "Answer a question, and charge its epsilon.",
    ),
    "preview": (
        "commands.preview",
        "Give the cost of a question and the errors of its answer.",
    ),
    "explain": (
        "commands.explain",
        "Show the plan of a question: its scopes, bounds and groups, the sensitivity to one unit, and the noise.",
    ),
    "plot": (
        "commands.plot",
        "Draw a picture: of noise, error, budgets or an experiment.",
    ),
    "tune": (
        "commands.tune",
        "Estimate bounds, max_rows and max_groups from the data, and draft the policy with them.",
    ),
    "serve": (
        "commands.serve",
        "Serve data sets to several analysts, each with a budget of their own.",
    ),
    "stream": (
        "commands.stream",
        "Count rows by period as they come, and print each period when it has closed.",
    ),
    "graph": (
        "commands.structures.graph",
        "Count in a graph so that no edge shows, or no vertex with its edges, and charge epsilon.",
    ),
    "map": (
        "commands.structures.map",
        "Draw a heat map: one release for all cells of a public grid.",
    ),
    "pate": (
        "commands.structures.pate",
        "Teach a student handwritten digits by the noisy votes of teachers (PATE), and test it.",
    ),
    "synthesize": (
        "commands.structures.synthesize",
        "Make a synthetic table: columns, types and keys of a private one, and rows that nobody gave.",
    ),
    "card": (
        "commands.tools.card",
        "Print the card of the deployment: unit, guarantee, bounds, budget, accounting, and who answers for it.",
    ),
    "shell": (
        "commands.tools.shell",
        "Ask questions line by line.",
    ),
    "mcp": (
        "commands.tools.mcp",
        "Let an assistant ask, within a budget of its own, over stdin and stdout.",
    ),
    "completion": (
        "commands.completion",
        "Print the script that lets a shell complete the commands and options of discreet.",
    ),
    "gallery": (
        "commands.gallery",
        "Draw every picture into a folder, with a page that shows formula, code and numbers beside each.",
    ),
    "plan": (
        "commands.plan",
        "Work out error, epsilon or how many people, from the other two.",
    ),
    "budget": (
        "commands.budget",
        "Show the charges, each with its user and its question, and the budget left: the newest last.",
    ),
    "audit": (
        "audit",
        "The log of a service: export it, and see that it is unchanged.",
    ),
    "experiment": (
        "commands.experiment",
        "Run an experiment and print its curve: the measured values beside those of the formula.",
    ),
}
"""For each command, in the order of the help: its module in `discreet.cli`, and the first sentence of its help.

The sentences stand here again so that `discreet --help` loads no command.
"""
