"""A shop's orders, with the customer as the privacy unit: joins, sub-queries and top lists.

    python examples/orders.py

The tables have the shape of the TPC-H benchmark and are invented here: `nation` is public; `customer` and `orders` are
private, and everything about one customer, all orders included, is hidden together.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pyarrow as pa

import discreet as dp

CUSTOMERS, ORDERS = 30_000, 120_000
REGIONS = {
    "Algeria": "Africa", "Brazil": "America", "Canada": "America", "Egypt": "Africa", "France": "Europe",
    "Germany": "Europe", "India": "Asia", "Japan": "Asia", "Kenya": "Africa", "Peru": "America",
}  # fmt: skip
NATIONS = list(REGIONS)

QUESTIONS = {
    "What is an order worth, by the nation of the customer?": """
SELECT n.name AS nation, COUNT(*) AS orders, AVG(o.total) AS average_order
FROM orders AS o JOIN customer AS c ON o.custkey = c.custkey JOIN nation AS n ON c.nationkey = n.nationkey
GROUP BY n.name ORDER BY n.name""",
    "What share of the customers who ordered at all have five orders or more?": """
SELECT AVG(CASE WHEN orders >= 5 THEN 1.0 ELSE 0 END) AS share_with_five
FROM (SELECT custkey, COUNT(*) AS orders FROM orders GROUP BY custkey) AS customers""",
    "What is the median order worth?": "SELECT MEDIAN(total) AS median_order FROM orders",
    "Which five nations have the most customers?": """
SELECT n.name AS nation, COUNT(*) AS customers
FROM customer AS c JOIN nation AS n ON c.nationkey = n.nationkey
GROUP BY n.name ORDER BY customers DESC LIMIT 5""",
    "What does a customer spend in all, by region, for those with an urgent order?": """
SELECT region, AVG(spent) AS spent_by_customer
FROM (SELECT o.custkey, n.region, clamp(SUM(o.total), 0, 5000) AS spent
      FROM orders AS o JOIN customer AS c ON o.custkey = c.custkey JOIN nation AS n ON c.nationkey = n.nationkey
      WHERE o.custkey IN (SELECT custkey FROM orders WHERE priority = 'urgent')
      GROUP BY o.custkey, n.region) AS customers
GROUP BY region ORDER BY region""",
    "Which towns have customers enough to be told about? Nobody listed them.": """
SELECT town, COUNT(*) AS customers FROM customer GROUP BY town ORDER BY customers DESC LIMIT 5""",
}


def tables() -> dict[str, pa.Table]:
    """The shop, invented: the number of orders of a customer is skewed, and so is what they are worth."""
    rng = np.random.default_rng(22)
    weights = np.arange(len(NATIONS), 0, -1) / np.arange(len(NATIONS), 0, -1).sum()
    nation = rng.choice(len(NATIONS), CUSTOMERS, p=weights)
    often = rng.gamma(0.7, 1, CUSTOMERS)
    return {
        "nation": pa.table({
            "nationkey": range(len(NATIONS)), "name": NATIONS,
            "region": [REGIONS[name] for name in NATIONS],
        }),
        "customer": pa.table({
            "custkey": range(CUSTOMERS), "nationkey": nation,
            "town": [f"town {at}" for at in np.minimum(rng.zipf(1.6, CUSTOMERS), 10**6)],
        }),
        "orders": pa.table({
            "orderkey": range(ORDERS), "custkey": rng.choice(CUSTOMERS, ORDERS, p=often / often.sum()),
            "total": np.round(rng.gamma(2, 90, ORDERS), 2),
            "priority": rng.choice(["urgent", "high", "low"], ORDERS, p=[0.1, 0.3, 0.6]),
        }),
    }  # fmt: skip


TABLES: dict[str, Any] = {
    "nation": {"public": True},
    "customer": {
        "privacy_unit": "custkey",
        "max_rows": 1,
        "columns": {"nationkey": {"keys": "nation.nationkey"}},
    },
    "orders": {
        "privacy_unit": "custkey",
        "max_rows": 8,
        "columns": {"total": {"bounds": [0, 1000]}, "priority": {"keys": ["urgent", "high", "low"]}},
    },
}
POLICY = dp.Policy(budget=dp.Budget(epsilon=6, delta=1e-6), tables=TABLES)


def main() -> None:
    """Ask everything, and print what it cost."""
    with dp.protect(tables(), policy=POLICY) as session:
        for question, sql in QUESTIONS.items():
            sys.stdout.write(f"\n{question}\n")
            release = session.sql(sql, epsilon=1, delta=1e-7)
            sys.stdout.write(f"{release!r}\n")
        sys.stdout.write(f"\nbudget: {session.budget!r}\n")


if __name__ == "__main__":
    main()
