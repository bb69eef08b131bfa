"""Smallest sets of words by asking about every set, through what a model says of texts."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import torch

from verax.exams.erasure.exam import affine_states
from verax.exams.erasure.states import decide
from verax.models.head import decisions


def subsets(n: int) -> list[tuple[int, ...]]:
    """Every set of the first n numbers, the smallest first."""
    return [one for k in range(n + 1) for one in combinations(range(n), k)]


def decided_without(model: Any, words: list[str], operator: str) -> dict[tuple[int, ...], int]:
    """Set of words that are gone → the class decided for, by texts that are written out."""
    sets = subsets(len(words))
    if operator == "attention" and model.kind == "pooled":
        states = affine_states(model.trace([words]))
        first = int(model.boundaries)
        gone = np.zeros((len(sets), states.mask.shape[1]), dtype=bool)
        for place, one in enumerate(sets):
            gone[place, [k + first for k in one]] = True
        classes = decide(states.after(torch.from_numpy(gone).unsqueeze(0))[0])
        return dict(zip(sets, classes.tolist(), strict=True))
    if model.kind != "pooled":
        gone = np.zeros((len(sets), len(words)), dtype=bool)
        for place, one in enumerate(sets):
            gone[place, list(one)] = True
        trace = model.trace([" ".join(words)])
        rows = torch.zeros(len(sets), dtype=torch.long)
        logits = model.logits_without(trace, rows, torch.from_numpy(gone), operator)
        return dict(zip(sets, decisions(logits).tolist(), strict=True))
    if operator == "mask":
        texts = [["unheard-of" if k in one else w for k, w in enumerate(words)] for one in sets]
    else:
        texts = [[w for k, w in enumerate(words) if k not in one] for one in sets]
    labels = model.predict([text for text in texts if text])["label"].tolist()
    classes = [model.classes.index(label) for label in labels]
    if not texts[-1]:
        classes.append(int(decisions(model.head.bias.detach()[None])))
    return dict(zip(sets, classes, strict=True))


def smallest_by_force(decided: dict[tuple[int, ...], int], n: int) -> tuple[int, int]:
    """Words of the smallest set that changes the decision, n + 1 without one; and that keeps it."""
    whole = decided[()]
    changing = [len(one) for one, now in decided.items() if now != whole]
    keeping = [n - len(one) for one, now in decided.items() if now == whole]
    return min(changing, default=n + 1), min(keeping)
