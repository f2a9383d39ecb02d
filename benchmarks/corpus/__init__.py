"""Analysts' questions from other people's benchmarks and tutorials, written anew, each with its verdict.

A folder here is a data set: `policy.toml` is the steward's, `data.sql` invents the tables, and `questions.sql` asks.
`make corpus` asks them all.
"""
