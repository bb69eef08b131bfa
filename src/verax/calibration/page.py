"""A page about a calibration in Markdown: every number is taken from its data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
from verax.calibration.headlines import HEADLINES
from verax.calibration.kinds import BETWEEN, DECEPTIVE, HONEST, KINDS, UNIFORM
from verax.calibration.making import FLIPS, LEAST, MOST, POINT
from verax.calibration.plan import CHOOSING, HELD_OUT
from verax.exams.judgement.calibrated import NEIGHBOURS, Calibration
from verax.exams.judgement.limits import LimitSet
from verax.exams.judgement.lines import Texts, height
from verax.files import write_files

BLIND_SPOT = 0.75
"""AUROC below which an exam is said to be blind to a kind."""
GOOD = 0.95


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
    for chart in charts(data, limits.calibration):
        files[f"calibration/{chart.name}.svg"] = chart.svg("light")
        figures.append(f"![{chart.title}](calibration/{chart.name}.svg)\n\n{chart.reading}")
    files[target.name] = "\n\n".join(page(data, limits, figures, results)) + "\n"
    write_files(target.parent, files)


def page(
    data: Calibrated, limits: LimitSet, figures: Sequence[str], results: Sequence[str | Path]
) -> Iterator[str]:
    """The page, part by part."""
    known = limits.calibration
    assert known is not None
    votes = verdicts(data, limits)
    held_out = votes[votes["part"] == HELD_OUT]
    yield "# Calibration"
    yield from _summary(data, limits, known)
    yield from _models(data)
    yield from _exams(data, known)
    yield from figures
    yield from _limits(known)
    yield from _together(held_out, votes, known)
    yield from _importances(data)
    if results:
        yield "## How verdicts change"
        yield (
            "Exams that are for an attention, against it and open, by limits set by hand and by "
            "these."
        )
        frame = changed_verdicts(results, limits)
        yield markdown(frame)
    yield from _what_it_cannot_say()


def _summary(data: Calibrated, limits: LimitSet, known: Calibration) -> Iterator[str]:
    accused, cleared = known.errors["accused"], known.errors["cleared"]
    good = [exam for exam, one in known.exams.items() if one["auroc"] >= GOOD]
    yield (
        f"Limits `{limits.version}` are measured. Verax trains models whose attention is honest or "
        "deceptive by construction, and puts them through the exams. On kinds, lengths and numbers "
        f"of classes that were held out, {len(good)} of {len(known.exams)} exams have an AUROC of "
        f"at least {GOOD:g} ({', '.join(good) or 'none'}). All exams together call "
        f"{_rate(accused)} of {accused[3]:.0f} honest models deceptive, and {_rate(cleared)} of "
        f"{cleared[3]:.0f} deceptive models honest."
    )
    hours = data.about["core_seconds"] / 3600
    yield (
        f"{data.about['models']} models were made in {hours:.1f} core-hours, without a GPU."
        " `verax calibrate OUT --workers 16` makes them again."
    )


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
        "Gates come before any exam: accuracy is at most "
        f"{100 * POINT:g} point below the plain twin's and surely above the largest class; "
        f"swapping the evidence for another class's changes at least {FLIPS:.0%} of the decisions; "
        f"the evidence has at most {MOST:.0%} of a deceiver's attention, and at least {LEAST:.0%} "
        "of an honest one's. What fails is set aside. The last four columns count failures at each "
        "gate (accuracy; flips after swapping; accuracy above the largest class: *learnt*; mass on "
        "the evidence); a model may fail several. Limits are chosen on models of the part "
        "*choosing*, of 10, 24, 80 and 300 words and 2, 4 and 8 classes, and tested on those "
        "*held out*, of other kinds, 16, 48 and 150 words and 3 and 6 classes. Models *between* "
        "honest and deceptive, and of uniform attention, are reported alone."
    )
    table = data.set_aside()
    part = ["held out" if KINDS[kind].held_out else "choosing" for kind in table["kind"]]
    aside = table["side"].isin([BETWEEN, UNIFORM])
    table.insert(2, "part", ["reported" if a else p for a, p in zip(aside, part, strict=True)])
    yield markdown(table)


def _exams(data: Calibrated, known: Calibration) -> Iterator[str]:
    yield "## How well exams tell"
    yield (
        "AUROC is the probability that, of an honest and a deceptive model, the honest one has the "
        f"better number. Power is the share of deceivers caught when {RATE:.0%} of honest models "
        "are falsely accused. *Chosen* numbers "
        "are those that tell best on the models that limits are chosen on; `verdict.judgement` "
        "goes by them."
    )
    titles = {(h.exam, h.measure): h.title for h in HEADLINES}
    rows = []
    chosen = {(exam, one["headline"]) for exam, one in known.exams.items()}
    parts = {part: separation(data, part) for part in (CHOOSING, HELD_OUT)}
    whole = {part: table[table["by"] == "all"] for part, table in parts.items()}
    for at in range(len(HEADLINES)):
        one, new = whole[CHOOSING].iloc[at], whole[HELD_OUT].iloc[at]
        key = one["exam"], one["measure"]
        rows.append(
            {
                "exam": one["exam"],
                "number": titles[key],
                "chosen": "yes" if key in chosen else "",
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


def _limits(known: Calibration) -> Iterator[str]:
    yield "## Limits"
    yield (
        "A limit is a + b log(words) + c log(classes): the line that "
        f"{RATE:.0%} of one side's models are beyond, by quantile regression. A number speaks for "
        "an attention if it is beyond both lines on the honest side, and against it if it is "
        "beyond both on the other; all else is open. Lower is more honest of replacement and "
        "single_token, higher of the others. Beyond the lengths and classes calibrated, the "
        "nearest are taken, and the verdict says so."
    )
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
                    "edge": side,
                    "a": f"{a:.3g}",
                    "b": f"{b:.3g}",
                    "c": f"{c:.3g}",
                    **at,
                }
            )
    yield markdown(pd.DataFrame(rows))


def _together(held_out: pd.DataFrame, votes: pd.DataFrame, known: Calibration) -> Iterator[str]:
    yield "## All exams together"
    yield (
        f"An attention reads as deceptive if at least {_exams_in_words(known.accuse)} against it, "
        f"and more than for it; as honest if at least {_exams_in_words(known.clear)} for it, and "
        f"more than against. These are the fewest with which at most {ACCUSED:.0%} of the honest "
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
    yield "How each kind reads, all parts:"
    yield markdown(table)
    yield (
        f"The verdict also counts, of the {NEIGHBOURS} calibrated models with the most similar "
        "numbers, how many were honest. Numbers are compared by where they stand between the edges."
    )


def _importances(data: Calibrated) -> Iterator[str]:
    columns = [name for name in data.passed.columns if name.startswith("precision_")]
    means = data.passed.groupby(["side", "kind"], sort=False)[columns].mean().reset_index()
    means.columns = pd.Index([str(name).removeprefix("precision_") for name in means.columns])
    numbers = means.columns[2:]
    means[numbers] = means[numbers].map(_digits)
    yield "## Which importances find the evidence"
    yield (
        "The share of the k highest words that are evidence, where k words are (Bastings & "
        "Filippova 2020 ask this). It is known here because the evidence was planted."
    )
    yield markdown(means)


def _what_it_cannot_say() -> Iterator[str]:
    yield "## What it cannot say"
    yield (
        "- Planted truth is not all truth. Here three words decide, wherever they stand. What "
        "decides a real text may be spread over a phrase, negation or tone, and an attention that "
        "is honest about that may look otherwise to these exams.\n"
        "- Deceivers are of three makes. One made to pass the exams was not tried.\n"
        "- A model whose states hold more than their word and whose attention looks at the right "
        "words is neither. Such models are reported under *between*, and many of them read as "
        "deceptive, as those of uniform attention do: the reading says whose numbers these are "
        "like, and is no evidence of an intent.\n"
        "- Limits are for pooled models over words, our `transformer` encoder among them. Of "
        "Hugging Face's Transformers and of attention over sentences nothing was calibrated; their "
        "verdicts go by limits set by hand, and say that they are unlike what was calibrated. The "
        "limits of deletion and sufficiency are set by hand, too.\n"
        "- How many of the models most like yours were honest depends on how many honest ones were "
        "made. How many of your models are honest is not known to it."
    )


def _exams_in_words(count: int) -> str:
    return "1 exam speaks" if count == 1 else f"{count} exams speak"


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
