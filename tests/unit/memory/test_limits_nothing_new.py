"""C5: a note is written again only if it says something new; when in doubt both stay."""

from __future__ import annotations

import pytest

from memflush_jupyter.memory.limits import covered, nothing_new

DIFFERENT = [
    # the examples of C5
    ("Give 10 mg.", "Give 100 mg."),
    ("Use the median.", "Do not use the median."),
    ("Revenue is before tax.", "Revenue is after tax."),
    ("Align it left.", "Align it right."),
    ("Drop outliers.", "Drop outliers, except in Q3."),
    ("Drop outliers.", "Drop outliers unless they are typos."),
    # numbers, signs and units
    ("Sales rose by 5 percent.", "Sales rose by 5 percentage points."),
    ("Sales rose by 5%.", "Sales rose by 5 pp."),
    ("Sales rose by 5%.", "Sales rose to 5%."),
    ("The dose is 10 mg.", "The dose is 10 g."),
    ("The dose is 10 mg.", "The dose is 10 ml."),
    ("The offset is -5.", "The offset is 5."),
    ("alpha is 0.05", "alpha is 0.5"),
    ("There are 344 rows.", "There are 344 columns."),
    ("There are 3,000 rows.", "There are 3.000 rows."),
    ("Keep rows with n > 5.", "Keep rows with n < 5."),
    ("Keep rows with n > 5.", "Keep rows with n >= 5."),
    ("Keep rows where x == 1.", "Keep rows where x != 1."),
    ("It costs $5.", "It costs €5."),
    ("The range is 5-10.", "The range is 5."),
    ("The temperature is 20 °C.", "The temperature is 20 °F."),
    ("The file has 2 MB.", "The file has 2 Mb."),
    ("The area is 10 m².", "The area is 10 m2."),
    ("Version 2.0.1 is used.", "Version 2.0.2 is used."),
    ("1e5 rows", "1e6 rows"),
    # dates and times
    ("The deadline is 2026-11-30.", "The deadline is 2026-12-30."),
    ("The deadline is 30 November.", "The deadline is 30 December."),
    ("The deadline is Friday.", "The deadline is Monday."),
    ("The meeting is at 10:30.", "The meeting is at 10:45."),
    ("The meeting is at 9 am.", "The meeting is at 9 pm."),
    ("The deadline was Friday.", "The deadline is Friday."),
    ("The data is from Q1.", "The data is from Q2."),
    # negation and modality
    ("The effect is significant.", "The effect isn't significant."),
    ("It can be shared.", "It cannot be shared."),
    ("It can be shared.", "It can't be shared."),
    ("Always sort by date.", "Never sort by date."),
    ("You must normalise.", "You may normalise."),
    ("There are missing values.", "There are no missing values."),
    ("Sort with ties.", "Sort without ties."),
    ("It will be used.", "It won't be used."),
    # opposites and quantifiers
    ("Body mass increases with flipper length.", "Body mass decreases with flipper length."),
    ("All rows are valid.", "Some rows are valid."),
    ("At least 5 groups.", "At most 5 groups."),
    ("Include the test group.", "Exclude the test group."),
    ("The minimum is 5.", "The maximum is 5."),
    ("Use the first row.", "Use the last row."),
    ("Use mean or median.", "Use mean and median."),
    ("Only Adelie is on Torgersen.", "Adelie is on Torgersen."),
    ("Convert grams to kilograms.", "Convert kilograms to grams."),
    ("Adelie is heavier than Gentoo.", "Gentoo is heavier than Adelie."),
    ("Filter, then group.", "Group, then filter."),
    # identifiers keep their case and their spelling
    ("The frame is df_Clean.", "The frame is df_clean."),
    ("The column is `Island`.", "The column is `island`."),
    ("The matrix is X.", "The matrix is x."),
    ("The id is userId.", "The id is userid."),
    ("Use col_1.", "Use col_2."),
    ("The file is data/raw.csv.", "The file is data/raw.tsv."),
    ("The file is data/raw.csv.", "The file is data.raw.csv."),
    ("Ask Ana Silva.", "Ask Ana Sousa."),
    ("US sales", "us sales"),
    ("Is the median used?", "The median used."),
    ("Df", "df"),
    ("Use group A.", "Use group."),
    ("Use group A.", "Use group B."),
    # Chinese
    ("剂量是10毫克。", "剂量是100毫克。"),
    ("使用中位数。", "不使用中位数。"),
    ("税前收入", "税后收入"),
    ("左对齐", "右对齐"),
    ("删除异常值。", "删除异常值，第三季度除外。"),
    ("销售额增加了5%。", "销售额减少了5%。"),
    ("所有行有效。", "部分行有效。"),
    ("上升5个百分点", "上升5%"),
    ("截止日期是周五。", "截止日期是周一。"),
    ("之前完成", "之后完成"),
    ("列名是 q7。", "列名是 Q7。"),
]

SAME = [
    ("Use the median.", "use the median"),
    ("Use the median.", "  - Use   the median  "),
    ("Use the median.", "**Use** the median."),
    ("Use the median.", "Remember that use the median."),
    ("Use the median.", "Note: use the median!"),
    ("Please use the median.", "Use the median."),
    ("The dose is 10 mg.", "The dose is 10mg."),
    ("There are 3,000 rows.", "There are 3000 rows."),
    ("alpha is 0.50", "alpha is 0.5"),
    ("alpha is .5", "alpha is 0.5"),
    ("Sales rose by 5 percent.", "Sales rose by 5%."),
    ("Sales rose by 5 per cent.", "Sales rose by 5 percent."),
    ("Sales rose by 5 percentage points.", "Sales rose by 5 pp."),
    ("Weights are in grams.", "Weights are in g."),
    ("Lengths are 5 millimetres.", "Lengths are 5 mm."),
    ("It isn't used.", "It is not used."),
    ("It can't be shared.", "It cannot be shared."),
    ("It won't be shared.", "It will not be shared."),
    ("I prefer matplotlib.", "The user prefers matplotlib."),
    ("I prefer matplotlib.", "User prefers matplotlib"),
    ("The column `q7` is numeric.", "The column q7 is numeric."),
    ("Outliers are dropped. <!-- mf:8f2c t=4be1#118 o=user -->", "Outliers are dropped."),
    ("We’re using “the” median", "We're using the median"),
    ("The temperature is −5.", "The temperature is -5."),
    ("使用中位数。", "使用中位数"),
    ("请记住：使用中位数。", "使用中位数。"),
    ("数据的单位是千元。", "数据单位是千元"),
    ("剂量是１０毫克", "剂量是10毫克"),
    ("列名是 `q7`。", "列名是q7"),
    ("", ""),
]


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_a_difference_that_matters_is_never_taken_for_nothing_new(one, other):
    """C5, in both directions."""
    assert not nothing_new(one, other)
    assert not nothing_new(other, one)
    assert not covered(one, [other])
    assert not covered(other, [one])


@pytest.mark.parametrize(("one", "other"), SAME)
def test_a_difference_that_says_nothing_is_nothing_new(one, other):
    """C5, in both directions."""
    assert nothing_new(one, other)
    assert nothing_new(other, one)


def test_a_line_that_says_it_as_one_clause_covers_it():
    """C13: what a memory line says already, the floor does not write again."""
    line = "- Outliers are dropped above 3 sigma, decided with the user on the Q3 data. <!-- mf:8f2c t=4be1#118 o=user -->"
    assert covered("Outliers are dropped above 3 sigma.", [line])
    assert covered("Outliers are dropped above 3 sigma.", ["unrelated", line])
    assert covered("Use the median.", ["Use the median. The plots are in English."])
    assert covered("使用中位数。", ["使用中位数，图表是英文。"])
    assert covered("Use the median.", ["The plan: use the median."])


@pytest.mark.parametrize(
    "line",
    [
        "Use the median, except for prices.",
        "Use the median, if there are outliers.",
        "Use the median, not the mean.",
        "Use the median (only in Q3).",
        "Use the median. But never for prices.",
        "Use the median; unless asked.",
        "Do not use the median, decided on Friday.",
        "Use the median for prices.",
        "Use the median until May.",
    ],
)
def test_a_line_that_qualifies_the_clause_does_not_cover_it(line):
    """C5: a rule is not the rule with an exception."""
    assert not covered("Use the median.", [line])


def test_nothing_is_covered_by_no_lines_and_an_empty_candidate_is_never_covered():
    """C5."""
    assert not covered("Use the median.", [])
    assert not covered("", ["Use the median.", ""])
    assert not covered("...", ["..."])
    assert not covered("The median is used here now", ["x"])
