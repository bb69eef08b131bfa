"""Adam as the papers set it, and clipping."""

from __future__ import annotations

import inspect

import torch
from torch import Tensor, nn

from verax.models.classifier import AttentionClassifier
from verax.training.options import TrainingOptions


class EagerAdam(torch.optim.Adam):
    """Adam without torch's compiler, whose import takes two seconds of every process."""

    add_param_group = inspect.unwrap(torch.optim.Adam.add_param_group)
    step = torch.no_grad()(inspect.unwrap(torch.optim.Adam.step))


def make_adam(model: AttentionClassifier, options: TrainingOptions) -> torch.optim.Adam:
    """Adam with an L2 penalty; without `decay_attention`, attention parameters are exempt."""
    trained = {name: p for name, p in model.named_parameters() if p.requires_grad}
    exempt = [
        p for name, p in trained.items() if _is_attention(name) and not options.decay_attention
    ]
    decayed = [
        p for name, p in trained.items() if not _is_attention(name) or options.decay_attention
    ]
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


class Optimiser:
    """Zeroes gradients, clips them, takes Adam's step.

    Few of an embedding's rows occur in a batch, so on a CPU its gradient comes as those rows alone
    (`has_sparse_gradient`), is added into one buffer that is kept, and is measured and zeroed by
    these rows; a fresh dense gradient would be written, read and thrown away whole each time. Adam
    sees the same dense gradient either way.
    """

    def __init__(self, model: AttentionClassifier, options: TrainingOptions) -> None:
        self.adam = make_adam(model, options)
        self.parameters = [p for p in model.parameters() if p.requires_grad]
        self.clip = options.clip
        self.embedding = model.embedding.weight
        self.buffer: Tensor | None = None
        self.rows: Tensor | None = None
        self.model = model
        model.embedding.sparse = has_sparse_gradient(model)

    def zero(self) -> None:
        if self.buffer is not None and self.rows is not None:
            self.buffer.index_fill_(0, self.rows, 0.0)
        self.rows = None
        for parameter in self.parameters:
            parameter.grad = None

    def close(self) -> None:
        """Leave the model as anyone would expect it: no gradients, and none that come sparse."""
        self.zero()
        self.model.embedding.sparse = False

    def step(self) -> None:
        """Clip and step on the gradients that have gathered since `zero`."""
        gradient = self.embedding.grad
        spread: list[Tensor] = []
        if gradient is not None and gradient.is_sparse:
            spread = [self._spread(gradient)]
        if self.clip is not None:
            self._clip(self.clip, spread)
        self.adam.step()

    def _spread(self, gradient: Tensor) -> Tensor:
        """Put the rows of a sparse gradient into the buffer; returns its squared norm.

        A row may come several times: with B_r the sum of those v_i that fall on row r,
        Σ_i v_i · B_{r_i} = Σ_r ‖B_r‖².
        """
        if self.buffer is None:
            self.buffer = torch.zeros_like(self.embedding)
        self.rows, values = gradient._indices()[0], gradient._values()
        self.buffer.index_add_(0, self.rows, values)
        self.embedding.grad = self.buffer
        return _dot(values, self.buffer.index_select(0, self.rows))

    def _clip(self, limit: float, squares: list[Tensor]) -> None:
        """Scale all gradients down so that their joint norm is at most `limit`.

        On a CPU the scaling pass is left out where nothing is to be clipped; on a GPU asking would
        cost a synchronisation, so it always runs.
        """
        with_gradient = [p for p in self.parameters if p.grad is not None]
        counted = [p.grad for p in with_gradient if not (squares and p is self.embedding)]
        flat = torch.cat([g.view(-1) for g in counted if g is not None])
        norm = torch.stack([_dot(flat, flat), *squares]).sum().sqrt()
        if norm.device.type != "cpu" or norm > limit:
            nn.utils.clip_grads_with_norm_(with_gradient, limit, norm)


def _dot(left: Tensor, right: Tensor) -> Tensor:
    return left.view(-1).dot(right.view(-1))


def has_sparse_gradient(model: AttentionClassifier) -> bool:
    """Whether only looked-up rows get a gradient, and a CPU adds them up.

    A masked LM scores against the whole matrix, so its gradient is dense; so it stays on a GPU,
    where adding rows up in a fixed order costs more than it saves.
    """
    return model.device.type == "cpu" and model.options.grounding != "mlm"


def _is_attention(name: str) -> bool:
    return name.startswith(("attention.", "word_attention."))
