"""Adam as the papers set it, and clipping."""

from __future__ import annotations

import torch
from torch import nn

from verax.models.classifier import AttentionClassifier
from verax.training.options import TrainingOptions


def make_optimiser(model: AttentionClassifier, options: TrainingOptions) -> torch.optim.Adam:
    """Adam with an L2 penalty; attention parameters are exempt from it unless told otherwise."""
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
    return torch.optim.Adam(
        [group for group in groups if group["params"]],
        lr=options.lr,
        amsgrad=options.amsgrad,
        fused=model.device.type in ("cpu", "cuda"),
    )


def clip_gradients(model: nn.Module, limit: float) -> None:
    """Scale all gradients down so that their joint norm is at most `limit`.

    On a CPU the scaling pass is left out where nothing is to be clipped; on a GPU asking would
    cost a synchronisation, so it always runs.
    """
    parameters = [p for p in model.parameters() if p.grad is not None]
    norm = nn.utils.get_total_norm([p.grad for p in parameters if p.grad is not None])
    if norm.device.type != "cpu" or norm > limit:
        nn.utils.clip_grads_with_norm_(parameters, limit, norm)


def _is_attention(name: str) -> bool:
    return name.startswith(("attention.", "word_attention."))
