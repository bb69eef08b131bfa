"""Tutek & Šnajder's experiments: does grounding make attention matter?

    VERAX_DATA=… python benchmarks/grounding.py --corpora sst,imdb,planted
        [--vectors glove-100d.txt.gz] [--studies main,embeddings,layers,query] [--seeds 1,2,3]
        [--workers 15] [--out grounding.parquet]

Every model is trained by their protocol (BiLSTM as wide as the word vectors, batch 32, lr 1e-3,
weight decay 1e-5, clip 5, balanced classes, best validation F1 of 8 epochs), scored on validation
as strength auto does, and put through replacement and single_token on test and information on
train and test, for the 1,000 most frequent and for 1,000 sampled words. On `planted` the attention
on the evidence is measured too.

main        base, concat, residual, tying 0.01 to 30 and masked LM 0.1, 0.3, 1, 3, 5; word
            vectors trained, but frozen for the masked LM, beside a base with frozen ones
embeddings  the same groundings with word vectors the other way (frozen, or trained), and of unit
            norm
layers      two and three layers: base, concat, and each strength of tying and the masked LM
query       dot attention, its query drawn from N(0, 1) and by PyTorch's default

Writes a row per model and measure. `--select` prints what strength auto would choose of such a
file and how the chosen ones do on test.
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
from verax.training.strength import STRENGTHS, score, select

TYING = sorted({*STRENGTHS["tying"], 1.0, 10.0, 20.0, 30.0})
SETTINGS = ["corpus", "study", "grounding", "strength", "layers", "attention", "frozen", "unit"]
CORPORA: dict[str, verax.Corpus] = {}


@dataclass(frozen=True)
class Cell:
    corpus: str
    study: str = "main"
    grounding: str = "none"
    strength: float | None = None
    layers: int = 1
    attention: str = "additive"
    frozen: bool = False
    unit: bool = False
    seed: int = 1

    @property
    def options(self) -> dict[str, Any]:
        kind, _, query = self.attention.partition(", ")
        return {
            "grounding": self.grounding,
            "strength": self.strength,
            "layers": self.layers,
            "attention": kind,
            "query_init": query or "normal",
            "freeze_embeddings": self.frozen,
            "unit_norm": self.unit,
        }


def cells(corpus: str, study: str, seed: int) -> list[Cell]:
    base = Cell(corpus, study, seed=seed)
    plain = [replace(base, grounding=g) for g in ("none", "concat", "residual")]
    tying = [replace(base, grounding="tying", strength=s) for s in TYING]
    mlm = [replace(base, grounding="mlm", strength=s) for s in STRENGTHS["mlm"]]
    # word vectors that nobody trained before are not worth keeping
    frozen_mlm = [replace(cell, frozen=not corpus.startswith("planted")) for cell in mlm]
    if study == "main":
        return [*plain, replace(base, frozen=True), *tying, *frozen_mlm]
    if study == "embeddings":
        frozen_tying = [replace(cell, frozen=True) for cell in tying]
        unit = [replace(cell, unit=True) for cell in [plain[0], *tying, *frozen_tying, *frozen_mlm]]
        return [*frozen_tying, *mlm, *unit]
    if study == "layers":
        deep = [*plain[:2], replace(base, frozen=True), *tying, *frozen_mlm]
        return [replace(cell, layers=layers) for layers in (2, 3) for cell in deep]
    if study == "query":
        kinds = ("dot, normal", "dot, default")
        return [replace(cell, attention=kind) for kind in kinds for cell in plain[:1]]
    raise SystemExit(f"no study {study!r}: main, embeddings, layers, query")


def run(job: tuple[Cell, argparse.Namespace]) -> pd.DataFrame:
    cell, given = job
    torch.set_num_threads(1)
    corpus = CORPORA[cell.corpus]
    started = time.monotonic()
    vectors = None if cell.corpus.startswith("planted") else given.vectors
    model = verax.train(
        corpus,
        **PROTOCOL | TRAINING.get(cell.corpus, {}) | cell.options,
        vectors=vectors,
        device=given.device,
        seed=cell.seed,
    )
    trained = time.monotonic()
    found = score(model, model.encode(corpus.validation), cell.seed, 2**16)
    found = {f"validation {name}": value for name, value in found.items()}
    told: dict[str, Any] = {"seed": cell.seed, "max_tokens": given.max_tokens}
    verdict = verax.examine(model, corpus, ["replacement", "single_token"], **told)
    found |= _means(verdict)
    for split in ("train", "test"):
        told |= {"words_by": "both", "split": split}
        information = verax.examine(model, corpus, "information", **told)
        for (words, measure), value in _information(information).items():
            found[f"{split} {words} {measure}"] = value
    if cell.corpus.startswith("planted"):
        found["evidence mass"] = evidence_mass(model, corpus)
    found["seconds training"] = trained - started
    found["seconds examining"] = time.monotonic() - trained
    frame = pd.DataFrame({"measure": list(found), "value": list(found.values())})
    for place, name in enumerate([*SETTINGS, "seed"]):
        frame.insert(place, name, getattr(cell, name))
    frame["strength"] = frame["strength"].astype("float64")
    return frame


def _means(verdict: verax.Verdict) -> dict[str, float]:
    """Every number of the summary, by its id."""
    numbers = verdict.summary()
    return dict(zip(numbers["measure"], numbers["value"].tolist(), strict=True))


def _information(verdict: verax.Verdict) -> dict[tuple[str, str], float]:
    table = verdict.tables["information"]
    keys = zip(table["words"].astype(str), table["measure"].astype(str), strict=True)
    return dict(zip(keys, table["value"].tolist(), strict=True))


def evidence_mass(model: verax.AttentionClassifier, corpus: verax.Corpus) -> float:
    """Mean attention on the words planted for the document's class."""
    shares = []
    assert corpus.test.marks is not None
    rationales = corpus.test.marks.majority(model.encode(corpus.test).spans)
    for trace in model.traces(corpus.test):
        weights = trace.weights.double().cpu().numpy()
        masks = trace.mask.cpu().numpy()
        for key, row, mask in zip(trace.batch.row_index.tolist(), weights, masks, strict=True):
            shares.append(float(row[mask] @ np.asarray(rationales[key], dtype=np.float64)))
    return float(np.mean(shares))


def chosen(frame: pd.DataFrame) -> pd.DataFrame:
    """Of each grounding and seed the model that strength auto takes, and those with no strength."""
    frame = frame.assign(strength=frame["strength"].fillna(0.0))
    wide = frame.pivot_table(index=[*SETTINGS, "seed"], columns="measure", values="value")
    wide = wide.reset_index()
    kept = [wide[wide["strength"] == 0]]
    rest = [name for name in SETTINGS if name not in ("grounding", "strength")] + ["seed"]
    auto = [*STRENGTHS["tying"], *STRENGTHS["mlm"]]
    graded = wide[wide["strength"].isin(auto)]
    for key, group in graded.groupby(["grounding", *rest], sort=False):
        same = wide["grounding"] == "none"
        for name, value in zip(["grounding", *rest], key, strict=True):
            if name not in ("grounding", "study"):
                same &= wide[name] == value
        if not same.any():
            continue
        names = ("f1", "replacement")
        base, *scores = (
            {name: float(row[f"validation {name}"]) for name in names}
            for _, row in pd.concat([wide[same].iloc[:1], group.sort_values("strength")]).iterrows()
        )
        number, within = select(base, scores)
        kept.append(group.sort_values("strength").iloc[[number]].assign(within=within))
    return pd.concat(kept, ignore_index=True)


SHOWN = {
    "F1": "replacement.trained.f1",
    "Δ uniform": "replacement.uniform.delta_f1",
    "Δ permuted": "replacement.permuted.delta_f1",
    "survive Un": "replacement.uniform.survival",
    "survive Pm": "replacement.permuted.survival",
    "alone": "single_token.correct.mean_probability",
    "pooled": "single_token.correct.pooled_probability",
    "MI frequent": "train frequent information",
    "− shuffled": "train frequent difference",
    "kept": "train frequent kept",
    "MI sampled": "train sampled information",
    "‖e‖": "train frequent norm_e",
    "distance": "train frequent distance",
    "evidence": "evidence mass",
}


def show(frame: pd.DataFrame) -> None:
    found = chosen(frame)
    there = {name: column for name, column in SHOWN.items() if column in found}
    groups = [name for name in SETTINGS if name != "strength"]
    for kind in ("mean", "std"):
        means = found.groupby(groups, sort=False)[[*there.values()]].agg(kind)
        means.columns = list(there)
        means["seeds"] = found.groupby(groups, sort=False).size()
        picked = found.groupby(groups, sort=False)["strength"]
        means["strengths"] = picked.agg(lambda values: " ".join(f"{v:g}" for v in values))
        print(f"\n{kind} over seeds\n{means.round(3).to_string()}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpora", default="planted")
    parser.add_argument("--studies", default="main")
    parser.add_argument("--groundings", default="none,concat,residual,tying,mlm")
    parser.add_argument("--vectors")
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--max-tokens", type=int, default=2**16)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--select", metavar="FILE")
    parser.add_argument("--out", default="grounding.parquet")
    given = parser.parse_args()
    if given.select:
        show(pd.read_parquet(given.select))
        return
    jobs = []
    for name in given.corpora.split(","):
        CORPORA[name] = verax.load_corpus(name, **READING.get(name, {}))
        for documents in CORPORA[name].splits.values():
            kind = TRAINING.get(name, {}).get("tokenizer", "words")
            tokenize(documents, Tokenizer(kind)).number(iter)
        for study in given.studies.split(","):
            for seed in map(int, given.seeds.split(",")):
                made = cells(name, study, seed)
                jobs += [(c, given) for c in made if c.grounding in given.groundings.split(",")]
    # of a seed the slowest first, so that none is left alone at the end
    jobs.sort(key=lambda job: (job[0].seed, job[0].grounding != "mlm", -job[0].layers))
    done: list[pd.DataFrame] = []
    out = Path(given.out)
    # forked before any device is touched, so that corpora are read and tokenized once
    with multiprocessing.get_context("fork").Pool(given.workers, maxtasksperchild=1) as pool:
        for frame in pool.imap_unordered(run, jobs):
            done.append(frame)
            first = frame.iloc[0]
            values = frame.set_index("measure")["value"]
            print(
                f"{len(done)}/{len(jobs)} "
                + " ".join(f"{first[name]}" for name in [*SETTINGS, "seed"])
                + f": F1 {values[SHOWN['F1']]:.1f}, {values['seconds training']:.0f} s + "
                f"{values['seconds examining']:.0f} s",
                file=sys.stderr,
                flush=True,
            )
            pd.concat(done, ignore_index=True).to_parquet(out, index=False)
    show(pd.concat(done, ignore_index=True))


if __name__ == "__main__":
    main()
