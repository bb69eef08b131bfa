"""Does a grounded sparse model pass what each alone fails? The numbers of the answer.

    python benchmarks/grounding_x_sparsity.py STUDY [STUDY …] --out DIR
    python benchmarks/grounding_x_sparsity.py --show DIR

STUDY is a folder that `verax run benchmarks/grounding_x_sparsity_sst.yaml` (or `_imdb.yaml`) wrote.
Every grounding and projection is compared with softmax ungrounded, on the same documents.

differences.parquet  a row per study, model and measure: value, difference, interval, p, and what is
                     judged (see docs/studies.md); `alone_sparse` and `alone_grounded` are what its
                     projection and its grounding were judged without the other
values.parquet       every model's own numbers, seed by seed
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import pandas as pd

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
    judged = {
        (row.projection, row.grounding, row.measure): row.judged
        for row in table[[*MODEL, "measure", "judged"]].itertuples(index=False)
    }
    table["alone_sparse"] = [
        judged.get((row.projection, "none", row.measure))
        for row in table[[*MODEL, "measure"]].itertuples(index=False)
    ]
    table["alone_grounded"] = [
        judged.get(("softmax", row.grounding, row.measure))
        for row in table[[*MODEL, "measure"]].itertuples(index=False)
    ]
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
        both = found[
            (found["judged"] == "better")
            & (found["alone_sparse"] != "better")
            & (found["alone_grounded"] != "better")
            & (found["projection"] != "softmax")
            & (found["grounding"] != "none")
        ]
        print("\nonly both together:")
        columns = ["measure", *MODEL, "reference_value", "value", "p", "holm"]
        print(both[columns].to_string(index=False))


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
