"""Verbs by which a statement is told from a fragment: auxiliaries, irregular pasts, and common verbs in their forms."""

from __future__ import annotations

AUXILIARIES = frozenset(
    [
        *("is", "are", "was", "were", "has", "have", "had", "does", "did", "can", "could", "will", "would", "should", "may", "might", "must", "cannot"),
        *("isn't", "aren't", "wasn't", "weren't", "hasn't", "haven't", "doesn't", "didn't", "can't", "won't", "don't", "i'm", "we're", "they're", "it's"),
        *("he's", "she's", "that's", "there's", "i've", "we've", "they've", "you're", "i'd", "we'd"),
    ]
)
_IRREGULAR = frozenset(
    [
        *("went", "came", "wrote", "made", "gave", "got", "took", "met", "won", "built", "sold", "bought", "kept", "left", "lost", "paid", "ran", "said"),
        *("sent", "spoke", "taught", "told", "thought", "became", "began", "grew", "held", "fell", "rose", "knew", "led", "meant", "found", "brought"),
        *("caught", "chose", "cut", "drew", "drove", "felt", "flew", "forgot", "fought", "hid", "hit", "laid", "lay", "lent", "lit", "put", "read", "rode"),
        *(
            "saw",
            "sang",
            "sat",
            "slept",
            "spent",
            "stood",
            "stole",
            "swam",
            "threw",
            "understood",
            "wore",
            "wound",
            "spread",
            "shut",
            "split",
            "broke",
            "froze",
        ),
    ]
)
_BASES = (
    *("add", "affect", "allow", "appear", "apply", "arrive", "ask", "assume", "attend", "base", "become", "begin", "believe", "belong"),
    *("bring", "build", "buy", "call", "carry", "cause", "close", "co-author", "co-found", "co-host", "co-own", "collaborate", "collect"),
    *("come", "compete", "consist", "contain", "correlate", "correspond", "cover", "create", "decline", "define", "deliver", "denote"),
    *("depend", "derive", "describe", "develop", "differ", "direct", "divide", "drift", "drive", "drop", "edit", "end", "enjoy", "enter"),
    *("equal", "exceed", "exchange", "exclude", "exist", "expect", "expire", "explain", "explore", "fail", "feed", "follow", "found"),
    *("get", "give", "go", "grow", "handle", "happen", "have", "help", "hold", "host", "identify", "imply", "import", "include", "incorporate"),
    *("indicate", "inspire", "join", "keep", "know", "lack", "launch", "lead", "lie", "like", "live", "look", "love", "maintain", "make"),
    *("manage", "match", "matter", "mean", "measure", "meet", "mention", "miss", "move", "need", "occur", "offer", "open", "operate"),
    *("organise", "organize", "own", "participate", "pay", "perform", "play", "prefer", "prepare", "produce", "provide", "publish", "reach"),
    *("receive", "record", "reduce", "refer", "relate", "remain", "replace", "report", "represent", "require", "restart", "return", "review"),
    *("rise", "run", "say", "seem", "sell", "send", "serve", "ship", "show", "sit", "speak", "specialise", "specialize", "spend", "stand"),
    *("start", "stay", "stem", "stop", "store", "study", "suffer", "supervise", "supply", "support", "take", "teach", "tend", "train"),
    *("travel", "treat", "try", "turn", "understand", "use", "vary", "visit", "volunteer", "want", "wear", "win", "work", "write", "yield"),
    *(),
)
_AMBIGUOUS = frozenset(
    [
        "base",
        "end",
        "feed",
        "look",
        "mean",
        "need",
        "play",
        "record",
        "report",
        "return",
        "review",
        "run",
        "start",
        "stem",
        "store",
        "study",
        "supply",
        "turn",
        "use",
        "visit",
        "work",
    ]
)


def _inflected() -> frozenset[str]:
    """The bases, their third person and past; bases that are as often nouns only in their inflected forms."""
    forms: set[str] = set()
    for base in _BASES:
        if base not in _AMBIGUOUS:
            forms.add(base)
        if base.endswith("y") and base[-2] not in "aeiou":
            forms |= {base[:-1] + "ies", base[:-1] + "ied"}
        elif base.endswith(("s", "sh", "ch", "x", "z", "o")):
            forms |= {base + "es", base + "ed"}
        else:
            forms |= {base + "s", base + ("d" if base.endswith("e") else "ed")}
    return frozenset(forms)


VERBS = AUXILIARIES | _IRREGULAR | _inflected()
