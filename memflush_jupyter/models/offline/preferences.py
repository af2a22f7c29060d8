"""Standing wishes that are cheap to keep: decimals and the colour of plots. Read from the person's words and from memory."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from memflush_jupyter.models.offline.task import Preferences
from memflush_jupyter.models.offline.words import whole

if TYPE_CHECKING:
    from collections.abc import Iterable

_DECIMALS = re.compile(
    r"\b(?:round\w*|report|show|use|give|with|to|want|prefer)\b[^.\n]{0,60}?\b(?P<n>\d|one|two|three|four|five"
    r"|six)\s*(?:decimals?|digits? after|places)|保留(?P<zh>\d|一|两|二|三|四|五)位小数",
    re.IGNORECASE,
)
_COLOURS = "blue|green|red|orange|purple|brown|pink|gr[ae]y|olive|cyan|black|teal|navy|gold|magenta|steelblue|tomato|tab:\\w+"
_COLOUR = re.compile(
    rf"\b(?:plots?|bars?|charts?|figures?|histograms?|lines?)\b[^.\n]{{0,40}}?\b(?:in|colou?r(?:ed)?(?: is)?"
    rf"|be)\s+(?P<a>{_COLOURS})\b|\b(?P<b>{_COLOURS})\s+(?:for (?:all |the )?)?(?:plots?|bars|charts?|figures?"
    rf"|histograms?)\b",
    re.IGNORECASE,
)


def preferences(texts: Iterable[str]) -> Preferences:
    """The last wish of each kind wins."""
    decimals: int | None = None
    colour: str | None = None
    for text in texts:
        for match in _DECIMALS.finditer(text):
            decimals = whole(match["n"] or match["zh"])
        for match in _COLOUR.finditer(text):
            colour = (match["a"] or match["b"]).lower()
    return Preferences(decimals, colour)
