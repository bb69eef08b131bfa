"""What results of format 1 called exams, options, tables and numbers, and the ids they have now.

Every rule is spelt out here, apart from the code that makes results today: old results are of one
vintage, whatever ids are added later. A label that no rule knows is an error.
"""

from __future__ import annotations

from old_tables import COLUMNS, NAME, NUMBER, ROWS, Rule, UnknownLabelError, exact, known, pattern

EXAMS = {"fragility": "replacement", "leakage": "single_token"}
"""Exams that were called otherwise; the others have kept their names."""
KNOWN_EXAMS = {
    *("erasure", "agreement", "dispersion", "replacement", "information", "single_token"),
    *("adversary", "adversaries", "decisions"),
}
OPTIONS = {"dispersion": {"spread": "entropy_of"}, "information": {"words": "max_words"}}
"""New name of an exam → its options that were called otherwise."""
DEFAULTS = {"single_token": {"curves": 0}}
"""New name of an exam → options that it did not always have, at what changes nothing."""
INSTANCES = {
    "fragility": "replacement",
    "fragility_instances": "replacement_instances",
    "leakage": "single_token",
    "leakage_tokens": "single_token_tokens",
}
"""Tables of documents that were called otherwise."""

CONTROLS = {
    "mlp, uniform": "mlp-uniform",
    "mlp, own": "mlp-own",
    "mlp, guided by base": "mlp-guided-by-base",
    "mlp, guided by adversary": "mlp-guided-by-adversary",
}
"""Controls that were called otherwise, in the table of documents `adversaries`."""

TABLES = {
    **{
        name: f"erasure.{name}"
        for name in (
            *("documents", "contingency", "delta_js", "negative_delta_js", "delta_js_by_alpha"),
            *("fraction", "mass", "excess", "pairs"),
        )
    },
    "agreement_documents": "agreement.documents",
    "agreement": "agreement",
    "agreement_on_support": "agreement.on_support",
    "dispersion_documents": "dispersion.documents",
    "entropy": "dispersion.entropy",
    "fragility_documents": "replacement.documents",
    "fragility": "replacement",
    "information": "information",
    "word_vectors": "information.word_vectors",
    "leakage": "single_token",
    "adversary_documents": "adversary.documents",
    "adversary": "adversary",
    "adversary_search": "adversary.search",
    "adversary_groups": "adversary.groups",
    "adversaries": "adversaries",
    "adversaries_chosen": "adversaries.chosen",
    "adversaries_seeds": "adversaries.seeds",
    "adversaries_controls": "adversaries.controls",
}

_DECISIONS = {"accuracy": "accuracy", "F1": "f1", "macro F1": "macro_f1"}
_LOST = {"Δ F1": "delta_f1", "Δ macro F1": "delta_macro_f1", "Δ accuracy": "delta_accuracy"}
_SINGLE = {
    "alone": "mean_probability",
    "agreeing": "agreeing",
    "confidence": "confidence",
    "pooled": "pooled_probability",
}
_INFORMATION = {", less shuffled": "above_shuffled", ", kept": "retained", "": "information"}

DOCUMENTS: list[Rule] = [
    exact({label: f"decisions.{name}" for label, name in _DECISIONS.items()}),
    pattern(r"(support|support_share)", r"dispersion.documents.\1"),
    pattern(r"entropy: influence \((norm|frobenius)\)", r"dispersion.entropy.influence@\1.mean"),
    pattern(rf"entropy: {NAME}", r"dispersion.entropy.\1.mean"),
    pattern(rf"tau: (inputs|items) {NAME} : {NAME}", r"agreement.\1:\2:\3.tau"),
    pattern(
        rf"tau on support: (inputs|items) {NAME} : {NAME}", r"agreement.on_support.\1:\2:\3.tau"
    ),
    pattern(rf"erasure: (fraction|excess|delta_js), {NAME}", r"erasure.\1.\2.mean"),
    pattern(rf"erasure: optimal, {NAME}", r"erasure.excess.\1.optimal"),
    pattern(
        rf"erasure: optimal where part is enough, {NAME}", r"erasure.excess.\1.optimal_in_part"
    ),
    pattern(r"fragility: survives (\w+)", r"replacement.\1.survival"),
    pattern(r"fragility: tvd (\w+)", r"replacement.\1.tvd"),
    *(
        pattern(rf"fragility: {label} (\w+)", rf"replacement.\1.{name}")
        for label, name in _LOST.items()
    ),
    *(
        pattern(rf"leakage: {label} \((\w+) decisions\)", rf"single_token.\1.{name}")
        for label, name in _SINGLE.items()
    ),
    pattern(rf"adversary: jsd, ε {NUMBER}", r"adversary.epsilon=\1.jsd"),
    pattern(rf"adversary: held, ε {NUMBER}", r"adversary.epsilon=\1.constraint_cost"),
    exact({"adversary: permuted": "adversary.groups.all.permuted_change"}),
    *(
        pattern(rf"information: (\w+) words{ending}", rf"information.\1.{name}")
        for ending, name in _INFORMATION.items()
    ),
    pattern(r"information: (\w+) words, distance", r"information.word_vectors.\1.distance"),
]
"""Rules for the measures of documents: the number that is a document's mean."""


def exam_id(label: str) -> str:
    """What an exam is called now."""
    name = EXAMS.get(label, label)
    if name not in KNOWN_EXAMS:
        raise UnknownLabelError(f"unknown exam {label!r}")
    return name


def number_id(table: str, row: str, column: str) -> tuple[str, str, str]:
    """The ids of a number of a summary: of its table, its row and its column."""
    new = TABLES.get(table)
    if new is None:
        raise UnknownLabelError(f"unknown table {table!r}")
    return (
        new,
        known(row, ROWS[new], f"row of {table}"),
        known(column, COLUMNS[new], f"column of {table}"),
    )


def measure_id(table: str, row: str, column: str) -> str:
    """The id of a number, from the ids of its table, row and column.

    >>> measure_id("erasure.documents", "one_item", "value")
    'erasure.documents.one_item'
    """
    return f"{table}.{row}" if column == "value" else f"{table}.{row}.{column}"


def document_measure_id(label: str) -> str:
    """The id of a measure that a study has for each document."""
    return known(label, DOCUMENTS, "measure of documents")


def is_measure_id(label: str) -> bool:
    """Whether a label is an id already."""
    starts = (*TABLES.values(), "decisions")
    return any(label.startswith(f"{start}.") for start in starts)
