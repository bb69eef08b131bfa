"""What `verax adversary` shows: which model is trained, the curve, the yardstick, the controls."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from verax.cli.terminal import console, say, table
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
    say(words, "dim")


def done(row: Mapping[str, Any]) -> None:
    """A line for each model."""
    beside = "" if row["name"] == "base" else f", JSD {number(row['jsd'])}, TVD {row['tvd']:.3f}"
    say(
        f"{_name(row)}: validation {score_name(row['classes'])} {percent(row['f1'])}{beside}", "dim"
    )


def _name(row: Mapping[str, Any]) -> str:
    name = control_title(row["name"]) if row["lam"] is None else f"λ {row['lam']:g}"
    return name if row["seed"] is None else f"{name}, seed {row['seed']}"


def show(adversaries: Adversaries) -> None:
    """The base's scores, the curve beside other seeds, what chose λ, the controls."""
    console()
    controls = adversaries.controls()
    score = score_name(len(adversaries.manifest["classes"]))
    base = controls.iloc[0]
    say(
        f"\nthe base: {score} {percent(base['f1'])}, accuracy {percent(base['accuracy'])} "
        f"on {adversaries.split}, {base['n']:,} documents"
    )
    points = adversaries.points()
    _show_curve(adversaries, points, score)
    if adversaries.one_item:
        say(one_item_words(adversaries), "dim")
    _show_validation(points, score)
    for line in [chosen_words(adversaries), *yardstick_words(adversaries)]:
        say(f"\n{line}")
    if len(controls) > 1:
        _show_controls(controls, score)
    say(
        f"\n95% intervals, {over(points['over'].iloc[0])}, are in adversaries.points() and "
        "points.parquet",
        "dim",
    )


def _show_curve(adversaries: Adversaries, points: pd.DataFrame, score: str) -> None:
    yard: dict[Any, Any] = adversaries.yardstick().set_index("measure")["mean"].to_dict()
    beyond: dict[Any, Any] = (
        adversaries.against_yardstick().set_index("lam")["difference"].to_dict()
    )
    heads = ["λ", "JSD", "TVD", "same decisions", "accuracy", score]
    rows = []
    for row in points.to_dict(orient="records"):
        cells = [f"{row['lam']:g}{' *' if row['chosen'] else ''}", *_cells(row)]
        rows.append([*cells, number(beyond[row["lam"]], "+")])
    if adversaries.has_yardstick:
        heads.append("beyond seeds")
        rows.append(["other seeds", *_cells(yard), ""])
    else:
        rows = [row[:-1] for row in rows]
    screen = console()
    say(
        f"\non {adversaries.split}: attention (JSD, at most 0.693) and outputs (TVD) from the "
        "base's",
        "italic",
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
    say("\non validation, which chooses λ (*)", "italic")
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
    say("\ncontrols: uniform attention, and models that see each word by itself (mlp)", "italic")
    screen.print(table(["", score, "accuracy", "JSD", "TVD"], rows))
    for name, note in controls.loc[controls["note"] != "", ["name", "note"]].to_numpy():
        say(f"left out: {control_title(str(name))}; {note}", "dim")
