"""Whether scores change when a model's weights are drawn anew (Adebayo et al. 2018)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from verax.corpora.batching import MAX_TOKENS
from verax.corpora.corpus import Corpus, Documents
from verax.errors import VeraxError, nearest
from verax.exams.agreement.ranks import kendall_tau_b, spearman
from verax.importance import DERIVED, names_of, score
from verax.importance.transformers.redrawn import parts_from_the_top, redraw, weights_kept
from verax.models.kinds import TRANSFORMER
from verax.models.layers import decisions
from verax.models.transformers.classifier import TransformerClassifier
from verax.options import SEED, check
from verax.progress import Display, shown
from verax.statistics.intervals import mean

CORRELATIONS = {"spearman": spearman, "kendall": kendall_tau_b}
UNCHANGED = 0.5
"""A mean correlation whose interval lies above this is that of a score that does not change."""


def randomisation_check(
    model: TransformerClassifier,
    corpus_or_texts: Corpus | Documents | Sequence[str],
    by: str | Sequence[str] | None = None,
    *,
    seed: int = 0,
    sample: int = 100,
    correlation: str = "spearman",
    max_tokens: int = MAX_TOKENS,
    progress: bool | Display | None = None,
) -> pd.DataFrame:
    """How far the scores of a model resemble those after its weights are drawn anew, from the top.

    The head is drawn anew first, then the last layer as well, and so on down to the embeddings
    (Adebayo et al. 2018, cascading randomisation): each parameter from a normal distribution with
    its own mean and spread. Scores that explain the model must change. They are for the class that
    the model as it is decides for. The model's weights are exactly as before afterwards, also after
    an error.

    Args:
        model: a Transformer, of `verax.from_transformers`.
        corpus_or_texts: a corpus, of which the test split is taken, documents, or texts.
        by: names of importances; those derived from attention, gradient and leave-one-out, unless
            given.
        seed: of the weights, and of the texts that are drawn.
        sample: the most texts that are looked at.
        correlation: spearman or kendall, of absolute scores within each text.
        max_tokens: padded tokens held at once.
        progress: show how far it got; None shows it on a terminal and in a notebook.

    Returns:
        A row for each importance and depth:

        importance   by name
        depth        how many parts are drawn anew
        part         the last of them: head, the name of a layer's module, embeddings
        correlation  the mean over texts, and its 95% interval, `low` to `high`
        texts        that have a correlation: one of one word has none
        unchanged    whether the interval lies above 0.5: at the last depth nothing is left of the
                     model, and a score that is unchanged there says nothing about it
    """
    if getattr(model, "kind", None) != TRANSFORMER:
        raise VeraxError(
            "randomisation_check needs a Transformer: give what from_transformers makes",
            code="model.wrong-type",
        )
    if correlation not in CORRELATIONS:
        raise VeraxError(
            f"correlation {correlation!r}: {nearest(correlation, list(CORRELATIONS))}",
            code="option.unknown-value",
        )
    seed = check("seed", seed, int, SEED)
    sample = check("sample", sample, int, {"minimum": 1})
    by = (*DERIVED, "gradient", "leave-one-out") if by is None else by
    names = names_of(by if isinstance(by, str) else list(by), "inputs", TRANSFORMER)
    read = model.encode(_texts(corpus_or_texts, sample, seed))
    targets: list[Tensor] = []
    generator = torch.Generator().manual_seed(seed)
    rows: list[dict[str, Any]] = []

    def scored(watch: Any) -> list[dict[str, Tensor]]:
        """The absolute scores of each batch by name, and the mask of its words."""
        batches = []
        for number, trace in enumerate(model.traces(read, max_tokens, watch)):
            if number == len(targets):
                targets.append(decisions(trace.logits))
            options: dict[str, Any] = {"target": targets[number], "max_tokens": max_tokens}
            scores = {name: score(name, model, trace, **options).abs() for name in names}
            batches.append(scores | {"": trace.mask})
        return batches

    with shown(progress) as display, weights_kept(model):
        before = scored(display.watching("scoring"))
        one = model.trace_rows(read, np.arange(1))
        for depth, part in enumerate(parts_from_the_top(model, one.pieces), start=1):
            redraw(part, generator)
            after = scored(display.watching(f"{part.name} drawn anew"))
            for name in names:
                pairs = zip(before, after, strict=True)
                measured = [CORRELATIONS[correlation](a[name], b[name], a[""]) for a, b in pairs]
                values = torch.cat(measured).double().cpu().numpy()
                rows.append({"importance": name, "depth": depth, "part": part.name, **_row(values)})
    table = pd.DataFrame(rows)
    place = table["importance"].map({name: number for number, name in enumerate(names)})
    return table.iloc[np.lexsort((table["depth"], place))].reset_index(drop=True)


def _row(values: np.ndarray) -> dict[str, Any]:
    present = values[~np.isnan(values)]
    centre, low, high = mean(present)
    ends = {"low": max(-1.0, low), "high": min(1.0, high)}
    return {"correlation": centre, **ends, "texts": len(present), "unchanged": low > UNCHANGED}


def _texts(source: Corpus | Documents | Sequence[str], sample: int, seed: int) -> list[str]:
    """At most `sample` texts, drawn by seed, in the order in which they stand."""
    if isinstance(source, Corpus):
        source = source.test if len(source.test) else Documents.joined(list(source.splits.values()))
    texts = list(source.texts if isinstance(source, Documents) else source)
    if len(texts) <= sample:
        return texts
    rows = np.random.default_rng(seed).choice(len(texts), sample, replace=False)
    return [texts[row] for row in np.sort(rows)]
