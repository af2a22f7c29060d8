"""Units in the audit: what follows a number, in signs, words and languages (D13)."""

from __future__ import annotations

from decimal import Decimal

import pytest

from memflush_jupyter.context.audit_units import NO_UNIT, unit_of


@pytest.mark.parametrize(
    ("after", "dimension", "size", "power", "length"),
    [
        (" kg and", "g", "1000", 0, 3),
        ("kg", "g", "1000", 0, 2),
        (" kilograms.", "g", "1000", 0, 10),
        (" Kilograms", "g", "1000", 0, 10),
        ("-kg bag", "g", "1000", 0, 3),
        ("\u00a0kg", "g", "1000", 0, 3),
        ("公斤左右", "g", "1000", 0, 2),
        (" 公斤", "g", "1000", 0, 3),
        ("кг", "g", "1000", 0, 2),
        (" µg", "g", "0.000001", 0, 3),
        ("℃", "°C", "1", 0, 1),
        (" °C", "°C", "1", 0, 3),
        (" °F", "°F", "1", 0, 3),
        ("°", "°", "1", 0, 1),
        (" degrees Celsius in", "°C", "1", 0, 16),
        (" degrees north", "°", "1", 0, 8),
        (" percentage points", "pp", "1", 0, 18),
        (" Percentage Points", "pp", "1", 0, 18),
        (" per cent", "%", "1", 0, 9),
        ("%", "%", "1", 0, 1),
        (" %", "%", "1", 0, 2),
        ("‰", "%", "0.1", 0, 1),
        (" standard deviations", "sigma", "1", 0, 20),
        (" km/h", "km/h", "1", 0, 5),
        (" mg/L", "mg/l", "1", 0, 5),
        (" rows", "#row", "1", 0, 5),
        ("名学生", "#student", "1", 0, 3),
        ("人参加", "#person", "1", 0, 1),
        (" million euros", "EUR", "1", 6, 14),
        ("k rows", "#row", "1", 3, 6),
        ("M", "", "1", 6, 1),
        ("万元", "CNY", "1", 4, 2),
        ("万", "", "1", 4, 1),
        ("亿吨", "g", "1000000", 8, 2),
        (" thousand of them", "", "1", 3, 9),
        (" MB", "B", "1000000", 0, 3),
        (" mb", "", "1", 0, 0),
        (" Hours", "s", "3600", 0, 6),
    ],
)
def test_the_unit_after_a_number_has_its_dimension_its_size_and_its_length(after, dimension, size, power, length):
    unit = unit_of(after)
    assert (unit.dimension, unit.size, unit.power, unit.length) == (dimension, Decimal(size), power, length)


@pytest.mark.parametrize("after", ["", " ", " of them", ", then", "  kg", "/kg", " 的", "(kg)", ". Kg", " million-fold"[:0], " Kgs"])
def test_what_is_no_unit_is_none(after):
    assert unit_of(after) == NO_UNIT


def test_two_powers_are_not_one_number():
    assert unit_of(" million million").power == 6
    assert unit_of(" million million").length == 8
