"""Epochs, early stopping, and the state that is kept."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass

import pandas as pd
import torch
from torch import Tensor

from verax.corpora.batching import Rows, micro_batches, training_batches
from verax.corpora.encoded import EncodedDocuments
from verax.errors import VeraxError
from verax.models.classifier import AttentionClassifier
from verax.training.metrics import better, evaluate
from verax.training.objective import Objective
from verax.training.optimiser import Optimiser
from verax.training.options import TrainingOptions
from verax.training.replaying import Replaying

_ASK_EVERY = 50
"""Steps between looks at the loss: on a GPU each look waits for it."""


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

    `validate` scores the model as it is, with `options.metric` among what it gives; without one it
    is `evaluate` on the validation documents.
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
        validate: Callable[[], dict[str, float]] | None = None,
    ) -> None:
        self.model = model
        self.train = train
        self.validation = validation
        self.objective = objective
        self.options = options
        self.seed = seed
        self.report = report
        self.validate = validate or self._evaluate
        self.optimiser = Optimiser(model, options)
        self.replaying: Replaying | None = None
        if Replaying.fits(model, objective):
            self.replaying = Replaying(model, train, objective, self.optimiser)
        self.score: float | None = None

    def run(self) -> pd.DataFrame:
        """Train; the model is left in eval mode with its best weights. Returns the history."""
        options = self.options
        self.model.eval()
        before = self.validate()
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
            lr = self.optimiser.adam.param_groups[0]["lr"]
            loss = self.epoch(epoch)
            scores = self.validate()
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
        self.optimiser.close()
        if self.replaying is not None:
            self.replaying.close()
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
        with self.replaying.running() if self.replaying else nullcontext():
            return self._run_through(batches, epoch)

    def _run_through(self, batches: list[Rows], epoch: int) -> Tensor:
        self.model.train()
        lengths = self.train.lengths
        total = torch.zeros((), device=self.model.device, dtype=torch.float64)
        shown: float | None = None
        first = (epoch - 1) * (len(lengths) + 1)
        for number, rows in enumerate(batches):
            loss = self._step(rows, first + number)
            total.add_(loss, alpha=len(rows))
            if number % _ASK_EVERY == 0:
                shown = self._finite(loss, epoch, number)
            self.report(
                Step(epoch, self.options.epochs, number + 1, len(batches), shown, self.score)
            )
        self.model.eval()
        return total

    def _step(self, rows: Rows, step: int) -> Tensor:
        if self.replaying is not None and self.replaying.holds(rows, self.options.max_tokens):
            return self.replaying.step(rows, step)
        pieces = micro_batches(rows, self.train.lengths, self.options.max_tokens)
        return self.step(pieces, step)

    def step(self, pieces: list[Rows], step: int) -> Tensor:
        """One optimiser step on a batch, its pieces accumulated; returns the batch's loss."""
        device = self.model.device
        batches = [self.train.batch(rows, device) for rows in pieces]
        counts = self.objective.counts(batches, step)
        self.optimiser.zero()
        losses = []
        for batch in batches:
            loss = self.objective(batch, step, counts)
            loss.backward()
            losses.append(loss.detach())
        self.optimiser.step()
        return torch.stack(losses).sum() if len(losses) > 1 else losses[0]

    def _evaluate(self) -> dict[str, float]:
        labels = self.validation.labels
        assert labels is not None
        return evaluate(self.model.logits(self.validation, self.options.max_tokens), labels)

    def _plateau(self) -> torch.optim.lr_scheduler.ReduceLROnPlateau | None:
        if self.options.plateau_factor is None:
            return None
        return torch.optim.lr_scheduler.ReduceLROnPlateau(
            self.optimiser.adam,
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
