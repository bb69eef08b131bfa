"""The parts of a verdict's page: the first screen, an exam each, the document explorer, facts."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from markupsafe import Markup

from verax.drawing.chart import Chart
from verax.exams.judgement.judgement import Judgement
from verax.exams.judgement.model_summary import ModelSummary
from verax.exams.judgement.row import AGAINST, FOR, NOT_APPLICABLE, OPEN, WITHHELD, Judged
from verax.exams.judgement.subjects import MIXED, are_several
from verax.exams.registry import EXAMS, tables_of
from verax.exams.titles import exam_title, question, table_title
from verax.report.facts import facts
from verax.report.page import Part
from verax.report.tables import (
    Cell,
    counts_exclusions,
    excluded,
    exclusion_words,
    html_table,
    summary_table,
)
from verax.report.templating import fill, fold

CARDS = 6
DECISIONS = "decisions"
"""Stands for an exam where accuracy is shown beside what exams say."""
ABOUT = "What was examined"
_COLUMN = 560
"""Pixels of the widest drawing that is seen whole in one of two columns (see page.css)."""
_WIDTH, _HEIGHT = (re.compile(rf'<svg[^>]* {side}="([\d.]+)"') for side in ("width", "height"))
_SIGNS = {
    FOR: {"style": "for", "sign": "✓", "words": "supports it"},
    AGAINST: {"style": "against", "sign": "✗", "words": "contradicts it"},
    OPEN: {"style": "open", "sign": "?", "words": "inconclusive"},
    WITHHELD: {"style": "aside", "sign": "·", "words": "no verdict"},
    NOT_APPLICABLE: {"style": "aside", "sign": "·", "words": "not judged"},
}
"""Verdict → its class of style, its sign and its words."""
_MAY_BE_SHOWN = {
    FOR: "yes",
    AGAINST: "no",
    MIXED: "mixed",
    OPEN: "inconclusive",
    WITHHELD: "no verdict",
}
"""Verdict on a score → whether it may be shown to people."""
_KINDS = {
    (True, False, False): "are supported by exams and contradicted by none",
    (True, True, False): "are supported by some exams and contradicted by others",
    (False, True, False): "are contradicted by exams and supported by none",
    (False, False, False): "are inconclusive",
    (False, False, True): "have no verdict",
}
"""Whether an exam supports a model's attention, one contradicts it, and there is no verdict → in
words."""


def first_screen(models: Sequence[ModelSummary], explorer: bool = False) -> Part:
    """Whether attention can be trusted, compared to what, and the caveats."""
    judgement = models[0].judgement
    several, scores = len(models) > 1, are_several(judgement.rows)
    inner = fill(
        "verdict",
        "first_screen",
        models=models,
        judgement=judgement,
        cards=Markup() if several or scores else cards(_on_first_screen(judgement)),
        kinds=_kinds(models) if len(models) > CARDS else [],
        unlearned=sum(bool(model.judgement.unlearned) for model in models),
        table=_side_by_side(models) if several else _by_score(judgement) if scores else Markup(),
        caveats=_caveats(models),
        items=f"{models[0].item}s" if explorer else "",
        judged=judgement.judged,
        signs=_SIGNS,
    )
    return Part("verdict", "The verdict", inner)


def exam_part(
    exam: str, models: Sequence[ModelSummary], charts: Sequence[Chart], note: str = ""
) -> Part:
    """The question, the judgement in a sentence, figures, tables, and what was left out."""
    rows = [(m, row) for m in models for row in m.judgement.rows if row.exam == exam]
    limits: dict[str, list[str]] = {}
    for model, row in rows:
        if row.limits:
            limits.setdefault(row.limits, []).append(model.name)
    names = list(dict.fromkeys(name for model in models for name in model.tables(exam)))
    known = (table.id for table in tables_of(exam) if table.id in names)
    first = next(known, names[0] if names else "")
    titles = {name: table_title(name) for name in names if name != first}
    remarks = dict.fromkeys(EXAMS[exam].remark(model) for model in models if exam in EXAMS)
    inner = fill(
        "verdict",
        "exam",
        question=question(exam),
        sentences=[
            *([row.sentence for _, row in rows] if len(models) == 1 else []),
            *filter(None, remarks),
        ],
        limits=limits,
        note=note,
        figures=figures([chart for chart in charts if chart.exam == exam]),
        table=summary_table(first, models) if first else "",
        folded=[
            (title[:1].upper() + title[1:], summary_table(name, models))
            for name, title in titles.items()
        ],
        excluded=_excluded(exam, models),
        # an exam that counts nothing does not know that there was nothing
        counts=any(counts_exclusions(exam, model) for model in models),
        explanation=EXAMS[exam].explanation if exam in EXAMS else "",
    )
    return Part(f"exam-{exam}", exam_title(exam), inner, exam)


def plan_part(models: Sequence[ModelSummary], explorer: bool) -> list[Part]:
    """What models that Verax did not train were asked, and what not, and why; none of others.

    Args:
        models: those of the page.
        explorer: whether the page shows documents.
    """
    lines: list[tuple[list[str], list[Cell]]] = []
    for model in models:
        for row in model.manifest.get("plan") or ():
            said = row["promise"] or f"does not apply: {row['reason']}"
            name = [model.name] if len(models) > 1 else []
            lines.append(([*name, exam_title(row["exam"])], [said]))
    if not lines:
        return []
    heads = [*(["model"] if len(models) > 1 else []), "exam", "what its numbers are"]
    inner = html_table(heads, lines, len(heads) - 1, "what was asked")
    if not explorer:
        inner += Markup(
            "<p>No documents are shown: none were asked for (--gallery), or the model has one "
            "attention over words and no affine head or word vectors.</p>"
        )
    return [Part("plan", "What the model could be asked", inner)]


def explorer_part(data: str) -> Part:
    """The document explorer, which the browser fills from data in the page.

    Args:
        data: JSON that is safe inside a script element (see `verax.report.explorer`).
    """
    inner = fill("verdict", "explorer", data=Markup(data))
    return Part("explorer", "Document explorer", inner)


def about_part(models: Sequence[ModelSummary]) -> Part:
    """What was examined and how, from the manifests."""
    inner = Markup()
    for model in models:
        table = facts(model.manifest, f"what was examined: {model.name}")
        inner += table if len(models) == 1 else fold(model.name, table)
    return Part("about", ABOUT, inner)


def figures(charts: Sequence[Chart]) -> Markup:
    """Charts with how to read them and buttons to save them; nothing where there are none."""
    if not charts:
        return Markup()
    drawings: list[tuple[Chart, Markup, float]] = []
    heights: list[float] = []
    for chart in charts:
        svg = chart.svg()
        width, height = _WIDTH.search(svg), _HEIGHT.search(svg)
        drawings.append((chart, Markup(svg), float(width[1]) if width else 0.0))
        if height and drawings[-1][-1] <= _COLUMN:
            heights.append(float(height[1]))
    # two columns of an odd number alike leave a hole: the last takes the width of both
    alike = len(heights) % 2 == 1 and max(heights) < 1.4 * min(heights)
    return fill("elements", "figures", drawings=drawings, alike=alike, column=_COLUMN)


def cards(rows: Sequence[Judged]) -> Markup:
    """The numbers of the first screen, large."""
    return fill("verdict", "cards", rows=rows[:CARDS], signs=_SIGNS)


def _on_first_screen(judgement: Judgement) -> list[Judged]:
    """Rows in the order of the first screen: what is judged, accuracy, and what is not judged."""
    rows = [*judgement.judged]
    if judgement.accuracy is not None:
        about = ("accuracy of the decisions", "says how well it decides, not why", "")
        measure = f"{DECISIONS}.accuracy"
        rows.append(Judged(DECISIONS, measure, NOT_APPLICABLE, judgement.accuracy, *about))
    return rows + [row for row in judgement.rows if not row.counts]


def _side_by_side(models: Sequence[ModelSummary]) -> Markup:
    """A line a model: what each exam says of its attention."""
    # of several scores that an exam judges, the first stands for it
    judged = {
        m.name: {row.exam: row for row in reversed(_on_first_screen(m.judgement))} for m in models
    }
    judged = {name: dict(reversed(rows.items())) for name, rows in judged.items()}
    labels = {exam: row.label for rows in reversed(judged.values()) for exam, row in rows.items()}
    exams = list(dict.fromkeys(exam for rows in judged.values() for exam in rows))[:CARDS]
    lines: list[tuple[list[str], list[Cell]]] = []
    for model in models:
        rows = judged[model.name]
        marked = [_marked(rows[exam]) if exam in rows else None for exam in exams]
        lines.append(([model.name], [model.judgement.short, *marked]))
    heads = ["model", "exams", *(f"{exam_title(exam)}: {labels[exam]}" for exam in exams)]
    return html_table(heads, lines, title="what exams say of each attention")


def _by_score(judgement: Judgement) -> Markup:
    """A line for each score derived from attention: what each exam says of it."""
    exams = list(dict.fromkeys(row.exam for row in judgement.judged))
    deciding = {row.exam for row in judgement.judged if row.decides}
    many = {exam: sum(row.exam == exam for row in judgement.judged) for exam in exams}
    exams.sort(key=lambda exam: (exam not in deciding, -many[exam]))
    lines: list[tuple[list[str], list[Cell]]] = []
    for name, verdict in judgement.subjects.items():
        rows = {row.exam: row for row in judgement.judged if row.subject == name}
        cells = [_marked(replace(rows[e], compared="")) if e in rows else None for e in exams]
        lines.append(([name], [_MAY_BE_SHOWN[verdict], *cells]))
    heads = ["score", "may it be shown?", *(exam_title(exam) for exam in exams)]
    first = {row.exam: row.label for row in reversed(judgement.judged)}
    title = "what exams say of each score derived from attention"
    table = html_table(heads, lines, title=title)
    return table + fill("verdict", "meanings", labels={exam_title(e): first[e] for e in exams})


def _marked(row: Judged) -> Markup:
    compared = "" if row.exam == DECISIONS else row.compared  # the same in every row
    return fill("verdict", "marked", row=row, signs=_SIGNS, compared=compared)


def _kinds(models: Sequence[ModelSummary]) -> list[Mapping[str, Any]]:
    """Return how many models are supported and contradicted; names of those only supported."""
    kinds: dict[tuple[bool, bool, bool], list[str]] = {key: [] for key in _KINDS}
    for model in models:
        says = model.judgement.speaks
        withheld = bool(model.judgement.withheld)
        kinds[bool(says(FOR)), bool(says(AGAINST)), withheld].append(model.name)
    return [
        {
            "number": len(names),
            "words": _KINDS[key],
            "names": names if key == (True, False, False) and len(names) <= CARDS else [],
        }
        for key, names in kinds.items()
        if names
    ]


def _caveats(models: Sequence[ModelSummary]) -> list[Markup]:
    """What numbers do not say: once, and with names where it is not of all models."""
    models_of: dict[str, list[str]] = {}
    for model in models:
        for line in model.judgement.caveats:
            models_of.setdefault(line, []).append(model.name)
    limits = list(dict.fromkeys(model.judgement.limits.version for model in models))
    provenance = models[0].judgement.limits.provenance
    models_of[f"Limits {', '.join(limits)}: {provenance}"] = [model.name for model in models]
    lines = []
    for line, names in models_of.items():
        number = len(names) if len(names) < len(models) else 0
        named = names if 0 < number <= CARDS else []
        values = {"names": named, "number": number, "several": len(models), "line": line}
        lines.append(fill("verdict", "caveat", **values))
    return lines


def _excluded(exam: str, models: Sequence[ModelSummary]) -> list[Markup]:
    """A line for each count of what an exam left out of a model's numbers."""
    lines = []
    for model in models:
        name = model.name if len(models) > 1 else ""
        for measure, number in excluded(exam, model).items():
            reason = exclusion_words(measure, model.classes)
            lines.append(fill("verdict", "excluded", name=name, reason=reason, number=number))
    return lines
