"""Documents of a model without items: their words, coloured by the score that the reader chooses.

The page's script reads one JSON text:

    {"models": [{"name", "classes", "scores": [{"name", "about", "signed"}], "marks", "documents": [
        {"id", "label", "decision", "probability", "tau", "words", "values": [[…], …], "marks"}]}]}

`values` has a list for each score, rounded to four significant digits; `marks` are those of
`verax.report.people`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from markupsafe import Markup

from verax.exams.verdict import Verdict
from verax.importance import IMPORTANCES
from verax.report.explorer import script_json
from verax.report.page import Part
from verax.report.people import marks_legend, runs_of_marks
from verax.report.templating import fill

TABLES = ("gallery_texts", "gallery_words")


def scored_part(verdicts: Mapping[str, Verdict]) -> list[Part]:
    """The part that shows documents with their scores; none where no verdict has any."""
    models = [
        {"name": name, **_shown(verdict)}
        for name, verdict in verdicts.items()
        if all(table in verdict.tables for table in TABLES)
    ]
    if not models:
        return []
    inner = fill("verdict", "scored", data=Markup(script_json({"models": models})))
    return [Part("documents", "Documents", inner)]


def _shown(verdict: Verdict) -> dict[str, Any]:
    texts, words = (verdict.tables[name] for name in TABLES)
    classes = [str(name) for name in verdict.manifest["classes"]]
    names = [str(name) for name in verdict.manifest["gallery"]["scores"]]
    by_id = dict(iter(words.groupby("id", sort=False)))
    documents = []
    for row in texts.to_dict("records"):
        rows, decision = by_id[row["id"]], int(row["decision"])
        documents.append(
            {
                "id": int(row["id"]),
                "label": classes[int(row["label"])] if row["label"] >= 0 else None,
                "decision": classes[decision],
                "probability": float(row[f"p_{decision}"]),
                "tau": None if row["tau"] != row["tau"] else round(float(row["tau"]), 2),
                "words": [str(word) for word in rows["text"]],
                "values": [[float(f"{value:.4g}") for value in rows[name]] for name in names],
                "marks": runs_of_marks(rows),
            }
        )
    kind = str(verdict.manifest.get("kind", ""))
    scores = [
        {"name": name, "about": _about(name, kind), "signed": bool((words[name] < 0).any())}
        for name in names
    ]
    legend = marks_legend(verdict.manifest["gallery"])
    return {"classes": classes, "scores": scores, "marks": legend, "documents": documents}


def _about(name: str, kind: str) -> str:
    """What a score is, in a few words; empty where it is not registered here."""
    registered = IMPORTANCES[name].for_kind(kind) if name in IMPORTANCES else None
    return "" if registered is None else registered.about
