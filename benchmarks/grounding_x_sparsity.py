"""Does a grounded sparse model pass what each alone fails? The numbers of the answer.

    python benchmarks/grounding_x_sparsity.py STUDY [STUDY …] --out DIR
    python benchmarks/grounding_x_sparsity.py --show DIR

STUDY is a folder that `verax run benchmarks/grounding_x_sparsity_sst.yaml` (or `_imdb.yaml`) wrote.
Every grounding and projection is compared with softmax ungrounded, on the same documents.

differences.parquet  a row per study, model and measure: value, difference, interval, p, and what is
                     judged (see docs/studies.md)
values.parquet       every model's own numbers, seed by seed

What two together add is shown beside the better of the two alone, over seeds by Welch's test, not
by what each is judged against the base: of two equal models one may be clear and the other not.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import pandas as pd
from scipy import stats

import verax

BASE = ("softmax", "none")
MODEL = ["projection", "grounding"]
TABLES = ("differences", "values")


def answer(folder: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """All models of a study beside softmax ungrounded: differences, and every model's numbers."""
    results = verax.open_study(folder)
    cells = results.cells[results.cells["status"] == "done"]
    kinds = list(dict.fromkeys(map(tuple, cells[MODEL].itertuples(index=False))))
    kinds.sort(key=lambda kind: kind != BASE)
    groups = {
        f"{projection}, {grounding}": list(
            results.verdicts(projection=projection, grounding=grounding).values()
        )
        for projection, grounding in kinds
    }
    found = verax.compare(groups)
    table = found.table()
    for place, name in enumerate(MODEL):
        table.insert(place, name, table["group"].str.split(", ").str[place])
    table.insert(0, "study", results.name)
    values = found.values()
    values.insert(0, "study", results.name)
    return table, values


def show(differences: pd.DataFrame, values: pd.DataFrame) -> None:
    """Every measure that is judged as a cross, and what only both together pass."""
    for study, found in differences.groupby("study", sort=False):
        print(f"\n{study}")
        own = values[values["study"] == study]
        means = own.groupby(["measure", "group"], observed=True)["value"].mean()
        marks = found.set_index(["measure", "group"])["judged"]
        marks = marks.map({"better": "+", "worse": "-"}).fillna("")
        for measure in dict.fromkeys(found.loc[found["better"] != "", "measure"]):
            better = next(b for b in found.loc[found["measure"] == measure, "better"] if b)
            print(f"\n{measure} ({better} is better)")
            shown = means[measure].map("{:.3f}".format)
            shown += marks[measure].reindex(shown.index).fillna("")
            places = shown.index.astype(str).str.split(", ", expand=True)
            print(shown.set_axis(places).unstack(sort=False).to_string())
        gains = beyond(found, own)
        gained, clear = gains["gain"] > 0, gains["p"] < 0.05
        print(
            f"\nbeyond the better parent: {gained.sum()} of {len(gains)} differences are gains; "
            f"at p < .05 {(gained & clear).sum()} gains, {(~gained & clear).sum()} losses"
        )
        print(gains[gained & clear].to_string(index=False))


def beyond(differences: pd.DataFrame, values: pd.DataFrame) -> pd.DataFrame:
    """Grounded sparse models less the better of sparse ungrounded and softmax grounded.

    A row per model and measure that is judged; `gain` is positive where both together are better.
    """
    numbers = {
        place: own["value"].to_numpy()
        for place, own in values.groupby(["group", "measure"], observed=True)
    }
    rows = []
    crossed = differences[
        (differences["better"] != "")
        & (differences["projection"] != BASE[0])
        & (differences["grounding"] != BASE[1])
    ]
    for row in crossed.to_dict(orient="records"):
        sign = 1 if row["better"] == "higher" else -1
        parents = [
            numbers[group, row["measure"]]
            for group in (f"{row['projection']}, {BASE[1]}", f"{BASE[0]}, {row['grounding']}")
        ]
        best = max(parents, key=lambda parent: sign * parent.mean())
        both = numbers[row["group"], row["measure"]]
        several = min(len(both), len(best)) > 1
        p = stats.ttest_ind(both, best, equal_var=False).pvalue if several else float("nan")
        rows.append(
            {
                "group": row["group"],
                "measure": row["measure"],
                "sparse": parents[0].mean(),
                "grounded": parents[1].mean(),
                "both": both.mean(),
                "gain": sign * (both.mean() - best.mean()),
                "p": p,
            }
        )
    return pd.DataFrame(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("studies", nargs="*")
    parser.add_argument("--out", metavar="DIR")
    parser.add_argument("--show", metavar="DIR")
    given = parser.parse_args()
    if given.show:
        show(*(pd.read_parquet(Path(given.show) / f"{name}.parquet") for name in TABLES))
        return
    if not given.studies:
        sys.exit("give the folder of a study, or --show")
    parts = [answer(folder) for folder in given.studies]
    tables = [pd.concat(own, ignore_index=True) for own in zip(*parts, strict=True)]
    show(*tables)
    if given.out:
        Path(given.out).mkdir(parents=True, exist_ok=True)
        for name, table in zip(TABLES, tables, strict=True):
            table.to_parquet(Path(given.out) / f"{name}.parquet", index=False)


if __name__ == "__main__":
    main()
