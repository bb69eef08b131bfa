"""What `verax adversary` shows: which model is trained, the curve, the yardstick, the controls."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from verax.cli.terminal import console, table
from verax.report.adversary_text import (
    chosen_words,
    number,
    one_item_words,
    over,
    percent,
    score_name,
    yardstick_words,
)
from verax.studies import Adversaries
from verax.studies.adversaries.recipes import control_title


def begin(row: Mapping[str, Any]) -> None:
    """A line before each model that is trained."""
    words = f"training {_name(row)} ({row['number']} of {row['total']})"
    console().print(words, style="dim", markup=False)


def done(row: Mapping[str, Any]) -> None:
    """A line for each model."""
    beside = "" if row["name"] == "base" else f", JSD {number(row['jsd'])}, TVD {row['tvd']:.3f}"
    console().print(
        f"{_name(row)}: validation {score_name(row['classes'])} {percent(row['f1'])}{beside}",
        style="dim",
        markup=False,
    )


def _name(row: Mapping[str, Any]) -> str:
    name = control_title(row["name"]) if row["lam"] is None else f"λ {row['lam']:g}"
    return name if row["seed"] is None else f"{name}, seed {row['seed']}"


def show(found: Adversaries) -> None:
    """The base's scores, the curve beside other seeds, what chose λ, the controls."""
    screen = console()
    controls = found.controls()
    score = score_name(len(found.manifest["classes"]))
    base = controls.iloc[0]
    screen.print(
        f"\nthe base: {score} {percent(base['f1'])}, accuracy {percent(base['accuracy'])} "
        f"on {found.split}, {base['n']:,} documents",
        markup=False,
    )
    points = found.points()
    _show_curve(found, points, score)
    if found.one_item:
        screen.print(one_item_words(found), style="dim", markup=False)
    _show_validation(points, score)
    for line in [chosen_words(found), *yardstick_words(found)]:
        screen.print(f"\n{line}", markup=False)
    if len(controls) > 1:
        _show_controls(controls, score)
    screen.print(
        f"\n95% intervals, {over(points['over'].iloc[0])}, are in adversaries.points() and "
        "points.parquet",
        style="dim",
        markup=False,
    )


def _show_curve(found: Adversaries, points: pd.DataFrame, score: str) -> None:
    yard: dict[Any, Any] = found.yardstick().set_index("measure")["mean"].to_dict()
    beyond: dict[Any, Any] = found.against_yardstick().set_index("lam")["difference"].to_dict()
    heads = ["λ", "JSD", "TVD", "same decisions", "accuracy", score]
    rows = []
    for row in points.to_dict(orient="records"):
        cells = [f"{row['lam']:g}{' *' if row['chosen'] else ''}", *_cells(row)]
        rows.append([*cells, number(beyond[row["lam"]], "+")])
    if found.has_yardstick:
        heads.append("beyond seeds")
        rows.append(["other seeds", *_cells(yard), ""])
    else:
        rows = [row[:-1] for row in rows]
    screen = console()
    screen.print(
        f"\non {found.split}: attention (JSD, at most 0.693) and outputs (TVD) from the base's",
        style="italic",
        markup=False,
    )
    screen.print(table(heads, rows))


def _show_validation(points: pd.DataFrame, score: str) -> None:
    rows = [
        [
            f"{row['lam']:g}{' *' if row['chosen'] else ''}",
            *_cells({str(name).removeprefix("validation_"): value for name, value in row.items()}),
        ]
        for row in points.filter(regex="^(lam|chosen|validation_.*)$").to_dict(orient="records")
    ]
    screen = console()
    screen.print("\non validation, which chooses λ (*)", style="italic", markup=False)
    screen.print(table(["λ", "JSD", "TVD", "same decisions", "accuracy", score], rows))


def _cells(row: Mapping[Any, Any]) -> list[str]:
    apart = [number(row[name]) for name in ("jsd", "tvd")]
    return apart + [percent(row[name]) for name in ("same", "accuracy", "f1")]


def _show_controls(controls: pd.DataFrame, score: str) -> None:
    screen = console()
    rows = [
        [
            control_title(row["name"]),
            *(percent(row[name]) for name in ("f1", "accuracy")),
            *(number(row[name]) for name in ("jsd", "tvd")),
        ]
        for row in controls.to_dict(orient="records")
        if not row["note"]
    ]
    screen.print(
        "\ncontrols: uniform attention, and models that see each word by itself (mlp)",
        style="italic",
        markup=False,
    )
    screen.print(table(["", score, "accuracy", "JSD", "TVD"], rows))
    for name, note in controls.loc[controls["note"] != "", ["name", "note"]].to_numpy():
        screen.print(f"left out: {control_title(str(name))}; {note}", style="dim", markup=False)
