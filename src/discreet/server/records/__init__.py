"""The things that the service keeps beside the ledgers: people, tokens, budgets, questions, and the audit log."""
