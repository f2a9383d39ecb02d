"""Workloads: which releases of a statement are measured together, over which axes, and the law of their noise."""
