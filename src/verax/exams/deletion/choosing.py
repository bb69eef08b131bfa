"""One head out of many, chosen where no result is reported."""

from __future__ import annotations

from typing import Any

from verax.corpora.batching import MAX_TOKENS
from verax.corpora.corpus import Corpus
from verax.errors import VeraxError
from verax.exams.deletion.measures import DELETION, NAME
from verax.exams.examine import examine
from verax.models.kinds import DELETE, TRANSFORMER
from verax.progress import Display

REPORTED = ("test", "all")
"""Splits that results are reported on."""


def choose_head(
    model: Any,
    corpus: Corpus,
    split: str = "validation",
    *,
    sample: int | None = 50,
    operator: str = DELETE,
    steps: int = 32,
    seed: int = 0,
    max_tokens: int = MAX_TOKENS,
    progress: bool | Display | None = None,
) -> str:
    """The head whose attention needs the fewest words to change decisions, as `attention@3.2`.

    Args:
        model: a classifier of `verax.from_transformers`.
        corpus: what to choose on.
        split: validation or train. The best of many heads is the best by luck, too: what is
            reported of it must come from other documents, so test and all are refused.
        sample: choose on at most so many documents, drawn by the seed; None takes all.
        operator: how words are taken out, as the exam deletion has it.
        steps: the most looks at a document, as the exam deletion has it.
        seed: of all that is drawn.
        max_tokens: bound of the padded tokens held at once.
        progress: show how far it got; None shows it on a terminal and in a notebook.

    Returns:
        The name of the head's attention, layer and head counted from 1, to be given as
        `examine(model, corpus, "deletion", rankings="attention@3.2")`.
    """
    if getattr(model, "kind", None) != TRANSFORMER:
        raise VeraxError(
            "choose_head needs a Transformer, as verax.from_transformers makes it",
            code="model.wrong-type",
        )
    if split in REPORTED:
        raise VeraxError(
            f"split is {split!r}, on which results are reported: choose a head on validation",
            code="option.not-applicable",
        )
    heads = [
        f"attention@{layer}.{head}"
        for layer in range(1, model.layers + 1)
        for head in range(1, model.heads + 1)
    ]
    verdict = examine(
        model,
        corpus,
        NAME,
        split,
        seed=seed,
        sample=sample,
        max_tokens=max_tokens,
        progress=progress,
        exam_options={
            NAME: {
                "rankings": ",".join(heads),
                "random_orders": 1,
                "operator": operator,
                "steps": steps,
                "budget": 0,  # the fewest words that a head needs, not the fewest there are
                "sufficient": False,
            }
        },
    )
    table = verdict.summary()
    shares = table[(table["table"] == DELETION.id) & (table["column"] == "share")]
    shares = shares[shares["row"].isin(heads)]
    if shares.empty:
        raise VeraxError(
            f"no decision of {split} changes without part of its words: choose on more documents",
            code="corpus.too-small",
        )
    return str(shares["row"].to_numpy()[shares["value"].to_numpy().argmin()])
