"""The paper's claims, in our words, numbered as they come."""

from __future__ import annotations

from verax.papers.claims import Claim
from verax.papers.serrano_smith_2019 import claims_many as many
from verax.papers.serrano_smith_2019 import claims_single as single

CLAIMS: tuple[Claim, ...] = (
    Claim(
        1,
        "Erasing the most attended item moves the output more than erasing a random one for the "
        "vast majority of documents, in all models; where it moves it less, nearly always by "
        "next to nothing.",
        "section 4.1, figures 3 and 7",
        single.positive_delta_js,
    ),
    Claim(
        2,
        "Cases in which the random item moves the output more are mostly those where the two "
        "weights differ little (except for HANs on Yahoo).",
        "section 4.1, figures 4 and 8",
        single.negatives_at_small_delta_alpha,
    ),
    Claim(
        3,
        "Even where the weights differ by about 0.4 the top item often matters hardly more; only "
        "for larger differences does its effect swing up.",
        "section 4.1, figures 3 and 7",
        single.small_until_large_delta_alpha,
    ),
    Claim(
        4,
        "The less context an encoder brings in, the smaller the difference of weights at which "
        "that upswing begins.",
        "section 4.1, figures 3 and 7",
        single.upswing_by_context,
    ),
    Claim(
        5,
        "More decisions flip by the most attended item alone than by a random one alone, in nearly "
        "all models, and much more so in FLANs.",
        "section 4.2, table 2 and figure 9",
        single.top_flips_more_than_random,
    ),
    Claim(
        6,
        "For the vast majority of documents, erasing the most attended item leaves the decision "
        "as it is.",
        "section 4.2, table 2 and figure 9",
        single.top_rarely_flips,
    ),
    Claim(
        7,
        "Without an encoder, more decisions flip by the most attended or a random item than with "
        "one (except for FLANs on Yahoo).",
        "section 4.2, figure 9",
        single.more_flips_without_encoder,
    ),
    Claim(
        8,
        "With an encoder, erasing by attention flips decisions sooner than erasing at random, but "
        "clearly later than by gradient, or by attention times gradient.",
        "section 5, figures 5 and 10",
        many.attention_between_random_and_gradient,
    ),
    Claim(
        9,
        "The product often, though not always, takes slightly fewer items than the gradient, which "
        "comes close to it.",
        "section 5, figures 5 and 10",
        many.gradient_close_to_product,
    ),
    Claim(
        10,
        "The gradient's set is strictly smaller than attention's for more than half of the "
        "documents in 10 of the 16 models with an encoder.",
        "section 5.4",
        many.gradient_smaller_than_attention,
    ),
    Claim(
        11,
        "In every model with an encoder, gradient is faster than attention at least 1.6 times as "
        "often as attention is faster than gradient.",
        "section 5.4",
        many.gradient_faster_by_ratio,
    ),
    Claim(
        12,
        "Large fractions of the items have to go, most of all in FLANrnn, where some medians and "
        "lower quartiles are at or near 1.",
        "section 5, figures 5 and 10",
        many.flanrnn_needs_most,
    ),
    Claim(
        13,
        "FLANs flip much earlier with a convolution than recurrent; HANs do too, but much less so.",
        "section 5, figures 5 and 10",
        many.conv_flips_earlier,
    ),
    Claim(
        14,
        "Without an encoder the fraction that has to go is far below that of any model with one; "
        "mostly in random order, too (and most on Amazon).",
        "section 5, figures 6 and 10",
        many.fraction_plummets_without_encoder,
    ),
    Claim(
        15,
        "Without an encoder, attention is on par with gradient or better, and the product is still "
        "often the fastest.",
        "section 5, figures 6 and 10",
        many.attention_on_par_without_encoder,
    ),
    Claim(
        16,
        "Much of the attention's mass often has to go before a decision flips in its own order; "
        "by gradient or product about 0.25 less, or lower still, in most models.",
        "appendix, figure 11",
        many.mass_of_attention_is_high,
    ),
    Claim(
        17,
        "The top item by the product flips more decisions than that by attention in all models, "
        "the top one by gradient fewer in 14 of 24.",
        "appendix, figures 9, 12 and 13",
        single.top_by_other_rankings,
    ),
)
