"""`verax demo`: three classifiers on a built-in corpus, and whether attention tells the truth."""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from verax.cli.parsing import bounded
from verax.cli.saving import add_overwrite, check_out, keep, write_page
from verax.cli.terminal import console, heat, printable, say, table
from verax.corpora import Corpus, load_corpus, tokenize
from verax.exams import Verdict, examine
from verax.exams.adversary import most_divergent
from verax.exams.dispersion import normalised_entropy, support_size
from verax.files import replace_folder, write_table
from verax.models import AttentionClassifier, decisions
from verax.options import SEED, check
from verax.report import report
from verax.results import REPORT, Shown
from verax.statistics import mean
from verax.training import train

MODELS: dict[str, dict[str, Any]] = {
    "softmax": {"projection": "softmax"},
    "sparsemax": {"projection": "sparsemax"},
    "tied": {"grounding": "tying", "strength": 1.0},
}
SETTINGS: dict[str, Any] = {"epochs": 5, "min_df": 2, "metric": "accuracy"}
EXAMINED = ("erasure", "agreement", "replacement", "single_token", "adversary")
DRAWN = ("dispersion", "information")
"""Exams that the report alone shows."""
EXAMPLES = 2
GALLERY, CURVES = 50, 3
"""Reviews in the report, and those of which it draws what each token says alone."""
_HALF = "±"
_MEASURES = {
    **{
        f"erased_{name}": f"erasure.fraction.{name}.common_mean"
        for name in ("attention", "product", "random", "optimum")
    },
    "attention_optimal": "erasure.excess.attention.optimal",
    **{
        f"{name}, {on}": f"agreement.{on}:attention:{name}.tau"
        for on in ("inputs", "items")
        for name in ("gradient", "leave-one-out")
    },
    **{f"F1, {kind}": f"replacement.{kind}.delta_f1" for kind in ("uniform", "permuted")},
    **{f"survive {kind}": f"replacement.{kind}.survival" for kind in ("uniform", "permuted")},
    "token alone": "single_token.correct.mean_probability",
    "JSD, ε = 0.01": "adversary.epsilon=0.01.jsd",
    "JSD, ε = 0.05": "adversary.epsilon=0.05.jsd",
    "beyond 0.5": "adversary.epsilon=0.05.far",
    "any output": "adversary.any_output.jsd",
    "permuted |Δŷ|": "adversary.groups.all.permuted_change",
}
"""Column → id of the number in the verdict."""
_IN_PERCENT = ("attention_optimal", "survive uniform", "survive permuted", "beyond 0.5")
"""Columns that are shares of 1, of numbers in percent."""


@dataclass(frozen=True)
class Section:
    """A table of the demo: title, head → (column, format), and what the heads mean."""

    title: str
    columns: Mapping[str, tuple[str, str]]
    note: str


_SECTIONS = (
    Section(
        "test reviews: mean ± half its 95% interval over documents, one seed",
        {
            "accuracy": ("accuracy", f".1%{_HALF}"),
            "F1": ("f1", ".3f"),
            "support": ("support", f".1f{_HALF}"),
            "of items": ("items", ".1f"),
            "entropy": ("entropy", f".3f{_HALF}"),
        },
        "support: items with a weight above zero; entropy: of the weights, 1 is uniform",
    ),
    Section(
        "mean share of words erased at the first flip, where every ranking flips it",
        {
            "by attention": ("erased_attention", ".1%"),
            "by product": ("erased_product", ".1%"),
            "at random": ("erased_random", ".1%"),
            "at least": ("erased_optimum", ".1%"),
            "attention optimal": ("attention_optimal", ".1%"),
            "reviews": ("flipped", ","),
        },
        "at least: the smallest set of words that flips it; product: attention × its gradient;\n"
        "optimal: attention needs no more than that, of all reviews that can be flipped",
    ),
    Section(
        "τ-b of attention with other importances; 1 is the same order, 0 none",
        {n: (n, ".3f") for n, id in _MEASURES.items() if id.startswith("agreement.")},
        "inputs: the words; items: what attention weighs, here a state for each word",
    ),
    Section(
        "when attention is replaced and all else stays, and each token alone",
        {
            **{f"F1, {kind}": (f"F1, {kind}", "+.1f") for kind in ("uniform", "permuted")},
            **{f"survive {k}": (f"survive {k}", ".1%") for k in ("uniform", "permuted")},
            "token alone": ("token alone", ".1%"),
        },
        "F1: its change in points from trained attention; survive: decisions that stay the same;\n"
        "token alone: its mean probability of the decision, where that is correct; 50% is neutral",
    ),
    Section(
        "the most divergent attention that leaves the output where it is, within ε",
        {
            **{n: (n, ".3f") for n in ("JSD, ε = 0.01", "JSD, ε = 0.05")},
            "beyond 0.5": ("beyond 0.5", ".1%"),
            **{n: (n, ".3f") for n in ("any output", "permuted |Δŷ|")},
        },
        "JSD: from the model's own attention, in nats, 0.693 at most; exact: nothing is farther;\n"
        "beyond 0.5: reviews, at ε = 0.05; permuted: median change of the output over random "
        "orders",
    ),
)


class _Demo(Shown):
    """The three verdicts side by side."""

    def __init__(self, verdicts: Mapping[str, Verdict]) -> None:
        self._verdicts = verdicts

    def report(self, path: str | Path, title: str | None = None) -> None:
        report(self._verdicts, path, title or "Three attentions on rotten_tomatoes")


def add(verbs: Any) -> None:
    parser = verbs.add_parser(
        "demo",
        help="train three classifiers on a built-in corpus and examine their attention",
        description="Train a softmax, a sparsemax and a tied classifier on rotten_tomatoes and "
        "show how well each decides, how widely each attends, how far its attention is from the "
        "fewest words a decision hangs on, whether decisions change when it is replaced, and "
        "how far another attention can be that decides the same.",
    )
    parser.add_argument(
        "--out", metavar="DIR", help="save the models, the table and report.html there"
    )
    parser.add_argument(
        "--seed",
        type=bounded("seed", int, **SEED),
        default=0,
        metavar="N",
        help="fixes everything [0]",
    )
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda or cuda:1 [auto]")
    add_overwrite(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    check("seed", args.seed, int, SEED)
    check_out(args, _is_demo)
    screen = console()
    started = time.monotonic()
    corpus = load_corpus("rotten_tomatoes")
    say(f"rotten_tomatoes: {len(corpus.train):,} reviews to train on, {len(corpus.test):,} to test")
    exams = [*EXAMINED, *(DRAWN if args.out else ())]
    curves = CURVES if args.out else 0
    models: dict[str, AttentionClassifier] = {}
    verdicts: dict[str, Verdict] = {}
    rows: list[dict[str, Any]] = []
    for name, options in MODELS.items():
        model = models[name] = train(
            corpus, seed=args.seed, device=args.device, progress=True, **SETTINGS, **options
        )
        # the first model's most surprising reviews, so that all can be seen side by side
        shown = [v.tables["gallery_documents"]["id"].tolist() for v in verdicts.values()]
        kept = (shown[0] if shown else GALLERY) if args.out else 0
        verdict = verdicts[name] = examine(
            model, corpus, exams, seed=args.seed, gallery=kept, curves=curves, progress=True
        )
        rows.append({"model": name, **measure(model, corpus), **numbers_of(verdict)})
        scores = model.record["test"]
        say(f"  {name}: trained, test accuracy {scores['accuracy']:.1%}")

    def write(target: Path) -> None:
        for name, model in models.items():
            model.save(target / name)
            verdicts[name].save(target / f"{name}-verdict")
        write_table(target / "demo.parquet", pd.DataFrame(rows), index=False)

    keep(args, lambda out: replace_folder(out, write, owned=_is_demo))
    for section in _SECTIONS:
        cells = [
            [row["model"], *(_cell(row, *column) for column in section.columns.values())]
            for row in rows
        ]
        screen.print(table(["model", *section.columns], cells, title=f"\n{section.title}"))
        screen.print(section.note, style="dim")
    say(
        "\ntwo reviews by each model's attention, or else by one that moves its output by 0.01 at "
        "most"
    )
    for row in example_rows(models, corpus):
        say(f"\n[{corpus.classes[corpus.test.labels[row]]}]", "bold")
        for name, model in models.items():
            _show(screen, name, model, corpus.test.texts[row])
    if args.out:
        say(f"\nsaved in {args.out}")
        write_page(_Demo(verdicts), args.out)
    say(f"\n{time.monotonic() - started:.0f} s", "dim")


def measure(model: AttentionClassifier, corpus: Corpus) -> dict[str, float]:
    """Test accuracy, F1, and the mean support and entropy of the attention, with half-intervals."""
    parts = []
    for trace in model.traces(corpus.test):
        documents: dict[str, Any] = {
            "accuracy": decisions(trace.logits) == trace.labels,
            "support": support_size(trace.weights, trace.mask),
            "items": trace.mask.sum(-1),
            "entropy": normalised_entropy(trace.weights, trace.mask),
        }
        parts.append(pd.DataFrame({name: v.double().cpu() for name, v in documents.items()}))
    made: dict[str, float] = {"f1": model.record["test"]["f1"]}
    for name, values in pd.concat(parts).items():
        made[str(name)], low, _ = mean(values.dropna().to_numpy())
        made[f"{name}_half"] = made[str(name)] - low
    return made


def numbers_of(verdict: Verdict) -> dict[str, float]:
    """Column → number of the verdict, and how many reviews every ranking flips."""
    numbers = {name: verdict.value(id) for name, id in _MEASURES.items()}
    flipped = verdict.number(_MEASURES["erased_attention"]).n
    return {**numbers, **{n: numbers[n] / 100 for n in _IN_PERCENT}, "flipped": flipped}


def _cell(row: Mapping[str, Any], column: str, form: str) -> str:
    form, half, _ = form.partition(_HALF)
    text = "–" if np.isnan(row[column]) else format(row[column], form)
    return f"{text} ± {format(row[f'{column}_half'], form)}" if half else text


def example_rows(models: dict[str, AttentionClassifier], corpus: Corpus) -> list[int]:
    """One review of each class, of ten to sixteen words, that every model gets right."""
    right = np.ones(len(corpus.test), dtype=bool)
    for model in models.values():
        predicted = model.predict(corpus.test.texts)["label"]
        right &= predicted.to_numpy() == np.array(corpus.classes)[corpus.test.labels]
    lengths = tokenize(corpus.test).numbers.lengths
    good = right & (lengths >= 10) & (lengths <= 16)
    by_class = [np.flatnonzero(good & (corpus.test.labels == c)) for c in range(EXAMPLES)]
    return [int(rows[0]) for rows in by_class if len(rows)]


def _show(screen: Any, name: str, model: AttentionClassifier, text: str) -> None:
    """A review by the model's own attention, and the farthest that says the same in words."""
    trace = model.trace([text])
    other = most_divergent(trace.weights, trace.item_logits, trace.mask, epsilon=0.01)
    shown, words = trace.mask[0].cpu(), trace.words[0]
    screen.print(f"{name:>10}  ", end="")
    screen.print(heat(words, trace.weights[0].cpu()[shown].tolist()))
    parts = zip(words, other.weights[0].cpu()[shown].tolist(), strict=True)
    words_of_it = ", ".join(f"{share:.0%} on {word}" for word, share in parts if share > 0)
    say(f"   or else  {printable(words_of_it)}", "dim")


def _is_demo(folder: Path) -> bool:
    names = {path.name for path in folder.iterdir()}
    return names - {REPORT} == {"demo.parquet", *MODELS, *(f"{name}-verdict" for name in MODELS)}
