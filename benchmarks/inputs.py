"""What the input needs: bounds of the smallest sets of words, and each ranking beside them.

    VERAX_DATA=… python benchmarks/inputs.py [--corpora sst,imdb] [--seeds 1,2,3] [--sample 200]
        [--vectors glove-100d.txt.gz] [--device cpu] [--workers 2] [--out inputs.parquet]
    python benchmarks/inputs.py --show inputs.parquet

A BiLSTM by Tutek & Šnajder's protocol with softmax, with sparsemax, and tied to its word vectors is
trained for each seed and put through `deletion` and `sufficiency` on documents of test, at the
default budget. Writes every number of both summaries, a row each; `--show` prints, with the mean
and the standard deviation over seeds, how many smallest sets are exact by length, the gap between
bounds, and what each ranking needs beyond them.
"""

from __future__ import annotations

import argparse
import multiprocessing
import time
from pathlib import Path
from typing import Any

import pandas as pd
import torch
from tutek_snajder import PROTOCOL, READING, TRAINING

import verax

MODELS: dict[str, dict[str, Any]] = {
    "softmax": {},
    "sparsemax": {"projection": "sparsemax"},
    "tied": {"grounding": "tying", "strength": 1.0},
}
KEYS = ["corpus", "model"]
SMALLEST = {
    "exact, %": "deletion.smallest.smallest.exact",
    "at least": "deletion.smallest.smallest.lower",
    "at most": "deletion.smallest.smallest.upper",
    "gap": "deletion.smallest.smallest.gap",
    "enough alone, at least": "deletion.sufficient.sufficient.lower",
    "at most ": "deletion.sufficient.sufficient.upper",
    "passes": "deletion.documents.passes",
    "accuracy": "deletion.documents.accuracy",
}
RANKINGS = ("attention", "gradient", "leave-one-out", "random")
BY_RANKING = {
    "words": "deletion.{}.words",
    "excess, at least": "deletion.{}.excess",
    "at most": "deletion.{}.excess_most",
    "of the way, %": "deletion.{}.gain",
    "comprehensiveness": "sufficiency.{}.normalised_comprehensiveness",
    "sufficiency": "sufficiency.{}.normalised_sufficiency",
}


def run(job: tuple[str, str, int, argparse.Namespace]) -> pd.DataFrame:
    """Every number of one model."""
    name, model_name, seed, settings = job
    torch.set_num_threads(1)
    corpus = verax.load_corpus(name, **READING.get(name, {}))
    started = time.monotonic()
    model = verax.train(
        corpus,
        **PROTOCOL | TRAINING.get(name, {}) | MODELS[model_name],
        vectors=settings.vectors,
        device=settings.device,
        seed=seed,
    )
    trained = time.monotonic()
    verdict = verax.examine(
        model, corpus, ["deletion", "sufficiency"], sample=settings.sample, seed=seed
    )
    numbers = verdict.summary()[["measure", "value", "low", "high", "n"]].copy()
    seconds = {"training": trained - started, "examining": time.monotonic() - trained}
    extra = pd.DataFrame(
        {"measure": [f"seconds.{what}" for what in seconds], "value": list(seconds.values())}
    )
    numbers = pd.concat([numbers, extra], ignore_index=True)
    keys: dict[str, str | int] = {"corpus": name, "model": model_name, "seed": seed}
    for place, (key, value) in enumerate(keys.items()):
        numbers.insert(place, key, value)
    return numbers


def show(numbers: pd.DataFrame) -> None:
    """Print tables of means and standard deviations over seeds."""
    groups = numbers.groupby([*KEYS, "measure"], sort=False)["value"]
    means, spreads = groups.mean(), groups.std(ddof=1)
    models = list(dict.fromkeys(map(tuple, numbers[KEYS].to_numpy().tolist())))

    def written(model: tuple[str, str], measure: str) -> str:
        key = (*model, measure)
        if key not in means.index:
            return ""
        digits = 1 if abs(means[key]) >= 10 else 2
        return f"{means[key]:.{digits}f} ± {spreads[key]:.{digits}f}"

    _print(
        ["corpus", "model", *SMALLEST],
        [[*m, *(written(m, i) for i in SMALLEST.values())] for m in models],
    )
    exact = "deletion.exact."
    rows = [m[len(exact) :] for m in dict.fromkeys(numbers["measure"]) if m.startswith(exact)]
    lengths = [row.rpartition(".")[0] for row in rows if row.endswith(".exact")]
    cells = [[*m, *(written(m, f"{exact}{length}.exact") for length in lengths)] for m in models]
    _print(["corpus", "model", *lengths], cells)
    _print(
        ["corpus", "model", "ranking", *BY_RANKING],
        [
            [*m, ranking, *(written(m, i.format(ranking)) for i in BY_RANKING.values())]
            for m in models
            for ranking in RANKINGS
        ],
    )


def _print(columns: list[str], rows: list[list[str]]) -> None:
    lines = [columns, ["---"] * len(columns), *rows]
    print("\n".join("| " + " | ".join(line) + " |" for line in lines), end="\n\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpora", default="sst,imdb")
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--sample", type=int, default=200)
    parser.add_argument("--vectors")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path("inputs.parquet"))
    parser.add_argument("--show", type=Path)
    settings = parser.parse_args()
    if settings.show is None:
        jobs = [
            (corpus, model, int(seed), settings)
            for corpus in reversed(settings.corpora.split(","))
            for model in settings.models.split(",")
            for seed in settings.seeds.split(",")
        ]
        with multiprocessing.get_context("spawn").Pool(settings.workers) as pool:
            parts = list(pool.imap(run, jobs, chunksize=1))
        pd.concat(parts, ignore_index=True).to_parquet(settings.out, compression="zstd")
        settings.show = settings.out
    show(pd.read_parquet(settings.show))


if __name__ == "__main__":
    main()
