"""Numbers in the audit: notations, units, signs, lists, words; and when two are one (D13)."""

from __future__ import annotations

from decimal import Decimal

import pytest

from memflush_jupyter.context.audit_numbers import NumberIndex, is_item, numbers, spelled


def read(text):
    return [(one.text, str(one.value.normalize()) if one.value else "0", one.dimension) for one in numbers(text)]


def first(text):
    return next(iter((*numbers(text), *spelled(text))))


def holds(there, wanted):
    return NumberIndex([there] if isinstance(there, str) else there).holds(first(wanted))


@pytest.mark.parametrize(
    ("written", "value", "dimension", "digits"),
    [
        ("42", "42", "", 2),
        ("4201.75", "4201.75", "", 6),
        ("4,201.75 g", "4201.75", "g", 6),
        ("4'201.75 kg", "4201750", "g", 6),
        ("4’201 g", "4201", "g", 4),
        ("4_201", "4201", "", 4),
        ("4\u202f201 g", "4201", "g", 4),
        ("4\u202f201,5 g", "4201.5", "g", 5),
        ("4.201,5 g", "4201.5", "g", 5),
        ("12.345,67 €"[:9], "12345.67", "", 7),
        ("1,234,567 rows", "1234567", "#row", 7),
        ("1.234.567,5 g", "1234567.5", "g", 8),
        ("1.234.567 g", "1234567", "g", 7),
        ("3,5 kg", "3500", "g", 2),
        ("0.05", "0.05", "", 1),
        (".05 g", "0.05", "g", 1),
        ("0.00", "0", "", 1),
        ("-12.5", "-12.5", "", 3),
        ("−12.5 °C", "-12.5", "°C", 3),
        ("+12.5 °C", "12.5", "°C", 3),
        ("$12.5", "12.5", "USD", 3),
        ("US$ 12.5", "12.5", "USD", 3),
        ("€12", "12", "EUR", 2),
        ("-$12", "-12", "USD", 2),
        ("$-12", "-12", "USD", 2),
        ("¥ 300", "300", "CNY", 3),
        ("₹300", "300", "INR", 3),
        ("12 €"[:2], "12", "", 2),
        ("1.5e3", "1500", "", 2),
        ("1.5E-3", "0.0015", "", 2),
        ("1.5×10^3", "1500", "", 2),
        ("1.5 x 10^-3", "0.0015", "", 2),
        ("2*10**6 bytes", "2000000", "B", 1),
        ("3 × 10^−2 g", "0.03", "g", 1),
        ("12k", "12000", "", 2),
        ("1.2 million", "1200000", "", 2),
        ("3.5万元", "35000", "CNY", 2),
        ("2 GB", "2000000000", "B", 1),
        ("90 min", "5400", "s", 2),
        ("87.3 %", "87.3", "%", 3),
        ("87.3%", "87.3", "%", 3),
        ("5‰", "0.5", "%", 1),
        ("1٫5", "1.5", "", 2),
        ("100000", "100000", "", 6),
    ],
)
@pytest.mark.parametrize("frame", ["{}", "It is {} there", "({}) was found", "结果是 {}，然后"])
def test_a_number_is_read_in_its_notation(written, value, dimension, digits, frame):
    text = frame.format(written)
    (number,) = (one for one in numbers(text) if one.dimension != "?")
    assert number.text == written
    assert number.value == Decimal(value)
    assert (number.dimension, number.digits, number.spelled) == (dimension, digits, False)
    assert text[number.start :].startswith(written)


@pytest.mark.parametrize(
    ("written", "place"),
    [
        ("42", "1"),
        ("42.50", "0.01"),
        ("42.5 kg", "100"),
        ("42 kg", "1000"),
        ("1.2 million", "100000"),
        ("1.5e3", "100"),
        ("12300", "100"),
        ("12000", "1000"),
        ("1200", "1"),  # four digits are not taken for rounded
        ("12350", "1"),
        ("1,234,000", "1000"),
        ("5‰", "0.1"),
        ("100000 g", "100000"),
    ],
)
def test_the_size_of_the_last_written_digit_is_known(written, place):
    number = first(written)
    assert number.place == Decimal(place)


@pytest.mark.parametrize(
    "text",
    ["x12", "v1.2.3", "12:30", "a_12", "col12", "#12", "@12", "192.168.0.1", "12_b", "3a_b", "12=x", "é12", "no number"],
)
def test_parts_of_identifiers_versions_and_times_are_no_numbers(text):
    assert read(text) == []


def test_a_list_without_blanks_is_its_members():
    assert [(one.text, one.value, one.start, one.place) for one in numbers("see 12,5 there")] == [("12", 12, 4, 1), ("5", 5, 7, 1)]
    assert read("see 3,5 kg") == [("3,5 kg", "3.5E+3", "g")]
    assert read("€3,5") == [("€3,5", "3.5", "EUR")]


def test_every_number_of_a_sentence_is_read():
    text = "Of 344 rows, 12.5% weigh 3.2 kg-4 kg, between -5 and 7 (−3 °C), 3-5 of them $1,200."
    assert [one[0] for one in read(text)] == ["344 rows", "12.5%", "3.2 kg", "4 kg", "-5", "7", "−3 °C", "3", "5", "$1,200"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("three sigma", [("three sigma", "3", "sigma")]),
        ("Three Sigma", [("Three Sigma", "3", "sigma")]),
        ("twenty kilograms", [("twenty kilograms", "20000", "g")]),
        ("half a day", [("half", "0.5", "")]),
        ("two million euros", [("two million euros", "2000000", "EUR")]),
        ("twelve patients and ninety rows", [("twelve patients", "12", "#patient"), ("ninety rows", "90", "#row")]),
        ("三公斤", [("三公斤", "3000", "g")]),
        ("两个客户", [("两个客户", "2", "#customer")]),
        ("十天", [("十天", "864000", "s")]),
        ("三十天", []),
        ("第三天", []),
        ("星期三", []),
        ("someone phoned", []),
        ("oneness", []),
        ("often", []),
    ],
)
def test_numbers_written_as_words_are_read(text, found):
    read_ones = list(spelled(text))
    assert [(one.text, one.value, one.dimension) for one in read_ones] == [(words, Decimal(value), unit) for words, value, unit in found]
    assert all(one.spelled and one.digits == 1 and text[one.start :].startswith(one.text) for one in read_ones)


@pytest.mark.parametrize("text", ["10 mg", "3 kg", "$5", "12.5", "0.5", "100", "1,234", "12 rows", "344 rows", "three sigma", "5%"])
def test_a_reader_would_miss_a_number_with_a_unit_a_fraction_or_several_digits(text):
    assert is_item(first(text), text)


@pytest.mark.parametrize(
    "text",
    [
        "5",
        "42",
        "3 rows",
        "seven",
        "two rows",
        "line 120",
        "page 344",
        "Step: 100",
        "table 123",
        "seed=123",
        "第 123",
        "[123",
        "version 3.11",
        "9" * 61,
        "row 500",
    ],
)
def test_a_mere_count_or_reference_is_not_missed(text):
    assert not is_item(first(text), text)


@pytest.mark.parametrize(
    ("wanted", "there"),
    [
        ("10 mg", "0.01 g"),
        ("10 mg", "10 milligrams"),
        ("4201.75 g", "4.20175 kg"),
        ("4,201.75 g", "about 4.2 kg"),
        ("4,201.75 g", "4201.75"),
        ("87.3 %", "0.873"),
        ("0.873", "87.3 %"),
        ("87.3%", "a share of 0.87"),
        ("0.5", "50%"),
        ("-0.5", "-50%"),
        ("50%", "0.5"),
        ("5 %", "0.05"),
        ("1.0", "100%"),
        ("0.87", "87 %"),
        ("0.8734", "87.3 %"),
        ("87.34 %", "0.873"),
        ("87.3 %", "a bare 87.3"),
        ("87.3 %", "873‰"),
        ("87.3 kg", "87.3"),
        ("87.35 kg", "| 87.4 |"),
        ("87.25", "87.3"),
        ("873 g", "873 rows"),
        ("87 rows", "87 patients"),
        ("100 patients", "a hundred patients"),
        ("1,234", "1,234 rows"),
        ("234", "see 100,234,500 there"),
        ("120 min", "2 000 s, 7 200 s"),
        ("3.5 kg", "3 500 grams"),
        ("1,234,567", "1.23 million"),
        ("1234567", "1 234 567 rows"),
        ("12 patients", "twelve patients"),
        ("12 patients", "twelve"),
        ("3 sigma", "three sigma"),
        ("344 rows", "344 penguins"),
        ("344", "344 g"),
        ("12.5 kg", "12 500 g"),
        ("344 kg", "| mass (kg) | 344 |"),
        ("2 h", "120 minutes"),
        ("$1.2 million", "1,200,000 dollars"),
        ("three sigma", "3σ"),
        ("344 rows", "| n | 344 |"),
        ("12.5", "a  12.5  13.5\n"),
        ("-12.5", "a  -12.5"),
        ("4,201.75 g", "4.2e3 g"),
        ("3.14159", "3.14"),
        ("3.14", "3.14159"),
    ],
)
def test_the_same_number_in_another_notation_is_held(wanted, there):
    assert holds(there, wanted)


@pytest.mark.parametrize(
    ("wanted", "there"),
    [
        ("10 mg", "100 mg"),
        ("10 mg", "10 g"),
        ("10 mg", "10"),
        ("344 kg", "344 rows"),
        ("344 kg", "0.344"),
        ("10 mg", "10 ml"),
        ("344 kg", "344 km"),
        ("12.5", "-12.5"),
        ("87.3 %", "873"),
        ("87.3 %", "8.73"),
        ("87.3 %", "88.9 %"),
        ("50%", "50"),
        ("100%", "1"),
        ("0.873", "873"),
        ("87", "87 %"),
        ("344", "344%"),
        ("87.3 %", "87.3 kg"),
        ("0.5", "0.5 %"),
        ("87 kg", "87"),
        ("87 rows", "87 g"),
        ("4.25 kg", "4.26 kg"),
        ("10.5", "10.6"),
        ("1.5", "150%"),
        ("87.3 %", "0.9"),
        ("4 kg", "4.02 kg"),
        ("0.5", "5%"),
        ("4,201.75 g", "4,301.75 g"),
        ("4,201.75 g", "4 g"),
        ("3.14159", "3"),
        ("3.14159", "3.2"),
        ("100", "102"),
        ("12 patients", "thirteen"),
        ("3 sigma", "three"),
        ("1.2 million", "12,000"),
        ("42 kg", "42 rows"),
        ("$300", "€300"),
        ("344", "3440"),
        ("0.25", "2.5"),
        ("42", "nothing"),
    ],
)
def test_another_number_is_not_held(wanted, there):
    assert not holds(there, wanted)


def test_a_number_is_looked_for_in_all_texts():
    assert holds(["nothing", "", "0.01 g"], "10 mg")
    assert holds(["nothing", "twelve patients"], "12 patients")
    assert not holds([], "10 mg")


def test_a_number_with_commas_may_have_been_a_list():
    assert [(one.text, one.dimension, one.place, one.start) for one in numbers("x 1,234 y")] == [
        ("1,234", "", 1, 2),
        ("1", "?", 1, 2),
        ("234", "?", 1, 4),
    ]
    assert not is_item(list(numbers("x 100,234 y"))[1], "x 100,234 y")


def test_a_word_inside_another_hides_none_after_it():
    assert [one.text for one in spelled("someone saw three kilograms")] == ["three kilograms"]
