"""Numbers and answers in words."""

from __future__ import annotations

import math

from verax.audits.answers import Answers
from verax.audits.estimating import ABSENT, NO, OPEN, UNJUDGED, YES, Estimate
from verax.audits.registry import VERAX
from verax.exams.judgement.subjects import MIXED


def number(one: Estimate | None, unit: str = "", digits: int = 1) -> str:
    """A number with its interval.

    >>> number(Estimate(4.25, 1.0, 7.5, 3, 300), " points")
    '4.2 points (1.0 to 7.5)'
    >>> number(None), number(Estimate(1.0, float("nan"), float("nan"), 1, 1))
    ('—', '1.0')
    """
    if one is None or math.isnan(one.value):
        return "—"
    text = f"{one.value:.{digits}f}{unit}".replace("-", "−")
    if math.isnan(one.low) or math.isnan(one.high):
        return text
    return f"{text} ({one.low:.{digits}f} to {one.high:.{digits}f})".replace("-", "−")


def shown(answers: Answers) -> str:
    """Which score derived from attention may be shown."""
    words = {YES: "", MIXED: "mixed: ", OPEN: "inconclusive: ", NO: "not: ", UNJUDGED: "no verdict"}
    by = {a: [n for n, said in answers.shown.items() if said == a] for a in words}
    if by[UNJUDGED]:
        return UNJUDGED
    return "; ".join(f"{words[a]}{', '.join(names)}" for a, names in by.items() if names) or "none"


def rollout(answers: Answers) -> str:
    """Whether rollout beats chance, and by how much."""
    if answers.beats_chance == ABSENT:
        return ABSENT
    said = answers.beats_chance
    if said == NO:
        said = "no, worse"
    return f"{said}: {number(answers.rollout, ' points')}"


def depth(answers: Answers) -> str:
    """Where in depth states stop telling their word."""
    if not answers.layers:
        return OPEN
    last = max(answers.layers)
    kept = number(answers.layers[last], "%", 0)
    if answers.stops is None:
        return f"never: the last layer ({last}) keeps {kept}"
    if answers.stops == min(answers.layers):
        return f"from the first on; the last layer ({last}) keeps {kept}"
    return f"from layer {answers.stops} of {last} on; the last keeps {kept}"


def heads(answers: Answers) -> str:
    """How many heads are replaceable."""
    some = answers.heads
    if some is None:
        return ABSENT if answers.entry.training == VERAX else "not asked: there are too many"
    return f"{some.replaceable} of {some.all}; {some.needed} not, {some.open} inconclusive"


def uniform(answers: Answers) -> str:
    """Whether decisions notice uniform attention."""
    became = f"; every decision becomes {answers.becomes}" if answers.becomes else ""
    return f"{answers.notices}: {number(answers.uniform, '%', 0)} stay{became}"


def distance(answers: Answers) -> str:
    """How far the nearest score is from the smallest set of words."""
    name = answers.nearest
    if name is None:
        return OPEN
    of = number(answers.smallest)
    return f"{name} {number(answers.excess[name], ' words')} beyond {of}"


QUESTIONS = (
    ("which attention-derived score may be shown", shown),
    ("does rollout beat chance (share of words, against random order)", rollout),
    ("where in depth do states stop telling their word (half of it)", depth),
    ("heads that can be made uniform (95% of decisions stay)", heads),
    ("do decisions notice uniform attention", uniform),
    ("the nearest score to the smallest set of words", distance),
)
"""Questions that are asked of every model, and what words their answers."""
