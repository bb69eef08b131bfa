"""What the paper says, in our words; numbered as in its protocol."""

from __future__ import annotations

from verax.papers.claims import Claim
from verax.papers.tutek_snajder_2020.claims_fragility import (
    deep_encoders_are_robust,
    depth_weakens_regularisation,
    diabetes_falls_to_nothing,
    f1_stays_close,
    long_texts_are_fragile,
    masked_lm_is_more_fragile,
    residual_is_like_concat,
    tying_is_more_fragile,
)
from verax.papers.tutek_snajder_2020.claims_states import (
    default_query_gives_uniform,
    divergence_costs_more,
    neutral_tokens_carry_the_decision,
    states_keep_their_words,
    tokens_alone_say_less,
)

CLAIMS: tuple[Claim, ...] = (
    Claim(
        1,
        "Regularised models (concatenation, tying, masked LM) decide about as well as the base.",
        "table 1",
        f1_stays_close,
    ),
    Claim(
        2,
        "Tying makes a model more fragile than the base to uniform and to permuted attention, on "
        "every corpus and with either attention (20 of 20 cells).",
        "table 1",
        tying_is_more_fragile,
    ),
    Claim(
        3,
        "A masked LM makes a model more fragile than the base in three quarters of the cells "
        "(15 of 20).",
        "table 1",
        masked_lm_is_more_fragile,
    ),
    Claim(
        4,
        "The residual model is as fragile as the one with concatenation.",
        "text on table 1",
        residual_is_like_concat,
    ),
    Claim(
        5,
        "States of the residual, tied and masked-LM models tell more of their words than the "
        "base's, on every corpus and for both samples of words (10 of 10 each); the residual ones "
        "nearly all there is to tell.",
        "table 2",
        states_keep_their_words,
    ),
    Claim(
        6,
        "Under tying and the masked LM a token alone is less sure of the decision than in the base "
        "(10 of 10 cells each); in the residual model it is in some (6 of 10).",
        "table 3",
        tokens_alone_say_less,
    ),
    Claim(
        7,
        "In the base most tokens, neutral ones too, carry the decision; under tying and the masked "
        "LM neutral tokens are near a half.",
        "table 3, figures 2–7",
        neutral_tokens_carry_the_decision,
    ),
    Claim(
        8,
        "The base is more fragile on long texts than on short ones.",
        "table 1",
        long_texts_are_fragile,
    ),
    Claim(
        9,
        "The base is less fragile with every layer more, from one to three.",
        "table 6",
        deep_encoders_are_robust,
    ),
    Claim(
        10,
        "Depth takes fragility from regularised models too, but not everywhere (16 of 24 cells; "
        "not from the masked LM of three layers).",
        "table 6",
        depth_weakens_regularisation,
    ),
    Claim(
        11,
        "Under a masked LM an adversary pays more in output (TVD) for the same divergence of "
        "attention (JSD) than against the base.",
        "figure 1",
        divergence_costs_more,
    ),
    Claim(
        12,
        "Dot attention becomes uniform if its query begins as PyTorch has it, and does not if it "
        "is drawn from N(0, 1).",
        "appendix C",
        default_query_gives_uniform,
    ),
    Claim(
        13,
        "On Diabetes F1 falls to 0 under any other attention.",
        "text on table 1",
        diabetes_falls_to_nothing,
    ),
)
