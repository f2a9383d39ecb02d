"""Questions that an analyst would ask of two real files, with answers and what their intervals say.

    python examples/questions.py DATA_DIR

DATA_DIR holds two files that are not part of this project:

- `PUMS5extract10000.csv`: 10,000 people of a census in California, one row each, as redistributed by OpenDP's
  dpcreator; age, sex (1 is female), education on a scale of 1 to 16, income, and whether somebody is married,
  latino, black or asian.
- `restaurants_week_data.csv`: the visits to a restaurant in a week, the example of Google's differential-privacy
  libraries; visitor, time of entry, minutes, euros, day.

Every run has new noise. The budgets are kept in memory, so that the example can be run again; with real data they
belong into a file, which is the default.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import discreet as dp


@dataclass(frozen=True)
class Question:
    """One question.

    Attributes:
        asks: the question in words.
        sql: the same in SQL.
        epsilon: what it may cost.
        says: what the interval tells, and what it does not.
    """

    asks: str
    sql: str
    epsilon: str
    says: str


CENSUS = [
    Question(
        "How many people are there, and how many of a hundred are married?",
        "SELECT COUNT(*) AS people, 100 * AVG(married) AS percent_married FROM census",
        "0.1",
        "Both come from one noisy vector. With thousands of people, a tenth of epsilon leaves a fraction of a percent.",
    ),
    Question(
        "What do people earn, by education?",
        "SELECT educ, COUNT(*) AS people, AVG(income) AS income FROM census GROUP BY educ ORDER BY educ",
        "0.5",
        "The same noise is shared by fewer people where a level is rare, so there the intervals are the widest.",
    ),
    Question(
        "How much more do men earn than women, with and without a degree?",
        """SELECT CASE WHEN educ >= 13 THEN 'degree' ELSE 'no degree' END AS education,
       AVG(income) FILTER (WHERE sex = 0) - AVG(income) FILTER (WHERE sex = 1) AS gap
FROM census GROUP BY education ORDER BY education""",
        "0.5",
        "A difference of two averages carries the noise of both. The interval is of that difference, not of the parts.",
    ),
    Question(
        "How does income change with age?",
        """SELECT age // 10 * 10 AS decade, COUNT(*) AS people, AVG(income) AS income
FROM census GROUP BY decade HAVING COUNT(*) > 100 ORDER BY decade""",
        "0.3",
        "HAVING looks at noisy counts: it drops the decades with hardly anybody, whose averages would be all noise.",
    ),
    Question(
        "How many of a hundred earn more than 100,000?",
        """SELECT CASE WHEN sex = 1 THEN 'women' ELSE 'men' END AS who,
       100 * AVG(CASE WHEN income > 100000 THEN 1.0 ELSE 0 END) AS percent
FROM census GROUP BY who ORDER BY who""",
        "0.1",
        "A share has bounds of its own, 0 and 1, so the wide bounds of income add no noise here.",
    ),
    Question(
        "How many have no income at all, and how old are they?",
        "SELECT COUNT(*) AS people, AVG(age) AS age FROM census WHERE income <= 0",
        "0.2",
        "A condition costs nothing. Fewer rows do: the average is as exact as the number of people behind it allows.",
    ),
    Question(
        "How unequal are incomes, among the married and the others?",
        """SELECT CASE WHEN married = 1 THEN 'married' ELSE 'not married' END AS who,
       AVG(income) AS mean, STDDEV(income) AS spread, STDDEV(income) / AVG(income) AS ratio
FROM census GROUP BY who ORDER BY who""",
        "0.5",
        "Mean and spread share one vector. Incomes above the bound count as the bound, so the true spread is larger.",
    ),
    Question(
        "What does the age pyramid look like?",
        """SELECT age // 5 * 5 AS age, COUNT(*) AS people,
       100.0 * SUM(COUNT(*)) OVER (ORDER BY age // 5 * 5) / SUM(COUNT(*)) OVER () AS percent_up_to_here
FROM census GROUP BY 1 ORDER BY 1""",
        "0.1",
        "Each person is in one group, so all groups together cost no more than one. Sums of groups add up their noise.",
    ),
    Question(
        "Who holds a degree?",
        """SELECT 100 * AVG(CASE WHEN educ >= 13 THEN 1.0 ELSE 0 END) AS everybody,
       100 * AVG(CASE WHEN educ >= 13 THEN 1.0 ELSE 0 END) FILTER (WHERE latino = 1) AS latino,
       100 * AVG(CASE WHEN educ >= 13 THEN 1.0 ELSE 0 END) FILTER (WHERE black = 1) AS black,
       100 * AVG(CASE WHEN educ >= 13 THEN 1.0 ELSE 0 END) FILTER (WHERE asian = 1) AS asian
FROM census""",
        "0.4",
        "Four averages of different people share the epsilon; the smaller the group, the wider its interval.",
    ),
    Question(
        "What part of all income goes to those with a degree?",
        """SELECT SUM(income) AS total, SUM(income) FILTER (WHERE educ >= 13) AS with_degree,
       100 * SUM(income) FILTER (WHERE educ >= 13) / SUM(income) AS percent
FROM census""",
        "0.3",
        "Sums move by as much as the largest income that counts; their ratio is exact to a few parts in a hundred.",
    ),
    Question(
        "Where do most people live?",
        "SELECT puma // 100 AS area, COUNT(*) AS people FROM census GROUP BY area ORDER BY people DESC LIMIT 5",
        "0.2",
        "The order is that of noisy counts: where two intervals overlap, their places may be exchanged.",
    ),
    Question(
        "What does the person in the middle earn, by education?",
        """SELECT CASE WHEN educ >= 13 THEN 'degree' WHEN educ >= 9 THEN 'school' ELSE 'less' END AS education,
       MEDIAN(income) AS median
FROM census GROUP BY education ORDER BY median""",
        "0.5",
        "A median does not care for the few who earn most: the upper bound of income hardly matters to it.",
    ),
    Question(
        "Do education and income go together?",
        "SELECT CORR(educ, income) AS correlation, REGR_SLOPE(income, educ) AS per_level FROM census",
        "0.5",
        "An interval that leaves out zero speaks of these 10,000 people; clamped incomes weaken the link a little.",
    ),
]

VISITS = [
    Question(
        "How many visits and what takings does each day bring?",
        """SELECT "Day" AS day, COUNT(*) AS visits, SUM("Money spent (euros)") AS euros
FROM visits GROUP BY day ORDER BY day""",
        "1",
        "Noise is for a visitor with all visits, up to max_rows of them, so it is that many times larger than for one.",
    ),
    Question(
        "What does a visit bring, and on which days the most?",
        """SELECT "Day" AS day, AVG("Money spent (euros)") AS euros,
       RANK() OVER (ORDER BY AVG("Money spent (euros)") DESC) AS place
FROM visits GROUP BY day ORDER BY place""",
        "1",
        "Each average is exact to a euro or two, and the days differ by little more: mind the interval of the place.",
    ),
    Question(
        "What is an hour at a table worth?",
        """SELECT 60 * SUM("Money spent (euros)") / SUM("Time spent (minutes)") AS euros_per_hour
FROM visits""",
        "0.5",
        "A ratio of two sums has an interval of its own, drawn from the noise of both.",
    ),
    Question(
        "At what hour do guests come?",
        """SELECT CAST(split_part("Time entered", ':', 1) AS BIGINT) % 12
       + CASE WHEN "Time entered" LIKE '%PM' THEN 12 ELSE 0 END AS hour, COUNT(*) AS visits
FROM visits GROUP BY hour HAVING COUNT(*) > 50 ORDER BY hour""",
        "1",
        "The 24 groups follow from the expression, not from the data. HAVING drops the hours that are nearly empty.",
    ),
    Question(
        "How many of a hundred stay longer than an hour, before and after noon?",
        """SELECT CASE WHEN "Time entered" LIKE '%AM' THEN 'morning' ELSE 'afternoon' END AS part,
       100 * AVG(CASE WHEN "Time spent (minutes)" > 60 THEN 1.0 ELSE 0 END) AS percent
FROM visits GROUP BY part ORDER BY part""",
        "0.5",
        "If the intervals of the two halves of the day overlap, the difference may be noise.",
    ),
    Question(
        "How many people come each day?",
        """SELECT "Day" AS day, COUNT(DISTINCT "VisitorId") AS people FROM visits GROUP BY day ORDER BY day""",
        "1",
        "A visitor counts on several days, so one person moves several groups, and the noise is that of max_groups.",
    ),
    Question(
        "How often does a visitor come in a week?",
        """SELECT AVG(visits) AS visits, 100 * AVG(CASE WHEN visits >= 3 THEN 1.0 ELSE 0 END) AS percent_three_or_more
FROM (SELECT "VisitorId", clamp(COUNT(*), 0, 7) AS visits FROM visits GROUP BY "VisitorId") AS guests""",
        "0.5",
        "One row for each visitor, so max_rows drops nothing, and the noise is that of a single row.",
    ),
    Question(
        "What does a visitor leave in a week?",
        """SELECT AVG(euros) AS mean, MEDIAN(euros) AS median
FROM (SELECT "VisitorId", clamp(SUM("Money spent (euros)"), 0, 200) AS euros
      FROM visits GROUP BY "VisitorId") AS guests""",
        "1",
        "The bound of 200 euros a week is a guess made before asking; what lies beyond it does not count.",
    ),
    Question(
        "How do visits split between week and week-end, and what is the total?",
        """SELECT part, COUNT(*) AS visits
FROM (SELECT CASE WHEN "Day" >= 6 THEN 'week-end' ELSE 'week' END AS part FROM visits) AS v
GROUP BY ROLLUP (part) ORDER BY part NULLS LAST""",
        "1",
        "Each level of a ROLLUP takes a share of epsilon; the row without a part is the total, with noise of its own.",
    ),
    Question(
        "Do those who stay longer spend more?",
        """SELECT CORR("Time spent (minutes)", "Money spent (euros)") AS correlation,
       60 * REGR_SLOPE("Money spent (euros)", "Time spent (minutes)") AS euros_per_further_hour
FROM visits""",
        "1",
        "The slope is worth as much as its interval is narrow: a week of one restaurant says this much and no more.",
    ),
]


PEOPLE = {
    "age": (18, 99), "income": (0, 200_000), "puma": (60_000, 69_999), "educ": (1, 16), "sex": (0, 1),
    "married": (0, 1), "latino": (0, 1), "black": (0, 1), "asian": (0, 1),
}  # fmt: skip
VISIT = {"Time spent (minutes)": (0, 120), "Money spent (euros)": (0, 60), "Day": (1, 7)}


def sessions(folder: Path) -> list[tuple[dp.Session, list[Question]]]:
    """Both files under their policies, each with its questions."""
    census = dp.protect(
        folder / "PUMS5extract10000.csv", table="census", privacy_unit="row", budget=10, ledger=":memory:",
        bounds=PEOPLE, types=dict.fromkeys(PEOPLE, "integer"),
    )  # fmt: skip
    visits = dp.protect(
        folder / "restaurants_week_data.csv", table="visits", privacy_unit="VisitorId", max_rows=4, budget=10,
        bounds=VISIT, types=dict.fromkeys(VISIT, "integer"), ledger=":memory:",
    )  # fmt: skip
    return [(census, CENSUS), (visits, VISITS)]


def main(folder: Path) -> None:
    """Ask every question and print what is to be said about it."""
    number = 0
    for session, questions in sessions(folder):
        notes: dict[str, None] = {}
        with session:
            for question in questions:
                number += 1
                print(f"\n{number}. {question.asks}\n")
                print("\n".join(f"    {line}" for line in question.sql.splitlines()) + "\n")
                release = session.sql(question.sql, epsilon=question.epsilon)
                print(release)
                print(f"=> {question.says}")
                notes |= dict.fromkeys(release.notes[1:])
            print(f"\nnot covered by the intervals: {'; '.join(notes)}")
            print(f"budget: {session.budget}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python examples/questions.py DATA_DIR")
    main(Path(sys.argv[1]))
