"""The words of trained adversaries: which was chosen and why, and the yardstick."""

from __future__ import annotations

from typing import Any

import pandas as pd

from verax.studies import Adversaries


def score_name(classes: int) -> str:
    return "F1" if classes == 2 else "macro F1"


def chosen_words(adversaries: Adversaries) -> str:
    """What chose λ, on validation, and how well that adversary decides."""
    score = score_name(len(adversaries.manifest["classes"]))
    chosen = adversaries.chosen()
    point = f"{100 * adversaries.manifest['tolerance']:g} point"
    numbers = (
        f"validation {score} {percent(chosen.f1)} (the base {percent(chosen.base_f1)}), accuracy "
        f"{percent(chosen.accuracy)} (the base {percent(chosen.base_accuracy)}), "
        f"{percent(chosen.same)} of decisions the same"
    )
    if chosen.lam == 0:
        return f"λ 0 imitates the base and is no adversary, but no other was given: {numbers}"
    if chosen.within:
        return (
            f"λ {chosen.lam:g}: the furthest attention of those within {point} of the base's "
            f"{score} and accuracy; {numbers}"
        )
    return (
        f"no adversary decides as well as the base: none is within {point} of both its {score} and "
        f"its accuracy; λ {chosen.lam:g} comes closest, {numbers}"
    )


def yardstick_words(adversaries: Adversaries) -> list[str]:
    """How far attention moves when only the seed does, and the chosen adversary beside it."""
    if not adversaries.has_yardstick:
        return [
            "no yardstick: --retrain 1,2,… or --others tells how far attention moves when only the "
            "seed does, against which every JSD is to be read"
        ]
    yard: dict[Any, Any] = adversaries.yardstick().set_index("measure").loc["jsd"].to_dict()
    many = yard["models"] > 1
    ends = "" if pd.isna(yard["low"]) else f" [{yard['low']:.3f}, {yard['high']:.3f}]"
    lines = [
        f"yardstick: {yard['models']} model{'s' if many else ''} that differ{'' if many else 's'} "
        f"from the base only by seed: JSD {number(yard['mean'])}{ends}, {over(yard['over'])}"
    ]
    lam = adversaries.chosen().lam
    against: dict[Any, Any] = adversaries.against_yardstick().set_index("lam").loc[lam].to_dict()
    if not pd.isna(against["low"]):
        lines.append(
            f"λ {lam:g} against it: JSD {against['difference']:+.3f} [{against['low']:+.3f}, "
            f"{against['high']:+.3f}], {over('documents')}; beyond it on "
            f"{percent(against['beyond'])} of documents"
        )
    return lines


def one_item_words(adversaries: Adversaries) -> str:
    """What JSD leaves out; empty where that is nothing."""
    if not adversaries.one_item:
        return ""
    verb = "has" if adversaries.one_item == 1 else "have"
    return (
        f"{adversaries.one_item:,} of the documents {verb} one item, "
        "which no attention can leave: left out of JSD, not of the rest"
    )


def over(what: str) -> str:
    return f"over {what}" + (", for the models at hand" if what == "documents" else "")


def percent(value: float) -> str:
    return "–" if pd.isna(value) else f"{100 * value:.1f}%"


def number(value: float, sign: str = "") -> str:
    return "–" if pd.isna(value) else f"{value:{sign}.3f}"
