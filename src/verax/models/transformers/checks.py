"""What must hold before a Transformer is examined: its readout is found, its attention verified."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from verax.errors import VeraxError, foreign_code
from verax.external.pieces import PieceBatch
from verax.models.transformers.classifier import (
    FIRST,
    LAST,
    MEAN,
    TransformerClassifier,
    readout_rows,
)
from verax.models.transformers.hooks import AttentionCall, AttentionHook, hooks_of, is_pair

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


# readout


def find_readout(model: TransformerClassifier, pieces: PieceBatch) -> str:
    """Which positions of the last states move the logits: first, last or mean.

    Args:
        model: a classifier; its readout is not believed.
        pieces: some texts of more than two pieces, of different lengths.
    """
    with torch.enable_grad():
        embedded = model.embed(pieces).detach().requires_grad_()
        done = model.run(pieces, embedded=embedded)
        # other factors for every class: logits that sum to a constant would not move
        factors = torch.arange(1, done.logits.shape[-1] + 1, device=done.logits.device)
        (slopes,) = torch.autograd.grad((done.logits * factors).sum(), done.last)
    moving = slopes.float().abs().sum(-1)
    for readout in (FIRST, LAST):
        if torch.equal(moving > 0, readout_rows(readout, pieces) > 0):
            return readout
    if bool((moving > 0)[~pieces.mask].any()):
        raise VeraxError(
            "the classifier reads padding: a text's logits hang on what it is batched with; give "
            "its probabilities, one text at a time, to verax.from_predict",
            code="model.batch-dependent",
        )
    read = f"positions {(moving > 0).any(0).nonzero().flatten().tolist() or 'none'}"
    if torch.equal(moving > 0, pieces.mask):
        mean = moving.sum(-1, keepdim=True) / pieces.mask.sum(-1, keepdim=True)
        if bool(((moving / mean - 1).abs() < 0.01)[pieces.mask].all()):
            return MEAN
        read = "all positions, but not their mean"
    raise VeraxError(
        f"the classifier reads {read} of its last states: Verax supports the readouts first, last "
        "and mean; give its probabilities to verax.from_predict",
        code="model.unsupported-readout",
    )


def check_readout(model: TransformerClassifier, pieces: PieceBatch, readout: str) -> None:
    """Refuse a readout that contradicts the model."""
    found = find_readout(model, pieces)
    if found != readout:
        raise VeraxError(
            f"readout is {readout!r}, and the logits of this model hang on {found!r} alone: give "
            f"readout={found!r}, or leave it out",
            code="option.conflict",
        )


# attention


@dataclass(frozen=True, eq=False)
class Probe:
    """Passes over a few texts, untouched and with their attention captured by a hook."""

    model: TransformerClassifier
    pieces: PieceBatch
    untouched: Tensor
    captured: Tensor
    calls: list[AttentionCall]

    @cached_property
    def kept(self) -> list[Tensor]:
        """The captured weights of each layer."""
        return [call.weights.clone() for call in self.calls]

    @property
    def close(self) -> float:
        """How far logits may differ that were computed in another order."""
        return tolerance(self.untouched)


@dataclass(frozen=True)
class Check:
    """Something to measure, in each layer or once, that may not exceed a tolerance.

    name       what is measured
    measure    of a probe: a number for each layer, or one
    tolerance  the most that is accepted; None: what is rounding for logits
    remedy     what to do about it
    code       of the error
    of_layers  whether there is a number for each layer
    """

    name: str
    measure: Callable[[Probe], Iterator[float]]
    tolerance: float | None
    remedy: str
    code: str = "model.attention-mismatch"
    of_layers: bool = True


def choose_hook(model: TransformerClassifier, pieces: PieceBatch) -> None:
    """Give a model the first hook into its attention that passes the self-check.

    Raises:
        VeraxError: of the first hook that showed attention, where none passes.
    """
    failures: list[VeraxError] = []
    for hook in hooks_of(model.module):
        try:
            return self_check(model, hook, pieces)
        except VeraxError as error:
            failures.append(error)
    raise min(failures, key=lambda error: error.code == "model.no-attention")


@torch.no_grad()
def self_check(model: TransformerClassifier, hook: AttentionHook, pieces: PieceBatch) -> None:
    """Check that what a hook shows is the model's own attention, and that edits of it count.

    Args:
        model: gets the hook, and how many layers and heads there are.
        hook: gives access to its attention.
        pieces: of texts of different lengths.

    Raises:
        VeraxError: where a check fails: one line that says which, and what to do.
    """
    model.hook, model.layers = hook, 0
    untouched = model.run(pieces).logits
    calls: list[AttentionCall] = []
    captured = model.run(pieces, calls.append).logits
    if not calls:
        raise VeraxError(
            f"no attention of {type(model.module).__name__} can be captured (it has none, or hides "
            f"it in a kernel): load it with attn_implementation='eager', or {ELSEWHERE}",
            code="model.no-attention",
        )
    model.layers, model.heads = len(calls), calls[0].weights.shape[1]
    probe = Probe(model, pieces, untouched, captured, calls)
    for check in CHECKS:
        most = probe.close if check.tolerance is None else check.tolerance
        for number, value in enumerate(check.measure(probe)):
            if not value <= most:
                layer = f" in layer {number + 1}" if check.of_layers else ""
                raise VeraxError(
                    f"self-check by {hook.name}: {check.name} is {value:.2g}{layer}, expected at "
                    f"most {most:.2g}: {check.remedy}",
                    code=check.code,
                )


def tolerance(values: Tensor) -> float:
    """How far logits or states may differ that were computed in another order."""
    by_type = {torch.float64: 1e-6, torch.float16: 2e-2, torch.bfloat16: 1e-1}
    return by_type.get(values.dtype, 1e-4) * max(1.0, float(values.abs().max()))


def _distance(one: Tensor, other: Tensor) -> float:
    return float((one - other).abs().max().nan_to_num(torch.inf))


def _most(weights: Tensor, where: Tensor) -> float:
    """The largest weight at some places, which broadcast to all; NaN where one is NaN."""
    return float(weights.where(where, 0.0).amax())


def _other_sizes(probe: Probe) -> Iterator[float]:
    length, heads = probe.pieces.mask.shape[1], probe.model.heads
    expected = (len(probe.pieces), heads, length, length)
    for call in probe.calls:
        yield float(tuple(call.weights.shape) != expected)


def _largest(probe: Probe) -> Iterator[float]:
    for call in probe.calls:
        yield _most(call.weights, probe.pieces.mask[:, None, :, None])


def _on_padding(probe: Probe) -> Iterator[float]:
    mask = probe.pieces.mask
    for call in probe.calls:
        yield _most(call.weights, mask[:, None, :, None] & ~mask[:, None, None, :])


def _on_later(probe: Probe) -> Iterator[float]:
    """In decoders, and where a text is read from the left; 0 elsewhere."""
    mask = probe.pieces.mask
    later = torch.ones_like(mask[:, :, None] & mask[:, None]).triu(1)[:, None]
    later = later & mask[:, None, :, None]
    is_causal = not is_pair(probe.model.module) and _reads_from_left(probe)
    for call in probe.calls:
        is_ordered = call.queries == call.keys and (is_causal or call.queries == "decoder")
        yield _most(call.weights, later) if is_ordered else 0.0


def _reads_from_left(probe: Probe) -> bool:
    """Whether other pieces in the later half of each text move no state of the earlier."""
    mask, ids = probe.pieces.mask, probe.pieces.input_ids
    places = torch.arange(mask.shape[1], device=mask.device)
    later = mask & (places >= mask.sum(-1, keepdim=True) // 2)
    other = torch.where(later, ids.roll(1, -1), ids)
    one, two = (
        probe.model.run(replace(probe.pieces, input_ids=some)).last for some in (ids, other)
    )
    earlier = (mask & ~later).unsqueeze(-1)
    return _distance(one.where(earlier, 0.0), two.where(earlier, 0.0)) <= tolerance(one) / 10


def _by_capturing(probe: Probe) -> Iterator[float]:
    yield _distance(probe.captured, probe.untouched)


def _by_putting_back(probe: Probe) -> Iterator[float]:
    replayed = probe.model.run(probe.pieces, lambda call: probe.kept[call.number]).logits
    yield _distance(replayed, probe.captured)


def _by_gradient(probe: Probe) -> Iterator[float]:
    """|∂logit/∂α − difference| ÷ the larger, along a random direction, in some of the layers."""
    kept, pieces = probe.kept, probe.pieces
    # what rounding may do to a difference
    noise = 1e-6 * max(1.0, float(probe.untouched.abs().max())) / _STEPS[0]
    random = torch.Generator().manual_seed(0)
    for number, weights in enumerate(kept):
        # differences of half precision are noise
        if number not in (0, len(kept) // 2, len(kept) - 1) or weights.dtype.itemsize < 4:
            yield 0.0
            continue
        signs = torch.randint(0, 2, weights.shape, generator=random).to(weights) * 2 - 1
        along = signs * (weights > 0)

        def moved(step: Tensor | float, number: int = number, along: Tensor = along) -> Tensor:
            def edit(call: AttentionCall) -> Tensor | None:
                return kept[number] + step * along if call.number == number else None

            return probe.model.run(pieces, edit).logits[:, 0].sum()

        with torch.enable_grad():
            step = torch.zeros((), device=weights.device, dtype=weights.dtype, requires_grad=True)
            logit, slope = moved(step), None
            if logit.requires_grad:
                (slope,) = torch.autograd.grad(logit, step, allow_unused=True)
        told, least = 0.0 if slope is None else float(slope), torch.inf
        for size in _STEPS:
            difference = float(moved(size) - moved(-size)) / (2 * size)
            error = abs(told - difference) - noise
            # where this is NaN, `least` stays
            least = min(least, 0.0 if error <= 0 else error / max(abs(told), abs(difference)))
            if least <= _FAR:
                break
        yield least


def _alone(probe: Probe) -> Iterator[float]:
    pieces, most = probe.pieces, 0.0
    for row, length in enumerate(pieces.mask.sum(-1).tolist()):
        text = pieces.take(torch.tensor([row], device=pieces.mask.device), width=length)
        most = max(most, _distance(probe.model.run(text).logits[0], probe.untouched[row]))
    yield most


CHECKS = (
    Check(
        "the number of weights that have another shape than (texts, heads, pieces, pieces)",
        _other_sizes,
        0.0,
        f"Verax supports layers with equal heads that weigh all positions; {ELSEWHERE}",
    ),
    Check(
        "the largest weight",
        _largest,
        1.1,
        "load the model in another precision (dtype=torch.float32)",
    ),
    Check(
        "the largest weight on padding",
        _on_padding,
        1e-6,
        f"the model ignores attention_mask; {ELSEWHERE}",
    ),
    Check(
        "the largest weight on later positions of a model that reads from left to right",
        _on_later,
        1e-6,
        ELSEWHERE,
    ),
    Check(
        "the change of logits when attention is captured",
        _by_capturing,
        None,
        f"the model attends in another way than it shows; {ELSEWHERE}",
        of_layers=False,
    ),
    Check(
        "the change of logits when captured weights are put back",
        _by_putting_back,
        None,
        ELSEWHERE,
        of_layers=False,
    ),
    Check(
        "the relative error of the gradient of a logit by attention, against differences,",
        _by_gradient,
        _FAR,
        f"some of the model is not differentiable; {ELSEWHERE}",
    ),
    Check(
        "the change of logits when a text is padded in a batch",
        _alone,
        None,
        "check that config.pad_token_id is the piece that the model was trained with",
        "model.batch-dependent",
        of_layers=False,
    ),
)
"""In this order: later checks take for granted what earlier ones found."""
