"""What must hold before a model that Verax did not train is examined."""

from __future__ import annotations

import torch

from verax.errors import VeraxError
from verax.external.attention.site import Site
from verax.external.transformer import TransformerClassifier

PROBES = ("The film was far better than I had hoped.", "No .")


@torch.no_grad()
def self_check(model: TransformerClassifier) -> None:
    """Check that captured attention is the model's own; also finds how many layers it has."""
    read = model.read(list(PROBES))
    trace = model.trace_rows(read, torch.arange(len(PROBES)).numpy())
    sites: list[Site] = []
    captured = model.run(trace.pieces, lambda site: sites.append(site))
    if not sites:
        raise VeraxError("no attention of this model could be captured")
    model.layers, model.heads = len(sites), sites[0].weights.shape[1]
    if not torch.allclose(captured.logits, trace.logits, atol=1e-4):
        raise VeraxError("attention that is captured changes the logits of this model")
