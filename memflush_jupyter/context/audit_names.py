"""Names of people, organisations and places as capitals, titles and family names show them (the audit of a compaction).

A name is a capital where none is needed. A word that also occurs in small letters is none, nor are days, months and the terms of the trade.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from memflush_jupyter.context.audit_dates import _MONTH_OF
from memflush_jupyter.context.stopwords import ASKING, ENGLISH
from memflush_jupyter.memory.salience_noise import REQUEST_VERBS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_UPPER = "A-ZÀ-ÖØ-ÞĀĂĄĆĈĊČĎĐĒĔĖĘĚĜĞĠĢĤĦĨĪĬĮİĴĶĹĻĽĿŁŃŅŇŊŌŎŐŒŔŖŘŚŜŞŠŢŤŦŨŪŬŮŰŲŴŶŸŹŻŽȘȚΆΈ-ΏΑ-ΫЀ-Я"
_WORD = rf"(?:(?:Dr|Mrs?|Ms|Prof|St|[{_UPPER}])\.|[{_UPPER}](?:[\w'’]|-(?=\w))*)"
_RUN = re.compile(
    rf"(?<![\w'’.@/\\$-]){_WORD}(?:[ \u00a0](?:(?:van|von|der|den|de|del|di|da|dos|du|la|le|bin|ibn|al|of|the|&|y)[ \u00a0]){{0,2}}{_WORD}|(?<=\.){_WORD})*"
)
_SENTENCE_START = re.compile(r"(?:^|[.!?:;。！？…\n]|^\s*[-*+•#>|]+|\n\s*[-*+•#>|]+|\n\s*\d{1,2}[.)]|^\d{1,2}[.)])[\s\"'“‘(\[*_`]*$")
_NOUNS_ARE_CAPITALS = re.compile(r"\b(?:und|der|das|dem|ist|nicht|wir|eine?|mit|für|auf|wird|sind|am|im|zum)\b")
"""Words of German: there every noun is a capital."""
_TITLES = frozenset("mr mrs ms miss dr prof professor doctor sir madam herr frau mme m monsieur señor señora sr sra г-н г-жа".split())
_PARTICLES = frozenset("van von der den de del di da dos du la le bin ibn al of the & y und".split())
_ADDRESSED = frozenset("ask tell contact email call meet inform thank write consult".split())
_CONTRACTED = frozenset("i you we they it that let don isn can won".split())
_LINKS = frozenset("of the & y und die der das ein eine le la les el los las un une il".split())
_NOT_NAMES = frozenset(
    """
    monday tuesday wednesday thursday friday saturday sunday mon tue wed thu fri sat sun csv json api url html pdf png jpg sql xml eda pca svm ols anova iqr nan
    none null true false id ids ok ui gpu cpu ram os utc gmt am pm mean median std min max sum count var figure fig table step note notes todo done error
    warning traceback python pandas numpy matplotlib seaborn scipy sklearn jupyter jupyterlab notebook dataframe series english yes no hi hello hey dear user
    agent assistant person human model key findings finding summary results result next steps goal goals decision decisions constraint constraints preferences
    preference open questions question data dataset report analysis overview background context total q1 q2 q3 q4 roc auc rmse mae mse iso faq readme md tl dr
    usd eur gbp cny jpy chf rgb rgba hex kde eof ascii utf http https ml ai nlp llm cv ci se sd df ts mcar mar mnar ram please thanks plot plots column columns
    rows row variable variables file files line lines x y z a i
    """.split()
)
_ORGANISED = re.compile(r"(?:公司|集团|大学|学院|医院|研究所|研究院|银行|实验室|委员会|有限公司|株式会社|事务所)$")
_EAST_ORGANISATION = re.compile(r"[\u4e00-\u9fffA-Za-z]{2,12}?(?:有限公司|公司|集团|大学|学院|医院|研究所|研究院|银行|实验室|委员会|株式会社|事务所)")
_SURNAMES = (
    "王李张刘陈杨赵黄周吴徐孙胡朱高林何郭马罗梁宋郑谢韩唐冯于董萧程曹袁邓许傅沈曾彭吕苏卢蒋蔡贾丁魏薛叶阎余潘杜戴夏钟汪田任姜范方石姚谭廖邹熊金陆"
    "郝孔白崔康毛邱秦江史顾侯邵孟龙万段雷钱汤尹黎易常武乔贺赖龚文"
)
_EAST_PERSON = re.compile(
    rf"(?:^|(?<=[，。、；：！？\s和与跟同给由叫是请找让问对向])|(?<=同事|客户|经理|老师|医生|用户|博士|教授|主任))(?P<name>(?:欧阳|司马|诸葛|上官|[{_SURNAMES}])[\u4e00-\u9fff]{{1,2}}?)"
    r"(?=先生|女士|教授|博士|经理|老师|医生|主任|院士|同学|总|说|是|在|和|与|的|负责|提出|来自|建议|认为|要求|决定|住|喜欢|[，。、；！？\s]|$)"
)
_EAST_TITLED = re.compile(rf"(?P<name>[{_SURNAMES}][\u4e00-\u9fff]{{0,2}}?)(?:先生|女士|教授|博士|经理|老师|医生|主任|院士|总监)")
_HONOURED = re.compile(
    r"(?P<jp>[\u4e00-\u9fff\u30a0-\u30ff々]{2,8}?)(?:さん|様|氏|先生)|(?P<kr>[\uac00-\ud7af]{2,4}?) ?(?:씨|님|박사|교수)(?![\uac00-\ud7af])"
    r"|(?:السيدة|السيد|الدكتورة|الدكتور|الأستاذ)\s+(?P<ar>[\u0621-\u064a]+(?:\s[\u0621-\u064a]+)?)|(?:श्रीमती|श्री|डॉ\.?|डॉक्टर)\s+(?P<hi>[\u0900-\u097f]+(?:\s[\u0900-\u097f]+)?)"
)
_NOT_PERSONS = re.compile(
    r"[一二三四五六七八九十这那哪什么没有可以就都也不很最更]|方法|方案|方面|石头|高度|高效|高质|金额|白色|常见|常用|文件|文本|万元|任务|任何|时间|周末|周期|马上|余额|程序|程度|于是|何时|许多|温度|江苏|成本|和|同|先生|女士|教授|博士|经理|老师|医生|主任|院士|总监"
)


@dataclass(frozen=True, slots=True)
class Name:
    """A name in a text. ``words``: its words, folded, without titles and particles; for scripts without capitals the name itself."""

    text: str
    words: tuple[str, ...]
    start: int
    whole: bool = False
    """Written without spaces, so that it is looked for as it is."""


def names(text: str, small: frozenset[str] | set[str]) -> Iterator[Name]:
    """Yield the names of ``text``. ``small``: words that occur in small letters, and so are no names."""
    nouns = len(set(_NOUNS_ARE_CAPITALS.findall(text))) > 1
    for match in _RUN.finditer(text):
        yield from (name for name in _latin(match, text, small) if not nouns or len(name.words) > 1)
    if not text.isascii():
        yield from _eastern(text)


def _latin(match: re.Match[str], text: str, small: frozenset[str] | set[str]) -> Iterator[Name]:
    words = [(part.group(), match.start() + part.start()) for part in _PART.finditer(match.group())]
    at_start = _SENTENCE_START.search(text, max(0, match.start() - 12), match.start()) is not None
    first_left = False
    while words and (words[0][0].lower() in _LINKS or not _named(words[0][0], small, alone=False)):
        words.pop(0)
        first_left = True
    while words and (not _named(words[-1][0], small, alone=False) or words[-1][0].lower() in _PARTICLES):
        words.pop()
    if not words:
        return
    kept = [word for word, _ in words]
    telling = tuple(fold(word) for word in kept if word.lower().rstrip(".") not in _PARTICLES | _TITLES)
    telling = tuple(word for word in telling if word)
    if not telling or (len(telling) == 1 and (len(telling[0]) < 2 or (at_start and not first_left) or not _named(kept[-1], small, alone=True))):  # noqa: PLR2004 - an initial
        return
    if any(word in small for word in telling if len(telling) == 1):
        return
    start = words[0][1]
    end = words[-1][1] + len(words[-1][0])
    yield Name(text[start:end].rstrip(".").removesuffix("'s").removesuffix("’s"), telling, start)


_PART = re.compile(r"[^\s\u00a0]+")
_CAMEL = re.compile(r"[a-zß-ÿ][A-Z]|\d|_")
_PREFIXED = re.compile(r"(?:Mc|Mac|De|Di|La|Le|Van|Fitz|O['’]|D['’])[A-Z]")


def _named(word: str, small: frozenset[str] | set[str], *, alone: bool) -> bool:
    """Whether a word of a run may belong to a name; ``alone``: it is all there is."""
    plain = word.strip(".'’").removesuffix("'s").removesuffix("’s")
    lowered = plain.lower()
    if lowered in _PARTICLES or lowered.rstrip(".") in _TITLES:
        return not alone
    if not plain or lowered in _NOT_NAMES or lowered in ENGLISH or lowered in ASKING or lowered in REQUEST_VERBS or lowered in _MONTH_OF:
        return False
    if ("'" in lowered or "’" in lowered) and not _PREFIXED.match(plain):
        head = re.split("['’]", lowered)[0]
        if head in ENGLISH or head in _CONTRACTED:
            return False
    if _CAMEL.search(plain) and not _PREFIXED.match(plain):
        return False
    return not (alone and lowered in small)


def _eastern(text: str) -> Iterator[Name]:
    seen: set[tuple[int, str]] = set()
    for pattern in (_EAST_ORGANISATION, _EAST_PERSON, _EAST_TITLED, _HONOURED):
        for match in pattern.finditer(text):
            found = match.group() if pattern is _EAST_ORGANISATION else next((part for part in match.groups() if part), "")
            if pattern is _EAST_ORGANISATION:
                found = _after_verb(found)
                if _ORGANISED.fullmatch(found):
                    continue
            elif pattern in {_EAST_PERSON, _EAST_TITLED} and (_NOT_PERSONS.search(found) or (len(found) < 2 and pattern is _EAST_PERSON)):  # noqa: PLR2004 - a family name alone
                continue
            start = match.start() + match.group().index(found)
            if found and (start, found) not in seen:
                seen.add((start, found))
                yield Name(found, (found,), start, whole=True)


_BEFORE_ORGANISATION = re.compile(r"^.*(?:在|是|由|和|与|来自|为|给|的|到|向|了|去|于|把|被|[这那某一]家|[这那]个|该|本)(?=.{2})")


def _after_verb(found: str) -> str:
    return _BEFORE_ORGANISATION.sub("", found)


@lru_cache(maxsize=16_384)
def fold(word: str) -> str:
    """The word without case, accents, a genitive and its points: ``José's`` is ``jose``."""
    word = word.replace("’", "'").removesuffix("'s").strip(".'")
    if not word.isascii():
        word = "".join(char for char in unicodedata.normalize("NFD", word) if not unicodedata.combining(char))
    return word.casefold()


class NameIndex:
    """The words of some texts, to look for names in: whole, by family name, or by the initials of an organisation."""

    def __init__(self, texts: Iterable[str], norm: str) -> None:
        self._texts = tuple(texts)
        self._norm = norm

    def holds(self, name: Name) -> bool:
        """Tell whether the name stands in one of the texts: in full, turned round, by the family name alone, or as initials."""
        if name.whole:
            return any(name.text in text for text in self._texts)
        words = [_spoken(word) for word in name.words]
        if f" {' '.join(words)} " in self._norm:
            return True
        if len(words) == 1:
            return False
        if f" {words[-1]} {' '.join(words[:-1])} " in self._norm:
            return True
        if len(words) > 2 and f" {''.join(word[0] for word in words)} " in self._norm:  # noqa: PLR2004 - two initials are those of many
            return True
        return any(self._alone(name.text.split()[-1].removesuffix("'s"), words[0], text) for text in self._texts)

    @staticmethod
    def _alone(family: str, first: str, text: str) -> bool:
        """Whether the family name stands in a text without another person's name before it."""
        at = text.find(family)
        while at >= 0:
            if not text[at - 1 : at].isalnum() and not text[at + len(family) : at + len(family) + 1].isalnum():
                before = _WORD_BEFORE.search(text, max(0, at - 24), at)
                word = fold(before[1]) if before is not None else ""
                if (
                    not word
                    or word == first
                    or (len(word) == 1 and word == first[0])
                    or word in _TITLES
                    or word in ENGLISH
                    or word in REQUEST_VERBS
                    or word in _ADDRESSED
                ):
                    return True
            at = text.find(family, at + 1)
        return False


_WORD_BEFORE = re.compile(rf"(?<![\w])([{_UPPER}][\w'’-]*)\.? $")


def _spoken(word: str) -> str:
    return " ".join(re.split(r"[\W_]+", word)).strip()
