"""Units in the notations that people use, each with its dimension and its size there: ``kilograms`` and ``公斤`` are 1000 of ``g``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache

_SCALED: dict[str, dict[str, str]] = {
    "g": {
        "0.000001": "µg μg microgram micrograms 微克",
        "0.001": "mg milligram milligrams 毫克",
        "1": "g gram grams gramme grammes 克 г",
        "1000": "kg kilogram kilograms kilogramme kilogrammes kilo kilos 公斤 千克 кг",
        "1000000": "t tonne tonnes 吨 公吨",
    },
    "m": {
        "0.000000001": "nm nanometres nanometers 纳米",
        "0.000001": "µm μm micrometres micrometers 微米",
        "0.001": "mm millimetre millimetres millimeter millimeters 毫米 мм",
        "0.01": "cm centimetre centimetres centimeter centimeters 厘米 公分 см",
        "1": "m metre metres meter meters 米",
        "1000": "km kilometre kilometres kilometer kilometers 公里 千米 км",
    },
    "s": {
        "0.000001": "µs μs microseconds 微秒",
        "0.001": "ms msec millisecond milliseconds 毫秒",
        "1": "s sec secs second seconds 秒 秒钟",
        "60": "min mins minute minutes 分钟",
        "3600": "h hr hrs hour hours 小时 个小时",
        "86400": "day days 天 дней",
        "604800": "week weeks 周 个星期",
    },
    "month": {"1": "month months 个月"},
    "year": {"1": "year years yr yrs"},
    "l": {"0.001": "ml mL millilitre millilitres milliliter milliliters 毫升", "1": "l L litre litres liter liters 升"},
    "B": {
        "1": "B byte bytes 字节",
        "1000": "kB KB",
        "1024": "KiB",
        "1000000": "MB",
        "1048576": "MiB",
        "1000000000": "GB",
        "1073741824": "GiB",
        "1000000000000": "TB",
    },
    "Hz": {"1": "Hz 赫兹", "1000": "kHz", "1000000": "MHz", "1000000000": "GHz"},
    "W": {"0.001": "mW", "1": "W watt watts 瓦", "1000": "kW 千瓦", "1000000": "MW"},
    "Wh": {"1": "Wh", "1000": "kWh 千瓦时", "1000000": "MWh", "1000000000": "GWh"},
    "V": {"0.001": "mV", "1": "V volt volts", "1000": "kV"},
    "Pa": {"1": "Pa 帕", "100": "hPa mbar", "1000": "kPa", "1000000": "MPa", "100000": "bar"},
    "mol": {"0.000001": "µmol", "0.001": "mmol", "1": "mol"},
    "J": {"1": "J joule joules", "1000": "kJ", "1000000": "MJ"},
    "ha": {"1": "ha hectare hectares 公顷"},
    "%": {"1": "% ％ percent pct per_cent Prozent 百分比", "0.1": "‰"},
    "pp": {"1": "pp percentage_point percentage_points 个百分点"},
    "°C": {"1": "°C ℃ 摄氏度 degrees_Celsius"},
    "°F": {"1": "°F ℉ 华氏度 degrees_Fahrenheit"},
    "°": {"1": "° degree degrees 度"},
    "ppm": {"1": "ppm"},
    "dB": {"1": "dB"},
    "px": {"1": "px pixel pixels 像素"},
    "dpi": {"1": "dpi"},
    "rpm": {"1": "rpm"},
    "bpm": {"1": "bpm"},
    "sigma": {"1": "σ sigma sigmas standard_deviation standard_deviations sd SD 个标准差 倍标准差"},
    "token": {"1": "token tokens"},
    "km/h": {"1": "km/h kph"},
    "m/s": {"1": "m/s"},
    "mg/l": {"1": "mg/l mg/L", "1000": "g/l g/L"},
    "USD": {"1": "USD dollar dollars 美元 美金"},
    "EUR": {"1": "EUR euro euros 欧元"},
    "GBP": {"1": "GBP pounds 英镑"},
    "CNY": {"1": "CNY RMB yuan 元 人民币 块钱"},
    "JPY": {"1": "JPY yen 日元 円"},
    "CHF": {"1": "CHF"},
}
_COUNTED = {
    "row": "row rows 行",
    "column": "column columns 列",
    "person": "person persons people participant participants 人 名 位",
    "patient": "patient patients 例 名患者 位患者",
    "subject": "subject subjects",
    "sample": "sample samples 个样本",
    "observation": "observation observations",
    "record": "record records 条记录 条",
    "customer": "customer customers 个客户 位客户",
    "employee": "employee employees",
    "student": "student students 名学生",
    "station": "station stations 个站点",
    "outlier": "outlier outliers 个异常值",
    "bin": "bin bins",
    "fold": "fold folds",
    "epoch": "epoch epochs",
    "cluster": "cluster clusters",
    "piece": "只 个 件 台 次 家 辆",
}
"""What is counted: such a number keeps its noun, but is found again beside any other word too."""

CURRENCIES = {"$": "USD", "US$": "USD", "€": "EUR", "£": "GBP", "¥": "CNY", "￥": "CNY", "₹": "INR", "₽": "RUB", "₩": "KRW"}
MULTIPLIERS = {
    **dict.fromkeys(("k", "K", "thousand", "thousands", "千"), 3),
    **dict.fromkeys(("万", "萬"), 4),
    **dict.fromkeys(("M", "mn", "mln", "million", "millions", "百万"), 6),
    **dict.fromkeys(("亿", "億"), 8),
    **dict.fromkeys(("bn", "billion", "billions"), 9),
    **dict.fromkeys(("trillion", "trillions"), 12),
}
"""Powers of ten that are written as a word or letter."""

UNITS: dict[str, tuple[str, Decimal]] = {
    form.replace("_", " "): (dimension, Decimal(factor)) for dimension, sizes in _SCALED.items() for factor, forms in sizes.items() for form in forms.split()
}
UNITS |= {form: (f"#{noun}", Decimal(1)) for noun, forms in _COUNTED.items() for form in forms.split()}
_LONGEST_SYMBOL = 3
UNITS |= {form.lower(): size for form, size in list(UNITS.items()) if len(form) > _LONGEST_SYMBOL and form.lower() not in UNITS}

_CJK = re.compile("[\u3040-\u9fff]")
_LONGEST_CJK = max(len(form) for form in UNITS if _CJK.match(form))
_PAIRED = {form.partition(" ")[0] for form in UNITS if " " in form}


@dataclass(frozen=True, slots=True)
class Unit:
    """What follows a number: its dimension, what one of it is in that dimension, and the power of ten that a word before it stood for."""

    dimension: str = ""
    size: Decimal = Decimal(1)
    power: int = 0
    length: int = 0
    """Characters that it takes up after the number."""


NO_UNIT = Unit()


@lru_cache(maxsize=8192)
def unit_of(after: str) -> Unit:
    """Return the unit at the beginning of ``after``, the few characters that follow a number, or ``NO_UNIT``."""
    power, position = 0, 0
    for _ in range(2):
        word, end = _word(after, position)
        if word in MULTIPLIERS and not power:
            power, position = MULTIPLIERS[word], end
            continue
        known = UNITS.get(word) or (UNITS.get(word.lower()) if len(word) > _LONGEST_SYMBOL else None)
        if known is not None:
            return Unit(known[0], known[1], power, end)
        break
    return Unit(power=power, length=position) if power else NO_UNIT


def _word(after: str, position: int) -> tuple[str, int]:
    """The word or sign that may be a unit, and where it ends."""
    match = _NEXT.match(after, position)
    if match is None:
        return "", position
    word, end = match[1], match.end()
    if _CJK.match(word):
        for length in range(min(_LONGEST_CJK, len(word)), 0, -1):
            if word[:length] in UNITS or word[:length] in MULTIPLIERS:
                return word[:length], match.start(1) + length
        return "", position
    if word.lower() in _PAIRED and (pair := _PAIR.match(after, match.start(1))) is not None and pair[0].lower() in UNITS:
        return pair[0].lower(), pair.end()
    return word, end


_NEXT = re.compile(r"[ \u00a0\u202f\t-]?([^\W\d_a-zA-Zµμσа-я]+|[a-zA-Zµμσа-я]+(?:/[a-zA-Z]+)?|°[CF]?|[%％‰℃℉])")
_PAIR = re.compile(r"[A-Za-z]+ [A-Za-z]+")
