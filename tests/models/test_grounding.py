"""Grounding: the published formulas, by hand and by counting."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from scipy import stats

from support.internals import mask_words
from verax.functional import mlm_loss, tying_loss
from verax.models import AttentionClassifier, HashedDropout

Make = Callable[..., AttentionClassifier]


def test_concat_and_residual_change_the_states(make_model: Make) -> None:
    text = [["w1", "w2", "good0_1"]]
    base = make_model()
    for name, expected in (
        ("concat", lambda t: torch.cat([t.states, t.embedded], -1)),
        ("residual", lambda t: t.states + t.embedded),
    ):
        model = make_model(grounding=name)
        model.encoder.load_state_dict(base.encoder.state_dict())
        model.embedding.load_state_dict(base.embedding.state_dict())
        torch.testing.assert_close(model.trace(text).states, expected(base.trace(text)))


def test_tying_loss_by_hand() -> None:
    """Two words at distances (3, 4) and (0, 1): 25 + 1; the padding's distance does not count."""
    states = torch.tensor([[[3.0, 4.0], [1.0, 1.0], [99.0, 99.0]]])
    embedded = torch.tensor([[[0.0, 0.0], [1.0, 2.0], [0.0, 0.0]]])
    words = torch.tensor([[True, True, False]])
    assert tying_loss(states, embedded, words).item() == 26.0


def test_masking_rates_are_devlins() -> None:
    documents, width, size = 400, 50, 1_000
    tokens = torch.full((documents, width), 7)
    words = torch.ones_like(tokens, dtype=torch.bool)
    words[:, [0, -1]] = False
    noise = HashedDropout.of(torch.arange(documents), width, 0, 0)
    masking = mask_words(tokens, words, size, 0.15, noise)
    n, selected = int(words.sum()), int(masking.selected.sum())
    assert not masking.selected[~words].any()
    assert stats.binomtest(selected, n, 0.15).pvalue > 1e-3
    changed = (masking.tokens != tokens) & masking.selected
    for count, share in (
        (int(masking.masked.sum()), 0.8),
        (int(changed.sum()), 0.1),
        (int((masking.selected & ~masking.masked & ~changed).sum()), 0.1),
    ):
        assert stats.binomtest(count, selected, share).pvalue > 1e-3
    assert torch.equal(masking.tokens[~masking.selected], tokens[~masking.selected])
    assert not (changed & masking.masked).any()
    drawn = masking.tokens[changed]
    assert drawn.min() >= 4
    assert drawn.max() < size
    assert drawn.unique().numel() > 0.7 * len(drawn)


def test_masked_lm_scores_states_against_the_embedding_matrix() -> None:
    torch.manual_seed(0)
    states, embedding = torch.randn(3, 5), torch.randn(7, 5)
    targets = torch.tensor([4, 6, 1])
    expected = torch.zeros(())
    for state, target in zip(states, targets, strict=True):
        logits = embedding[1:] @ state
        expected -= logits[target - 1] - torch.logsumexp(logits, 0)
    torch.testing.assert_close(mlm_loss(states, targets, embedding).sum(), expected)


def test_masked_lm_adds_the_mask_vector_and_nothing_else(make_model: Make) -> None:
    names = [
        set(dict(make_model(grounding=g).named_parameters())) for g in ("none", "mlm", "tying")
    ]
    assert names[1] - names[0] == {"mask_vector"}
    assert names[2] == names[0]


@pytest.mark.parametrize(("grounding", "strength"), [("tying", 1.0), ("mlm", 0.3), ("none", 0.0)])
def test_strength_has_a_default(grounding: str, strength: float, make_model: Make) -> None:
    assert make_model(grounding=grounding).options.strength == strength
