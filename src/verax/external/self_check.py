"""What must hold before a model that Verax did not train is examined."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from verax.errors import VeraxError, foreign_code
from verax.external.attention.functions import is_pair
from verax.external.attention.routes import NoAttentionError
from verax.external.attention.site import Route, Site
from verax.external.pieces import PieceBatch
from verax.external.transformer import TransformerClassifier

PROBES = ("The film was far better than I had hoped, and so was the plot.", "No, it was not good.")
"""Two texts of different lengths, so that one is padded."""

ELSEWHERE = "give its probabilities to verax.from_predict instead"
_STEPS = (1e-3, 1e-4, 1e-5, 1e-2)
_FAR = 0.05
"""How far a slope may be from the difference that it stands for, by their sizes."""


def probe_pieces(model: TransformerClassifier) -> PieceBatch:
    """The pieces of two texts that every model can read; a model that cannot is refused."""
    read = model.read_cut(list(PROBES))
    advice = "check that model and tokenizer belong together"
    with foreign_code(f"{type(model.module).__name__} cannot read a text", advice):
        trace = model.trace_rows(read, np.arange(len(PROBES)))
    expected = (len(PROBES), len(model.classes))
    if tuple(trace.logits.shape) != expected:
        raise VeraxError(
            f"{type(model.module).__name__} gives logits of shape {tuple(trace.logits.shape)} for "
            f"two texts, expected {expected}: give a model for sequence classification, and the "
            "names of all its classes",
            code="model.wrong-output",
        )
    return trace.pieces


@torch.no_grad()
def self_check(model: TransformerClassifier, route: Route, pieces: PieceBatch) -> None:
    """Check that what a route shows is the model's own attention, and that edits of it count.

    Args:
        model: gets the route, and how many layers and heads there are.
        route: a way to its attention.
        pieces: of texts of different lengths.

    Raises:
        NoAttentionError: where the route shows none.
        VeraxError: where a check fails: one line that says which, and what to do.
    """
    model.route, model.layers = route, 0
    untouched = model.run(pieces).logits
    sites: list[Site] = []
    captured = model.run(pieces, sites.append).logits
    if not sites:
        raise NoAttentionError(
            f"no attention of {type(model.module).__name__} can be got at (it has none, or hides "
            f"it in a kernel): load it with attn_implementation='eager', or {ELSEWHERE}"
        )
    model.layers, model.heads = len(sites), sites[0].weights.shape[1]
    close = tolerance(untouched)
    _check_shapes(sites, pieces, route.name)
    _check_masked(sites, pieces, route.name)
    _check_causal(model, sites, pieces, close)
    if (far := _distance(captured, untouched)) > close:
        raise VeraxError(
            f"self-check by {route.name}: logits move by {far:.1e} when attention is captured, "
            f"expected at most {close:.0e}: the model attends in another way than it shows; "
            f"{ELSEWHERE}",
            code="model.attention-mismatch",
        )
    kept = [site.weights.clone() for site in sites]
    replayed = model.run(pieces, lambda site: kept[site.number]).logits
    if (far := _distance(replayed, captured)) > close:
        raise VeraxError(
            f"self-check by {route.name}: logits move by {far:.1e} when captured weights are put "
            f"back, expected at most {close:.0e}: {ELSEWHERE}",
            code="model.attention-mismatch",
        )
    _check_slopes(model, pieces, kept, 1e-6 * max(1.0, float(untouched.abs().max())))
    _check_alone(model, pieces, untouched, close)


def tolerance(logits: Tensor) -> float:
    """How far logits may differ that were computed in another order."""
    by_type = {torch.float64: 1e-6, torch.float16: 2e-2, torch.bfloat16: 1e-1}
    return by_type.get(logits.dtype, 1e-4) * max(1.0, float(logits.abs().max()))


def _distance(one: Tensor, other: Tensor) -> float:
    return float((one - other).abs().max().nan_to_num(torch.inf))


def _most(weights: Tensor, where: Tensor) -> float:
    """The largest weight at some places, which broadcast to all; NaN where one is NaN."""
    return float(weights.where(where, 0.0).amax())


def _check_shapes(sites: list[Site], pieces: PieceBatch, route: str) -> None:
    """Every layer has the same heads, and a number for each pair of positions."""
    length = pieces.mask.shape[1]
    expected = (len(pieces), sites[0].weights.shape[1], length, length)
    for site in sites:
        if tuple(site.weights.shape) != expected:
            raise VeraxError(
                f"self-check by {route}: weights of layer {site.number + 1} have the shape "
                f"{tuple(site.weights.shape)}, expected {expected} (texts, heads, pieces, pieces): "
                f"Verax knows layers with equal heads that weigh all positions; {ELSEWHERE}",
                code="model.attention-mismatch",
            )
        if not _most(site.weights, pieces.mask[:, None, :, None]) <= 1.1:
            raise VeraxError(
                f"self-check by {route}: layer {site.number + 1} has weights that are no numbers "
                "from 0 to 1: load the model in another precision (dtype=torch.float32)",
                code="model.attention-mismatch",
            )


def _check_masked(sites: list[Site], pieces: PieceBatch, route: str) -> None:
    """No real position attends to padding."""
    padding = pieces.mask[:, None, :, None] & ~pieces.mask[:, None, None, :]
    for site in sites:
        if (most := _most(site.weights, padding)) > 1e-6:
            raise VeraxError(
                f"self-check by {route}: layer {site.number + 1} puts {100 * most:.1f}% of its "
                "weight on padding, expected none: the model ignores attention_mask; "
                f"{ELSEWHERE}",
                code="model.attention-mismatch",
            )


def _check_causal(
    model: TransformerClassifier, sites: list[Site], pieces: PieceBatch, close: float
) -> None:
    """No position attends to later ones, in decoders and where a text is read from the left."""
    mask = pieces.mask
    later = torch.ones_like(mask[:, :, None] & mask[:, None]).triu(1)[:, None]
    later = later & mask[:, None, :, None]
    is_causal = not is_pair(model.module) and _reads_from_left(model, pieces, close)
    for site in sites:
        is_ordered = site.queries == site.keys and (is_causal or site.queries == "decoder")
        if is_ordered and (most := _most(site.weights, later)) > 1e-6:
            raise VeraxError(
                f"self-check by {model.route.name}: layer {site.number + 1} puts "
                f"{100 * most:.1f}% of its weight on later positions, and the model reads from "
                f"left to right, expected none: {ELSEWHERE}",
                code="model.attention-mismatch",
            )


def _reads_from_left(model: TransformerClassifier, pieces: PieceBatch, close: float) -> bool:
    """Whether other pieces in the later half of each text move no state of the earlier."""
    mask, places = pieces.mask, torch.arange(pieces.mask.shape[1], device=pieces.mask.device)
    later = mask & (places >= mask.sum(-1, keepdim=True) // 2)
    other = torch.where(later, pieces.input_ids.roll(1, -1), pieces.input_ids)
    one, two = (model.run(replace(pieces, input_ids=ids)).last for ids in (pieces.input_ids, other))
    earlier = (mask & ~later).unsqueeze(-1)
    return _distance(one.where(earlier, 0.0), two.where(earlier, 0.0)) <= close / 10


def _check_slopes(
    model: TransformerClassifier, pieces: PieceBatch, kept: list[Tensor], noise: float
) -> None:
    """∂logit/∂α is what differences give, along a random direction in some of the layers.

    noise  what rounding may do to a logit
    """
    if kept[0].dtype.itemsize < 4:
        return  # differences of half precision are noise
    random = torch.Generator().manual_seed(0)
    for number in sorted({0, len(kept) // 2, len(kept) - 1}):
        weights = kept[number]
        signs = torch.randint(0, 2, weights.shape, generator=random).to(weights) * 2 - 1
        along = signs * (weights > 0)

        def moved(step: Tensor | float, number: int = number, along: Tensor = along) -> Tensor:
            def edit(site: Site) -> Tensor | None:
                return kept[number] + step * along if site.number == number else None

            return model.run(pieces, edit).logits[:, 0].sum()

        with torch.enable_grad():
            step = torch.zeros((), device=weights.device, dtype=weights.dtype, requires_grad=True)
            (slope,) = torch.autograd.grad(moved(step), step, allow_unused=True)
        told = 0.0 if slope is None else float(slope)
        differences = []
        for size in _STEPS:
            differences.append(float(moved(size) - moved(-size)) / (2 * size))
            size_of_both = max(abs(told), abs(differences[-1]))
            if abs(told - differences[-1]) <= _FAR * size_of_both + noise / _STEPS[0]:
                break
        else:
            raise VeraxError(
                f"self-check by {model.route.name}: the gradient of a logit by the attention of "
                f"layer {number + 1} is {told:.3g}, and differences give {differences[0]:.3g}: "
                f"some of the model is not differentiable; {ELSEWHERE}",
                code="model.attention-mismatch",
            )


def _check_alone(
    model: TransformerClassifier, pieces: PieceBatch, untouched: Tensor, close: float
) -> None:
    """A text's logits do not hang on what it is batched with."""
    for row, length in enumerate(pieces.mask.sum(-1).tolist()):
        alone = PieceBatch(
            pieces.input_ids[row : row + 1, :length],
            pieces.mask[row : row + 1, :length],
            pieces.word[row : row + 1, :length],
            {name: values[row : row + 1, :length] for name, values in pieces.more.items()},
        )
        if (far := _distance(model.run(alone).logits[0], untouched[row])) > close:
            raise VeraxError(
                f"self-check: a text's logits move by {far:.1e} when it is padded in a batch, "
                f"expected at most {close:.0e}: check that config.pad_token_id is the piece that "
                "the model was trained with",
                code="model.batch-dependent",
            )
