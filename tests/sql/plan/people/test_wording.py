"""What is said of people who allow different epsilons: in previews, notes, explanations, cards and budgets."""

from __future__ import annotations

from tests.consenting import protected

SQL = "SELECT COUNT(*) AS n, MEDIAN(x) AS m FROM visits"


def test_a_preview_says_the_price_of_each_class_and_who_is_sampled() -> None:
    said = str(protected().preview(SQL, 2))
    assert "people by consent: epsilon careful 0.2, normal 1, open 2" in said
    assert "quantiles are of a sample of the people: careful " in said
    assert "open 100 %" in said


def test_an_answer_says_what_it_costs_each_class_and_who_is_left_out() -> None:
    answer = protected().sql(SQL, 2)
    card = str(answer.card())
    assert "for people of the class: epsilon careful 0.2, normal 1, open 2" in card
    assert "no class that is declared, who are not counted" in card
    assert "how people who are kept differ from the others" in card
    used = answer.card().to_dict()["mechanisms"]
    assert [one["people"] for one in used if "people" in one] == ["careful", "normal", "open"]
    assert [one["sample"]["open"] for one in used if "sample" in one] == [1]


def test_an_explanation_says_the_noise_of_each_class_and_shows_no_key() -> None:
    session = protected()
    session.sql(SQL, 2)
    said = repr(session.explain("SELECT COUNT(*) AS n FROM visits", epsilon=2, sql=True))
    assert "careful: epsilon 0.2, noise of scale 25 on each integer" in said
    assert (
        "its noise has standard deviation 36.23" in said
    )  # the root of 2 (25^2 + 5^2 + 2.5^2), for 5 visits
    assert "0" * 64 in repr(session.explain(SQL, epsilon=2, sql=True))


def test_a_budget_says_what_each_class_has_spent() -> None:
    session = protected()
    session.sql(SQL, 2)
    assert session.budget.people["careful"].spent * 10 == session.budget.spent == 2
    assert "people have spent: careful 0.2 of 100, normal 1 of 500, open 2 of 1000" in repr(session.budget)
    assert "people: careful" in session.budget._repr_html_()
    assert session.card().to_dict()["people"]["classes"][0] == {"class": "careful", "epsilon": "100"}


def test_invented_people_are_of_all_classes() -> None:
    mock = protected().mock(rows=400)
    found = mock.sql("SELECT consent, COUNT(*) AS n FROM people GROUP BY consent", 50).to_dict()
    assert len(found["n"]) == 3


def test_an_answer_says_which_rows_of_people_with_several_classes_are_left_out() -> None:
    session, said = protected(), "names another class than that of their person"
    for sql in ("SELECT consent, COUNT(*) AS n FROM people GROUP BY consent",
                "SELECT COUNT(*) AS n FROM people WHERE consent = 'open'"):  # fmt: skip
        assert said in str(session.sql(sql, 1).card())
    for sql in (
        "SELECT COUNT(*) AS n FROM people",
        "SELECT MEDIAN(age) AS m FROM people WHERE consent = 'open'",
    ):
        assert said not in str(session.sql(sql, 1).card())


def test_a_description_says_which_column_names_the_classes() -> None:
    found = protected().sql("DESCRIBE people").to_dict()
    told = dict(zip(found["column_name"], found["declared"], strict=True))
    assert told["consent"] == "names the classes of people: careful, normal, open"
    assert told["age"] == "clamped to 0 … 100"
