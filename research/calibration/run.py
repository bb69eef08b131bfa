"""`python -m research calibrate`: the shipped thresholds, measured on models of known honesty."""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import verax
from research.calibration.berts import ALL_KINDS, BERT, BertFactory
from verax.calibration import (
    CHOOSING,
    DECEPTIVE,
    HELD_OUT,
    HONEST,
    CalibratedModels,
    CorpusSpec,
    Kind,
    ModelFactory,
    TrainingBudget,
    corpus_with_evidence,
    measured_limits,
    tables_of,
)
from verax.corpora import Tokenizer, tokenize
from verax.exams import LimitSet
from verax.files import write_files, write_text
from verax.importance import DERIVED, explain

PLANTED, REVIEWS = "planted", "imdb_reviews"
ASIDE = "aside"
"""The part of models that are reported only."""
POOLED = "pooled"
LENGTHS, NEW_LENGTHS = (10, 24, 80, 300), (16, 48, 150)
CLASSES, NEW_CLASSES = (2, 4, 8), (3, 6)
REVIEWED = ((20, 6), (48, 3), (120, 6))
"""Words and classes of real reviews with planted evidence."""
LONGEST = {"transformer": 60, BERT: 80}
"""Words beyond which models of an encoder are not trained: their cost grows with the square."""
MOST_SEEDS = {
    "bilstm": ((60, 2),),
    "conv": ((60, 2),),
    "bigru": ((40, 3), (60, 1)),
    "transformer": ((40, 2),),
    BERT: ((14, 4), (20, 2), (60, 1)),
}
"""The most seeds of an encoder, from a number of words: these take longest to train."""
COSTLY = 200
"""Words from which all others have one seed."""
LEFT_OUT = (4,)
"""Numbers of classes that are left out where there is one seed."""
SECONDS = {
    "none": (1.0, 0.03),
    "mlp": (1.5, 0.05),
    "conv": (2.0, 0.1),
    "bilstm": (3.0, 0.12),
    "bigru": (3.0, 0.3),
    "transformer": (4.0, 0.3),
    BERT: (4.0, 0.3),
}
"""Seconds per model of an encoder, and per word of its texts, to start with what takes longest."""
SMALL = TrainingBudget(documents=1200, epochs=8, ramp=8, size=24, sample=40, costly=20, berts=20)
"""The budget of a smoke test, in which more models fail their gates."""
MODELS, NUMBERS, ABOUT = "models.parquet", "numbers.parquet", "calibration.json"
IMPORTANCES = ("attention", "gradient", "gradient-input-detached", "leave-one-out", "random")
"""Scores whose precision at finding the evidence is reported."""
IMPORTANCES_OF_BERTS = (*DERIVED, "gradient", "gradient-input", "leave-one-out", "random")
PRECISION_DOCUMENTS = 40


def whole(seeds: int = 3, berts: bool = True) -> list[dict[str, Any]]:
    """Return the groups of models of the shipped thresholds.

    Args:
        seeds: of each kind and corpus; held-out ones have one more, twice as many with the shortest
            texts, and one where training takes long.
        berts: whether BERTs are among the kinds.
    """
    sides = (HONEST, DECEPTIVE)
    kinds = [kind for kind in ALL_KINDS.values() if berts or kind.encoder != BERT]
    known = [kind for kind in kinds if kind.side in sides and not kind.held_out]
    new = [kind for kind in kinds if kind.side in sides and kind.held_out]
    aside = [kind for kind in kinds if kind.side not in sides]
    specs = [CorpusSpec(PLANTED, *at) for at in product(LENGTHS, CLASSES)]
    new_specs = [CorpusSpec(PLANTED, *at) for at in product(NEW_LENGTHS, NEW_CLASSES)]
    shortest = [spec for spec in new_specs if spec.length == min(NEW_LENGTHS)]
    longer = [spec for spec in new_specs if spec not in shortest]
    real = [CorpusSpec(REVIEWS, *at) for at in REVIEWED]
    reported = [CorpusSpec(PLANTED, 24, 2), CorpusSpec(PLANTED, 80, 4)]
    groups = [
        *_groups(known, specs, range(seeds), CHOOSING),
        *_groups(new, shortest, range(100, 100 + 2 * seeds), HELD_OUT),
        *_groups(new, longer, range(100, 101 + seeds), HELD_OUT),
        *_groups(new, real, range(200, 202), HELD_OUT),
        *_groups(aside, reported, range(2), ASIDE),
    ]
    return sorted(groups, key=_cost, reverse=True)


def smoke(berts: bool = True) -> list[dict[str, Any]]:
    """Return a few groups of models, to try it out."""
    names = ["none", "none-supervised", "mlp-supervised", "bilstm-penalty", "conv-penalty"]
    names += ["bert1-supervised", "bert2-penalty"] if berts else []
    kinds, new = ([ALL_KINDS[n] for n in some] for some in (names, ("mlp", "bigru-penalty")))
    return [
        *_groups(kinds, [CorpusSpec(PLANTED, 12, 2)], range(1), CHOOSING),
        *_groups(new, [CorpusSpec(PLANTED, 12, 3)], range(100, 101), HELD_OUT),
    ]


def _groups(
    kinds: Sequence[Kind], specs: Sequence[CorpusSpec], seeds: Sequence[int], part: str
) -> Iterator[dict[str, Any]]:
    """Yield configurations of `train_group`: kinds with the same plain twin."""
    architectures = dict.fromkeys((kind.encoder, getattr(kind, "layers", 0)) for kind in kinds)
    for spec, seed, (encoder, layers) in product(specs, seeds, architectures):
        fits = spec.length <= LONGEST.get(encoder, spec.length)
        fits &= spec.classes not in LEFT_OUT or most_seeds(encoder, spec.length) != 1
        if fits and seed in seeds[: most_seeds(encoder, spec.length)]:
            names = [
                kind.name
                for kind in kinds
                if (kind.encoder, getattr(kind, "layers", 0)) == (encoder, layers)
            ]
            about = {"encoder": encoder, "kinds": names, "seed": seed, "part": part}
            yield {**asdict(spec), **about}


def most_seeds(encoder: str, words: int) -> int | None:
    """Return how many seeds there are at most of an encoder and a length; None for all.

    >>> most_seeds("bigru", 48), most_seeds("bigru", 150), most_seeds("mlp", 48)
    (3, 1, None)
    """
    known = [most for least, most in MOST_SEEDS.get(encoder, ()) if words >= least]
    return min([*known, *([1] if words >= COSTLY else [])], default=None)


def _cost(group: Mapping[str, Any]) -> float:
    fixed, by_word = SECONDS[group["encoder"]]
    return float((1 + len(group["kinds"])) * (fixed + by_word * group["length"]))


def train_group(config: dict[str, Any]) -> dict[str, pd.DataFrame]:
    """Train models that share a corpus, a seed and a plain twin, and examine those that pass.

    Args:
        config: texts, length and classes of the corpus; encoder; kinds, by name; seed; part; and
            budget.

    Returns:
        The tables of `verax.calibration.CalibratedModels`, with the precision of scores at finding
        the evidence.
    """
    budget = TrainingBudget(**config["budget"])
    spec = CorpusSpec(config["texts"], config["length"], config["classes"])
    source = None if spec.texts == PLANTED else _tokens(spec.texts, budget.documents)
    corpus = corpus_with_evidence(spec, budget.documents, config["seed"], source)
    factory = (_Berts if config["encoder"] == BERT else _Pooled)(corpus, config["seed"], budget)
    tables = tables_of(config, factory, ALL_KINDS)
    layers = [getattr(ALL_KINDS[kind], "layers", 0) for kind in tables["models"]["kind"]]
    return {**tables, "models": tables["models"].assign(layers=layers)}


@lru_cache(maxsize=1)
def _tokens(texts: str, documents: int) -> dict[str, list[list[str]]]:
    corpus = verax.load_corpus(texts, limit=documents)
    return {name: tokenize(split).words for name, split in corpus.splits.items()}


class _Pooled(ModelFactory):
    def examine(self, model: Any, kind: Kind) -> tuple[pd.DataFrame, dict[str, Any]]:
        frame, more = super().examine(model, kind)
        return frame, {**more, **precisions(model, self.corpus_of(kind), IMPORTANCES)}


class _Berts(BertFactory):
    def examine(self, model: Any, kind: Kind) -> tuple[pd.DataFrame, dict[str, Any]]:
        frame, more = super().examine(model, kind)
        return frame, {**more, **precisions(model, self.corpus_of(kind), IMPORTANCES_OF_BERTS)}


def precisions(model: Any, corpus: verax.Corpus, names: Sequence[str]) -> dict[str, float]:
    """Return the share of the k highest words that are evidence, where k words are, by score."""
    test = corpus.test.take(np.arange(min(PRECISION_DOCUMENTS, len(corpus.test))))
    assert test.marks is not None
    texts = tokenize(test, Tokenizer("whitespace"))
    rationales = test.marks.majority(texts.spans)
    table = explain(model, texts.words, names, progress=False)
    hits: dict[str, list[float]] = {name: [] for name in names}
    for number, scores in table.groupby("text"):
        marks = np.asarray(rationales[int(str(number))]) > 0
        for name in names:
            order = np.argsort(-scores[name].to_numpy(), kind="stable")
            hits[name].append(float(marks[order[: marks.sum()]].mean()))
    return {f"precision_{name}": float(np.mean(values)) for name, values in hits.items()}


def publish(grid: verax.GridResults, budget: TrainingBudget, folder: str | Path) -> None:
    """Write the models of a finished grid, their numbers, and how they were made."""
    data = CalibratedModels.from_grid(grid)
    models = data.models.assign(words=math.nan) if "words" not in data.models else data.models
    models = models.assign(labels=models["labels"].fillna("{}") if "labels" in models else "{}")
    about = {
        "verax": verax.__version__,
        "torch": sorted(set(models["torch"])),
        "effort": asdict(budget),
        "models": len(models),
        "core_seconds": round(float(models["seconds"].sum())),
    }
    tables = {MODELS: models, NUMBERS: data.numbers}
    files = {n: t.to_parquet(index=False, compression="zstd") for n, t in tables.items()}
    write_files(folder, {**files, ABOUT: json.dumps(about, indent=2) + "\n"})


@dataclass(frozen=True, eq=False)
class Published:
    """Models that `publish` wrote.

    Attributes:
        models: a row per model.
        families: pooled models, and other families with enough models for thresholds.
        about: how they were made.
    """

    models: pd.DataFrame
    families: Mapping[str, CalibratedModels]
    about: Mapping[str, Any]

    @classmethod
    def load(cls, folder: str | Path) -> Published:
        """Load a folder that `publish` filled."""
        path = Path(folder)
        models, numbers = (pd.read_parquet(path / name) for name in (MODELS, NUMBERS))
        about = json.loads((path / ABOUT).read_text(encoding="utf-8"))
        families = {name: of_family(models, numbers, name) for name in (POOLED, "transformer")}
        found = {n: data for n, data in families.items() if n == POOLED or data.is_enough}
        return cls(models, found, about)


def of_family(models: pd.DataFrame, numbers: pd.DataFrame, name: str) -> CalibratedModels:
    """Return the models of a family: thresholds of one say nothing about another."""
    models = models[models["family"] == name].reset_index(drop=True)
    numbers = numbers[numbers["name"].isin(models["name"])].reset_index(drop=True)
    return CalibratedModels(models, numbers)


def thresholds(data: Published, version: str) -> LimitSet:
    """Return the thresholds of all families: those of pooled models, and others by kind."""
    passed = (data.models["failed"] == "").sum()
    provenance = (
        f"Provisional: measured on planted evidence, {len(data.models)} models of verax calibrate, "
        f"{passed} of which passed their gates."
    )
    found = {n: measured_limits(one, version, provenance) for n, one in data.families.items()}
    return replace(found.pop(POOLED), by_kind=found)


def main(arguments: Sequence[str], name: str) -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(
        prog=name,
        description="Train models whose attention is honest or deceptive by construction, examine "
        "those that pass their gates, and measure thresholds. Run it again to resume.",
    )
    parser.add_argument("out", metavar="DIR", help="folder of results")
    parser.add_argument("--seeds", type=int, default=3, metavar="N", help="seeds of each kind [3]")
    parser.add_argument("--small", action="store_true", help="a few models with a small budget")
    parser.add_argument("--no-berts", action="store_true", help="without BERTs")
    parser.add_argument("--workers", type=int, default=1, metavar="N", help="processes [1]")
    parser.add_argument("--ray", metavar="ADDRESS", help="run on a Ray cluster")
    parser.add_argument("--published", action="store_true", help="train nothing: DIR has models")
    parser.add_argument("--version", default="mine", metavar="NAME", help="of thresholds [mine]")
    parser.add_argument("--limits", metavar="FILE", help="write thresholds [DIR/limits.json]")
    parser.add_argument("--page", metavar="FILE", help="write a page, and charts beside it")
    parser.add_argument(
        "--changes", nargs="+", default=(), metavar="DIR", help="results whose verdicts it compares"
    )
    args = parser.parse_args(arguments)
    out = Path(args.out)
    if not args.published:
        budget = SMALL if args.small else TrainingBudget()
        groups = smoke(not args.no_berts) if args.small else whole(args.seeds, not args.no_berts)
        configs = [{**group, "budget": asdict(budget)} for group in groups]
        engine = {"engine": "ray", "address": args.ray} if args.ray else {"workers": args.workers}
        publish(verax.run_grid(train_group, configs, out / "run", **engine), budget, out)
    data = Published.load(out)
    limits = thresholds(data, args.version)
    path = Path(args.limits or out / "limits.json")
    write_text(path, json.dumps(limits.to_json(whole=True), ensure_ascii=False) + "\n")
    print(path)
    if args.page:
        from research.calibration.report import write_page

        print(write_page(data, limits, args.page, args.changes))
    return 0
