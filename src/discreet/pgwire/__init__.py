"""PostgreSQL's protocol, so that every tool for that database can ask the service.

It is a second door to `server`: the same people, tokens, budgets, caps and slots of time. See "Frontend/Backend
Protocol" in PostgreSQL's manual, version 3.0.
"""
