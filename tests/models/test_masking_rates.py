"""Tying word by word, and masking on real batches: which words, how often, and who reads what.

Both losses by hand stand in `test_grounding`, their places in the objective in `test_objective`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from torch import Tensor
from torch.nn import functional

import verax
from support.documents import tokens_of
from support.internals import (
    PRIVATE_DROP_EMBEDDED,
    PRIVATE_MASKING,
    EncodedDocuments,
    Masking,
    Objective,
)
from verax.corpora import EOS, PAD, SOS, SPECIALS, UNK, Batch
from verax.functional import tying_loss
from verax.models import AttentionClassifier

Make = Callable[..., AttentionClassifier]
Encode = Callable[[AttentionClassifier], EncodedDocuments]
LEVELS = [{"hierarchical": False}, {"hierarchical": True}]


# -- tying


@pytest.mark.slow
@given(
    st.integers(1, 4).flatmap(
        lambda width: st.lists(
            st.lists(st.booleans(), min_size=width, max_size=width), min_size=1, max_size=4
        )
    ),
    st.integers(1, 5),
)
def test_tying_loss_is_a_sum_over_words(rows: list[list[bool]], size: int) -> None:
    """And moves both a word's state and its vector, but nothing of what is no word."""
    words = torch.tensor(rows)
    random = torch.Generator().manual_seed(size)
    states, embedded = (
        torch.randn(*words.shape, size, generator=random, dtype=torch.float64, requires_grad=True)
        for _ in range(2)
    )
    found = tying_loss(states, embedded, words)
    expected = 0.0
    for row, place in np.argwhere(words.numpy()):
        for h, e in zip(states[row, place].tolist(), embedded[row, place].tolist(), strict=True):
            expected += (h - e) ** 2
    assert found.item() == pytest.approx(expected)
    found.backward()
    assert states.grad is not None
    assert embedded.grad is not None
    slope = 2 * (states - embedded).detach() * words.unsqueeze(-1)
    torch.testing.assert_close(states.grad, slope)
    torch.testing.assert_close(embedded.grad, -slope)


@pytest.mark.slow
@pytest.mark.parametrize("level", LEVELS, ids=str)
def test_tying_in_the_objective_is_the_mean_over_the_words_of_the_texts(
    make_model: Make, planted: verax.Corpus, encoded: Encode, level: dict[str, bool]
) -> None:
    """Each text read alone, so that there is no padding to go wrong; also cut into pieces."""
    model = make_model(grounding="tying", strength=3.0, **level)
    plain = make_model(**level)
    plain.load_state_dict(model.state_dict())
    rows = np.arange(9)
    distances = []
    for text in tokens_of(planted.train.take(rows)):
        trace = model.trace([text])
        first = 0 if level["hierarchical"] else 1
        for place in range(first, first + len(text)):
            difference = trace.states[0, place] - trace.embedded[0, place]
            distances.append(difference.square().sum().item())
    for cut in ([rows], [rows[:4], rows[4:5], rows[5:]]):
        losses = []
        for m in (model, plain):
            batches = [encoded(m).batch(piece, m.device) for piece in cut]
            objective = Objective(m, None, 0)
            counts = objective.counts(batches, 0)
            losses.append(sum(objective(batch, 0, counts).item() for batch in batches))
        assert losses[0] - losses[1] == pytest.approx(3.0 * np.mean(distances), rel=1e-4)


# -- masking


def masked(
    model: AttentionClassifier, documents: EncodedDocuments, steps: int, rows: np.ndarray
) -> list[tuple[Batch, Masking]]:
    """What is masked of some documents in so many steps of training."""
    batch = documents.batch(rows, model.device)
    objective = Objective(model, None, 0)
    mask = getattr(objective, PRIVATE_MASKING)
    return [(batch, mask(batch, objective.noise(batch, s))) for s in range(steps)]


def together(parts: list[Tensor]) -> Tensor:
    return torch.cat([part.flatten() for part in parts])


@pytest.mark.parametrize("level", LEVELS, ids=str)
def test_boundaries_and_padding_are_never_touched(
    make_model: Make, encoded: Encode, level: dict[str, bool]
) -> None:
    """Even where nearly every word is masked."""
    model = make_model(grounding="mlm", mask_probability=0.999, **level)
    for batch, masking in masked(model, encoded(model), 5, np.arange(40)):
        specials = torch.isin(batch.tokens, torch.tensor([PAD, SOS, EOS]))
        assert specials.any()
        assert not masking.selected[specials].any()
        assert not masking.masked[specials].any()
        assert masking.tokens[specials].equal(batch.tokens[specials])
        assert masking.selected[~specials].double().mean() > 0.98


@pytest.mark.parametrize("level", LEVELS, ids=str)
def test_a_share_of_words_is_selected_and_dealt_with_as_devlin_has_it(
    make_model: Make, encoded: Encode, level: dict[str, bool]
) -> None:
    """15% by default; of these 80% masked, 10% another word, 10% as they are."""
    model = make_model(grounding="mlm", **level)
    parts = masked(model, encoded(model), 10, np.arange(200))
    words = together([batch.words for batch, _ in parts])
    selected = together([m.selected for _, m in parts])
    n = int(words.sum())
    assert stats.binomtest(int(selected.sum()), n, 0.15).pvalue > 1e-3
    hidden = together([m.masked for _, m in parts])
    new = together([m.tokens for _, m in parts])
    old = together([batch.tokens for batch, _ in parts])
    changed = new != old
    assert not (changed & ~selected).any()
    assert not (hidden & ~selected).any()
    assert not (hidden & changed).any()
    counts = [int(x.sum()) for x in (hidden, changed, selected & ~hidden & ~changed)]
    total = sum(counts)
    assert total == selected.sum()
    # a random word may be the very word that stood there
    frequency = np.bincount(old[selected], minlength=len(model.vocabulary)) / total
    same = frequency[len(SPECIALS) :].sum() / (len(model.vocabulary) - len(SPECIALS))
    expected = [0.8, 0.1 * (1 - same), 0.1 * (1 + same)]
    assert stats.chisquare(counts, np.array(expected) * total).pvalue > 1e-3


@pytest.mark.parametrize("share", [0.05, 0.5])
def test_another_share_may_be_asked_for(make_model: Make, encoded: Encode, share: float) -> None:
    model = make_model(grounding="mlm", mask_probability=share)
    parts = masked(model, encoded(model), 4, np.arange(200))
    selected, words = (
        int(together(x).sum())
        for x in ([m.selected for _, m in parts], [b.words for b, _ in parts])
    )
    assert stats.binomtest(selected, words, share).pvalue > 1e-3


def test_every_place_is_as_likely_and_every_word_drawn(make_model: Make, encoded: Encode) -> None:
    """Selection by place in the text; random words from the vocabulary without its specials."""
    model = make_model(grounding="mlm", mask_probability=0.5)
    parts = masked(model, encoded(model), 120, np.arange(200))
    selected = torch.stack([m.selected for _, m in parts]).sum((0, 1))
    there = torch.stack([batch.words for batch, _ in parts]).sum((0, 1))
    often = there > 1000
    excess = (selected - 0.5 * there)[often] / (0.25 * there[often]).sqrt()
    assert excess.abs().max() < 4
    # words that were changed, whatever they had been; these may not draw themselves
    drawn = together([m.tokens[(m.tokens != batch.tokens)] for batch, m in parts])
    assert drawn.min() >= len(SPECIALS)
    assert drawn.max() < len(model.vocabulary)
    rare = np.bincount(parts[0][0].tokens.flatten(), minlength=len(model.vocabulary)) < 5
    rare[: len(SPECIALS)] = False
    counts = np.bincount(drawn, minlength=len(model.vocabulary))[rare]
    assert counts.sum() > 5 * rare.sum()
    assert stats.chisquare(counts).pvalue > 1e-3


def test_fates_and_choices_are_not_related(make_model: Make, encoded: Encode) -> None:
    """Neither from word to word of a text nor from step to step."""
    model = make_model(grounding="mlm", mask_probability=0.5)
    parts = masked(model, encoded(model), 12, np.arange(200))
    words = parts[0][0].words
    signs = torch.stack([2 * m.selected.double() - 1 for _, m in parts])
    pairs = {
        "steps": (signs[:-1], signs[1:], words.expand(len(parts) - 1, -1, -1)),
        "places": (
            signs[..., :-1],
            signs[..., 1:],
            (words[:, :-1] & words[:, 1:]).expand(12, -1, -1),
        ),
    }
    for left, right, both in pairs.values():
        assert abs((left * right)[both].mean()) < 4 / int(both.sum()) ** 0.5


def test_an_unknown_word_is_a_word_and_may_be_selected(make_model: Make) -> None:
    model = make_model(grounding="mlm", mask_probability=0.5)
    documents = model.encode([["never", "heard", "of"] * 30])
    ((batch, masking),) = masked(model, documents, 1, np.array([0]))
    assert (batch.tokens[0, 1:-1] == UNK).all()
    assert 20 < masking.selected.sum() < 70


def test_masks_are_the_same_however_a_batch_is_cut(make_model: Make, encoded: Encode) -> None:
    model = make_model(grounding="mlm", mask_probability=0.4)
    documents = encoded(model)
    rows = np.array([3, 50, 7, 120])
    ((whole, expected),) = masked(model, documents, 1, rows)
    for place, row in enumerate(rows):
        ((alone, found),) = masked(model, documents, 1, np.array([row]))
        width = alone.tokens.shape[1]
        assert width <= whole.tokens.shape[1]
        for name in ("selected", "masked", "tokens"):
            assert getattr(found, name)[0].equal(getattr(expected, name)[place, :width])


# -- who reads what


@pytest.mark.parametrize("level", LEVELS, ids=str)
def test_classes_are_decided_from_the_clean_text_and_words_from_the_corrupted_one(
    make_model: Make, encoded: Encode, level: dict[str, bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The vectors that enter the encoder: as they are the first time, corrupted the second."""
    model = make_model(grounding="mlm", strength=0.7, mask_probability=0.4, **level)
    batch = encoded(model).batch(np.arange(9), model.device)
    objective = Objective(model, None, 0)
    masking = getattr(objective, PRIVATE_MASKING)(batch, objective.noise(batch, 5))
    entered: list[Tensor] = []
    drop = getattr(model, PRIVATE_DROP_EMBEDDED)

    def watch(embedded: Tensor, noise: object) -> Tensor:
        entered.append(embedded.detach().clone())
        return drop(embedded, noise)  # type: ignore[arg-type]

    monkeypatch.setattr(model, PRIVATE_DROP_EMBEDDED, watch)
    loss = objective(batch, 5, objective.counts([batch], 5))
    clean, corrupted = entered
    table = model.embedding.weight.detach()
    assert clean.equal(table[batch.tokens])
    assert model.mask_vector is not None
    for row, place in itertools.product(*map(range, batch.tokens.shape)):
        expected = table[masking.tokens[row, place]]
        if masking.masked[row, place]:
            expected = model.mask_vector.detach()
        assert corrupted[row, place].equal(expected)
    assert not corrupted.equal(clean)
    # all that the classes cost is what a model without a masked LM would pay
    plain = make_model(**level)
    plain.load_state_dict({n: v for n, v in model.state_dict().items() if n != "mask_vector"})
    labels = batch.labels
    assert labels is not None
    classes = functional.binary_cross_entropy_with_logits(plain(batch).logits[:, 0], labels.float())
    states = model.encode_words(batch, corrupted)
    scores = (states @ table.T)[masking.selected][:, 1:]
    words = functional.cross_entropy(scores, batch.tokens[masking.selected] - 1)
    torch.testing.assert_close(loss, classes + 0.7 * words, rtol=1e-4, atol=1e-5)


def test_a_batch_in_which_nothing_is_selected_has_no_words_to_predict(make_model: Make) -> None:
    model, plain = make_model(grounding="mlm", mask_probability=1e-7), make_model()
    plain.load_state_dict({n: v for n, v in model.state_dict().items() if n != "mask_vector"})
    losses = []
    for m in (model, plain):
        documents = m.encode([["w1", "w2"], ["w3"]])
        batch = documents.batch(np.arange(2), m.device)
        batch = Batch(**{**batch.__dict__, "labels": torch.tensor([0, 1])})
        objective = Objective(m, None, 0)
        loss = objective(batch, 0, objective.counts([batch], 0))
        loss.backward()
        losses.append(loss.item())
    assert losses[0] == pytest.approx(losses[1])
