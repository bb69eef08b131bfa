"""Does grounding make attention more plausible, or only harder to replace?

    VERAX_DATA=… python benchmarks/plausibility.py [--corpora eraser_movies,planted]
        [--models base,tied,sparsemax,tied-sparsemax] [--seeds 1,2,3] [--max-length 400]
        [--epochs 8] [--vectors glove-100d.txt.gz] [--device auto] [--out plausibility.parquet]

Every model is trained by Tutek & Šnajder's protocol (BiLSTM 100, balanced classes, best validation
F1), and put through plausibility and replacement on the test split. Both are printed side by side:
how well attention finds the words that people marked (AUPRC, token-F1, IOU-F1, and AUPRC beyond the
best of the baselines), and how many decisions survive when attention is made uniform or permuted.

Plausible is not faithful. Survival is what tells whether attention matters to the model; AUPRC
tells whether it looks like a person's reason. On `planted` the marks are the cause, and AUPRC is
against ground truth. Marks of eraser_movies are sparse in train and validation, and comprehensive
in test: numbers of two splits are never compared, and F1 of the "usual share" takes a sparse share.

Writes a row per corpus, model, seed and measure, after each model, and beside it a table in
Markdown. Models that the file has already are not trained again, so that a run can be taken up.
`--show FILE` prints the table of a file. Needs torch, numpy, pandas, pyarrow and scipy alone.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import pandas as pd
from tutek_snajder import PROTOCOL

import verax
from verax.statistics import paired

MODELS: dict[str, dict[str, Any]] = {
    "base": {},
    "tied": {"grounding": "tying", "strength": 1.0},
    "concat": {"grounding": "concat"},
    "sparsemax": {"projection": "sparsemax"},
    "tied-sparsemax": {"projection": "sparsemax", "grounding": "tying", "strength": 1.0},
    "uniform": {"projection": "uniform"},
}
KEY = ["corpus", "model", "seed"]
SHOWN = {
    "accuracy, %": "plausibility.documents.accuracy",
    "AUPRC": "plausibility.attention.auprc",
    "− best baseline": "plausibility.attention.above_baseline",
    "token-F1": "plausibility.attention.token_f1",
    "IOU-F1": "plausibility.attention.iou_f1",
    "gradient AUPRC": "plausibility.gradient.auprc",
    "survive uniform, %": "replacement.uniform.survival",
    "survive permuted, %": "replacement.permuted.survival",
}
"""Head of a column → the id of its number."""
ASKED = ("AUPRC", "token-F1", "survive uniform, %", "survive permuted, %")
"""Columns whose differences from the base answer the question."""


def measure(corpus: verax.Corpus, model: str, seed: int, given: argparse.Namespace) -> pd.DataFrame:
    """Every number of one model, by its id."""
    options = {**PROTOCOL, "epochs": given.epochs, "vectors": given.vectors, **MODELS[model]}
    started = time.monotonic()
    trained = verax.train(corpus, seed=seed, device=given.device, progress=False, **options)
    taught = time.monotonic()
    verdict = verax.examine(
        trained,
        corpus,
        ["plausibility", "replacement"],
        sample=given.sample,
        rankings=given.rankings,
        progress=False,
    )
    print(
        f"{corpus.name} {model} seed {seed}: trained in {taught - started:.0f} s, examined in "
        f"{time.monotonic() - taught:.0f} s",
        flush=True,
    )
    rows = verdict.summary()[["measure", "value", "low", "high", "n", "unit"]]
    return rows.assign(corpus=corpus.name, model=model, seed=seed)


def wide(frame: pd.DataFrame) -> pd.DataFrame:
    """A row per corpus, model and seed, a column per number that is shown."""
    table = frame.pivot_table(index=KEY, columns="measure", values="value", sort=False)
    return table.reindex(columns=list(SHOWN.values())).set_axis(list(SHOWN), axis=1)


def markdown(frame: pd.DataFrame) -> str:
    """Means ± sd over seeds, and differences from the base on the same seeds, with t-intervals."""
    table = wide(frame)
    parts = []
    for corpus, of_corpus in table.groupby("corpus", sort=False):
        lines = [f"## {corpus}", "", _row(["model", "seeds", *SHOWN]), _row(["---"] * 10)]
        for model, rows in of_corpus.groupby("model", sort=False):
            cells = [_number(rows[column].to_numpy()) for column in SHOWN]
            lines.append(_row([str(model), str(len(rows)), *cells]))
        parts.append("\n".join([*lines, "", *_answers(of_corpus)]))
    return "\n\n".join(parts) + "\n"


def _answers(table: pd.DataFrame) -> list[str]:
    """How far each model is from the base, a line each, over seeds that both have."""
    names = list(dict.fromkeys(table.index.get_level_values("model")))
    lines = []
    for name in names:
        if name == "base" or "base" not in names:
            continue
        one, base = (table.xs(model, level="model").droplevel("corpus") for model in (name, "base"))
        seeds = one.index.intersection(base.index)
        said = []
        for column in ASKED:
            test = paired(one.loc[seeds, column], base.loc[seeds, column], "t")
            ends = "" if test.low != test.low else f" [{test.low:+.3g}, {test.high:+.3g}]"
            said.append(f"{column} {test.difference:+.3g}{ends}")
        lines.append(f"- {name} − base over {len(seeds)} seeds: {'; '.join(said)}")
    return lines


def _number(values: Any) -> str:
    """The mean over seeds, and their standard deviation."""
    there = values[values == values]
    spread = f" ± {there.std(ddof=1):.2g}" if len(there) > 1 else ""
    return f"{there.mean():.3g}{spread}" if len(there) else "–"


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--corpora", default="eraser_movies,planted")
    parser.add_argument("--models", default="base,tied,sparsemax,tied-sparsemax")
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--max-length", type=int, help="first so many words of a document [all]")
    parser.add_argument("--limit", type=int, help="documents of a split [all]")
    parser.add_argument("--sample", type=int, help="documents examined [all of test]")
    parser.add_argument("--rankings", default="attention,gradient", help="rankings held to marks")
    parser.add_argument("--vectors")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--out", default="plausibility.parquet")
    parser.add_argument("--show", metavar="FILE")
    given = parser.parse_args()
    if given.show:
        print(markdown(pd.read_parquet(given.show)))
        return
    out = Path(given.out)
    done = [pd.read_parquet(out)] if out.exists() else []
    have = {tuple(key) for frame in done for key in frame[KEY].drop_duplicates().to_numpy()}
    for name in given.corpora.split(","):
        corpus = verax.load_corpus(name, limit=given.limit)
        for seed in map(int, given.seeds.split(",")):
            for model in given.models.split(","):
                if (name, model, seed) in have:
                    continue
                done.append(measure(corpus, model, seed, given))
                pd.concat(done, ignore_index=True).to_parquet(out)
                out.with_suffix(".md").write_text(markdown(pd.concat(done)), encoding="utf-8")
    print(markdown(pd.concat(done)))


if __name__ == "__main__":
    main()
