"""An explanation as one HTML file that needs nothing else."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
from markupsafe import Markup

from verax.importance.explanation import depends_on_target
from verax.report.notebook import beside_words, decision, heat, importances_of
from verax.report.page import Part, page


def explanation_page(explanation: pd.DataFrame, title: str | None = None) -> str:
    """The words of an explanation in colour, a section for each text, as HTML.

    Args:
        explanation: what `model.explain(texts)` returns.
        title: of the page, unless it is the usual one.
    """
    names = importances_of(explanation)
    parts = []
    for number, rows in explanation.groupby("text", sort=False, observed=True):
        # the heading names the decision, so the lines need not
        shown = rows.drop(columns=["label", "special_share"], errors="ignore")
        lines = [heat(shown, name)._repr_html_() for name in names]
        if note := beside_words(rows):
            lines.append(Markup("<p><small>{}</small></p>").format(note))
        short, decided = f"text {number}", decision(rows)
        head = f"{short}: {decided}" if decided else short
        parts.append(Part(f"text-{number}", head, Markup("".join(lines)), short=short))
    about = "Blue words support the class explained, orange ones oppose it."
    if "target" in explanation:
        about += f" {unaffected(names)}".rstrip()
    return page(title or "What each word had to do with the decision", about, parts)


def unaffected(names: Sequence[str]) -> str:
    """Which importances are the same whatever class is explained; empty where none is."""
    same = [name for name in names if not depends_on_target(name)]
    if not same:
        return ""
    do = "does" if len(same) == 1 else "do"
    sentence = f"{', '.join(same)} {do} not depend on the class explained."
    return sentence[0].upper() + sentence[1:]
