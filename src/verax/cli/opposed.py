"""What `verax adversary` shows: which model is trained, the curve, the yardstick, the controls."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from verax.cli.terminal import console, table
from verax.studies import Adversaries


def begin(row: Mapping[str, Any]) -> None:
    """A line before each model that is trained."""
    words = f"training {_name(row)} ({row['number']} of {row['total']})"
    console().print(words, style="dim", markup=False)


def done(row: Mapping[str, Any]) -> None:
    """A line for each model."""
    beside = "" if row["name"] == "base" else f", JSD {_number(row['jsd'])}, TVD {row['tvd']:.3f}"
    console().print(
        f"{_name(row)}: validation {_score(row['classes'])} {_percent(row['f1'])}{beside}",
        style="dim",
        markup=False,
    )


def _name(row: Mapping[str, Any]) -> str:
    name = row["name"] if row["lam"] is None else f"λ {row['lam']:g}"
    return name if row["seed"] is None else f"{name}, seed {row['seed']}"


def _score(classes: int) -> str:
    return "F1" if classes == 2 else "macro F1"


def show(found: Adversaries) -> None:
    """The base's scores, the curve beside other seeds, what chose λ, the controls."""
    screen = console()
    controls = found.controls()
    score = _score(len(found.manifest["classes"]))
    base = controls.iloc[0]
    screen.print(
        f"\nthe base: {score} {_percent(base['f1'])}, accuracy {_percent(base['accuracy'])} "
        f"on {found.split}, {base['n']:,} documents",
        markup=False,
    )
    points = found.points()
    _show_curve(found, points, score)
    if found.one_item:
        screen.print(
            f"{found.one_item:,} of the documents {'has' if found.one_item == 1 else 'have'} one "
            "item, which no attention can leave: left out of JSD, not of the rest",
            style="dim",
            markup=False,
        )
    _show_validation(points, score)
    for line in [_chosen(found, score), *_yardstick(found)]:
        screen.print(f"\n{line}", markup=False)
    if len(controls) > 1:
        _show_controls(controls, score)
    screen.print(
        f"\n95% intervals, {_over(points['over'].iloc[0])}, are in adversaries.points() and "
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
        rows.append([*cells, _number(beyond[row["lam"]], "+")])
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
    apart = [_number(row[name]) for name in ("jsd", "tvd")]
    return apart + [_percent(row[name]) for name in ("same", "accuracy", "f1")]


def _chosen(found: Adversaries, score: str) -> str:
    chosen = found.chosen()
    point = f"{100 * found.manifest['tolerance']:g} point"
    numbers = (
        f"validation {score} {_percent(chosen.f1)} (the base {_percent(chosen.base_f1)}), accuracy "
        f"{_percent(chosen.accuracy)} (the base {_percent(chosen.base_accuracy)}), "
        f"{_percent(chosen.same)} of decisions the same"
    )
    if chosen.lam == 0:
        return f"λ 0 imitates the base and is no adversary, but no other was given: {numbers}"
    if chosen.within:
        return (
            f"λ {chosen.lam:g}: the furthest attention of those within {point} of the base's "
            f"{score} and accuracy; {numbers}"
        )
    return (
        f"no adversary decides as well as the base: none is within {point} of both its {score} and "
        f"its accuracy; λ {chosen.lam:g} comes closest, {numbers}"
    )


def _yardstick(found: Adversaries) -> list[str]:
    if not found.has_yardstick:
        return [
            "no yardstick: --retrain 1,2,… or --others tells how far attention moves when only the "
            "seed does, against which every JSD above is to be read"
        ]
    yard: dict[Any, Any] = found.yardstick().set_index("measure").loc["jsd"].to_dict()
    many = yard["models"] > 1
    ends = "" if pd.isna(yard["low"]) else f" [{yard['low']:.3f}, {yard['high']:.3f}]"
    lines = [
        f"yardstick: {yard['models']} model{'s' if many else ''} that differ{'' if many else 's'} "
        f"from the base only by seed: JSD {_number(yard['mean'])}{ends}, {_over(yard['over'])}"
    ]
    lam = found.chosen().lam
    against: dict[Any, Any] = found.against_yardstick().set_index("lam").loc[lam].to_dict()
    if not pd.isna(against["low"]):
        lines.append(
            f"λ {lam:g} against it: JSD {against['difference']:+.3f} [{against['low']:+.3f}, "
            f"{against['high']:+.3f}], {_over('documents')}; beyond it on "
            f"{_percent(against['beyond'])} of documents"
        )
    return lines


def _over(what: str) -> str:
    return f"over {what}" + (", for the models at hand" if what == "documents" else "")


def _show_controls(controls: pd.DataFrame, score: str) -> None:
    screen = console()
    rows = [
        [
            row["name"],
            *(_percent(row[name]) for name in ("f1", "accuracy")),
            *(_number(row[name]) for name in ("jsd", "tvd")),
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
        screen.print(f"left out: {name}; {note}", style="dim", markup=False)


def _percent(value: float) -> str:
    return "–" if pd.isna(value) else f"{100 * value:.1f}%"


def _number(value: float, sign: str = "") -> str:
    return "–" if pd.isna(value) else f"{value:{sign}.3f}"
