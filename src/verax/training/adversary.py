"""An adversary: a model that decides as another does and attends elsewhere.

Wiegreffe & Pinter, "Attention is not not Explanation", EMNLP 2019, section 4. Where Jain & Wallace
put other weights on a finished model, document by document, here a whole model is trained to have
them: it cannot pick what suits each document. How far it gets, as decisions drift apart, says how
free attention is.

They train on TVD − λ KL, and find the end of a text by stripping zero weights; here the divergence
is Jensen–Shannon's, which they report, and lengths are the mask's: sparse attention, where KL is
infinite and zeros stand inside a text, has both. They stop by the training loss; here the
validation loss picks the epoch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from verax.corpora.batch import Batch
from verax.corpora.batching import MAX_TOKENS
from verax.corpora.corpus import Corpus, Documents
from verax.corpora.encoded import EncodedDocuments
from verax.divergence import jensen_shannon, total_variation
from verax.errors import VeraxError
from verax.models.base import Texts, evaluation_mode
from verax.models.classifier import AttentionClassifier
from verax.models.layers import decisions, probabilities
from verax.models.options import READING, ModelOptions
from verax.models.saving import load
from verax.models.trace import Trace
from verax.options import SEED, check
from verax.progress import Display
from verax.training.loop import Objective, StepNumber, evaluate
from verax.training.options import TrainingOptions
from verax.training.train import (
    VOCABULARY,
    Prepared,
    fit,
    inherit,
    refuse_other_corpus,
    with_test_scores,
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
_RECORDED = ("tvd", "jsd", "accuracy", "f1", "macro_f1", "loss")


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
    reference = base if isinstance(base, AttentionClassifier) else load(base, device=device)
    refuse_other_corpus(reference, corpus)
    model_options, settings = as_inherited(reference, options)
    budget = settings.max_tokens

    def objective(prepared: Prepared) -> Objective:
        model = prepared.model
        with evaluation_mode(reference):
            known, held_out = (
                CachedOutputs.of(reference, reference.encode(documents), budget).to(model.device)
                for documents in (corpus.train, corpus.validation)
            )
        return AdversarialObjective(model, None, seed, known, lam, held_out)

    model = fit(
        corpus,
        model_options,
        settings,
        seed=seed,
        device=device,
        progress=progress,
        vocabulary=reference.vocabulary,
        objective=objective,
    )
    picked = model.history.loc[model.history["selected"], list(_RECORDED)].iloc[0]
    apart = divergences(model, reference, corpus.test, budget)
    found = {
        "lam": lam,
        "base_seed": reference.record.get("training", {}).get("seed"),
        "validation": without_nan({name: float(picked[name]) for name in _RECORDED}),
        "test": {name: float(apart[name].mean()) for name in ("tvd", "jsd")},
    }
    return with_test_scores(model, corpus, adversary=found)


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
            "the base's attention is uniform for every text, and cannot move: give a base with "
            "another projection",
            code="model.unsuitable-base",
        )


@dataclass(frozen=True, eq=False)
class CachedOutputs:
    """Weights and logits of documents, looked up by `batch.row_index`.

    flat    (all items,)           weights, without padding, SOS and EOS
    starts  (documents,) long      where in `flat` those of each row of the split begin
    items   (documents,) long      how many they are
    outputs (documents, classes)   logits; one column means one sigmoid logit

    A batch may come from another encoding of the same documents, as long as these have the same
    rows and the same items: SOS and EOS make no difference.
    """

    flat: Tensor
    starts: Tensor
    items: Tensor
    outputs: Tensor

    @classmethod
    def of(
        cls, model: AttentionClassifier, encoded: EncodedDocuments, max_tokens: int = MAX_TOKENS
    ) -> CachedOutputs:
        """Read a split once, within a budget of padded tokens; stays on the model's device."""
        none = torch.zeros(0, device=model.device)
        flat, counts, keys, outputs = [none], [none.long()], [none.long()], []
        for trace in model.traces(encoded, max_tokens):
            flat.append(trace.weights[trace.mask])
            counts.append(trace.mask.sum(-1))
            keys.append(trace.batch.row_index)
            outputs.append(trace.logits)
        rows, many = torch.cat(keys), torch.cat(counts)
        places = torch.empty_like(rows)
        places[rows] = torch.arange(len(rows), device=rows.device)
        logits = torch.cat(outputs) if outputs else none.view(0, len(model.head.bias))
        starts = many.cumsum(0) - many
        return cls(torch.cat(flat), starts[places], many[places], logits[places])

    def __len__(self) -> int:
        return len(self.outputs)

    def to(self, device: torch.device) -> CachedOutputs:
        return CachedOutputs(
            *(t.to(device) for t in (self.flat, self.starts, self.items, self.outputs))
        )

    def weights(self, batch: Batch) -> Tensor:
        """(batch, items), zero where masked, for the documents of a batch on the same device."""
        rank = batch.mask.cumsum(-1) - 1
        index = self.starts[batch.row_index].unsqueeze(-1) + rank
        weights = self.flat[index.clamp_(0, max(len(self.flat) - 1, 0))]
        return weights.masked_fill(~batch.mask, 0.0)

    def logits(self, batch: Batch) -> Tensor:
        """(batch, classes)"""
        return self.outputs[batch.row_index]

    def probabilities(self, batch: Batch) -> Tensor:
        """(batch, classes) of every class: one logit gives two columns."""
        return probabilities(self.logits(batch))


@dataclass(frozen=True, eq=False)
class AdversarialObjective(Objective):
    """Mean over documents of TVD(y, y_b) − λ JSD(α, α_b), and what grounding adds.

    base      the base's outputs on the training documents
    lam       λ
    held_out  the base's outputs on the validation documents
    """

    base: CachedOutputs
    lam: float
    held_out: CachedOutputs | None = None

    def losses(self, trace: Trace, step: StepNumber = 0) -> Tensor:
        """(batch,), float32 as the model is."""
        apart = total_variation(probabilities(trace.logits), self.base.probabilities(trace.batch))
        elsewhere = jensen_shannon(trace.weights, self.base.weights(trace.batch))
        return apart - self.lam * elsewhere

    def scores(self, documents: EncodedDocuments, max_tokens: int) -> dict[str, float]:
        """tvd and jsd, the scores of `evaluate`, and as loss tvd − λ jsd."""
        assert self.held_out is not None
        assert documents.labels is not None
        apart = _apart(self.model, documents, self.held_out, max_tokens)
        tvd, jsd = float(apart.tvd.mean()), float(apart.jsd.mean())
        scores = evaluate(apart.logits, documents.labels)
        return {"tvd": tvd, "jsd": jsd, **scores, "loss": tvd - self.lam * jsd}


def divergences(
    a: AttentionClassifier,
    b: AttentionClassifier,
    documents: Texts | Documents | EncodedDocuments,
    max_tokens: int = MAX_TOKENS,
) -> pd.DataFrame:
    """A row for each document, in order.

    id          the document's
    jsd         Jensen–Shannon divergence of the two attentions, nats, float64
    tvd         total variation distance of the two models' probabilities
    same        whether both decide for the same class
    label       the true class, and
    decision    a's, and
    correct     whether they are the same; label and correct are NaN without labels
    max_weight  the largest weight of b's attention
    items       how many are attended

    The models must attend the same items: both words, or both sentences. Each encodes the documents
    for itself; documents that are encoded already must fit both.
    """
    if a.options.hierarchical != b.options.hierarchical:
        raise VeraxError(
            "one model attends words, the other sentences: compare two of the same kind",
            code="model.incomparable",
        )
    for name in READING:
        one, other = getattr(a.options, name), getattr(b.options, name)
        if one != other:
            raise VeraxError(
                f"one model has {name} {one!r}, the other {other!r}: attention over other words "
                "cannot be compared",
                code="model.incomparable",
            )
    if a.classes != b.classes:
        raise VeraxError(
            f"the models have other classes: {a.classes} and {b.classes}", code="model.incomparable"
        )
    same_reading = (
        bool(a.options.boundaries) == bool(b.options.boundaries)
        and a.vocabulary.words == b.vocabulary.words
    )
    if isinstance(documents, EncodedDocuments) and not same_reading:
        raise VeraxError(
            "the two models encode text differently: give documents that are not yet encoded",
            code="model.incomparable",
        )
    theirs = CachedOutputs.of(b, b.encode(documents), max_tokens).to(a.device)
    encoded = a.encode(documents)
    apart = _apart(a, encoded, theirs, max_tokens)
    decided = decisions(apart.logits).numpy()
    labels = encoded.labels
    nothing = np.full(len(decided), np.nan)
    return pd.DataFrame(
        {
            "id": encoded.ids,
            "jsd": apart.jsd.numpy(),
            "tvd": apart.tvd.numpy(),
            "same": decided == decisions(theirs.outputs).cpu().numpy(),
            "correct": nothing if labels is None else decided == labels,
            "label": nothing if labels is None else labels,
            "decision": decided,
            "max_weight": apart.max_weight.numpy(),
            "items": theirs.items.cpu().numpy(),
        }
    )


class _Apart(NamedTuple):
    """A model beside cached outputs of another: (documents,) each, in order, on CPU, float64.

    logits      (documents, classes)  the model's own
    jsd, tvd    between the two
    max_weight  the other's largest
    """

    logits: Tensor
    jsd: Tensor
    tvd: Tensor
    max_weight: Tensor


def _apart(
    model: AttentionClassifier, encoded: EncodedDocuments, other: CachedOutputs, max_tokens: int
) -> _Apart:
    """Read the documents once; `other` is on the model's device."""
    logits = torch.empty(other.outputs.shape, dtype=torch.float64)
    numbers = torch.empty(3, len(other), dtype=torch.float64)
    for trace in model.traces(encoded, max_tokens):
        theirs = other.weights(trace.batch).double()
        ours, answers = trace.logits.double(), other.logits(trace.batch).double()
        columns = [
            jensen_shannon(trace.weights.double(), theirs),
            total_variation(probabilities(ours), probabilities(answers)),
            theirs.amax(-1),
        ]
        rows = trace.batch.row_index.cpu()
        logits[rows] = ours.cpu()
        numbers[:, rows] = torch.stack(columns).cpu()
    return _Apart(logits, *numbers)
