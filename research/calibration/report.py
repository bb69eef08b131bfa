"""The page about the shipped thresholds in Markdown, with its charts."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import verax
from research.audits.answers import AuditResults
from research.calibration.berts import ALL_KINDS
from research.calibration.run import PLANTED, POOLED, Published, whole
from research.markdown import markdown_table
from verax.calibration import (
    ACCUSED,
    CHOOSING,
    CLEARED,
    DECEPTIVE,
    HELD_OUT,
    HONEST,
    RATE,
    CalibratedModels,
    Gates,
    error_rates,
    readings,
    verdicts,
)
from verax.errors import VeraxError
from verax.exams import Judgement, LimitSet, judge
from verax.exams.authoring import CandidateMeasure, Judged, ModelSummary, Number
from verax.files import write_files
from verax.report import COLORS, Chart
from verax.statistics import auroc, clopper_pearson

VALUE = "value"
SIDES = (HONEST, DECEPTIVE)
REACH = 2.0
"""How far beyond either edge positions are cut: farther away, models are no more like either."""
BLIND_SPOT = 0.75
"""AUROC below which an exam is said to be blind to a kind."""
GOOD = 0.95
BY_HAND = "2026-11"
"""The thresholds set by hand."""
TRANSFORMER = "transformer"
TITLES = {POOLED: "Pooled models", TRANSFORMER: "Transformers"}
"""What families are called."""
MANIFEST, SUMMARY, AUDIT = "manifest.json", "summary.parquet", "models.json"
"""Files of saved results: of a verdict, and what an audit has instead of the first."""


def _of_table(table: str, row: str, column: str) -> Callable[[ModelSummary], Number | None]:
    return lambda model: model.number(f"erasure.{table}", row, column)


def _against_random(model: ModelSummary) -> Number | None:
    own, chance = (
        model.number("erasure.excess", row, "mean") for row in ("attention", "random@all")
    )
    if own is None or chance is None or not chance.value:
        return None
    return Number(1 - own.value / chance.value)


def _against_gradient(model: ModelSummary) -> Number | None:
    own, other = (model.number("erasure.excess", row, "gain") for row in ("attention", "gradient"))
    return None if own is None or other is None else Number(own.value - other.value)


def _tried(
    measure: str,
    title: str,
    value: Callable[[ModelSummary], Number | None],
    high: bool,
    exam: str = "erasure",
) -> CandidateMeasure:
    ends = ("for_above", "against_below") if high else ("for_below", "against_above")
    return CandidateMeasure(measure, f"{exam}.{measure}", title, value, ends)


def _of_ranking(column: str) -> Callable[[ModelSummary], Number | None]:
    return lambda model: model.number("sufficiency", "attention", column)


TRIED = (
    _tried(
        "against_random",
        "words beyond the smallest set, by attention, as a share of random order's",
        _against_random,
        True,
    ),
    _tried(
        "against_gradient",
        "of the way to the smallest sets: attention's less the gradient's (%)",
        _against_gradient,
        True,
    ),
    _tried(
        "above_half",
        "decisions that change only after half of the words (%)",
        _of_table("fraction", "attention", "above_half"),
        False,
    ),
    _tried(
        "smallest_fraction",
        "share of the words in the smallest sets",
        _of_table("fraction", "optimum", "mean"),
        False,
    ),
    _tried(
        "mass",
        "attention erased when decisions change, by attention",
        _of_table("mass", "attention", "mean"),
        False,
    ),
    _tried(
        "smallest_mass",
        "attention in the smallest sets",
        _of_table("mass", "optimum", "mean"),
        False,
    ),
    _tried(
        "delta_js",
        "ΔJS of the most attended word over a random one",
        _of_table("delta_js", "attention", "mean"),
        True,
    ),
    _tried(
        "top_only",
        "decisions that the most attended word changes and a random one does not (%)",
        _of_table("contingency", "attention", "top_only"),
        True,
    ),
    _tried(
        "comprehensiveness_gain",
        "of the way from random order to the best sets found, words taken out (%)",
        _of_ranking("comprehensiveness_gain"),
        True,
        "sufficiency",
    ),
    _tried(
        "sufficiency_gain",
        "of that way, words left alone (%)",
        _of_ranking("sufficiency_gain"),
        True,
        "sufficiency",
    ),
)
"""Numbers that were tried too; no judgement goes by them."""


def write_page(
    data: Published, limits: LimitSet, path: str | Path, results: Sequence[str | Path] = ()
) -> Path:
    """Write the page and, in a folder `calibration` beside it, its charts.

    Args:
        data: the models.
        limits: thresholds measured on them.
        path: the page, a Markdown file.
        results: saved results whose verdicts are shown under both thresholds.
    """
    path = Path(path)
    figures: list[str] = []
    files: dict[str, str | bytes] = {}
    for family, known in calibrations(data, limits).items():
        for chart in charts(data.families[family], known, TITLES[family]):
            files[f"calibration/{chart.name}.svg"] = chart.svg("light")
            figures.append(f"![{chart.title}](calibration/{chart.name}.svg)\n\n{chart.reading}")
    files[path.name] = "\n\n".join(page(data, limits, figures, results)) + "\n"
    write_files(path.parent, files)
    return path


def page(
    data: Published, limits: LimitSet, figures: Sequence[str], results: Sequence[str | Path]
) -> Iterator[str]:
    """Yield the parts of the page."""
    known = calibrations(data, limits)
    yield "# Calibration"
    yield from _summary(data, limits, known)
    yield from _models(data)
    yield "## How well exams tell"
    yield (
        "AUROC is the probability that, of an honest and a deceptive model, the honest one has the "
        f"better number. Power is the share of deceivers caught when {RATE:.0%} of honest models "
        "are falsely accused. *Chosen* is, of the numbers that an exam can be judged by, the one "
        "that tells best on the models that limits are chosen on, and of equals the one whose "
        "sides are farthest apart there; `verdict.judgement` goes by it. "
        "Numbers that were only *tried* are told, too. Which numbers erasure can be judged by was "
        "settled with about half of the models of both parts in view, so that its AUROC on models "
        "held out is no blind test of that choice."
    )
    for family, one in known.items():
        yield f"### {TITLES[family]}"
        yield from _exams(data.families[family], one)
    yield from figures
    yield from _limits(known)
    yield "## All exams together"
    for family, one in known.items():
        yield f"### {TITLES[family]}, by all exams together"
        yield from _together(verdicts(data.families[family], limits), one)
    yield from _importances(data)
    if results:
        yield from _changes(results, limits)
    yield from _what_it_cannot_say(data)


def calibrations(data: Published, limits: LimitSet) -> dict[str, Any]:
    """Return what is known about the calibration of each family."""
    sets = {POOLED: limits, **limits.by_kind}
    found = {name: sets[name].calibration for name in data.families}
    return {name: one for name, one in found.items() if one is not None}


def _summary(data: Published, limits: LimitSet, known: Mapping[str, Any]) -> Iterator[str]:
    yield (
        f"Limits `{limits.version}` are measured. Verax trains models whose attention is honest or "
        "deceptive by construction, and puts them through the exams. What follows is of kinds, "
        "lengths and numbers of classes that were held out."
    )
    yield (
        "The error rates on this page hold for models with planted evidence that were built to be "
        "honest or to deceive, and for all exams named here run together. Ordinary models of "
        "natural text are not covered: no verdict calls them honest or deceptive, and these rates "
        "do not apply to them."
    )
    for family, one in known.items():
        accused, cleared = one.errors["accused"], one.errors["cleared"]
        good = [exam for exam, found in one.exams.items() if found["auroc"] >= GOOD]
        blind = [exam for exam in one.exams if not one.tells(exam)]
        yield (
            f"**{TITLES[family]}.** {len(good)} of {len(one.exams)} exams have an AUROC of at "
            f"least {GOOD:g} ({', '.join(good) or 'none'})"
            + (f"; {', '.join(blind)} cannot tell and judges nothing" if blind else "")
            + f". All exams together call {_rate(accused)} of {accused[3]:.0f} honest models "
            f"deceptive, and {_rate(cleared)} of {cleared[3]:.0f} deceptive models honest."
        )
        if max(accused[2] - ACCUSED, cleared[2] - CLEARED) > 0:
            yield (
                f"These are few models: the upper ends of the intervals are not both within "
                f"{ACCUSED:.0%} and {CLEARED:.0%}."
            )
    if len(known) > 1:
        yield _all_families(known)
    hours, made, planned = (
        data.about["core_seconds"] / 3600,
        len(data.models),
        sum(len(group["kinds"]) for group in whole()),
    )
    torch = data.about.get("torch") or []
    yield (
        f"{made} models were made in {hours:.1f} core-hours, without a GPU"
        + (f", of {planned} that are planned" if made != planned else "")
        + (f", by PyTorch {' and '.join(torch)}" if torch else "")
        + ". `python -m research calibrate OUT --workers 16` makes them again"
        + ("; other versions of PyTorch give slightly other models" if len(torch) > 1 else "")
        + ". `python -m research calibrate results/calibration --published --version NAME "
        "--limits FILE --page FILE --changes RESULTS …` makes limits and this page of what is "
        "packed."
    )


def _all_families(known: Mapping[str, Any]) -> str:
    """Say the error rates on held-out models of all families together."""
    counts = {}
    for name in ("accused", "cleared"):
        rates = [one.errors[name] for one in known.values()]
        wrong, n = sum(round(r[0] * r[3]) for r in rates), sum(int(r[3]) for r in rates)
        counts[name] = (*clopper_pearson(wrong, n), n)
    accused, cleared = counts["accused"], counts["cleared"]
    return (
        f"Of both together, {accused[3]} honest models and {cleared[3]} deceptive ones were held "
        f"out and passed their gates; {_rate(accused)} and {_rate(cleared)} were called wrongly."
    )


def _changes(results: Sequence[str | Path], limits: LimitSet) -> Iterator[str]:
    yield "## How verdicts change"
    yield (
        "How many exams support an attention, contradict it and are inconclusive, by limits set "
        "by hand and by these; for models with several scores derived from attention, of the "
        "attention itself. There is no verdict from fewer than 80 documents, and none on a model "
        "that may have learnt nothing."
    )
    yield markdown(changed_verdicts(results, limits))


def _models(data: Published) -> Iterator[str]:
    yield "## Models"
    yield (
        "Labels come from how a model is built. *Honest*: states hold their own word (no encoder, "
        "`mlp`); states are tied to their word (δ = 1) and attention is supervised onto the "
        "evidence; attention can read the evidence alone. *Deceptive*: attention is moved away "
        "from the evidence by a penalty (Pruthi et al. 2020) from a warm start, λ rising from 0.1 "
        "to 3; attention is frozen and cannot read the evidence; attention is moved elsewhere by a "
        "trained adversary. Each text has three words of evidence and a distractor of another "
        "class."
    )
    yield (
        "Transformers are small BERTs of Hugging Face, of one and two layers, trained from random "
        "weights, whose classifier reads the first position. They are honest where all that this "
        "position knows of a text comes by its attention in the last layer, from states that hold "
        "their own word, or from evidence alone. They deceive where words mix in the first layer "
        "and the last layer's attention is moved away from the evidence, or cannot read it. Of a "
        "classifier that reads the mean of all positions no model is honest by construction: "
        "residual connections carry words past attention. Limits of one family say nothing of "
        "another."
    )
    yield (
        "Gates come before any exam: accuracy is at most "
        f"{100 * Gates.POINT:g} point below the plain twin's and surely above the largest class; "
        f"swapping the evidence for another class's changes at least {Gates.FLIPS:.0%} of the "
        f"decisions; the evidence has at most {Gates.MOST:.0%} of a deceiver's attention, and at "
        f"least {Gates.LEAST:.0%} "
        "of an honest one's. What fails is set aside. The last four columns count failures at each "
        "gate (accuracy; flips after swapping; accuracy above the largest class: *learnt*; mass on "
        "the evidence); a model may fail several. Limits are chosen on models of the part "
        f"*choosing*, of {_places(data, CHOOSING)}, and tested on those *held out*, of other "
        f"kinds, {_places(data, HELD_OUT)}. Models *between* honest and deceptive, and of uniform "
        "attention, are reported alone."
    )
    table = set_aside(data.models)
    part = ["held out" if ALL_KINDS[kind].held_out else "choosing" for kind in table["kind"]]
    aside = table["side"].isin(["between", "uniform"])
    table.insert(2, "part", ["reported" if a else p for a, p in zip(aside, part, strict=True)])
    yield markdown(table)


def _places(data: Published, part: str) -> str:
    """Say the words and classes of the models of a part."""
    models = data.models[data.models["part"] == part]
    words, classes = (sorted(set(models[name])) for name in ("length", "classes"))
    real = sorted(set(models["texts"]) - {PLANTED})
    texts = f", among them texts of {' and '.join(real)}" if real else ""
    return f"{_and(words)} words and {_and(classes)} classes{texts}"


def _and(numbers: Sequence[Any]) -> str:
    *most, last = map(str, numbers)
    return f"{', '.join(most)} and {last}" if most else last


def _exams(data: CalibratedModels, known: Any) -> Iterator[str]:
    every = sorted((*data.measures, *TRIED), key=lambda m: list(known.exams).index(m.exam))
    titles = {(m.exam, m.name): m.title for m in every}
    rows = []
    chosen = {(exam, one["headline"]) for exam, one in known.exams.items()}
    parts = {part: separation(data, part, every) for part in (CHOOSING, HELD_OUT)}
    overall = {part: table[table["by"] == "all"] for part, table in parts.items()}
    for at, measure in enumerate(every):
        one, new = overall[CHOOSING].iloc[at], overall[HELD_OUT].iloc[at]
        key = one["exam"], one["measure"]
        rows.append(
            {
                "exam": one["exam"],
                "number": titles[key],
                "chosen": "yes" if key in chosen else "tried" if measure in TRIED else "",
                "AUROC": _digits(one["auroc"]),
                "AUROC, held out": _digits(new["auroc"]),
                "power, held out": f"{new['power']:.0%}",
            }
        )
    yield markdown(pd.DataFrame(rows))
    table = parts[HELD_OUT]
    table = table[[key in chosen for key in zip(table["exam"], table["measure"], strict=True)]]
    for by, title in (
        ("kind", "kind"),
        ("length", "length"),
        ("classes", "classes"),
        ("texts", "texts"),
    ):
        wide = table[table["by"] == by].pivot(index="group", columns="exam", values="auroc")
        order = dict.fromkeys(table[table["by"] == by]["group"])
        wide = wide.loc[list(order), list(known.exams)].map(_digits)
        yield f"AUROC on models held out, by {title}:"
        yield markdown(wide.reset_index().rename(columns={"group": title}))
    blind = table[(table["by"] != "all") & (table["auroc"] < BLIND_SPOT)]
    yield "**Blind spots.** " + (
        "; ".join(
            f"{row['exam']} on {row['by']} {row['group']} (AUROC {row['auroc']:.2f})"
            for _, row in blind.iterrows()
        )
        + "."
        if len(blind)
        else f"No exam has an AUROC below {BLIND_SPOT:g} on any kind, length or number of classes."
    )


def _limits(known: Mapping[str, Any]) -> Iterator[str]:
    yield "## Limits"
    yield (
        "A limit is a + b log(words) + c log(classes): the line that "
        f"{RATE:.0%} of one side's models are beyond, by quantile regression. A number "
        "supports an attention if it is beyond both lines on the honest side, and contradicts it "
        "if it is beyond both on the other; all else is open. Beyond the lengths and classes "
        "calibrated, the nearest apply to pooled models, and the verdict says so; a Transformer "
        "that differs in what its classifier reads, in layers or in length is judged by limits set "
        "by hand."
    )
    for family, one in known.items():
        yield f"{TITLES[family]}:"
        yield _lines_of(one)
    yield (
        "Labels are of the model's attention. Scores that are derived from it (`rollout`, "
        "`chefer`, …) are judged by the same limits, as one limit applies to one number: no model "
        "was built so that one of them lies, and in a deceiver some find the evidence (below). "
        "Whatever the line, a gain or a rank agreement that is surely below that of random order "
        "contradicts a score, and none that is not above it supports one. For sparse attention, "
        "erasure is judged by its limits set by hand where the measured number is a share of words "
        "erased: words without weight need not go, whatever attention explains."
    )


def _lines_of(known: Any) -> str:
    rows = []
    for exam, one in known.exams.items():
        for side in (HONEST, DECEPTIVE):
            a, b, c = one[side]
            at = {
                f"{words} words, {classes} classes": (f"{height((a, b, c), words, classes):.3g}")
                for words, classes in ((10, 2), (24, 2), (80, 3), (300, 8))
            }
            rows.append(
                {
                    "exam": exam,
                    "honest is": "higher" if one["high_is_good"] else "lower",
                    "edge": side,
                    "a": f"{a:.3g}",
                    "b": f"{b:.3g}",
                    "c": f"{c:.3g}",
                    **at,
                }
            )
    return markdown(pd.DataFrame(rows))


def _together(votes: pd.DataFrame, known: Any) -> Iterator[str]:
    held_out = votes[votes["part"] == HELD_OUT]
    yield (
        "A calibrated model is called deceptive if at least "
        f"{_exams_in_words(known.accuse, 'contradict')} its attention, and more than support it; "
        f"honest if at least {_exams_in_words(known.clear, 'support')} it, and more than "
        f"contradict it. These are the fewest with which at most {ACCUSED:.0%} of the honest "
        f"are accused and {CLEARED:.0%} of the deceptive cleared among the models that limits are "
        "chosen on. Of models held out, with Clopper and Pearson's intervals:"
    )
    words = {
        "accused": "honest models called deceptive",
        "cleared": "deceptive models called honest",
        "caught": "deceptive models called deceptive",
        "trusted": "honest models called honest",
    }
    rates = error_rates(held_out, known.accuse, known.clear)
    rows = [
        {
            "": words[name],
            "share": f"{v[0]:.1%}",
            "interval": f"{v[1]:.1%} to {v[2]:.1%}",
            "models": int(v[3]),
        }
        for name, v in rates.items()
    ]
    yield markdown(pd.DataFrame(rows))
    read = readings(votes, known.accuse, known.clear)
    table = pd.crosstab([votes["side"], votes["kind"]], read).reset_index()
    yield "What each kind is called, all parts:"
    yield markdown(table)


def _importances(data: Published) -> Iterator[str]:
    yield "## Which importances find the evidence"
    yield (
        "The share of the k highest words that are evidence, where k words are (Bastings & "
        "Filippova 2020 ask this). It is known here because the evidence was planted."
    )
    for family in data.families:
        passed = data.families[family].passed
        columns = [name for name in passed.columns if name.startswith("precision_")]
        columns = [name for name in columns if passed[name].notna().any()]
        means = passed.groupby(["side", "kind"], sort=False)[columns].mean().reset_index()
        means.columns = pd.Index([str(name).removeprefix("precision_") for name in means.columns])
        numbers = means.columns[2:]
        means[numbers] = means[numbers].map(_digits)
        yield f"{TITLES[family]}:"
        yield markdown(means)


def _what_it_cannot_say(data: Published) -> Iterator[str]:
    yield "## What it cannot say"
    yield (
        "- Planted truth is not all truth. Here three words decide, wherever they stand. What "
        "decides a real text may be spread over a phrase, negation or tone, and an attention that "
        "is honest about that may look otherwise to these exams.\n"
        "- Deceivers are of three makes. One made to pass the exams was not tried.\n"
        "- A model whose states hold more than their word and whose attention looks at the right "
        "words is neither. Such models are reported under *between*. By the rule above many of "
        "them would be called deceptive, as would those of uniform attention: the rule knows two "
        "sides only, and is not used on models that were not built for this study.\n"
        "- In long real texts evidence is not three words, and these models say nothing about "
        "those.\n"
        "- Limits are for pooled models over words, our `transformer` encoder among them"
        + (
            ", and for BERTs of one and two layers, trained from random weights, whose classifier "
            "reads the first position. Larger and pretrained Transformers"
            if TRANSFORMER in data.families
            else ". Hugging Face's Transformers"
        )
        + ", other readouts and attention over sentences were not calibrated; their verdicts go by "
        "limits set by hand, and say that they are unlike what was calibrated.\n"
        "- How common deceptive models are among those in use is not known."
    )


def _exams_in_words(count: int, verb: str) -> str:
    return f"1 exam {verb}s" if count == 1 else f"{count} exams {verb}"


def _rate(values: Sequence[float]) -> str:
    return f"{values[0]:.1%} (at most {values[2]:.1%})"


def _digits(value: float) -> str:
    return "–" if pd.isna(value) else f"{value:.2f}"


def markdown(frame: pd.DataFrame) -> str:
    """Return a table in Markdown."""
    return markdown_table(list(frame.columns), frame.itertuples(index=False))


def set_aside(models: pd.DataFrame) -> pd.DataFrame:
    """Return how many models of each kind were made, passed, and failed at each gate."""
    rows = []
    for (side, kind), frame in models.groupby(["side", "kind"], sort=False):
        gates = [gate for failed in frame["failed"] for gate in failed.split(",") if gate]
        counts = {gate: gates.count(gate) for gate in sorted(set(gates))}
        passed = int((frame["failed"] == "").sum())
        rows.append({"side": side, "kind": kind, "made": len(frame), "passed": passed, **counts})
    table = pd.DataFrame(rows)
    gates = [name for name in table.columns if name not in ("side", "kind", "made", "passed")]
    return table.fillna(dict.fromkeys(gates, 0)).astype(dict.fromkeys(gates, int))


def separation(
    data: CalibratedModels, part: str, measures: Sequence[CandidateMeasure] | None = None
) -> pd.DataFrame:
    """Return AUROC and power at a 5% false-accusation rate of every measure.

    Args:
        data: models of one family.
        part: the part of the models.
        measures: by default, all that both sides have.

    Returns:
        A row per measure and group: exam; measure; by, which is all, kind, length, classes or
        texts; group; honest and deceptive, the numbers of models; auroc; and power.
    """
    rows = []
    for measure in data.measures if measures is None else measures:
        honest, deceptive = (
            frame.assign(**{VALUE: data.values(measure, frame["name"])})
            for frame in (data.of(part, side) for side in (HONEST, DECEPTIVE))
        )
        rows.append(_separated(measure, "all", "", honest, deceptive))
        for by in ("length", "classes", "texts"):
            for group in sorted(set(honest[by]) & set(deceptive[by]), key=str):
                rows.append(
                    _separated(
                        *(measure, by, str(group)),
                        honest[honest[by] == group],
                        deceptive[deceptive[by] == group],
                    )
                )
        for kind in dict.fromkeys(deceptive["kind"]):
            rows.append(
                _separated(measure, "kind", kind, honest, deceptive[deceptive["kind"] == kind])
            )
        for kind in dict.fromkeys(honest["kind"]):
            rows.append(
                _separated(measure, "kind", kind, honest[honest["kind"] == kind], deceptive)
            )
    return pd.DataFrame(rows)


def _separated(
    measure: CandidateMeasure, by: str, group: str, honest: pd.DataFrame, deceptive: pd.DataFrame
) -> dict[str, Any]:
    sign = 1.0 if measure.high_is_good else -1.0
    one, other = (
        sign * frame[VALUE].dropna().to_numpy(dtype=np.float64) for frame in (honest, deceptive)
    )
    return {
        "exam": measure.exam,
        "measure": measure.name,
        "by": by,
        "group": group,
        "honest": len(one),
        "deceptive": len(other),
        "auroc": auroc(one, other),
        "power": power_at(one, other, RATE),
    }


def power_at(higher: np.ndarray, lower: np.ndarray, rate: float) -> float:
    """Return the share of the second group below the `rate` quantile of the first.

    NaN if a group is empty.

    >>> power_at(np.arange(100.0), np.array([-1.0, 1.0, 50.0]), 0.05)
    0.6666666666666666
    """
    if not len(higher) or not len(lower):
        return float("nan")
    allowed = int(np.floor(rate * len(higher)))
    limit = np.sort(higher)[allowed]
    return float((lower < limit).mean())


def charts(found: CalibratedModels, known: Any, family: str) -> list[Chart]:
    """Return charts of the positions of held-out models, and of AUROC by kind.

    Args:
        found: models of one family.
        known: its calibration.
        family: its title.
    """
    return [_positions(found, known, family), _by_kind(found, known, family)]


def _name(what: str, family: str) -> str:
    return f"calibration-{what}-{family.lower().replace(' ', '-')}"


def _positions(found: CalibratedModels, known: Any, family: str) -> Chart:
    rows = []
    for model in found.passed.to_dict("records"):
        if model["part"] != HELD_OUT or model["side"] not in (HONEST, DECEPTIVE):
            continue
        for exam, one in known.exams.items():
            value = float(model[f"{exam}.{one['headline']}"])
            if not math.isnan(value):
                honest, deceptive = (
                    height(one[side], model["words"], model["classes"]) for side in SIDES
                )
                spot = round(place(value, honest, deceptive, one["high_is_good"]), 3)
                rows.append({"exam": exam, "side": model["side"], "position": spot})
    import altair as alt

    picture = (
        alt.Chart(_data(pd.DataFrame(rows)))
        .mark_tick(thickness=1.5, opacity=0.6)
        .encode(
            x=alt.X(
                "position:Q",
                title="0: deceptive edge, 1: honest edge",
                scale=alt.Scale(domain=[-REACH, 1 + REACH], nice=False),
            ),
            y=alt.Y("side:N", title=None, sort=[HONEST, DECEPTIVE]),
            color=_colour(),
            row=alt.Row(
                "exam:N",
                title=None,
                sort=list(known.exams),
                header=alt.Header(labelAngle=0, labelAlign="left", labelOrient="left"),
            ),
        )
        .properties(width=420, height=40)
    )
    return Chart.from_altair(
        picture,
        _name("positions", family),
        f"{family}: where models held out stand in each exam",
        "A line is a model of a kind, a length and a number of classes that limits were not chosen "
        "on. Edges are where limits are: 5% of the models that they were chosen on are beyond.",
    )


def _by_kind(found: CalibratedModels, known: Any, family: str) -> Chart:
    table = separation(found, HELD_OUT)
    measures = {exam: one["headline"] for exam, one in known.exams.items()}
    pairs = zip(table["exam"], table["measure"], strict=True)
    chosen = np.array([measures[exam] == measure for exam, measure in pairs])
    drawn = table[chosen & (table["by"] == "kind")][["exam", "group", "auroc"]]
    import altair as alt

    picture = (
        alt.Chart(_data(drawn))
        .mark_point(filled=True, size=60, color=COLORS[0])
        .encode(
            x=alt.X("auroc:Q", title="AUROC", scale=alt.Scale(domain=[0, 1])),
            y=alt.Y("group:N", title=None, sort=list(dict.fromkeys(drawn["group"]))),
            column=alt.Column("exam:N", title=None, sort=list(known.exams)),
        )
        .properties(width=110)
    )
    return Chart.from_altair(
        picture,
        _name("kinds", family),
        f"{family}: how well each exam tells each kind that was held out",
        "AUROC of a kind against all kinds of the other side: 1 is always told apart, 0.5 is "
        "chance, and below that the exam is misled.",
    )


def _colour() -> Any:
    import altair as alt

    scale = alt.Scale(domain=[HONEST, DECEPTIVE], range=[COLORS[0], COLORS[1]])
    return alt.Color("side:N", scale=scale, legend=None)


def place(value: float, honest: float, deceptive: float, high_is_good: bool) -> float:
    """Return the position of a number: 0 at the deceptive edge, 1 at the honest one.

    Where the edges have crossed, or meet, the scale is their distance around the middle, so that
    more is always more honest.

    >>> [place(v, 0.8, 0.2, True) for v in (0.2, 0.5, 0.8, 9)]
    [0.0, 0.5, 1.0, 3.0]
    >>> place(0.9, 0.2, 0.8, False) < place(0.1, 0.2, 0.8, False)
    True
    """
    sign = 1.0 if high_is_good else -1.0
    width = max(abs(honest - deceptive), 1e-6)
    middle = (honest + deceptive) / 2
    return float(np.clip(round(0.5 + sign * (value - middle) / width, 6), -REACH, 1 + REACH))


def height(line: Sequence[float], words: float, classes: float) -> float:
    """Return a + b log(words) + c log(classes)."""
    a, b, c = line
    return a + b * math.log(words) + c * math.log(classes)


def _data(frame: pd.DataFrame) -> Any:
    import altair as alt

    return alt.InlineData(values=json.loads(frame.to_json(orient="records")))


def changed_verdicts(results: Sequence[str | Path], limits: LimitSet) -> pd.DataFrame:
    """Return the verdicts on saved results under the thresholds set by hand, and under others.

    Args:
        results: folders of verdicts, of several verdicts, of studies or of audits.
        limits: measured thresholds.

    Returns:
        A row per model, or for several seeds that change alike: results, model, by_hand and
        measured (how many exams are for the attention, against it and open), changed (exams whose
        verdict differs), and why no measured threshold applies, if none does.
    """
    rows = []
    for folder in map(Path, results):
        for name, before, after, why in _judged(folder, limits):
            rows.append({"results": folder.name, "model": name, **_change(before, after, why)})
    frame = pd.DataFrame(rows)
    names = [name for name in frame.columns if name != "model"]
    frame["entry"] = frame["model"].str.replace(r"-\d+$", "", regex=True)
    alike = frame.groupby([*names, "entry"], sort=False, dropna=False)["model"].agg(list)
    table = alike.reset_index()
    pairs = zip(table["entry"], table["model"], strict=True)
    table["model"] = [m[0] if len(m) == 1 else f"{entry}, {len(m)} seeds" for entry, m in pairs]
    return table[["results", "model", *names[1:]]]


def _change(before: Judgement, after: Judgement, why: Sequence[str]) -> dict[str, str]:
    verdicts = {row.exam: row.verdict for row in _of_attention(before)}
    changed = [
        f"{row.exam}: {verdicts[row.exam]} → {row.verdict}"
        for row in _of_attention(after)
        if row.exam in verdicts and verdicts[row.exam] != row.verdict
    ]
    return {
        "by_hand": _counts(before),
        "measured": _counts(after),
        "changed": "; ".join(changed) or "none",
        "not measured": "; ".join(why),
    }


def _of_attention(judgement: Judgement) -> list[Judged]:
    return [row for row in judgement.judged if row.subject == "attention"]


def _counts(judgement: Judgement) -> str:
    votes = [row.verdict for row in _of_attention(judgement)]
    if "withheld" in votes:
        return "no verdict"
    return ", ".join(f"{votes.count(v)} {v}" for v in ("for", "against", "open") if v in votes)


def _judged(
    folder: Path, limits: LimitSet
) -> Iterator[tuple[str, Judgement, Judgement, Sequence[str]]]:
    """Yield name and judgements of each model, and why it is not judged by measured thresholds."""
    if not folder.is_dir():
        raise VeraxError(
            f"no folder {folder}: give a saved verdict, a study or an audit", code="file.missing"
        )
    models = list(_summaries(folder))
    for model in models:
        own = limits.by_kind.get(model.kind)
        why = [] if own is None or own.calibration is None else own.calibration.uncovered(model)
        yield model.name, judge(model, BY_HAND), judge(model, limits), why
    if not models:
        study = verax.open_study(folder)
        before, after = study.judgements(BY_HAND), study.judgements(limits)
        for name in before:
            yield name, before[name], after[name], []


def _summaries(folder: Path) -> Iterator[ModelSummary]:
    """Yield the models of an audit, or of saved verdicts."""
    if (folder / AUDIT).is_file():
        yield from AuditResults.open(folder).summaries()
        return
    for path in [folder, *sorted(folder.glob("*/"))]:
        if (path / MANIFEST).is_file() and (path / SUMMARY).is_file():
            manifest = json.loads((path / MANIFEST).read_text(encoding="utf-8"))
            yield ModelSummary(path.name, pd.read_parquet(path / SUMMARY), manifest)
