"""The floor keeps no abilities, no refusals and no code that did not run (C13)."""

from __future__ import annotations

from memflush_jupyter.memory.salience import SourceText, extract


def texts(reply: str) -> list[str]:
    return [candidate.text for candidate in extract([SourceText(reply, "agent", "t", 1)])]


def test_bullets_under_an_offer_are_no_findings():
    assert texts("I can:\n\n- compare groups (η²), correlation, outliers over 3 sigma\n- describe a data frame") == []
    assert texts("Next you could also:\n\n- drop the 12 outliers in `mass`") == []


def test_bullets_under_a_result_stay_findings():
    assert texts("The result:\n\n- The mean mass is 4201.75 g") == ["The mean mass is 4201.75 g"]


def test_a_refusal_is_no_finding_but_an_absence_is():
    assert texts("I do not understand “plot 3 of Anna”, and I do not guess.") == []
    assert texts("I found no correlation between `mass` and `year` (r = 0.02).") == ["I found no correlation between `mass` and `year` (r = 0.02)."]


def test_names_come_only_from_code_that_was_not_held_back():
    code = '```python\ndf = pd.read_csv("a.csv")\n```'
    assert texts(f"This loads it:\n\n{code}") == ["Variable `df` holds what was read from the file `a.csv`."]
    assert "Variable `df` holds what was read from the file `a.csv`." not in texts(f"The code was not run, because it was not approved:\n\n{code}")
