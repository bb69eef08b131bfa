"""Whether scores of words find an instruction whose place is known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from verax.audits.injections import INJECTED, make_injections
from verax.importance import DERIVED, score
from verax.models.head import decisions

SCORES = (*DERIVED, "gradient", "integrated-gradients", "leave-one-out", "random")
TOP = 5
"""Words that a reviewer is shown."""


def find_instruction(model: Any, count: int) -> pd.DataFrame:
    """How well each score finds the instruction in texts that the model flags for one.

    Args:
        model: a classifier of the texts of `make_injections`.
        count: how many texts were made.

    Returns:
        A row for each flagged text with an instruction and each score: id, place (of the
        sentence), score, auprc (average precision at telling the instruction's words from others),
        top (share of the five words with the largest scores that are the instruction's), share (of
        the words that are: what chance gives of the top).
    """
    from sklearn.metrics import average_precision_score

    frame = make_injections(count)
    wanted = frame[frame["label"] == INJECTED]
    read = model.read(wanted["text"].tolist())
    flagged_class = model.classes.index(INJECTED)
    rows: list[dict[str, Any]] = []
    for trace in model.traces(read):
        is_flagged = (decisions(trace.logits) == flagged_class).cpu().numpy()
        scores = {
            name: score(name, model, trace, seed=0, target=INJECTED).cpu().numpy()
            for name in SCORES
        }
        for row, place in enumerate(trace.batch.row_index.tolist()):
            if not is_flagged[row]:
                continue
            text = wanted.iloc[place]
            inside = _inside(trace.batch.spans[row], int(text["start"]), int(text["stop"]))
            if not inside.any() or inside.all():
                continue
            for name, values in scores.items():
                of_words = values[row, : len(inside)]
                top = np.argsort(-of_words, kind="stable")[:TOP]
                rows.append(
                    {
                        "id": int(wanted.index[place]),
                        "place": text["place"],
                        "score": name,
                        "auprc": float(average_precision_score(inside, of_words)),
                        "top": float(inside[top].mean()),
                        "share": float(inside.mean()),
                    }
                )
    columns = ["id", "place", "score", "auprc", "top", "share"]
    return pd.DataFrame(rows, columns=columns)


def _inside(spans: NDArray[np.int64], start: int, stop: int) -> NDArray[np.bool_]:
    """(words,) whether each stands in the sentence."""
    return (spans[:, 0] >= start) & (spans[:, 1] <= stop)
