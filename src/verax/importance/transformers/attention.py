"""Importance that the attention of a Transformer gives by itself, without a gradient."""

from __future__ import annotations

from torch import Tensor

from verax.corpora.batching import MAX_TOKENS
from verax.errors import VeraxError
from verax.importance.registry import register_importance
from verax.importance.transformers.captured import captured
from verax.importance.transformers.positions import positions_of
from verax.importance.transformers.rows import layer_head_rows
from verax.models.kinds import TRANSFORMER
from verax.models.transformers.classifier import TransformerClassifier, TransformerTrace


@register_importance(
    "attention",
    "attention weight of the position that is read; attention@3 is layer 3, attention@3.2 its "
    "head 2",
    levels=("inputs",),
    takes=("max_tokens",),
    kinds=(TRANSFORMER,),
    places=True,
)
def attention(
    model: TransformerClassifier,
    trace: TransformerTrace,
    *,
    place: tuple[int, ...] | None = None,
    max_tokens: int = MAX_TOKENS,
) -> Tensor:
    """r·A, (batch, words): what the positions that are read attend to in one layer.

    Args:
        model: a Transformer.
        trace: a pass of it.
        place: the layer, or the layer and the head, counted from 1; the last layer, unless given.
            Heads are averaged where none is named.
        max_tokens: padded tokens held at once.
    """
    layer, *head = (model.layers,) if place is None else place
    if layer > model.layers:
        raise VeraxError(
            f"attention@{layer}: the model has {model.layers} layers: choose 1 to {model.layers}",
            code="option.out-of-range",
        )
    rows = layer_head_rows(model, trace, max_tokens)
    heads = captured(model, trace, max_tokens).heads[layer - 1]
    if not head:
        return rows[:, layer - 1, :heads].mean(1)
    if head[0] > heads:
        raise VeraxError(
            f"attention@{layer}.{head[0]}: layer {layer} has {heads} heads: choose 1 to {heads}",
            code="option.out-of-range",
        )
    return rows[:, layer - 1, head[0] - 1]


@register_importance(
    "attention-mean",
    "attention weight of the position that is read, mean over layers and heads",
    levels=("inputs",),
    takes=("max_tokens",),
    kinds=(TRANSFORMER,),
)
def attention_mean(
    model: TransformerClassifier, trace: TransformerTrace, *, max_tokens: int = MAX_TOKENS
) -> Tensor:
    """The mean of r·A over all layers and their heads, (batch, words)."""
    rows = layer_head_rows(model, trace, max_tokens)
    heads = captured(model, trace, max_tokens).heads
    return sum(rows[:, layer, :many].mean(1) for layer, many in enumerate(heads)) / rows.new_tensor(
        len(heads)
    )


@register_importance(
    "rollout",
    "attention followed through all layers and residual connections (Abnar & Zuidema)",
    levels=("inputs",),
    takes=("max_tokens",),
    kinds=(TRANSFORMER,),
)
def rollout(
    model: TransformerClassifier, trace: TransformerTrace, *, max_tokens: int = MAX_TOKENS
) -> Tensor:
    """r·Π(½A_l + ½I), the last layer first, heads averaged, (batch, words) (Abnar & Zuidema 2020).

    Rows that sum to less than one, because of a sink, pass on less: the rest goes nowhere. In an
    encoder–decoder a layer acts on its own positions, cross-attention from decoder to encoder.
    """
    scores = captured(model, trace, max_tokens).rollout
    return positions_of(model, trace.pieces).sum_by_word(scores, trace.mask.shape[1])


@register_importance(
    "attention-norm",
    "length of what attention moves from the word in the last layer (Kobayashi et al.)",
    levels=("inputs",),
    takes=("max_tokens",),
    kinds=(TRANSFORMER,),
)
def attention_norm(
    model: TransformerClassifier, trace: TransformerTrace, *, max_tokens: int = MAX_TOKENS
) -> Tensor:
    """Σ_i r_i ‖Σ_h α_hij W_O^h v_hj‖₂ of the last layer, (batch, words) (Kobayashi et al. 2020).

    Of a word's pieces the largest counts. v has the bias of the values, W_O no bias.
    """
    scores = captured(model, trace, max_tokens).norm
    if scores is None:
        raise VeraxError(
            "attention-norm: the last layer's values or output projection could not be found in "
            f"{type(model.module).__name__}: choose another importance, such as attention",
            code="importance.not-applicable",
        )
    return positions_of(model, trace.pieces).max_by_word(scores, trace.mask.shape[1])
