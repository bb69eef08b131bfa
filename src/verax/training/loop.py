"""What training minimises, its optimizer, its epochs with early stopping, and its scores."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from verax.corpora.batch import Batch
from verax.corpora.batching import Rows, micro_batches, training_batches
from verax.corpora.encoded import EncodedDocuments
from verax.corpora.vocabulary import SPECIALS
from verax.errors import VeraxError
from verax.models.classifier import AttentionClassifier
from verax.models.layers import (
    HashedDropout,
    Masking,
    decisions,
    mask_words,
    mlm_loss,
    probabilities,
    room_for_selected,
    tying_loss,
)
from verax.models.projections import PROJECTIONS
from verax.models.trace import Trace
from verax.training.cuda_graphs import GraphedStep
from verax.training.options import TrainingOptions

StepNumber = int | Tensor
"""The number of a step; a tensor () long in steps that are captured."""

# the masked reading drops other units than the clean one
_SECOND_READING = 7_919
_STEPS_BETWEEN_CHECKS = 50
"""Steps between looks at the loss: on a GPU each look waits for it."""


@dataclass(frozen=True, eq=False)
class BatchCounts:
    """Documents of a whole batch; its words under tying, its selected words under a masked LM."""

    documents: int
    words: Tensor | None
    selected: Tensor | None


@dataclass(frozen=True, eq=False)
class Objective:
    """Mean loss over a batch, additive over its micro-batches.

    classification  mean over documents of class weight × cross-entropy
    tying           + δ × mean over all words of the batch of ‖h − e‖²
    mlm             + η × mean over all selected words of the batch of the cross-entropy

    Each micro-batch contributes its sum divided by the count of the whole batch, so the result
    does not depend on the cut. `class_weights` is (classes,), or None for equal weights.
    """

    model: AttentionClassifier
    class_weights: Tensor | None
    seed: int

    def __call__(self, batch: Batch, step: StepNumber, counts: BatchCounts) -> Tensor:
        noise = self.noise(batch, step) if self.model.options.is_random else None
        trace = self.model(batch, noise)
        loss = self.losses(trace, step).sum() / counts.documents
        strength = self.model.options.grounding_weight
        if counts.words is not None and strength:
            tying = tying_loss(trace.states, trace.embedded, batch.words)
            return loss + strength * tying / counts.words
        if counts.selected is not None and noise is not None and strength:
            return loss + strength * self.masked_lm(batch, noise) / counts.selected.clamp(min=1)
        return loss

    def losses(self, trace: Trace, step: StepNumber = 0) -> Tensor:
        """(batch,) loss of each document before grounding: here its weighted cross-entropy."""
        labels = trace.labels
        assert labels is not None
        if trace.logits.shape[1] == 1:
            # −log σ(z) for a positive, −log σ(−z) for a negative
            losses = functional.softplus(trace.logits.squeeze(1) * (1 - 2 * labels))
        else:
            losses = functional.cross_entropy(trace.logits, labels, reduction="none")
        return losses if self.class_weights is None else losses * self.class_weights[labels]

    def scores(self, documents: EncodedDocuments, max_tokens: int) -> dict[str, float]:
        """Scores of the model on validation documents, `metric` among them."""
        assert documents.labels is not None
        return evaluate(self.model.logits(documents, max_tokens), documents.labels)

    def noise(self, batch: Batch, step: StepNumber) -> HashedDropout:
        return HashedDropout.of(batch.row_index, batch.tokens.shape[1], self.seed, step)

    def counts(self, batches: list[Batch], step: StepNumber) -> BatchCounts:
        """What the means over a batch divide by, given its micro-batches."""
        grounding = self.model.options.grounding
        words = selected = None
        if grounding == "tying":
            words = torch.stack([batch.words.sum() for batch in batches]).sum()
        elif grounding == "mlm":
            maskings = [self._masking(batch, self.noise(batch, step)) for batch in batches]
            selected = torch.stack([masking.selected.sum() for masking in maskings]).sum()
        return BatchCounts(sum(len(batch) for batch in batches), words, selected)

    def masked_lm(self, batch: Batch, noise: HashedDropout) -> Tensor:
        """Summed cross-entropy of the selected words, from a second, corrupted reading."""
        masking = self._masking(batch, noise)
        embedding, mask_vector = self.model.embedding, self.model.mask_vector
        assert mask_vector is not None
        embedded = torch.where(masking.masked.unsqueeze(-1), mask_vector, embedding(masking.tokens))
        second = HashedDropout(noise.keys, noise.seed ^ _SECOND_READING)
        states = self.model.encode_words(batch, embedded, second)
        if batch.tokens.device.type == "cpu":
            chosen = masking.selected
            return mlm_loss(states[chosen], batch.tokens[chosen], embedding.weight).sum()
        return self._with_fixed_room(states, batch.tokens, masking.selected)

    def _with_fixed_room(self, states: Tensor, tokens: Tensor, selected: Tensor) -> Tensor:
        """The same with a fixed number of places, as only the device knows how many are selected.

        If more tokens are selected than fit (probability < 1e-15), the loss is NaN.
        """
        room = room_for_selected(selected.numel(), self.model.options.mask_probability)
        is_word, places = selected.flatten().sort(descending=True, stable=True)
        is_word, places = is_word[:room], places[:room]
        targets = torch.where(is_word, tokens.flatten()[places], len(SPECIALS))
        losses = mlm_loss(states.flatten(0, 1)[places], targets, self.model.embedding.weight)
        left_out = torch.where(selected.sum() > room, torch.nan, 0.0)
        return (losses * is_word).sum() + left_out

    def _masking(self, batch: Batch, noise: HashedDropout) -> Masking:
        size, share = len(self.model.vocabulary), self.model.options.mask_probability
        return mask_words(batch.tokens, batch.words, size, share, noise)


def balanced_weights(labels: NDArray[np.int64], classes: int, one_logit: bool) -> Tensor:
    """(classes,) weights that even out the classes.

    With one sigmoid logit, positives weigh N_neg / N_pos and negatives 1 (Jain & Wallace); with a
    softmax, class c weighs N / (C · N_c), which is scikit-learn's "balanced".
    """
    counts = np.bincount(labels, minlength=classes).astype(np.float64)
    if one_logit:
        return torch.tensor([1.0, counts[0] / counts[1]], dtype=torch.float32)
    weights = counts.sum() / (classes * np.maximum(counts, 1))
    return torch.tensor(weights, dtype=torch.float32)


class EagerAdam(torch.optim.Adam):
    """Adam without torch's compiler, whose import takes two seconds of every process."""

    add_param_group = inspect.unwrap(torch.optim.Adam.add_param_group)
    step = torch.no_grad()(inspect.unwrap(torch.optim.Adam.step))


def make_adam(model: AttentionClassifier, options: TrainingOptions) -> torch.optim.Adam:
    """Adam with an L2 penalty; without `decay_attention`, attention parameters are exempt."""
    decayed: list[nn.Parameter] = []
    exempt: list[nn.Parameter] = []
    for name, parameter in model.named_parameters():
        is_attention = name.startswith(("attention.", "word_attention."))
        if parameter.requires_grad:
            group = exempt if is_attention and not options.decay_attention else decayed
            group.append(parameter)
    groups = [
        {"params": decayed, "weight_decay": options.weight_decay},
        {"params": exempt, "weight_decay": 0.0},
    ]
    return EagerAdam(
        [group for group in groups if group["params"]],
        lr=options.lr,
        amsgrad=options.amsgrad,
        fused=True,
        capturable=model.device.type == "cuda",
    )


class Optimizer:
    """Zeroes gradients, clips them, takes Adam's step.

    Few of an embedding's rows occur in a batch, so on a CPU its gradient comes as those rows alone
    (`has_sparse_gradient`). It is added into one buffer that is kept, and is measured and zeroed by
    these rows; a dense gradient would be allocated, written and read whole in each step. Adam sees
    the same dense gradient either way.
    """

    def __init__(self, model: AttentionClassifier, options: TrainingOptions) -> None:
        self.adam = make_adam(model, options)
        self.parameters = [p for p in model.parameters() if p.requires_grad]
        self.clip = options.clip
        self.embedding = model.embedding
        self.buffer: Tensor | None = None
        self.rows: Tensor | None = None
        self.embedding.sparse = has_sparse_gradient(model)

    def zero(self) -> None:
        if self.buffer is not None and self.rows is not None:
            self.buffer.index_fill_(0, self.rows, 0.0)
        self.rows = None
        for parameter in self.parameters:
            parameter.grad = None

    def close(self) -> None:
        """Leave the model without gradients, and with dense ones in future."""
        self.zero()
        self.embedding.sparse = False

    def step(self) -> None:
        """Clip the gradients accumulated since `zero`, and update the parameters."""
        gradient = self.embedding.weight.grad
        squares: list[Tensor] = []
        if gradient is not None and gradient.is_sparse:
            squares = [self._densify(gradient)]
        if self.clip is not None:
            self._clip(self.clip, squares)
        self.adam.step()

    def _densify(self, gradient: Tensor) -> Tensor:
        """Add the rows of a sparse gradient into the buffer; returns its squared norm.

        A row may come several times: with B_r the sum of those v_i that belong to row r,
        Σ_i v_i · B_{r_i} = Σ_r ‖B_r‖².
        """
        if self.buffer is None:
            self.buffer = torch.zeros_like(self.embedding.weight)
        self.rows, values = gradient._indices()[0], gradient._values()
        self.buffer.index_add_(0, self.rows, values)
        self.embedding.weight.grad = self.buffer
        return _dot(values, self.buffer.index_select(0, self.rows))

    def _clip(self, limit: float, squares: list[Tensor]) -> None:
        """Scale all gradients down so that their joint norm is at most `limit`.

        On a CPU the scaling is skipped where nothing is to be clipped; on a GPU the comparison
        would cost a synchronisation, so it always runs.
        """
        with_gradient = [p for p in self.parameters if p.grad is not None]
        counted = [p.grad for p in with_gradient if not (squares and p is self.embedding.weight)]
        flat = torch.cat([g.view(-1) for g in counted if g is not None])
        norm = torch.stack([_dot(flat, flat), *squares]).sum().sqrt()
        if norm.device.type != "cpu" or norm > limit:
            nn.utils.clip_grads_with_norm_(with_gradient, limit, norm)


def _dot(left: Tensor, right: Tensor) -> Tensor:
    return left.view(-1).dot(right.view(-1))


def has_sparse_gradient(model: AttentionClassifier) -> bool:
    """Whether the embedding's gradient is computed for the rows that were looked up only.

    A masked LM scores against the whole matrix, so its gradient is dense. It stays dense on a GPU,
    where adding rows up in a fixed order costs more than it saves.
    """
    return model.device.type == "cpu" and model.options.grounding != "mlm"


class Diverged(VeraxError):  # noqa: N818 (it says what happened)
    """Training came to a loss that is not finite."""

    code = "training.diverged"


@dataclass(frozen=True)
class Step:
    """How far training is, for a progress display."""

    epoch: int
    epochs: int
    step: int
    steps: int
    loss: float | None
    score: float | None


class Loop:
    """Trains a classifier; ends with the weights of the best epoch.

    `objective.scores` on the validation documents decides which epoch is best.
    """

    def __init__(
        self,
        model: AttentionClassifier,
        train: EncodedDocuments,
        validation: EncodedDocuments,
        objective: Objective,
        options: TrainingOptions,
        seed: int,
        report: Callable[[Step], None] = lambda step: None,
    ) -> None:
        self.model = model
        self.train = train
        self.validation = validation
        self.objective = objective
        self.options = options
        self.seed = seed
        self.report = report
        self.optimizer = Optimizer(model, options)
        self.graphed: GraphedStep | None = None
        if can_be_captured(model, objective):
            self.graphed = GraphedStep(train, model.device, self.take, self._lr)
        self.score: float | None = None

    def run(self) -> pd.DataFrame:
        """Train; the model is left in eval mode with its best weights. Returns the history."""
        options = self.options
        self.model.eval()
        before = self._scores()
        if math.isnan(before[options.metric]):
            raise VeraxError(
                f"metric {options.metric!r} is not defined on this validation split: f1 is for two "
                "classes, roc_auc needs documents of every class; choose accuracy or macro_f1",
                code="option.not-applicable",
            )
        rows = [{"epoch": 0, "train_loss": math.nan, **before, "lr": options.lr}]
        best, best_epoch, since = math.nan, 0, 0
        kept: Mapping[str, Tensor] = {}
        plateau = self._plateau()
        for epoch in range(1, options.epochs + 1):
            lr = self._lr()
            loss = self.epoch(epoch)
            scores = self._scores()
            rows.append({"epoch": epoch, "train_loss": loss, **scores, "lr": lr})
            score = self.score = scores[options.metric]
            if plateau is not None:
                plateau.step(score)
            if epoch < options.select_from:
                continue
            if best_epoch == 0 or better(options.metric, score, best):
                best, best_epoch, since = score, epoch, 0
                kept = {k: v.detach().clone() for k, v in self.model.state_dict().items()}
            else:
                since += 1
                if options.patience is not None and since >= options.patience:
                    break
        self.optimizer.close()
        if self.graphed is not None:
            self.graphed.close()
        self.model.load_state_dict(kept)
        history = pd.DataFrame(rows)
        history["selected"] = history["epoch"] == best_epoch
        return history

    def epoch(self, epoch: int) -> float:
        """One pass over the training documents; returns the mean loss over documents."""
        lengths = self.train.lengths
        batches = training_batches(lengths, self.options.batch_size, self.seed, epoch)
        total = self.run_through(batches, epoch)
        return self._finite(total / len(lengths), epoch, len(batches))

    def run_through(self, batches: list[Rows], epoch: int) -> Tensor:
        """A step on each of the batches; returns the sum of the loss over documents."""
        self.model.train()
        total = torch.zeros((), device=self.model.device, dtype=torch.float64)
        shown: float | None = None
        first, epochs = (epoch - 1) * (len(self.train) + 1), self.options.epochs
        with self.graphed.running() if self.graphed else nullcontext():
            for number, rows in enumerate(batches):
                loss = self.step(rows, first + number)
                total.add_(loss, alpha=len(rows))
                if number % _STEPS_BETWEEN_CHECKS == 0:
                    shown = self._finite(loss, epoch, number)
                self.report(Step(epoch, epochs, number + 1, len(batches), shown, self.score))
        self.model.eval()
        return total

    def step(self, rows: Rows, number: int) -> Tensor:
        """One optimizer step on a batch, in pieces within `max_tokens`; returns its loss."""
        budget = self.options.max_tokens
        if self.graphed is not None and self.graphed.fits_budget(rows, budget):
            return self.graphed.step(rows, number)
        pieces = micro_batches(rows, self.train.lengths, budget)
        return self.take([self.train.batch(piece, self.model.device) for piece in pieces], number)

    def take(self, batches: list[Batch], number: StepNumber) -> Tensor:
        """One optimizer step on the micro-batches of a batch; returns the loss of the batch."""
        counts = self.objective.counts(batches, number)
        self.optimizer.zero()
        losses = []
        for batch in batches:
            loss = self.objective(batch, number, counts)
            loss.backward()
            losses.append(loss.detach())
        self.optimizer.step()
        return torch.stack(losses).sum() if len(losses) > 1 else losses[0]

    def _scores(self) -> dict[str, float]:
        return self.objective.scores(self.validation, self.options.max_tokens)

    def _lr(self) -> float:
        return float(self.optimizer.adam.param_groups[0]["lr"])

    def _plateau(self) -> torch.optim.lr_scheduler.ReduceLROnPlateau | None:
        if self.options.plateau_factor is None:
            return None
        return torch.optim.lr_scheduler.ReduceLROnPlateau(
            self.optimizer.adam,
            mode="min" if self.options.metric == "loss" else "max",
            factor=self.options.plateau_factor,
            patience=self.options.plateau_patience,
        )

    def _finite(self, loss: Tensor, epoch: int, step: int) -> float:
        value = float(loss)
        if not math.isfinite(value):
            raise Diverged(
                f"the loss became {value} in epoch {epoch}, step {step}: "
                "lower lr, set clip, or lower strength"
            )
        return value


def can_be_captured(model: AttentionClassifier, objective: Objective) -> bool:
    """Whether a training step runs on a GPU alone, so that it can be captured in a CUDA graph.

    Sentences are laid out by the host, and an encoder or a projection that is not declared
    `replayable` may ask for values, such as lengths on the CPU.
    """
    plain = type(model) is AttentionClassifier and type(objective) is Objective
    if not plain or model.device.type != "cuda":
        return False
    return model.encoder.replayable and PROJECTIONS[model.options.projection].replayable


def evaluate(logits: Tensor, labels: NDArray[np.int64]) -> dict[str, float]:
    """Accuracy, F1, macro F1, ROC-AUC and mean cross-entropy in nats, by name.

    Args:
        logits: (documents, classes); one column means one sigmoid logit.
        labels: (documents,), the positions of the true classes.

    Returns:
        `f1` is that of class 1, the second of the model's `classes`, and NaN with more than two.
        `roc_auc` is one-against-the-rest, averaged over classes, with more than two; it is NaN
        where a class is missing from `labels`.
    """
    logits = logits.double()
    shares = probabilities(logits).numpy()
    decided = decisions(logits).numpy()
    targets = torch.from_numpy(labels)
    if logits.shape[1] == 1:
        loss = functional.binary_cross_entropy_with_logits(logits.squeeze(1), targets.double())
    else:
        loss = functional.cross_entropy(logits, targets)
    classes = range(shares.shape[1])
    two = len(classes) == 2
    auc = float("nan")
    if len(np.unique(labels)) == len(classes) and np.isfinite(shares).all():
        areas = [_roc_auc(labels == k, shares[:, k]) for k in ([1] if two else classes)]
        auc = float(np.mean(areas))
    f1s = [_f1(labels == k, decided == k) for k in classes]
    return {
        "accuracy": float(np.mean(decided == labels)),
        "f1": f1s[1] if two else float("nan"),
        "macro_f1": float(np.mean(f1s)),
        "roc_auc": auc,
        "loss": float(loss),
    }


def _f1(true: NDArray[np.bool_], decided: NDArray[np.bool_]) -> float:
    """F1 of one class, 0 where it neither occurs nor is decided for."""
    both = int(true.sum() + decided.sum())
    return 2.0 * int((true & decided).sum()) / both if both else 0.0


def _roc_auc(true: NDArray[np.bool_], scores: NDArray[np.float64]) -> float:
    """The area under the ROC curve of one class, as scikit-learn computes it, to the last bit.

    Written out because importing scikit-learn's takes two seconds of every process that trains.
    """
    order = np.argsort(scores, kind="stable")[::-1]
    ends = np.append(np.flatnonzero(np.diff(scores[order])), len(scores) - 1)
    hits = np.cumsum(true[order], dtype=np.float64)[ends]
    misses = 1.0 + ends - hits
    if len(ends) > 2:  # points on a straight line between their neighbours are left out
        bends = (np.diff(misses, 2) != 0) | (np.diff(hits, 2) != 0)
        kept = np.concatenate([[True], bends, [True]])
        hits, misses = hits[kept], misses[kept]
    tpr = np.concatenate([[0.0], hits]) / hits[-1]
    fpr = np.concatenate([[0.0], misses]) / misses[-1]
    return float((np.diff(fpr) * (tpr[1:] + tpr[:-1]) / 2.0).sum())


def score_title(name: str, classes: Sequence[str]) -> str:
    """A score for people; F1 of two classes says which of them it is of.

    >>> score_title("f1", ["no", "yes"]), score_title("macro_f1", ["no", "yes"])
    ("f1 of 'yes'", 'macro f1')
    """
    return f"f1 of {classes[1]!r}" if name == "f1" else name.replace("_", " ")


def better(metric: str, new: float, old: float) -> bool:
    """Whether `new` beats `old`; a NaN never does, and anything beats a NaN."""
    if np.isnan(new) or np.isnan(old):
        return bool(np.isnan(old) and not np.isnan(new))
    return new < old if metric == "loss" else new > old
