"""Is there another attention that says the same? Post hoc on SST and IMDB, trained on SST.

    VERAX_DATA=… python benchmarks/adversaries.py --studies posthoc,trained
        [--corpora sst,imdb] [--vectors glove-100d.txt.gz] [--seeds 1,2,3] [--workers 15]
        [--out adversaries.parquet]

Every model is trained by Tutek & Šnajder's protocol (BiLSTM as wide as the word vectors, batch 32,
lr 1e-3, weight decay 1e-5, clip 5, balanced classes, best validation F1 of 8 epochs).

posthoc  softmax and sparsemax, ungrounded and tied: the adversary exam on test, with Jain &
         Wallace's search beside the exact answer. A row per model and number of the summary, the
         deciles of both divergences at every ε, and how far another seed's attention is
trained  Wiegreffe & Pinter's adversaries of an ungrounded model and of one with a masked LM, for
         every λ: divergence, TVD, F1. That of the masked LM once grounded as it is, once not; and
         an ungrounded base with frozen vectors, as the masked LM has them. Beside them the
         divergence between seeds, frozen-uniform attention, and unencoded models that are guided

Writes a row per cell and number. `--show` prints such a file.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from tutek_snajder import PROTOCOL, READING, TRAINING

import verax
from verax.corpora import Tokenizer, tokenize
from verax.training import divergences, train_adversary, train_guided

TIED = {"sst": 0.03, "imdb": 0.1}
"""As strength auto chose most often (benchmarks/grounding.py)."""
MASKED = 1.0
LAMS = (0.0, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
SETTINGS = ["study", "corpus", "kind", "projection", "what", "lam", "seed"]
CORPORA: dict[str, verax.Corpus] = {}


@dataclass(frozen=True)
class Cell:
    study: str
    corpus: str
    kind: str = "base"
    projection: str = "softmax"
    what: str = "exam"
    lam: float = float("nan")
    seed: int = 1

    @property
    def options(self) -> dict[str, Any]:
        """Of the model that is examined, or that an adversary is trained against."""
        options = {**PROTOCOL, **TRAINING.get(self.corpus, {}), "projection": self.projection}
        if self.kind == "tied":
            options |= {"grounding": "tying", "strength": TIED[self.corpus]}
        if self.kind.startswith("mlm"):
            options |= {"grounding": "mlm", "strength": MASKED, "freeze_embeddings": True}
        if self.kind == "frozen":
            options |= {"freeze_embeddings": True}
        return options


def cells(study: str, corpus: str, seed: int) -> list[Cell]:
    start = Cell(study, corpus, seed=seed)
    if study == "posthoc":
        return [
            replace(start, kind=kind, projection=projection)
            for kind in ("base", "tied")
            for projection in ("softmax", "sparsemax")
        ]
    if study == "trained":
        kinds = ("mlm", "mlm, adversary not", "frozen", "base")
        adversaries = [
            replace(start, kind=kind, what="adversary", lam=lam) for kind in kinds for lam in LAMS
        ]
        sparse = [
            replace(start, projection="sparsemax", what="adversary", lam=lam) for lam in (0.1, 1.0)
        ]
        controls = [
            replace(start, what=what)
            for what in (
                "uniform",
                "unencoded, uniform",
                "unencoded, own",
                "unencoded, guided",
                "unencoded, guided by the adversary",
            )
        ]
        seeds = [
            replace(start, kind=kind, what=what)
            for kind in ("base", "frozen", "mlm")
            for what in ("seeds", "base")
        ]
        return [*adversaries, *sparse, *controls, *seeds]
    raise SystemExit(f"no study {study!r}: posthoc, trained")


def run(job: tuple[Cell, argparse.Namespace]) -> pd.DataFrame:
    cell, given = job
    torch.set_num_threads(1)
    started = time.monotonic()
    corpus = CORPORA[cell.corpus]
    told = {"device": given.device, "vectors": given.vectors}
    found = (
        _posthoc(cell, corpus, told) if cell.study == "posthoc" else _trained(cell, corpus, told)
    )
    found["seconds"] = time.monotonic() - started
    frame = pd.DataFrame({"measure": list(found), "value": list(map(float, found.values()))})
    for place, name in enumerate(SETTINGS):
        frame.insert(place, name, getattr(cell, name))
    return frame


def _posthoc(cell: Cell, corpus: verax.Corpus, told: dict[str, Any]) -> dict[str, float]:
    model = verax.train(corpus, seed=cell.seed, **cell.options, **told)
    verdict = verax.examine(model, corpus, "adversary", seed=cell.seed, search=True)
    numbers = verdict.summary()
    found = dict(zip(numbers["measure"], numbers["value"].tolist(), strict=True))
    table = verdict.tables["adversary"]
    jsd = table[table["measure"] == "jsd"]
    for (epsilon, by), part in jsd.groupby(["epsilon", "by"], observed=True):
        for decile in range(11):
            name = f"decile {decile}: {by}: ε = {epsilon}"
            found[name] = np.quantile(part["value"], decile / 10)
    own = table[table["by"] == "search"].pivot(
        index=["id", "epsilon"], columns="measure", values="value"
    )
    found["farther than certified"] = (own["jsd"] > own["upper_bound"] + 1e-10).sum()
    other = verax.train(corpus, seed=cell.seed + 100, **cell.options, **told)
    apart = divergences(other, model, corpus.test)
    found |= {f"another seed: {name}": apart[name].mean() for name in ("jsd", "tvd", "same")}
    found["another seed: JSD > 0.5"] = (apart["jsd"] > 0.5).mean()
    found["F1"] = model.record["test"]["f1"]
    return found


def _trained(cell: Cell, corpus: verax.Corpus, told: dict[str, Any]) -> dict[str, float]:
    own = {**cell.options, **told}
    mlp = {**own, "encoder": "mlp", "hidden_size": 128}
    if cell.what == "uniform":
        return dict(
            verax.train(corpus, seed=cell.seed, **own | {"projection": "uniform"}).record["test"]
        )
    if cell.what == "unencoded, own":
        return dict(verax.train(corpus, seed=cell.seed, **mlp).record["test"])
    if cell.what == "unencoded, uniform":
        return dict(
            verax.train(corpus, seed=cell.seed, **mlp | {"projection": "uniform"}).record["test"]
        )
    # every cell trains its base again: the same seed gives the same bits, and cells stay apart
    base = verax.train(corpus, seed=cell.seed, **own)
    device = told["device"]
    if cell.what == "base":
        picked = base.history.loc[base.history["selected"]].iloc[0]
        scores = {f"validation {n}": picked[n] for n in ("f1", "accuracy")}
        return scores | {f"test {n}": v for n, v in base.record["test"].items() if v is not None}
    if cell.what == "unencoded, guided":
        return dict(train_guided(base, corpus, seed=cell.seed, device=device).record["test"])
    if cell.what == "unencoded, guided by the adversary":
        other = train_adversary(base, corpus, 0.1, seed=cell.seed + 100, device=device)
        other.record = {**other.record, "training": base.record["training"]}
        return dict(train_guided(other, corpus, seed=cell.seed, device=device).record["test"])
    if cell.what == "seeds":
        other = verax.train(corpus, seed=cell.seed + 100, **own)
        found = {}
    else:
        options: dict[str, Any] = {}
        if cell.kind.endswith("not"):
            options = {"grounding": "none", "strength": None}
        other = train_adversary(
            base, corpus, cell.lam, seed=cell.seed + 100, device=device, **options
        )
        scores = other.record["adversary"]["validation"]
        found = {f"validation {name}": value for name, value in scores.items()}
        found["epochs"] = len(other.history) - 1
    apart = divergences(other, base, corpus.test)
    found |= {f"test {name}": apart[name].mean() for name in ("jsd", "tvd", "same")}
    found["test JSD > 0.5"] = (apart["jsd"] > 0.5).mean()
    found |= {f"test {name}": value for name, value in other.record["test"].items()}
    found |= {f"base test {name}": value for name, value in base.record["test"].items()}
    kept = {name: value for name, value in found.items() if value is not None}
    return kept


def show(frame: pd.DataFrame) -> None:
    """Means over seeds of what matters most."""
    wide = frame.pivot_table(index=SETTINGS, columns="measure", values="value", dropna=False)
    wide = wide.dropna(how="all").reset_index()
    trained = wide[wide["study"] == "trained"]
    if len(trained):
        columns = [
            "test jsd",
            "test tvd",
            "test same",
            "test JSD > 0.5",
            "test f1",
            "base test f1",
            "f1",
            "validation jsd",
            "validation f1",
            "epochs",
            "seconds",
        ]
        there = [c for c in columns if c in trained]
        groups = ["kind", "projection", "what", "lam"]
        means = trained.groupby(groups, dropna=False)[there].mean()
        print(means.to_string(float_format="%.3f"))
    posthoc = wide[wide["study"] == "posthoc"]
    if len(posthoc):
        shown = ("adversary.epsilon", "adversary.any_output", "adversary.search.")
        columns = [c for c in posthoc.columns if c.startswith(shown)]
        groups = ["corpus", "kind", "projection"]
        means = posthoc.groupby(groups)[
            ["F1", "seconds", "farther than certified", *columns]
        ].mean()
        print(means.T.to_string(float_format="%.4f"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--studies", default="posthoc,trained")
    parser.add_argument("--corpora", default="sst")
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--vectors")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--what", help="of these cells alone: adversary, base, seeds, uniform, …")
    parser.add_argument("--limit", type=int, help="documents of each split, to try it out")
    parser.add_argument("--out", default="adversaries.parquet")
    parser.add_argument("--show", metavar="FILE", help="print a file that was written before")
    given = parser.parse_args()
    if given.show:
        show(pd.read_parquet(given.show))
        return
    for name in given.corpora.split(","):
        CORPORA[name] = verax.load_corpus(name, **READING[name], limit=given.limit)
        for documents in CORPORA[name].splits.values():
            kind = TRAINING.get(name, {}).get("tokenizer", "words")
            tokenize(documents, Tokenizer(kind)).number(iter)
    jobs = [
        (cell, given)
        for study in given.studies.split(",")
        for corpus in ([*CORPORA] if study == "posthoc" else [c for c in CORPORA if c == "sst"])
        for seed in map(int, given.seeds.split(","))
        for cell in cells(study, corpus, seed)
        if given.what in (None, cell.what)
    ]
    # the longest first, so that none is left over at the end
    jobs.sort(
        key=lambda job: (
            job[0].corpus == "sst",
            job[0].what != "adversary",
            not job[0].kind.startswith("mlm"),
        )
    )
    done: list[pd.DataFrame] = []
    # forked before any device is touched, so that corpora are read and tokenized once
    with multiprocessing.get_context("fork").Pool(given.workers, maxtasksperchild=1) as pool:
        for frame in pool.imap_unordered(run, jobs):
            done.append(frame)
            first = frame.iloc[0]
            seconds = frame.set_index("measure")["value"]["seconds"]
            print(
                f"{len(done)}/{len(jobs)} "
                + " ".join(f"{first[name]}" for name in SETTINGS)
                + f": {seconds:.0f} s",
                file=sys.stderr,
                flush=True,
            )
            pd.concat(done, ignore_index=True).to_parquet(Path(given.out), index=False)
    show(pd.concat(done, ignore_index=True))


if __name__ == "__main__":
    main()
