"""`verax demo`: three classifiers on a built-in corpus, and whether attention tells the truth."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from verax.cli.terminal import console, heat, printable, table
from verax.corpora import Corpus, load_corpus
from verax.exams import Verdict, examine
from verax.exams.adversary import most_divergent
from verax.exams.dispersion import normalised_entropy, support_size
from verax.files import refuse_foreign, replace_folder
from verax.models import AttentionClassifier, decisions
from verax.options import SEED, check
from verax.report import report
from verax.results import REPORT
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
_RANKINGS = ("attention", "product", "random", "optimum")
_AGREED = {
    f"{name}, {on}": f"agreement.{on}:attention:{name}.tau"
    for on in ("inputs", "items")
    for name in ("gradient", "leave-one-out")
}
"""Column → id of the measure."""
_KINDS = ("uniform", "permuted")
_REPLACED = (
    *(f"F1, {kind}" for kind in _KINDS),
    *(f"survive {kind}" for kind in _KINDS),
    "token alone",
)
_DIVERGED = ("JSD, ε = 0.01", "JSD, ε = 0.05", "beyond 0.5", "any output", "permuted |Δŷ|")


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
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="fixes everything [0]")
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda or cuda:1 [auto]")
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> None:
    check("seed", given.seed, int, SEED)
    if given.out:
        refuse_foreign(given.out, _is_demo)
    screen = console()
    started = time.monotonic()
    corpus = load_corpus("rotten_tomatoes")
    screen.print(
        f"rotten_tomatoes: {len(corpus.train):,} reviews to train on, {len(corpus.test):,} to test"
    )
    exams = [*EXAMINED, *(DRAWN if given.out else ())]
    curves = CURVES if given.out else 0
    models: dict[str, AttentionClassifier] = {}
    verdicts: dict[str, Verdict] = {}
    rows = []
    for name, own in MODELS.items():
        model = models[name] = train(
            corpus, seed=given.seed, device=given.device, progress=True, **SETTINGS, **own
        )
        # the first model's most surprising reviews, so that all can be seen side by side
        shown = [v.tables["gallery_documents"]["id"].tolist() for v in verdicts.values()]
        kept = (shown[0] if shown else GALLERY) if given.out else 0
        verdict = verdicts[name] = examine(
            model, corpus, exams, seed=given.seed, gallery=kept, curves=curves, progress=True
        )
        found = [measure(model, corpus), erased(verdict), agreed(verdict), replaced(verdict)]
        found.append(diverged(verdict))
        rows.append({"model": name, **{n: v for part in found for n, v in part.items()}})
        scores = model.record["test"]
        screen.print(f"  {name}: trained, test accuracy {scores['accuracy']:.1%}")
    frame = pd.DataFrame(rows)
    columns = ("model", "accuracy", "F1", "support", "of items", "entropy")
    title = "\ntest reviews: mean ± half its 95% interval over documents, one seed"
    screen.print(table(columns, [_cells(row) for row in rows], title=title))
    screen.print(
        "support: items with a weight above zero; entropy: of the weights, 1 is uniform",
        style="dim",
    )
    erasure_columns = (
        "model",
        "by attention",
        "by product",
        "at random",
        "at least",
        "attention optimal",
        "reviews",
    )
    title = "\nmean share of words erased at the first flip, where every ranking flips it"
    screen.print(table(erasure_columns, [_erasure_cells(row) for row in rows], title=title))
    screen.print(
        "at least: the smallest set of words that flips it; product: attention × its gradient;\n"
        "optimal: attention needs no more than that, of all reviews that can be flipped",
        style="dim",
    )
    title = "\nτ-b of attention with other importances; 1 is the same order, 0 none"
    screen.print(table(("model", *_AGREED), [_agreement_cells(row) for row in rows], title=title))
    screen.print(
        "inputs: the words; items: what attention weighs, here a state for each word",
        style="dim",
    )
    title = "\nwhen attention is replaced and all else stays, and what tokens say alone"
    screen.print(table(("model", *_REPLACED), [_replaced_cells(row) for row in rows], title=title))
    screen.print(
        "F1: its change in points from trained attention; survive: decisions that stay the same;\n"
        "token alone: its mean probability of the decision, where that is correct; 50% is neutral",
        style="dim",
    )
    title = "\nthe most divergent attention that leaves the output where it is, within ε"
    screen.print(table(("model", *_DIVERGED), [_diverged_cells(row) for row in rows], title=title))
    screen.print(
        "JSD: from the model's own attention, in nats, 0.693 at most; exact: nothing is farther;\n"
        "beyond 0.5: reviews, at ε = 0.05; permuted: median change of the output over random "
        "orders",
        style="dim",
    )
    screen.print(
        "\ntwo reviews by each model's attention, or else by one that moves its output by 0.01 at "
        "most"
    )
    for row in example_rows(models, corpus):
        screen.print(f"\n[{corpus.classes[corpus.test.labels[row]]}]", markup=False, style="bold")
        for name, model in models.items():
            _show(screen, name, model, corpus.test.texts[row])
    if given.out:
        _save(Path(given.out), models, verdicts, frame)
        screen.print(
            f"\nsaved in {given.out}; to look at: {Path(given.out) / REPORT}", markup=False
        )
    screen.print(f"\n{time.monotonic() - started:.0f} s", style="dim")


def measure(model: AttentionClassifier, corpus: Corpus) -> dict[str, float]:
    """Test accuracy, F1, and the mean support and entropy of the attention, with half-intervals."""
    correct, support, items, entropy = [], [], [], []
    for trace in model.traces(corpus.test):
        assert trace.labels is not None
        correct.append((decisions(trace.logits) == trace.labels).cpu().numpy())
        support.append(support_size(trace.weights, trace.mask).cpu().numpy())
        items.append(trace.mask.sum(-1).cpu().numpy())
        entropy.append(normalised_entropy(trace.weights, trace.mask).cpu().numpy())
    made: dict[str, float] = {"f1": model.record["test"]["f1"]}
    for name, values in (
        ("accuracy", correct),
        ("support", support),
        ("items", items),
        ("entropy", entropy),
    ):
        joined = np.concatenate(values).astype(np.float64)
        joined = joined[~np.isnan(joined)]
        made[name], low, _ = mean(joined)
        made[f"{name}_half"] = made[name] - low
    return made


def erased(verdict: Verdict) -> dict[str, float]:
    """The mean share of words that go before a decision flips, where all rankings flip it."""
    shares = {n: verdict.number(f"erasure.fraction.{n}.common_mean") for n in _RANKINGS}
    return {
        **{f"erased_{name}": share.value for name, share in shares.items()},
        "flipped": shares["attention"].n,
        "attention_optimal": verdict.value("erasure.excess.attention.optimal") / 100,
    }


def agreed(verdict: Verdict) -> dict[str, float]:
    """How far attention ranks words and items as gradients and leave-one-out do."""
    return {name: verdict.value(measure) for name, measure in _AGREED.items()}


def replaced(verdict: Verdict) -> dict[str, float]:
    """What uniform and permuted attention do to F1 and decisions; what tokens say alone."""
    return {
        **{f"F1, {kind}": verdict.value(f"replacement.{kind}.delta_f1") for kind in _KINDS},
        **{
            f"survive {kind}": verdict.value(f"replacement.{kind}.survival") / 100
            for kind in _KINDS
        },
        "token alone": verdict.value("single_token.correct.mean_probability"),
    }


def diverged(verdict: Verdict) -> dict[str, float]:
    """How far the most divergent attention is, for small changes of the output and for any."""
    measures = {
        "JSD, ε = 0.01": "adversary.epsilon=0.01.jsd",
        "JSD, ε = 0.05": "adversary.epsilon=0.05.jsd",
        "beyond 0.5": "adversary.epsilon=0.05.far",
        "any output": "adversary.any_output.jsd",
        "permuted |Δŷ|": "adversary.groups.all.permuted_change",
    }
    numbers = {name: verdict.value(measure) for name, measure in measures.items()}
    return {**numbers, "beyond 0.5": numbers["beyond 0.5"] / 100}


def example_rows(models: dict[str, AttentionClassifier], corpus: Corpus) -> list[int]:
    """One review of each class, of ten to sixteen words, that every model gets right."""
    right = np.ones(len(corpus.test), dtype=bool)
    for model in models.values():
        predicted = model.predict(corpus.test.texts)["label"]
        right &= predicted.to_numpy() == np.array(corpus.classes)[corpus.test.labels]
    lengths = corpus.test.token_numbers.lengths
    good = right & (lengths >= 10) & (lengths <= 16)
    found = [np.flatnonzero(good & (corpus.test.labels == c)) for c in range(EXAMPLES)]
    return [int(rows[0]) for rows in found if len(rows)]


def _show(screen: Any, name: str, model: AttentionClassifier, text: str) -> None:
    """A review by the model's own attention, and the farthest that says the same in words."""
    trace = model.trace([text])
    other = most_divergent(trace.weights, trace.item_logits, trace.mask, epsilon=0.01)
    shown, words = trace.mask[0].cpu(), model.tokeniser(text)
    screen.print(f"{name:>10}  ", end="")
    screen.print(heat(words, trace.weights[0].cpu()[shown].tolist()))
    parts = zip(words, other.weights[0].cpu()[shown].tolist(), strict=True)
    told = ", ".join(f"{share:.0%} on {word}" for word, share in parts if share > 0)
    screen.print(f"   or else  {printable(told)}", style="dim", markup=False)


def _cells(row: dict[str, Any]) -> list[str]:
    return [
        row["model"],
        f"{row['accuracy']:.1%} ± {row['accuracy_half']:.1%}",
        f"{row['f1']:.3f}",
        f"{row['support']:.1f} ± {row['support_half']:.1f}",
        f"{row['items']:.1f}",
        f"{row['entropy']:.3f} ± {row['entropy_half']:.3f}",
    ]


def _erasure_cells(row: dict[str, Any]) -> list[str]:
    shares = [row[f"erased_{name}"] for name in _RANKINGS]
    cells = ["–" if np.isnan(s) else f"{s:.1%}" for s in (*shares, row["attention_optimal"])]
    return [row["model"], *cells, f"{row['flipped']:,}"]


def _agreement_cells(row: dict[str, Any]) -> list[str]:
    return [row["model"], *(f"{row[name]:.3f}" for name in _AGREED)]


def _replaced_cells(row: dict[str, Any]) -> list[str]:
    cells = [f"{row[n]:+.1f}" if n.startswith("F1") else f"{row[n]:.1%}" for n in _REPLACED]
    return [row["model"], *cells]


def _diverged_cells(row: dict[str, Any]) -> list[str]:
    cells = [f"{row[n]:.1%}" if n == "beyond 0.5" else f"{row[n]:.3f}" for n in _DIVERGED]
    return [row["model"], *cells]


def _save(
    out: Path,
    models: dict[str, AttentionClassifier],
    verdicts: dict[str, Verdict],
    frame: pd.DataFrame,
) -> None:
    def write(target: Path) -> None:
        for name, model in models.items():
            model.save(target / name)
            verdicts[name].save(target / f"{name}-verdict")
        frame.to_parquet(target / "demo.parquet", index=False)
        report(verdicts, target / REPORT, "Three attentions on rotten_tomatoes")

    replace_folder(out, write, owned=_is_demo)


def _is_demo(folder: Path) -> bool:
    names = {path.name for path in folder.iterdir()}
    return names - {REPORT} == {"demo.parquet", *MODELS, *(f"{name}-verdict" for name in MODELS)}
