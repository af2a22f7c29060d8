"""Facts and questions about them: invented here, or read from files in the form of public sets of such facts.

A line of a FACTS.jsonl file is a JSON object with ``input`` (the question), ``ground_truth`` (the answer) and
``agent_args.extra.facts`` (the sentences that were said).
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from memflush_jupyter.context.terms import query_terms


@dataclass
class FactSet:
    """What is told in one place, and questions, each with the fact that answers it."""

    facts: list[str]
    questions: list[tuple[str, str]] = field(default_factory=list)


_GIVEN = "Alina Brenor Corine Delian Erica Fenella Galen Hanis Joren Kelia Lorin Marea Nevis Orla Perine Quillan Rosina Selon Torea Wilan".split()
_SURNAMES = (
    "Ashacre Birkholm Coldbourne Dalewick Elmstead Fernley Gorsewell Hazelmead Ivorcroft Larkfield Mossgate Northridge Oakshaw Reedmore Stonethorpe".split()
)
"""Few names in many pairs: most words of a question stand in many facts, and only together in one."""

_TRADES = [
    "beekeeper",
    "botanist",
    "bridge engineer",
    "cartographer",
    "cellist",
    "dentist",
    "geologist",
    "glassblower",
    "nurse",
    "pilot",
    "poet",
    "statistician",
]
_FIELDS = [
    "alpine moss", "baroque tuning", "bird migration", "cold fermentation", "desert irrigation", "glacier melt", "medieval maps", "night trains",
    "paper conservation", "river deltas", "seed banks", "tidal power", "volcanic soil", "wool dyeing",
]  # fmt: skip
_WORKS = ["an exhibition", "a field guide", "a puppet play", "a radio series", "a school garden", "a survey", "a travelling library", "a water mill"]
_TOPICS = [
    "dark skies",
    "deep wells",
    "frost",
    "lost songs",
    "old bridges",
    "salt",
    "sheep farming",
    "silence",
    "slow travel",
    "storms",
    "thistles",
    "wetlands",
]
_CITIES = ["Aarhus", "Bergamo", "Cork", "Debrecen", "Evora", "Gdansk", "Ghent", "Graz", "Leiden", "Malmo", "Porto", "Tartu", "Turku", "Uppsala", "Zadar"]
_PRIZES = ["Amber Medal", "Copper Leaf", "Harbour Prize", "Northern Award", "Silver Compass", "Stone Pen"]
_COLUMNS = ["arrival_delay", "bark_depth", "churn_rate", "dose", "flow", "grain_size", "heart_rate", "leaf_area", "net_weight", "ozone", "rainfall", "salinity"]
_UNITS = ["centimetres", "cubic metres", "grams", "hectares", "kilopascals", "litres per second", "milligrams", "minutes", "parts per million", "percent"]
_FILES = ["buoys", "clinic", "forest", "harvest", "orchard", "quarry", "stations", "survey", "trips", "wards", "wells"]


def invented(sets: int, seed: int = 7) -> list[FactSet]:
    """Sets of nine facts about people and data that do not exist, asked for in other words than they were told in."""
    rng = random.Random(seed)
    names = [f"{given} {surname}" for given in _GIVEN for surname in _SURNAMES]
    rng.shuffle(names)
    return [_invent(rng, number, [names[(number * 3 + at) % len(names)] for at in range(3)]) for number in range(sets)]


def _invent(rng: random.Random, number: int, people: list[str]) -> FactSet:
    a, b, c = people
    domain, work, topic, city, prize = (rng.choice(pool) for pool in (_FIELDS, _WORKS, _TOPICS, _CITIES, _PRIZES))
    column, unit, file, other = rng.choice(_COLUMNS), rng.choice(_UNITS), f"{rng.choice(_FILES)}_{number}.csv", f"{rng.choice(_FILES)}_{number + 1000}.parquet"
    sigma, share, year = rng.choice(["2.5", "3", "3.5", "4"]), rng.randint(2, 60), rng.randint(1990, 2025)
    asked = [
        (f"{a} is an accomplished {rng.choice(_TRADES)} who specializes in {domain}.", f"What is {a} an expert in?"),
        (f"{a} and {b} collaborated on {work} about {topic}.", f"Together with whom did {b} make {work} about {topic}?"),
        (f"{c} attended the University of {city} before joining the team.", f"At which university did {c} study?"),
        (f"{b} received the {prize} in {year} for work on {rng.choice(_TOPICS)}.", f"Which prize was given to {b}?"),
        (f"The column {column} of {file} is measured in {unit}.", f"In what unit is {column} in {file}?"),
        (f"We agreed to drop outliers above {sigma} sigma in {file}, as {c} proposed.", f"Above how many sigma do we remove outliers in {file}?"),
        (f"In {other} {share} % of the rows have no {rng.choice(_COLUMNS)}.", f"How much is missing in {other}?"),
        (f"{c} prefers the charts of {file} without grid lines.", f"How does {c} like the plots of {file}?"),
        (f"The deadline that {a} set for the report on {topic} is {rng.randint(1, 28)} March.", f"When does {a} need the {topic} report?"),
    ]
    return FactSet([fact for fact, _ in asked], [(question, fact) for fact, question in asked])


def read(paths: Sequence[Path]) -> list[FactSet]:
    """The sets of some files; the evidence of a question is the fact with the answer that shares most with the question."""
    sets: dict[tuple[str, ...], FactSet] = {}
    for path in paths:
        for line in path.read_text(encoding="utf-8").splitlines():
            if not line.strip():
                continue
            row = json.loads(line)
            facts = row["agent_args"]["extra"]["facts"]
            found = sets.setdefault(tuple(facts), FactSet(facts))
            found.questions.append((row["input"], _evidence(row["input"], row["ground_truth"], facts)))
    return list(sets.values())


def _evidence(question: str, answer: str, facts: list[str]) -> str:
    asked = {term.stem for term in query_terms(question)}
    holding = [fact for fact in facts if answer.lower() in fact.lower()] or facts
    return max(holding, key=lambda fact: len(asked & {term.stem for term in query_terms(fact)}))
