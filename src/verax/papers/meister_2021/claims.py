"""What the paper claims, each with how to tell."""

from __future__ import annotations

from verax.papers.claims import Claim
from verax.papers.meister_2021 import agreement, entropy, opposed

CLAIMS: tuple[Claim, ...] = (
    Claim(
        1,
        "Attention agrees notably more with gradients of items than with those of inputs, in every "
        "model; so it does with leave-one-out.",
        "Figures 1 and 4",
        agreement.items_before_inputs,
    ),
    Claim(
        2,
        "An item is moved by many inputs: the entropy of their influence on it is high throughout.",
        "Table 1",
        entropy.high_on_items,
    ),
    Claim(
        3,
        "Sparsemax changes that entropy little.",
        "Table 1",
        entropy.little_changed_on_items,
    ),
    Claim(
        4,
        "The output, too, is moved by many inputs, whatever the projection, and by no fewer under "
        "sparse attention.",
        "Figure 2",
        entropy.high_on_output,
    ),
    Claim(
        5,
        "The correlation of λ with the entropy of gradients over inputs is negative for every "
        "corpus and model.",
        "Table 2",
        entropy.falls_with_lam,
    ),
    Claim(
        6,
        "The larger λ is, the less attention agrees with gradients and leave-one-out of inputs "
        "(IMDb).",
        "Figure 3",
        agreement.falls_with_lam,
    ),
    Claim(
        7,
        "Other attention put on a finished model costs accuracy; a model trained to attend "
        "elsewhere loses none.",
        "Appendix C",
        opposed.post_hoc_costs_trained_does_not,
    ),
    Claim(
        8,
        "Sparsity does not make attention a better explanation by inputs, and may make it a worse "
        "one.",
        "Conclusion",
        agreement.no_better_explanation,
    ),
)
