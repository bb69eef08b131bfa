"""Meister et al.'s measures on SST under Jain & Wallace's preprocessing, with a sweep of λ.

    VERAX_DATA=… python benchmarks/meister_sst.py --vectors glove-100d.txt.gz [--seeds 3]
        [--workers 16] [--out meister_sst.parquet]

BiLSTM (tanh) and Transformer (dot) × softmax, sparsemax and six λ of sparsegen, and Jain &
Wallace's BiLSTM (dot) with softmax; trained by their protocol and put through the agreement and
dispersion exams on the whole test split. Writes a row per model, seed and measure: mean over
documents, sd, n, left out; and beside it `…_correlations.parquet`, how each measure moves with λ,
sparsemax being λ = 0. Sizes where the papers are silent or at odds: 128 units a direction as
in Jain & Wallace's code, a Transformer of 2 layers, 256 wide, 4 heads, feed-forward 512, lr 3e-4.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd
import torch

import verax
from verax.statistics import describe
from verax.studies import Sweep

READING: dict[str, Any] = {"text_column": "text_jw", "count_words_by": "whitespace", "min_words": 6}
PROTOCOL: dict[str, Any] = {
    "hidden_size": 256,
    "clip": None,
    "class_weight": "balanced",
    "metric": "roc_auc",
    "select_from": 2,
}
MODELS: dict[str, dict[str, Any]] = {
    "BiLSTM (tanh)": {"encoder": "bilstm", "attention": "additive"},
    "Transformer (dot)": {
        "encoder": "transformer",
        "attention": "dot",
        "layers": 2,
        "heads": 4,
        "feedforward_size": 512,
        "lr": 3e-4,
    },
    "BiLSTM (dot)": {"encoder": "bilstm", "attention": "dot", "query_init": "default"},
}
LAMS = (-10.0, -3.0, -1.0, 0.5, 0.75, 0.9)
PROJECTIONS: dict[str, dict[str, Any]] = {
    "softmax": {"projection": "softmax"},
    "sparsemax": {"projection": "sparsemax"},
    **{f"λ = {lam:g}": {"projection": "sparsegen", "lam": lam} for lam in LAMS},
}
FEW = 4
"""Items of a document looked at for the Frobenius norm, which takes a pass a dimension."""

DOUBLED = ("dispersion.entropy.gradient.mean", "dispersion.entropy.influence@norm.mean")
"""Measured again in double precision."""


def run(job: tuple[str, str, int, argparse.Namespace]) -> tuple[pd.DataFrame, pd.DataFrame]:
    name, projection, seed, given = job
    torch.set_num_threads(1)
    corpus = verax.load_corpus(given.corpus, **READING)
    started = time.monotonic()
    model = verax.train(
        corpus,
        **{**PROTOCOL, **MODELS[name], **PROJECTIONS[projection]},
        vectors=given.vectors,
        epochs=given.epochs,
        device=given.device,
        seed=seed,
    )
    trained = time.monotonic()
    told: dict[str, Any] = {"seed": seed, "max_tokens": given.max_tokens}
    verdict = verax.examine(model, corpus, ["agreement", "dispersion"], sample=given.sample, **told)
    parts = [verdict.document_values()]
    few = verax.examine(
        model,
        corpus,
        "dispersion",
        sample=given.sample,
        entropy_of="attention",
        influence="frobenius",
        positions=FEW,
        **told,
    )
    extra = few.document_values()
    parts.append(extra[extra["measure"].str.startswith("dispersion.entropy.influence")])
    exact = verax.examine(
        model.double(),
        corpus,
        "dispersion",
        sample=given.sample,
        entropy_of="gradient",
        influence="norm",
        **told,
    )
    doubled = exact.document_values()
    doubled = doubled[doubled["measure"].isin(DOUBLED)]
    parts.append(doubled.assign(measure=doubled["measure"] + "@double"))
    boundaries = verdict.tables["dispersion"].query("of == 'gradient' and measure == 'boundaries'")
    columns = {"measure": "dispersion.entropy.gradient.boundaries", "value": boundaries["value"]}
    parts.append(pd.DataFrame(columns))
    instances = pd.concat(parts, ignore_index=True)
    rows = [
        {"measure": measure, **asdict(describe(values))}
        for measure, values in instances.groupby("measure", sort=False)["value"]
    ]
    frame = pd.DataFrame(rows)
    for place, (column, value) in enumerate(
        [("model", name), ("projection", projection), ("seed", str(seed))]
    ):
        frame.insert(place, column, value)
    frame["roc_auc"] = model.record["test"]["roc_auc"]
    frame["f1"] = model.record["test"]["f1"]
    frame["seconds_training"] = round(trained - started, 1)
    frame["seconds_examining"] = round(time.monotonic() - trained, 1)
    lam = {"sparsemax": 0.0}.get(projection, PROJECTIONS[projection].get("lam"))
    kept = instances.assign(model=name, lam=lam, seed=seed)
    return frame, kept if lam is not None else kept[:0]


def correlations(instances: pd.DataFrame) -> pd.DataFrame:
    parts = []
    for name, part in instances.groupby("model", sort=False):
        found = Sweep(part.drop(columns="model")).correlations()
        found.insert(0, "model", str(name))
        parts.append(found)
    return pd.concat(parts, ignore_index=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpus", default="sst")
    parser.add_argument("--vectors", required=True)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--sample", type=int)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--max-tokens", type=int, default=2**16)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--out", default="meister_sst.parquet")
    given = parser.parse_args()
    jobs = [
        (name, projection, seed, given)
        for name in given.models.split(",")
        for projection in PROJECTIONS
        for seed in range(1, given.seeds + 1)
        if name != "BiLSTM (dot)" or projection == "softmax"
    ]
    # the slowest first, so that none is left alone at the end
    jobs.sort(key=lambda job: not job[0].startswith("Transformer"))
    done: list[pd.DataFrame] = []
    instances: list[pd.DataFrame] = []
    with multiprocessing.get_context("spawn").Pool(given.workers, maxtasksperchild=1) as pool:
        for frame, kept in pool.imap_unordered(run, jobs):
            done.append(frame)
            instances.append(kept)
            first = frame.iloc[0]
            print(
                f"{first['model']}, {first['projection']}, seed {first['seed']}: accuracy "
                f"{first['mean']:.3f}, {first['seconds_training']:.0f} s + "
                f"{first['seconds_examining']:.0f} s",
                file=sys.stderr,
                flush=True,
            )
            pd.concat(done, ignore_index=True).to_parquet(given.out, index=False)
    frame = pd.concat(done, ignore_index=True)
    moves = correlations(pd.concat([k for k in instances if len(k)], ignore_index=True))
    out = Path(given.out)
    moves.to_parquet(out.with_name(f"{out.stem}_correlations.parquet"), index=False)
    print(moves.round(3).to_string())
    shown = frame.groupby(["model", "measure", "projection"], sort=False)["mean"].mean()
    order = [p for p in PROJECTIONS if p in set(frame["projection"])]
    print(shown.unstack("projection")[order].round(3).to_string())


if __name__ == "__main__":
    main()
