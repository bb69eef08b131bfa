"""A model of single words that is trained under another model's attention.

Wiegreffe & Pinter, "Attention is not not Explanation", EMNLP 2019, section 3.4. If weights say
which words matter, they should serve a model without context better than uniform ones do, and
better than its own; weights that mean something only inside the model that made them will not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from verax.corpora.corpus import Corpus
from verax.device import resolve_device
from verax.errors import VeraxError
from verax.models.classifier import AttentionClassifier
from verax.models.guided import GuidedClassifier
from verax.models.saving import load
from verax.options import SEED, check
from verax.progress import Display, shown
from verax.training.loop import Loop
from verax.training.preparing import (
    VOCABULARY,
    classification,
    inherit,
    prepare,
    refuse_other_corpus,
    repeatable,
    scores_on_test,
)

DEFAULTS: Mapping[str, Any] = {
    "encoder": "mlp",
    "hidden_size": 128,
    "layers": None,
    "grounding": "none",
    "strength": None,
}
FIXED = ("hierarchical", "boundaries", "projection", "lam", "alpha", "strengths", *VOCABULARY)


def train_guided(
    guide: AttentionClassifier | str | Path,
    corpus: Corpus,
    *,
    seed: int = 0,
    device: str = "auto",
    progress: bool | Display | None = None,
    **options: Any,
) -> GuidedClassifier:
    """Train a classifier under the attention of another, which stays as it is.

    Compare it with `verax.train(corpus, encoder="mlp", hidden_size=128)` and with the same under
    `projection="uniform"`.

    Args:
        guide: a classifier over words, or the folder of a saved one.
        corpus: the corpus that the guide was trained on.
        seed: of initialisation, dropout and the order of documents.
        device: auto, cpu, cuda or cuda:1.
        progress: whether to show bars, or a display of your own (see `verax.progress`).
        options: fields of `ModelOptions` and `TrainingOptions`. Without them it is an `mlp` of
            width 128, ungrounded, and all else is as the guide had it.

    Returns:
        The classifier; `record["guide"]` has the guide's seed, options and test scores.

    >>> import verax
    >>> corpus = verax.load_corpus("planted", documents=120)
    >>> guide = verax.train(corpus, encoder="conv", epochs=1)
    >>> guided = train_guided(guide, corpus, seed=1)
    >>> text = ["w1 w2 good0_3 ."]
    >>> guided.trace(text).weights.equal(guide.trace(text).weights)
    True
    """
    check("seed", seed, int, SEED)
    if not isinstance(guide, AttentionClassifier):
        guide = load(guide, device=device)
    if guide.options.hierarchical:
        raise VeraxError(
            "a guide attends words, not sentences: hierarchical models cannot guide",
            code="model.unsuitable-guide",
        )
    refuse_other_corpus(guide, corpus)
    model_options, settings = inherit(guide, options, DEFAULTS, FIXED)
    where = resolve_device(device)
    with shown(progress) as display, repeatable(where):
        prepared = prepare(
            corpus,
            model_options,
            settings,
            seed=seed,
            device=where,
            display=display,
            vocabulary=guide.vocabulary,
            make=partial(GuidedClassifier, guide=guide),
        )
        model = prepared.model
        assert isinstance(model, GuidedClassifier)
        objective = classification(prepared, settings, seed)
        parts = (prepared.train, prepared.validation)
        model.history = Loop(model, *parts, objective, settings, seed, display.step).run()
    model.record = {
        **prepared.record,
        "test": scores_on_test(model, corpus, settings.max_tokens),
        "guide": {
            "seed": guide.record.get("training", {}).get("seed"),
            "model": asdict(guide.options),
            "test": guide.record.get("test"),
        },
    }
    return model.eval()
