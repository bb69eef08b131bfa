"""An adversary: a model that decides as another does and attends elsewhere.

Wiegreffe & Pinter, "Attention is not not Explanation", EMNLP 2019, section 4. Where Jain & Wallace
put other weights on a finished model, document by document, here a whole model is trained to have
them: it cannot pick what suits each document. How far it gets, as decisions drift apart, says how
free attention is.

They train on TVD − λ KL, and find the end of a text by stripping zero weights; here the divergence
is Jensen–Shannon's, which they report, and lengths are the mask's: sparse attention, where KL is
infinite and zeros stand inside a text, has both. They stop by the loss on train; here it is
that on validation which picks the epoch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from verax.corpora.corpus import Corpus
from verax.corpora.encoded import EncodedDocuments
from verax.device import resolve_device
from verax.divergence import jensen_shannon, total_variation
from verax.errors import VeraxError
from verax.models.base import evaluation_mode
from verax.models.classifier import AttentionClassifier
from verax.models.divergence_between import CachedOutputs, DivergenceBetween, divergences
from verax.models.head import probabilities
from verax.models.options import ModelOptions
from verax.models.saving import load
from verax.models.trace import Trace
from verax.options import SEED, check
from verax.progress import Display, shown
from verax.training.loop import Loop
from verax.training.metrics import evaluate
from verax.training.objective import Objective
from verax.training.options import TrainingOptions
from verax.training.preparing import (
    VOCABULARY,
    inherit,
    prepare,
    refuse_other_corpus,
    repeatable,
    scores_on_test,
    without_nan,
)

DEFAULTS: Mapping[str, Any] = {
    "epochs": 80,
    "patience": 10,
    "metric": "loss",
    "select_from": 1,
    "plateau_factor": None,
    "class_weight": "none",
}
UNIFORM = "uniform"
_FIXED = ("hierarchical", "class_weight", "strengths", *VOCABULARY)
_KEPT = ("tvd", "jsd", "accuracy", "f1", "macro_f1", "loss")


def train_adversary(
    base: AttentionClassifier | str | Path,
    corpus: Corpus,
    lam: float,
    *,
    seed: int = 0,
    device: str = "auto",
    progress: bool | Display | None = None,
    **options: Any,
) -> AttentionClassifier:
    """Train a fresh model of the base's kind to decide as the base does and attend elsewhere.

    The loss is the mean over documents of TVD(y_a, y_b) − λ JSD(α_a, α_b), in nats, plus what the
    base's grounding adds. Labels are not used.

    Args:
        base: a classifier, or the folder of a saved one; its attention cannot be uniform.
        corpus: the corpus that the base was trained on.
        lam: λ, how much another attention is worth.
        seed: of initialisation, dropout and the order of documents.
        device: auto, cpu, cuda or cuda:1.
        progress: whether to show bars, or a display of your own (see `verax.progress`).
        options: fields of `ModelOptions` and `TrainingOptions`. Without them they are the base's,
            except that there are at most 80 epochs, that 10 without a better validation loss end
            training, and that classes weigh the same.

    Returns:
        The adversary. Its `history` has tvd, jsd and, as `loss`, tvd − λ jsd on validation, beside
        the scores of `evaluate`; `record["adversary"]` has λ, the base's seed, the numbers of the
        epoch that was chosen, and tvd and jsd on test.

    >>> import verax
    >>> corpus = verax.load_corpus("planted", documents=120)
    >>> base = verax.train(corpus, encoder="none", epochs=1)
    >>> other = train_adversary(base, corpus, lam=1.0, epochs=1, seed=1)
    >>> sorted(other.record["adversary"])
    ['base_seed', 'lam', 'test', 'validation']
    """
    lam = check("lam", lam, float, {"minimum": 0})
    check("seed", seed, int, SEED)
    if not isinstance(base, AttentionClassifier):
        base = load(base, device=device)
    refuse_other_corpus(base, corpus)
    model_options, settings = as_inherited(base, options)
    where, budget = resolve_device(device), settings.max_tokens
    with shown(progress) as display, repeatable(where), evaluation_mode(base):
        prepared = prepare(
            corpus,
            model_options,
            settings,
            seed=seed,
            device=where,
            display=display,
            vocabulary=base.vocabulary,
        )
        model, validation = prepared.model, prepared.validation
        known, held_out = (
            CachedOutputs.of(base, base.encode(documents), budget).to(where)
            for documents in (corpus.train, corpus.validation)
        )
        loop = Loop(
            model,
            prepared.train,
            validation,
            AdversarialObjective(model, None, seed, known, lam),
            settings,
            seed,
            display.step,
            lambda: scores_beside(model, validation, held_out, lam, budget),
        )
        model.history = loop.run()
    picked = model.history.loc[model.history["selected"], list(_KEPT)].iloc[0]
    apart = divergences(model, base, corpus.test, budget)
    model.record = {
        **prepared.record,
        "test": scores_on_test(model, corpus, budget),
        "adversary": {
            "lam": lam,
            "base_seed": base.record.get("training", {}).get("seed"),
            "validation": without_nan({name: float(picked[name]) for name in _KEPT}),
            "test": {name: float(apart[name].mean()) for name in ("tvd", "jsd")},
        },
    }
    return model.eval()


def as_inherited(
    base: AttentionClassifier, changes: Mapping[str, Any]
) -> tuple[ModelOptions, TrainingOptions]:
    """Options and settings of an adversary with these changes; refuses those it cannot have."""
    refuse_uniform(base)
    options, settings = inherit(base, changes, DEFAULTS, _FIXED)
    if options.projection == UNIFORM:
        raise VeraxError(
            f"option 'projection' is {UNIFORM!r}: an adversary's attention must be free to move, "
            "leave it out",
            code="option.conflict",
        )
    return options, settings


def refuse_uniform(base: AttentionClassifier) -> None:
    if base.options.projection == UNIFORM:
        raise VeraxError(
            "the base's attention is uniform whatever it reads, and cannot move: give a base with "
            "another projection",
            code="model.unsuitable-base",
        )


@dataclass(frozen=True, eq=False)
class AdversarialObjective(Objective):
    """Mean over documents of TVD(y, y_b) − λ JSD(α, α_b), and what grounding adds.

    `base` has the base's outputs on the training documents.
    """

    base: CachedOutputs
    lam: float

    def losses(self, trace: Trace) -> Tensor:
        """(batch,), float32 as the model is."""
        apart = total_variation(probabilities(trace.logits), self.base.probabilities(trace.batch))
        elsewhere = jensen_shannon(trace.weights, self.base.weights(trace.batch))
        return apart - self.lam * elsewhere


def scores_beside(
    model: AttentionClassifier,
    documents: EncodedDocuments,
    base: CachedOutputs,
    lam: float,
    max_tokens: int,
) -> dict[str, float]:
    """tvd and jsd, the scores of `evaluate`, and as loss what the adversary is after."""
    assert documents.labels is not None
    apart = DivergenceBetween.of(model, documents, base, max_tokens)
    tvd, jsd = float(apart.tvd.mean()), float(apart.jsd.mean())
    scores = evaluate(apart.logits, documents.labels)
    return {"tvd": tvd, "jsd": jsd, **scores, "loss": tvd - lam * jsd}
