"""Leave-one-out against deleting one word, or one item, after the other."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from captum.attr import FeatureAblation

import verax
from pairwise import pairwise
from support.internals import EncodedDocuments, Ragged, rereading
from support.internals import deletion_local as local
from support.internals import deletion_recurrent as recurrent
from verax.importance import leave_one_out, logits_without_words
from verax.models import AttentionClassifier, probabilities

Make = Callable[..., AttentionClassifier]
SENTENCES = [[3, 1, 4], [1], [2], [5, 5], [1, 1, 1, 6], [4, 7], [2]]
ENCODERS = ("bilstm", "bigru", "conv", "mlp", "none", "transformer")
MORE: tuple[dict[str, object], ...] = (
    {},
    {"projection": "sparsemax", "attention": "dot", "grounding": "concat"},
    {"attention": "dot-unscaled"},
    {"projection": "entmax", "grounding": "residual"},
    {"boundaries": False},
)
SLOTS: list[dict[str, object]] = [
    {"encoder": encoder, **more} for encoder in ENCODERS for more in MORE
]
LAYERS: list[dict[str, object]] = [
    {"encoder": encoder, "layers": 2} for encoder in ("bilstm", "bigru")
]
PAIRS = [
    (encoder, MORE[more], hierarchical, classes)
    for encoder, (more, hierarchical), classes in pairwise(
        ENCODERS, [(m, h) for m in range(len(MORE)) for h in (False, True)], (2, 3)
    )
]


def _names(slot: dict[str, object]) -> str:
    return "-".join(str(value) for value in slot.values())


def _ragged(rows: list[list[int]]) -> Ragged:
    values = np.array([value for row in rows for value in row])
    return Ragged.from_lengths(values, np.array([len(row) for row in rows]))


def _documents(
    model: AttentionClassifier, words: list[list[int]], sentences: list[list[int]]
) -> EncodedDocuments:
    hierarchical = model.options.hierarchical
    boundaries = bool(model.options.boundaries)
    tokens = [[2, *row, 3] for row in words] if boundaries else words
    return EncodedDocuments(
        _ragged(tokens),
        None,
        np.arange(len(words)),
        boundaries,
        _ragged(sentences) if hierarchical else None,
    )


def _words(seed: int = 0) -> list[list[int]]:
    random = np.random.default_rng(seed)
    return [random.integers(4, 60, sum(lengths)).tolist() for lengths in SENTENCES]


def _trace(
    model: AttentionClassifier, words: list[list[int]], sentences: list[list[int]]
) -> verax.Trace:
    documents = _documents(model, words, sentences)
    return model.trace(documents.batch(np.arange(len(words)), model.device))


def _one_by_one(model: AttentionClassifier, words: list[list[int]]) -> list[torch.Tensor]:
    """The logits without each word, each shortened text read with those of its lengths alone."""
    found = []
    for row, lengths in zip(words, SENTENCES, strict=True):
        if len(row) == 1:
            found.append(model.head.bias.detach().unsqueeze(0))
            continue
        logits, start = [], 0
        for sentence, n in enumerate(lengths):
            left = [m - (s == sentence) for s, m in enumerate(lengths)]
            rests = [row[:i] + row[i + 1 :] for i in range(start, start + n)]
            logits.append(_trace(model, rests, [[m for m in left if m]] * n).logits)
            start += n
        found.append(torch.cat(logits))
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("slot", "hierarchical", "classes"),
    [
        *(({"encoder": e, **m}, h, c) for e, m, h, c in PAIRS),
        *((slot, h, 2 + h) for slot in LAYERS for h in (False, True)),
    ],
    ids=lambda value: _names(value) if isinstance(value, dict) else str(value),
)
def test_words_are_deleted_as_one_by_one(
    make_model: Make, slot: dict[str, object], hierarchical: bool, classes: int
) -> None:
    """Every encoder with every other choice, and both with flat, hierarchical, two classes, three:
    the head's classes are not known where words are deleted."""
    if hierarchical and "boundaries" in slot:
        slot = {**slot, "sentence_encoder": "conv"}
    model = make_model(classes, hierarchical=hierarchical, **slot)
    words = _words()
    trace = _trace(model, words, SENTENCES)
    one_by_one = _one_by_one(model, words)
    for max_tokens in (16_384, 60):
        found = logits_without_words(model, trace, max_tokens)
        for row, (expected, shown) in enumerate(zip(one_by_one, trace.batch.words, strict=True)):
            torch.testing.assert_close(found[row][shown], expected.double(), rtol=1e-5, atol=2e-6)
            kept = found[row][~shown]
            torch.testing.assert_close(
                kept, trace.logits[row].expand_as(kept).double(), rtol=1e-5, atol=2e-6
            )


@pytest.mark.parametrize("slot", [*SLOTS, *LAYERS], ids=_names)
def test_the_short_way_is_taken_where_there_is_one(
    make_model: Make, slot: dict[str, object]
) -> None:
    """One layer of recurrence and a convolution have one, whatever else is chosen."""
    model = make_model(**slot)
    short = local.fits(model) or recurrent.fits(model)
    assert short == (slot["encoder"] in ("bilstm", "bigru", "conv") and "layers" not in slot)


@pytest.mark.parametrize("slot", SLOTS, ids=_names)
def test_rereading_says_the_same(make_model: Make, slot: dict[str, object]) -> None:
    model = make_model(3, **slot)
    trace = _trace(model, _words(), SENTENCES)
    found = logits_without_words(model, trace)
    with torch.no_grad():
        for rows, places, logits, _ in rereading.logits_without_words(model, trace, 500):
            here = found[rows.unsqueeze(-1), places]
            torch.testing.assert_close(here, logits.double(), rtol=1e-5, atol=2e-6)


@pytest.mark.parametrize("encoder", ["bilstm", "conv"])
def test_a_head_of_ones_own_is_called(make_model: Make, encoder: str) -> None:
    model = make_model(3, encoder=encoder)
    head = torch.nn.Sequential(torch.nn.Linear(12, 7), torch.nn.Tanh(), torch.nn.Linear(7, 3))
    model.head = head  # type: ignore[assignment]
    words = [row for row in _words() if len(row) > 1][:3]
    trace = _trace(model, words, SENTENCES)
    found = logits_without_words(model, trace)
    for row, text in enumerate(words):
        for i in range(len(text)):
            alone = _trace(model, [text[:i] + text[i + 1 :]], SENTENCES).logits[0]
            torch.testing.assert_close(found[row, i + 1], alone.double(), rtol=1e-5, atol=2e-6)


@pytest.mark.parametrize("classes", [2, 4])
def test_scores_are_what_the_decision_loses(make_model: Make, classes: int) -> None:
    model = make_model(classes)
    words = _words()
    trace = _trace(model, words, SENTENCES)
    said = probabilities(trace.logits)
    signed, absolute = leave_one_out(model, trace, signed=True), leave_one_out(model, trace)
    for row, without in enumerate(_one_by_one(model, words)):
        y = int(said[row].argmax())
        expected = said[row, y] - probabilities(without)[:, y]
        shown = trace.batch.words[row]
        torch.testing.assert_close(signed[row][shown].float(), expected, rtol=1e-3, atol=2e-7)
        assert (signed[row][~shown] == 0).all()
    assert torch.equal(absolute, signed.abs())


def test_without_an_encoder_a_word_is_what_captum_ablates(make_model: Make) -> None:
    """Ablating an item, by captum, is masking it: here word and item are the same thing."""
    model = make_model(3, encoder="none", boundaries=False)
    trace = _trace(model, [_words()[4]], SENTENCES)
    batch = trace.batch

    def forward(kept: torch.Tensor) -> torch.Tensor:
        mask = batch.mask & (kept > 0)
        weights = model.attention.weigh(trace.scores, mask)
        return probabilities(model.head((weights.unsqueeze(1) @ trace.items).squeeze(1)))

    target = int(trace.logits.argmax(-1))
    with torch.no_grad():
        expected = FeatureAblation(forward).attribute(torch.ones_like(trace.weights), target=target)
    for on in ("inputs", "items"):
        found = leave_one_out(model, trace, on, signed=True).float()
        torch.testing.assert_close(found, expected, rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize("hierarchical", [False, True])
@pytest.mark.parametrize("projection", ["softmax", "sparsemax", "entmax"])
@pytest.mark.parametrize("max_tokens", [16_384, 1])
def test_items_are_masked_and_projected_again(
    make_model: Make, hierarchical: bool, projection: str, max_tokens: int
) -> None:
    model = make_model(3, hierarchical=hierarchical, projection=projection)
    with torch.no_grad():
        model.attention.alignment.query.weight *= 300  # so that some weights are zero
    trace = _trace(model, _words(), SENTENCES)
    found = leave_one_out(model, trace, "items", signed=True, max_tokens=max_tokens)
    said = probabilities(trace.logits)
    for row, place in trace.mask.nonzero().tolist():
        mask = trace.mask[row : row + 1].clone()
        mask[0, place] = False
        weights = model.attention.weigh(trace.scores[row : row + 1], mask)
        logits = model.head(weights @ trace.items[row])
        y = int(said[row].argmax())
        expected = said[row, y] - probabilities(logits)[0, y]
        assert found[row, place].item() == pytest.approx(expected.item(), abs=2e-6)
    assert (found[~trace.mask] == 0).all()


@pytest.mark.parametrize("affine", [True, False])
def test_zeroing_and_renormalising_is_its_definition(make_model: Make, affine: bool) -> None:
    model = make_model(3, projection="sparsemax")
    with torch.no_grad():
        model.attention.alignment.query.weight *= 300
    if not affine:
        model.head = torch.nn.Sequential(  # type: ignore[assignment]
            torch.nn.Linear(12, 7), torch.nn.Tanh(), torch.nn.Linear(7, 3)
        )
    trace = _trace(model, _words(), SENTENCES)
    found = leave_one_out(model, trace, "items", weights="renormalised", signed=True)
    said = probabilities(trace.logits)
    for row, place in trace.mask.nonzero().tolist():
        weights = trace.weights[row].clone()
        weights[place] = 0
        rest = weights.sum()
        context = (weights / rest if rest > 0 else weights) @ trace.items[row]
        y = int(said[row].argmax())
        expected = said[row, y] - probabilities(model.head(context))[y]
        assert found[row, place].item() == pytest.approx(expected.item(), abs=2e-6)


def test_for_softmax_the_two_ways_are_one(make_model: Make) -> None:
    model = make_model(3)
    trace = _trace(model, _words(), SENTENCES)
    projected = leave_one_out(model, trace, "items")
    renormalised = leave_one_out(model, trace, "items", weights="renormalised")
    torch.testing.assert_close(projected, renormalised, rtol=1e-4, atol=1e-7)


def test_for_sparsemax_they_are_two(make_model: Make) -> None:
    model = make_model(3, projection="sparsemax")
    with torch.no_grad():
        model.attention.alignment.query.weight *= 30
    trace = _trace(model, _words(), SENTENCES)
    projected = leave_one_out(model, trace, "items")
    renormalised = leave_one_out(model, trace, "items", weights="renormalised")
    assert (projected - renormalised).abs().max() > 1e-4


@pytest.mark.parametrize("weights", ["projected", "renormalised"])
@pytest.mark.parametrize("projection", ["sparsemax", "sparsegen", "entmax"])
def test_an_item_without_weight_changes_nothing(
    make_model: Make, projection: str, weights: str
) -> None:
    model = make_model(3, projection=projection, lam=0.5)
    with torch.no_grad():
        model.attention.alignment.query.weight *= 300
    trace = _trace(model, _words(), SENTENCES)
    off = (trace.weights == 0) & trace.mask
    assert off.any()
    assert (leave_one_out(model, trace, "items", weights=weights)[off] == 0).all()
    # and not only because it is said to be so: the logits are those of the others alone
    for row, place in off.nonzero().tolist():
        mask = trace.mask[row : row + 1].clone()
        mask[0, place] = False
        again = model.attention.weigh(trace.scores[row : row + 1], mask)
        torch.testing.assert_close(again, trace.weights[row : row + 1])
