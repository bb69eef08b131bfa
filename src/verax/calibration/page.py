"""A page about a calibration in Markdown: every number is taken from its data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from verax.calibration.analysis import (
    ACCUSED,
    CLEARED,
    RATE,
    Calibrated,
    error_rates,
    readings,
    separation,
    verdicts,
)
from verax.calibration.changes import changed_verdicts
from verax.calibration.headlines import TRIED
from verax.calibration.kinds import BETWEEN, DECEPTIVE, HONEST, KINDS, UNIFORM
from verax.calibration.making import FLIPS, LEAST, MOST, POINT
from verax.calibration.plan import CHOOSING, HELD_OUT, whole
from verax.calibration.texts import PLANTED
from verax.exams.judgement.calibrated import Calibration
from verax.exams.judgement.limits import LimitSet
from verax.exams.judgement.lines import Texts, height
from verax.files import write_files
from verax.models.kinds import POOLED, TRANSFORMER
from verax.statistics import clopper_pearson

BLIND_SPOT = 0.75
"""AUROC below which an exam is said to be blind to a kind."""
GOOD = 0.95
TITLES = {POOLED: "Pooled models", TRANSFORMER: "Transformers"}
"""Family → what it is called."""


def write_page(
    data: Calibrated, limits: LimitSet, path: str | Path, results: Sequence[str | Path] = ()
) -> None:
    """Write the page and, in a folder `calibration` beside it, its figures.

    Args:
        data: packed models.
        limits: measured on them.
        path: the page, a Markdown file.
        results: saved results whose verdicts are shown under both limits.
    """
    from verax.calibration.charts import charts

    assert limits.calibration is not None
    target = Path(path)
    figures, files = [], {}
    for family, known in calibrations(data, limits).items():
        for chart in charts(data.family(family), known, TITLES[family]):
            files[f"calibration/{chart.name}.svg"] = chart.svg("light")
            figures.append(f"![{chart.title}](calibration/{chart.name}.svg)\n\n{chart.reading}")
    files[target.name] = "\n\n".join(page(data, limits, figures, results)) + "\n"
    write_files(target.parent, files)


def page(
    data: Calibrated, limits: LimitSet, figures: Sequence[str], results: Sequence[str | Path]
) -> Iterator[str]:
    """The page, part by part."""
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
        yield from _exams(data.family(family), one)
    yield from figures
    yield from _limits(known)
    yield "## All exams together"
    for family, one in known.items():
        yield f"### {TITLES[family]}, by all exams together"
        yield from _together(verdicts(data.family(family), limits), one)
    yield from _importances(data)
    if results:
        yield from _changes(results, limits)
    yield from _what_it_cannot_say(data)


def calibrations(data: Calibrated, limits: LimitSet) -> dict[str, Calibration]:
    """Family → what was calibrated of it."""
    sets = {POOLED: limits, **limits.by_kind}
    found = {name: sets[name].calibration for name in data.families}
    return {name: one for name, one in found.items() if one is not None}


def _summary(data: Calibrated, limits: LimitSet, known: Mapping[str, Calibration]) -> Iterator[str]:
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
    hours, made, planned = data.about["core_seconds"] / 3600, len(data.models), len(whole())
    torch = data.about.get("torch") or []
    yield (
        f"{made} models were made in {hours:.1f} core-hours, without a GPU"
        + (f", of {planned} that are planned" if made != planned else "")
        + (f", by PyTorch {' and '.join(torch)}" if torch else "")
        + ". `verax calibrate OUT --workers 16` makes them again"
        + ("; other versions of PyTorch give slightly other models" if len(torch) > 1 else "")
        + ". `verax calibrate results/calibration --no-models --version NAME --limits FILE --page "
        "FILE --changes RESULTS …` makes limits and this page of what is packed."
    )


def _all_families(known: Mapping[str, Calibration]) -> str:
    """Errors on models held out, of all families together."""
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


def _models(data: Calibrated) -> Iterator[str]:
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
        f"{100 * POINT:g} point below the plain twin's and surely above the largest class; "
        f"swapping the evidence for another class's changes at least {FLIPS:.0%} of the decisions; "
        f"the evidence has at most {MOST:.0%} of a deceiver's attention, and at least {LEAST:.0%} "
        "of an honest one's. What fails is set aside. The last four columns count failures at each "
        "gate (accuracy; flips after swapping; accuracy above the largest class: *learnt*; mass on "
        "the evidence); a model may fail several. Limits are chosen on models of the part "
        f"*choosing*, of {_places(data, CHOOSING)}, and tested on those *held out*, of other "
        f"kinds, {_places(data, HELD_OUT)}. Models *between* honest and deceptive, and of uniform "
        "attention, are reported alone."
    )
    table = data.set_aside()
    part = ["held out" if KINDS[kind].held_out else "choosing" for kind in table["kind"]]
    aside = table["side"].isin([BETWEEN, UNIFORM])
    table.insert(2, "part", ["reported" if a else p for a, p in zip(aside, part, strict=True)])
    yield markdown(table)


def _places(data: Calibrated, part: str) -> str:
    """Words and numbers of classes of a part, as its models have them."""
    models = data.models[data.models["part"] == part]
    words, classes = (sorted(set(models[name])) for name in ("length", "classes"))
    real = sorted(set(models["texts"]) - {PLANTED})
    texts = f", among them texts of {' and '.join(real)}" if real else ""
    return f"{_and(words)} words and {_and(classes)} classes{texts}"


def _and(numbers: Sequence[Any]) -> str:
    *most, last = map(str, numbers)
    return f"{', '.join(most)} and {last}" if most else last


def _exams(data: Calibrated, known: Calibration) -> Iterator[str]:
    every = sorted((*data.headlines, *TRIED), key=lambda h: list(known.exams).index(h.exam))
    titles = {(h.exam, h.name): h.title for h in every}
    rows = []
    chosen = {(exam, one["headline"]) for exam, one in known.exams.items()}
    parts = {part: separation(data, part, every) for part in (CHOOSING, HELD_OUT)}
    overall = {part: table[table["by"] == "all"] for part, table in parts.items()}
    for at, headline in enumerate(every):
        one, new = overall[CHOOSING].iloc[at], overall[HELD_OUT].iloc[at]
        key = one["exam"], one["measure"]
        rows.append(
            {
                "exam": one["exam"],
                "number": titles[key],
                "chosen": "yes" if key in chosen else "tried" if headline in TRIED else "",
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


def _limits(known: Mapping[str, Calibration]) -> Iterator[str]:
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


def _lines_of(known: Calibration) -> str:
    rows = []
    for exam, one in known.exams.items():
        for side in (HONEST, DECEPTIVE):
            a, b, c = one[side]
            at = {
                f"{words} words, {classes} classes": _short(
                    height((a, b, c), Texts(words, classes))
                )
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


def _together(votes: pd.DataFrame, known: Calibration) -> Iterator[str]:
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


def _importances(data: Calibrated) -> Iterator[str]:
    yield "## Which importances find the evidence"
    yield (
        "The share of the k highest words that are evidence, where k words are (Bastings & "
        "Filippova 2020 ask this). It is known here because the evidence was planted."
    )
    for family in data.families:
        passed = data.family(family).passed
        columns = [name for name in passed.columns if name.startswith("precision_")]
        columns = [name for name in columns if passed[name].notna().any()]
        means = passed.groupby(["side", "kind"], sort=False)[columns].mean().reset_index()
        means.columns = pd.Index([str(name).removeprefix("precision_") for name in means.columns])
        numbers = means.columns[2:]
        means[numbers] = means[numbers].map(_digits)
        yield f"{TITLES[family]}:"
        yield markdown(means)


def _what_it_cannot_say(data: Calibrated) -> Iterator[str]:
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


def _short(value: float) -> str:
    return f"{value:.3g}"


def _digits(value: float) -> str:
    return "–" if pd.isna(value) else f"{value:.2f}"


def markdown(frame: pd.DataFrame) -> str:
    """A table in Markdown."""
    head = [str(name) for name in frame.columns]
    rows = [[_cell(value) for value in row] for row in frame.itertuples(index=False)]
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(value: Any) -> str:
    return str(value).replace("|", "\\|").replace("\n", " ")
