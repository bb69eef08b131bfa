"""Summaries as tables of HTML: the same table of several models, side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby

from verax.report.markup import element, named, text
from verax.report.numerals import interval, numeral
from verax.report.witness import Number, Witness

TITLES = {
    "documents": "documents",
    "contingency": "which single erasure flips the decision: the top item by …, a random other",
    "delta_js": "ΔJS: how much further the top item's erasure moves the output than a random one's",
    "negative_delta_js": "negative ΔJS by Δα, top item by attention",
    "delta_js_by_alpha": "ΔJS by Δα, top item by attention; near 0: |ΔJS| below 0.01",
    "fraction": "share of the items erased, in order of …, when the decision first flips",
    "mass": "attention erased by then",
    "excess": "items erased beyond the smallest set that flips the decision",
    "pairs": "which of two rankings flips the decision with fewer items",
    "agreement_documents": "documents",
    "agreement": "Kendall's τ-b between two importances, a document at a time",
    "agreement_on_support": "the same among the items that attention gives weight",
    "dispersion_documents": "documents",
    "replacement_documents": "documents",
    "replacement": "decisions when attention is replaced and all else stays; Δ in points",
    "information": "mutual information of a word and the cluster of its state, in nats",
    "word_vectors": "word vectors e and states h of these words, root mean squares",
    "single_token": "probability of the decision, had attention been on one token alone",
    "adversary_documents": "documents",
    "adversary": "the most divergent attention that moves the decision's probability by ε at most",
    "adversary_search": "the same by Jain & Wallace's search, which penalises |Δp| beyond 0.01",
    "adversary_groups": "by decided class and largest weight; permuted: median over random orders",
    "adversaries": "adversaries, one a λ: how far from the base, and how well they decide",
    "adversaries_chosen": "the λ chosen on validation; within: 1 if it decides as well as the base",
    "adversaries_seeds": "the yardstick: models that differ from the base only by seed",
    "adversaries_controls": "controls: uniform attention, models that see each word by itself",
    "entropy": "normalised entropy: 0 where one position has all, 1 where all have the same",
}
FIRST = {
    "erasure": "excess",
    "agreement": "agreement",
    "dispersion": "entropy",
    "replacement": "replacement",
    "information": "information",
    "single_token": "single_token",
    "adversary": "adversary",
    "adversaries": "adversaries",
}
"""The table of each exam that is shown open; the others wait to be opened."""
LEFT_OUT = ("out: ", "items out: ")
"""How columns begin that count what a row leaves out."""

Cells = Sequence[tuple[Sequence[str], Sequence[str]]]


def html_table(heads: Sequence[str], rows: Cells, labels: int = 1, title: str = "") -> str:
    """A table in a box of its own, which scrolls sideways where it must.

    heads   text; the first `labels` of them are over labels, the others over numbers
    rows    labels as text, then cells as markup. Labels that repeat those above are shown once
    """
    above = "".join(
        element("th", text(head), {"scope": "col", "class": None if k < labels else "number"})
        for k, head in enumerate(heads)
    )
    body = []
    for _, group in groupby(rows, key=lambda row: row[0][0] if labels > 1 else id(row)):
        own = list(group)
        for place, (names, cells) in enumerate(own):
            told = ""
            for k, name in enumerate(names):
                if labels > 1 and k == 0:
                    if place:
                        continue
                    span = {"rowspan": len(own) if len(own) > 1 else None, "scope": "rowgroup"}
                    told += element("th", named(name), span)
                else:
                    told += element("th", named(name), {"scope": "row"})
            told += "".join(element("td", cell) for cell in cells)
            body.append(element("tr", told, {"class": "begins" if place == 0 else None}))
    caption = element("caption", text(title)) if title else ""
    inner = f"{caption}<thead><tr>{above}</tr></thead><tbody>{''.join(body)}</tbody>"
    # a box that scrolls must be reached by the keyboard to be scrolled by it
    box = {"class": "scroll", "tabindex": "0", "role": "region", "aria-label": title or "table"}
    return element("div", element("table", inner), box)


def summary_table(name: str, witnesses: Sequence[Witness]) -> str:
    """A summary's table; with several models a line each under every row."""
    several = len(witnesses) > 1
    rows = _together([witness.rows(name) for witness in witnesses])
    columns = [
        column
        for column in _together([witness.columns(name) for witness in witnesses])
        if not (column.startswith(LEFT_OUT) and not _counted(name, column, witnesses))
    ]
    made: list[tuple[list[str], list[str]]] = []
    for row in rows:
        for witness in witnesses:
            cells = [witness.cell(name, row, column) for column in columns]
            if any(cell is not None for cell in cells):
                labels = [row, witness.name] if several else [row]
                made.append((labels, [shown(cell) for cell in cells]))
    heads = ["", *(["model"] if several else []), *columns]
    return html_table(heads, made, len(heads) - len(columns), TITLES.get(name, name))


def shown(number: Number | None) -> str:
    """A number with its interval below it, as markup."""
    if number is None:
        return ""
    within = interval(number)
    below = f' <span class="interval">{text(within)}</span>' if within else ""
    return f"{text(numeral(number))}{below}"


def excluded(exam: str, witness: Witness) -> Mapping[str, Number]:
    """Why documents or items are left out of an exam's numbers → how many, where there are any.

    Counts of documents that are set aside, and of values that are not defined, under the row that
    leaves out the most. Of words that were not looked at there is no count: of those that were.
    """
    found: dict[str, Number] = {}
    for row in witness.rows("information") if exam == "information" else ():
        for column, told in _LOOKED_AT.items():
            number = witness.number("information", row, column)
            if number is not None:
                found[f"{row}, {told}; all others are left out"] = number
    for table in witness.tables(exam):
        if table == "documents" or table.endswith("_documents"):
            for row in witness.rows(table):
                number = witness.number(table, row, "value")
                if number is None or number.unit != "count" or row in _ALL:
                    continue
                if number.value > 0:
                    found[row] = number
            continue
        for column in witness.columns(table):
            if column.startswith(LEFT_OUT) or column in _NEVER:
                for row in witness.rows(table):
                    number = witness.number(table, row, column)
                    key = f"{table.replace('_', ' ')}, {row}: {column.removeprefix('out: ')}"
                    if number is not None and number.value > 0:
                        found[key] = number
    return found


def counts_exclusions(exam: str, witness: Witness) -> bool:
    """Whether an exam counts what it leaves out, so that none means that there was nothing."""
    return any(
        table == "documents"
        or table.endswith("_documents")
        or any(c.startswith(LEFT_OUT) or c in _NEVER for c in witness.columns(table))
        for table in witness.tables(exam)
    )


_LOOKED_AT = {"words": "different ones looked at", "occurrences": "occurrences looked at"}
_ALL = ("documents", "examined")
_NEVER = ("never, though possible",)


def _counted(table: str, column: str, witnesses: Sequence[Witness]) -> bool:
    numbers = (w.number(table, row, column) for w in witnesses for row in w.rows(table))
    return any(number is not None and number.value > 0 for number in numbers)


def _together(lists: Sequence[Sequence[str]]) -> list[str]:
    return list(dict.fromkeys(name for names in lists for name in names))
