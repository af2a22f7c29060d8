"""What a clause of a prompt asks for, by rules. English, and basic Chinese by way of `words.english`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from memflush_jupyter.models.offline.intent_details import COUNT, DIMINUTIVE, FILE_PATTERN, SUPERLATIVE
from memflush_jupyter.models.offline.words import english

Kind = Literal[
    "load",
    "files",
    "inspect",
    "describe",
    "missing",
    "distribution",
    "counts",
    "compare",
    "correlation",
    "outliers",
    "trend",
    "top",
    "regression",
    "aggregate",
    "rows",
    "columns",
    "head",
    "plot",
    "remember",
    "recall",
    "preference",
    "greeting",
    "help",
    "causal",
    "cannot",
    "unknown",
]

ANSWERABLE: frozenset[Kind] = frozenset({"unknown", "describe"})
"""Kinds that a bare name may be taken for."""

# The first rule that matches names the kind; the order is from the telling to the general.
_RULES: tuple[tuple[Kind, str], ...] = (
    (
        "greeting",
        (
            r"^\W*(?:hi|hello|hey|good (?:morning|afternoon|evening)|thanks?|thank you|thx|ok|okay|great|nice|cool|perfect"
            r"|bye)(?: (?:there|you|very much|a lot|so much))?\W*$"
        ),
    ),
    ("help", r"^\W*(?:help|what can you do|who are you|what are you|what do you (?:know|support)|how do (?:i|you) (?:use|work)[\w ]*)\W*$"),
    ("cannot", r"\b(?:write|compose|draft)\b.*\b(?:poem|essay|story|email|e-mail|letter|report|abstract|paragraph|song|joke|code for|function|class|script)\b"),
    ("cannot", r"\b(?:translate|joke|poem|weather|news|search the web|google|download|email|e-mail)\b"),
    (
        "cannot",
        (
            r"\b(?:neural|random forest|xgboost|gradient boosting|logistic|k-?means|pca|umap|t-?sne|svm|deep learning|arima"
            r"|forecast\w*|classifier|train a|cross.?validat\w*)\b"
        ),
    ),
    ("cannot", r"\b(?:anova|t-?test|p-?values?|chi-?squared?|mann.?whitney|kruskal\w*|wilcoxon|confidence intervals?|kendall|significan\w+|bayes\w*)\b"),
    (
        "cannot",
        (
            r"\b(?:pivot|merge|join|melt|crosstab|contingency|impute|interpolate|normali[sz]e|standardi[sz]e|drop (?:the "
            r")?(?:column|rows?)|delete|rename|overwrite|save (?:it|the|to))\b"
        ),
    ),
    ("cannot", r"\b(?:without|excluding|removing|remove|dropping|ignoring|except(?: for)?)\s+(?:the\s+|any\s+)?(?:outliers?|anomal\w+|extremes?)\b"),
    (
        "causal",
        (
            r"\b(?:why|cause[sd]?|causal\w*|because of|lead(?:s|ing)? to|reasons?|should (?:i|we)|recommend\w*|advice|advise"
            r"|opinion|what do you think)\b|为什么|原因"
        ),
    ),
    ("files", r"\b(?:list|show|which|what)\b.*\bfiles\b"),
    ("load", rf"\b(?:load|read|open|import)\b|^\W*{FILE_PATTERN}\W*$"),
    (
        "inspect",
        (
            r"\b(?:variables?|objects?|data ?frames?|data(?: ?sets?)?) (?:(?:are|is) (?:there|in|defined|loaded|available|here)"
            r"|do i have|do we have|exist)\b|\bin (?:the|my) (?:kernel|namespace|workspace|session)\b|\bwhat variables\b|\bwhat "
            r"data\b|\binspect\b|\blist (?:the |my |all )?(?:variables|data ?frames|objects)"
        ),
    ),
    ("missing", r"\b(?:missing|nulls?|nans?|incomplete|gaps?|blanks?|empty (?:values|cells))\b"),
    ("outliers", r"\b(?:outliers?|outlying|anomal\w+|extreme values|unusual\w*)\b"),
    ("regression", r"\b(?:regress\w*|least squares|linear (?:fit|model)|straight line|fit (?:a|the) line|predict\w*|slope|depends? on)\b"),
    ("correlation", r"\b(?:correlat\w+|relationships?|related|associat\w+|heatmap|pearson|spearman)\b"),
    (
        "trend",
        (
            r"\b(?:trends?|over (?:the )?(?:time|years|months|weeks|days)|develop(?:s|ed)?|evolv\w+|evolution|time series"
            r"|(?:change[sd]?|rise[sn]?|fall(?:en)?|grow[ns]?) (?:over|with|through))\b"
        ),
    ),
    ("plot", r"\b(?:plot(?!s? (?:in|should))\w*|charts?|graphs?|draw|visuali[sz]\w*|histograms?|scatter\w*|box ?plots?|bar ?plots?|hist)\b"),
    ("compare", r"\b(?:compar\w+|differ\w*|separat\w+|distinguish\w*|discriminat\w+|var(?:y|ies) (?:by|between|across)|effect sizes?|eta)\b"),
    (
        "rows",
        (
            r"\bhow many (?:rows|records|observations|entries|samples|cases|lines)\b|\bnumber of (?:rows|records|observations"
            r"|entries|samples)\b|\bhow (?:big|large|long) is\b|\b(?:row count|the shape)\b|\bshape of\b|\bhow many\b.*\b(?:in "
            r"total|altogether)\b"
        ),
    ),
    (
        "columns",
        (
            r"\b(?:what|which|list|show)\b[\w ]*\b(?:columns|fields|dtypes|data types|column names)\b(?! (?:separate|differ"
            r"|correlat|have|has|are (?:most|strongly)))|\bcolumn names\b|\bdtypes\b"
        ),
    ),
    (
        "head",
        (
            rf"\b(?:first|last) {COUNT} (?:rows|lines|records|observations|entries)\b|\bhead\b|\btail\b|\bpreview\b|\bfirst "
            rf"(?:few )?rows\b|\blast (?:few )?rows\b|\bshow (?:me )?(?:some|the) (?:rows|data)\b"
        ),
    ),
    ("top", rf"\b(?:top|bottom)\b|\b{COUNT} {SUPERLATIVE}\b|\b{COUNT} {DIMINUTIVE}\b|\bsort(?:ed)?\b|\brank(?:ed)?\b"),
    (
        "counts",
        (
            r"\b(?:value[ _]counts?|how often|frequenc\w+|most common|counts? (?:of|by|per|for|each)|how many (?:of )?(?:each"
            r"|different|distinct|unique)|distinct|unique|break ?down|how many\b.*\b(?:by|per|each|in each))\b"
        ),
    ),
    ("distribution", r"\b(?:distribut\w+|spread|quantiles?|percentiles?|deciles?|skew\w*)\b"),
    ("aggregate", r"\b(?:means?|averages?|medians?|sums?|totals?|min(?:imum)?|max(?:imum)?|std|standard deviations?|variance|range)\b"),
    ("top", rf"\b{SUPERLATIVE}\b|\b{DIMINUTIVE}\b"),
    ("rows", r"\bhow many\b|\bnumber of\b"),
    (
        "describe",
        (
            r"\b(?:describ\w+|description|profil\w+|summar\w+|overview|statistics|stats|explor\w+|analy[sz]\w+|tell me (?:more "
            r")?about|look at|info|what(?:'s| is) in|show|display)\b"
        ),
    ),
)
_COMPILED = tuple((kind, re.compile(pattern, re.IGNORECASE)) for kind, pattern in _RULES)

_REMEMBER = re.compile(
    r"^\W*(?:(?:please|also|and)\s+)*(?:remember|memori[sz]e|keep in mind|don'?t forget|do not forget|make a note|take a "
    r"note|note down|save (?:this )?to memory)\b"
    r"(?!\s+(?:when|what|which|who|where|how)\b)[\s:,]*(?:that\b|this\b)?[\s:,]*(?P<what>.*)|^\W*(?:请)?(?:记住|记下|别忘了|不要忘记)[\s:：，,]*(?P<zh>.*)",
    re.IGNORECASE | re.DOTALL,
)
_RECALL = re.compile(
    r"\b(?:do|did|can|could) you (?:still )?(?:remember|recall)\b|\bremind me\b|\b(?:what|which|who|when|where|how)\b.*\b(?:did|have|had) (?:i|we|you)\b"
    r"|\bdid (?:i|we|you) (?:say|tell|decide|mention|ask|find|agree|choose|use|write)\b|\bwhat (?:was|were|is|are) (?:the"
    r"|my|our) (?:very )?(?:first|earlier|previous|decision|preference|rule|goal|constraint)s?\b"
    r"|\b(?:i|we|you) (?:said|told you|decided|mentioned|agreed|found)\b.*\?|\b(?:earlier|at the (?:start|beginning)"
    r"|previously|last time|before)\b.*\?|\bwhat do you (?:remember|know) about\b|\bwhat do you remember\W*$|\bin (?:the|my|our|your) (?:first|very "
    r"first) (?:turn|prompt|question|message|request|answer|analysis)\b"
    r"|还记得|记得吗|我(?:之前|刚才|以前|最初)|我们(?:之前|刚才|以前|最初)|我说过|决定了什么",
    re.IGNORECASE,
)
_PREFERENCE = re.compile(
    r"^\W*(?:i (?:(?:would |'d )?prefer|like|dislike|want (?:all|every)|hate|always|never|usually)|we (?:decided|agreed"
    r"|always|never|use|will|only)|always|never|please (?:always|never|use)|from now on|use (?!the column)"
    r"|(?:all )?plots? (?:should|must|in)|(?:the )?(?:data|measurements?|units?|values?|weights?|lengths?|study|project"
    r"|sample) (?:come|comes|came|is|are|was|were) |my name is|the (?:goal|aim|deadline|rule) is|decision:|note:|fyi\b|i "
    r"am |i'm |we are |我喜欢|我更喜欢|我偏好|总是|始终|以后|请用|不要用|我们决定)",
    re.IGNORECASE,
)
_SPLIT = re.compile(r"(?<=[.!?。！？])\s+|(?<=[。！？])|\n+(?=\s*(?:[-*]|\d+[.)])?\s*\S)")
_VERBS = (
    "load|read|open|import|plot|draw|show|find|compute|calculate|remember|describe|compare|list|tell|give|fit|check"
    "|count|summari[sz]e|profile|explore|analy[sz]e|visuali[sz]e|regress|predict|"
    "correlate|look|make|(?:do )?the same|same|what|which|how|report|rank|display|detect|test|inspect|preview|histogram|i prefer|always|never"
)
_JOIN = re.compile(rf"\s*,?\s*\b(?:and then|then|and also|after that|and)\b,?\s+(?=(?:{_VERBS})\b)|\s*[,;；]\s*(?=(?:{_VERBS})\b)", re.IGNORECASE)
_POINTER = re.compile(
    r"\b(?:it|them|that|this|those|these|same|again|instead|too)\b|^\W*(?:and|what about|how about|now|only|but|for|by|without|excluding)\b|呢", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Clause:
    """A part of a prompt: the words as written, and in English for the rules."""

    written: str
    text: str

    @property
    def points_back(self) -> bool:
        """Whether it leans on what was asked before ("plot it", "and for females?", "same by island")."""
        return bool(_POINTER.search(self.text))


def clauses(prompt: str) -> list[Clause]:
    """Split a prompt into the steps it asks for, in order. A "remember …" keeps its sentence, and statements that follow it."""
    parts: list[Clause] = []
    for sentence in _SPLIT.split(prompt):
        text = sentence.strip().strip("-* ") if sentence else ""
        if not text or not re.search(r"\w", text):
            continue
        if parts and remember_text(parts[-1].written) is not None and not text.endswith(("?", "？")) and kind_of(Clause(text, english(text))) == "unknown":
            parts[-1] = Clause(f"{parts[-1].written} {text}", f"{parts[-1].text} {english(text)}")
            continue
        pieces = [text] if remember_text(text) is not None or is_recall(text) else _JOIN.split(text)
        parts += [Clause(piece.strip(), english(piece.strip())) for piece in pieces if piece and re.search(r"\w", piece)]
    return parts


def is_command(text: str) -> bool:
    """Whether a text asks for something to be done now."""
    return (
        bool(re.match(rf"\W*(?:(?:please|now|then|next|also|and|ok|okay)\b\W*)*(?:{_VERBS})\b", text, re.IGNORECASE))
        and remember_text(text) is None
        and not _PREFERENCE.match(text)
    )


def remember_text(text: str) -> str | None:
    """What a "remember that …" asks to keep; ``None`` when the text is no such request."""
    match = _REMEMBER.match(text)
    if match is None or text.rstrip().endswith(("?", "？")):
        return None
    return (match["what"] or match["zh"] or "").strip()


def is_recall(text: str) -> bool:
    """Whether the text asks about something said or found before."""
    return bool(_RECALL.search(text))


def kind_of(clause: Clause, masked: str | None = None) -> Kind:
    """The kind of request; ``masked`` is the English text with column mentions taken out."""
    if remember_text(clause.written) is not None:
        return "remember"
    if is_recall(clause.written):
        return "recall"
    text = clause.text if masked is None else masked
    if _PREFERENCE.match(clause.written):
        return "preference"
    return next((kind for kind, pattern in _COMPILED if pattern.search(text)), "unknown")
