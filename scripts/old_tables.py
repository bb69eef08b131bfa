"""Rows and columns of summaries of format 1: the labels they had, and their ids now."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping


class UnknownLabelError(ValueError):
    """A label that no rule knows."""


Rule = Callable[[str], str | None]
"""A label → its id; None where the rule does not know it."""


def exact(names: Mapping[str, str]) -> Rule:
    """A rule for labels that are listed."""
    return lambda label: names.get(label)


def pattern(expression: str, made: str) -> Rule:
    """A rule for labels that match; `made` is the id, with the groups of the expression."""
    compiled = re.compile(expression)

    def rule(label: str) -> str | None:
        found = compiled.fullmatch(label)
        return None if found is None else found.expand(made)

    return rule


NAME = r"([a-z0-9][\w-]*)"
"""An importance's name."""
NUMBER = r"(-?[0-9.]+(?:e-?[0-9]+)?)"
_RANGE = r"([0-9.]+)–([0-9.]+)"

_ITEMS = {
    "documents": "documents",
    "accuracy": "accuracy",
    "items of a document": "items",
    "of these in the support": "support",
    "share in the support": "support_share",
}
_RANKINGS = [pattern(r"random \(\d+ draws\)", "random@all"), pattern(NAME, r"\1")]
_DRAWN = [pattern(rf"{NAME} \(authors' rule\)", r"\1@authors"), pattern(NAME, r"\1")]
_BINS = [pattern(r"Δα ([0-9.]+) to ([0-9.]+)", r"\1-\2")]
_PAIRS = [pattern(rf"(inputs|items): {NAME} : {NAME}(?: \(attention itself\))?", r"\1:\2:\3")]
_WORDS = [exact({"frequent words": "frequent", "sampled words": "sampled"})]
_EPSILONS = [pattern(rf"ε = {NUMBER}", r"epsilon=\1"), exact({"any output": "any_output"})]

ROWS: Mapping[str, list[Rule]] = {
    "erasure.documents": [
        exact(
            {
                **{name: name for name in ("accuracy", "documents", "examined")},
                "set aside: one item": "one_item",
                "no ranking flips it": "no_ranking_flips",
                "no erasure flips it": "no_erasure_flips",
                "no erasure was found to flip it": "no_erasure_flips",
                "flips only when all weight is erased": "all_weight_needed",
                "a tie, before or after the minimal erasure": "tied",
                "decision differs in double precision": "decision_differs",
                "minimal set searched for, not certified": "not_certified",
            }
        )
    ],
    "erasure.contingency": _DRAWN,
    "erasure.delta_js": _DRAWN,
    "erasure.negative_delta_js": _BINS,
    "erasure.delta_js_by_alpha": _BINS,
    "erasure.fraction": _RANKINGS,
    "erasure.mass": _RANKINGS,
    "erasure.excess": _RANKINGS,
    "erasure.pairs": [pattern(rf"{NAME} : {NAME}", r"\1:\2")],
    "agreement.documents": [exact(_ITEMS)],
    "agreement": _PAIRS,
    "agreement.on_support": _PAIRS,
    "dispersion.documents": [exact(_ITEMS)],
    "dispersion.entropy": [
        exact(
            {
                "attention, over items": "attention",
                "gradient, of inputs on an item's magnitude": "influence@norm",
                "gradient, of inputs on an item": "influence@frobenius",
            }
        ),
        pattern(rf"{NAME}, of inputs on the output", r"\1"),
    ],
    "replacement.documents": [
        exact(
            {
                "documents": "documents",
                "of one item, which no attention can change": "one_item",
                "decision differs from the model's own, in single precision": "decision_differs",
            }
        )
    ],
    "replacement": [
        exact({"trained": "trained", "uniform": "uniform"}),
        pattern(r"permuted \(\d+ draws?\)", "permuted"),
    ],
    "information": _WORDS,
    "information.word_vectors": _WORDS,
    "single_token": [
        exact({"correct decisions": "correct", "wrong decisions": "wrong", "all decisions": "all"})
    ],
    "adversary.documents": [
        exact(
            {
                "documents": "documents",
                "accuracy": "accuracy",
                "left out: of one item, which no attention can change": "one_item",
            }
        )
    ],
    "adversary": _EPSILONS,
    "adversary.search": _EPSILONS,
    "adversary.groups": [
        exact({"all": "all"}),
        pattern(rf"max α {_RANGE}", r"max_weight=\1-\2"),
        pattern(r"class (\d+)", r"class=\1"),
        pattern(rf"class (\d+), max α {_RANGE}", r"class=\1,max_weight=\2-\3"),
    ],
    "adversaries": [pattern(rf"λ = {NUMBER}", r"lambda=\1")],
    "adversaries.chosen": [exact({"chosen": "chosen"})],
    "adversaries.seeds": [pattern(r"seed (\d+)", r"seed=\1"), exact({"mean": "mean"})],
    "adversaries.controls": [
        exact(
            {
                "base": "base",
                "uniform": "uniform",
                "mlp, uniform": "mlp-uniform",
                "mlp, own": "mlp-own",
                "mlp, guided by base": "mlp-guided-by-base",
                "mlp, guided by adversary": "mlp-guided-by-adversary",
            }
        )
    ],
}
"""Table, by its id → rules for the labels of its rows."""

_COUNTED = ("erasure", "agreement", "dispersion", "replacement", "adversary")
_KEPT = {name: name for name in ("min", "q1", "median", "q3", "max", "mean", "sd", "documents")}
_VALUE = {"value": "value"}
_OUT = {
    "out: one position": "out_one_position",
    "out: first constant": "out_first_constant",
    "out: second constant": "out_second_constant",
    "out: not a number": "out_not_a_number",
    "out: all zero": "out_all_zero",
    "items out: all zero": "items_out_all_zero",
    "items out: not a number": "items_out_not_a_number",
}
_BOX = {
    **_KEPT,
    "above ½": "above_half",
    "flips": "flips",
    "never flips": "never_flips",
    "common mean": "common_mean",
    "whisker low": "whisker_low",
    "whisker high": "whisker_high",
}
_AGREEMENT = {
    **_KEPT,
    **_OUT,
    "τ-b": "tau",
    "p ≤ 0.05": "significant",
    "spearman": "spearman",
    "overlap": "overlap",
}
_SCORES = {"F1": "f1", "macro F1": "macro_f1", "accuracy": "accuracy", "TVD": "tvd"}
_OPPOSED = {**_SCORES, "JSD": "jsd", "same": "same"}
_OPPOSED |= {f"validation {label}": f"validation_{name}" for label, name in _OPPOSED.items()}

COLUMNS: Mapping[str, list[Rule]] = {
    **{f"{exam}.documents": [exact(_VALUE)] for exam in _COUNTED},
    "erasure.contingency": [
        exact(
            {
                "both": "both",
                "only top": "top_only",
                "only random": "random_only",
                "neither": "neither",
            }
        )
    ],
    "erasure.delta_js": [
        exact(
            {
                **_KEPT,
                "negative": "negative_share",
                "mean Δα": "mean_delta_alpha",
                "negative, near 0": "negative_near_zero_share",
            }
        )
    ],
    "erasure.negative_delta_js": [
        exact({"documents": "documents", "negative": "negative", "share": "negative_share"})
    ],
    "erasure.delta_js_by_alpha": [exact({**_KEPT, "near 0": "near_zero_share"})],
    "erasure.fraction": [exact(_BOX)],
    "erasure.mass": [exact(_BOX)],
    "erasure.excess": [
        exact(
            {
                **_KEPT,
                "mean ratio": "mean_ratio",
                "median ratio": "median_ratio",
                "optimal": "optimal",
                "never, though possible": "never_though_possible",
                "optimal where part is enough": "optimal_in_part",
                "more than random": "beyond_random",
            }
        )
    ],
    "erasure.pairs": [
        exact(
            {
                **{name: name for name in ("fewer", "same", "more")},
                "fewer, of flips": "fewer_of_flips",
                "fewer, of all": "fewer_of_all",
                "more, of flips": "more_of_flips",
                "more, of all": "more_of_all",
            }
        )
    ],
    "agreement": [exact(_AGREEMENT)],
    "agreement.on_support": [exact(_AGREEMENT)],
    "dispersion.entropy": [
        exact({**_KEPT, **_OUT, "at SOS and EOS": "boundaries", "pooled sd": "pooled_sd"})
    ],
    "replacement": [
        exact(
            {
                **_SCORES,
                "Δ F1": "delta_f1",
                "Δ macro F1": "delta_macro_f1",
                "Δ accuracy": "delta_accuracy",
                "decisions that survive": "survival",
            }
        )
    ],
    "information": [
        exact(
            {
                "information": "information",
                "entropy of words": "word_entropy",
                "of shuffled labels": "shuffled",
                "less that": "above_shuffled",
                "kept": "retained",
                **{name: name for name in ("words", "occurrences", "clusters")},
            }
        )
    ],
    "information.word_vectors": [
        exact({"‖e‖": "norm_embedding", "‖h‖": "norm_state", "‖h − e‖² / ‖e‖²": "distance"})
    ],
    "single_token": [
        exact(
            {
                **_KEPT,
                "a token alone": "mean_probability",
                "pooled over tokens": "pooled_probability",
                "confidence": "confidence",
                "tokens that agree": "agreeing",
                "least": "least",
                "most": "most",
            }
        )
    ],
    "adversary": [
        exact(
            {
                **_KEPT,
                "JSD": "jsd",
                "JSD > 0.5": "far",
                "held back": "constraint_cost",
                "|Δp|": "change",
                "decisions kept": "decisions_kept",
                "accuracy": "accuracy",
                "Δ accuracy": "delta_accuracy",
                "certified": "certified",
                "at most": "upper_bound",
            }
        )
    ],
    "adversary.search": [
        exact(
            {
                **_KEPT,
                "JSD": "jsd",
                "JSD > 0.5": "far",
                "short of the bound": "gap",
                "at best": "smallest_gap",
                "at worst": "largest_gap",
                "nothing found": "nothing_found",
            }
        )
    ],
    "adversary.groups": [
        exact(
            {
                "documents": "documents",
                "permuted |Δŷ|": "permuted_change",
                "permuted < 0.05": "permuted_unmoved",
            }
        ),
        pattern(rf"JSD, ε = {NUMBER}", r"jsd@epsilon=\1"),
        pattern(rf"> 0.5, ε = {NUMBER}", r"far@epsilon=\1"),
    ],
    "adversaries": [exact(_OPPOSED)],
    "adversaries.seeds": [exact(_OPPOSED)],
    "adversaries.controls": [exact(_OPPOSED)],
    "adversaries.chosen": [exact({"λ": "lambda", "within": "within"})],
}
"""Table, by its id → rules for the labels of its columns."""


def known(label: str, rules: list[Rule], what: str) -> str:
    """The id that the first rule gives that knows a label."""
    for rule in rules:
        found = rule(label)
        if found is not None:
            return found
    raise UnknownLabelError(f"unknown {what}: {label!r}")
