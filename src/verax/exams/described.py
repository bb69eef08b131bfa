"""Schemas of a saved verdict: its manifest, and the columns of its tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from verax.corpora.saved import CONFIG as CORPUS
from verax.errors import VeraxError
from verax.exams.judgement.limits import LimitSet
from verax.exams.measures import SCALE
from verax.models.options import ModelOptions
from verax.options import saved_options
from verax.schema import (
    COUNT,
    NUMBER,
    SURE,
    TEXT,
    WHOLE,
    Columns,
    Kind,
    SchemaError,
    both,
    declared,
    flag,
    is_of_kind,
    listed,
    mapping,
    maybe,
    number,
    plain,
    record,
    text,
    whole,
)

SUMMARY = "summary"


def exam_options(value: Any, where: str) -> None:
    """Exam → its options, as the exam declares them where it is registered here."""
    from verax.exams.planning import variants_of
    from verax.exams.registry import EXAMS

    mapping(mapping(plain))(value, where)
    for name, options in value.items():
        if name in EXAMS:
            # of one name in several kinds of model, any will do
            classes = [c.options_class for c in (EXAMS[name], *variants_of(name))]
            problems = []
            for cls in classes:
                try:
                    saved_options(cls)(options, f"{where}.{name}")
                    break
                except SchemaError as error:
                    problems.append(error)
            else:
                raise problems[0]


def model_options(value: Any, where: str) -> None:
    """What a model is: the options of one that was trained here, plain values of any other."""
    mapping(plain)(value, where)
    if "encoder" in value:
        saved_options(ModelOptions)(value, where)


def limits(value: Any, where: str) -> None:
    """Limits as a manifest keeps them."""
    mapping(plain)(value, where)
    try:
        LimitSet.from_json(value, where)
    except VeraxError as error:
        raise SchemaError(str(error)) from None


MODEL: Kind = record(
    {},
    {
        "options": model_options,
        "training": declared("training"),
        "corpus": CORPUS,
        "test": mapping(maybe(number())),
        "vectors": maybe(mapping(plain)),
        "strength": maybe(mapping(plain)),
        "name": text,
        "kind": text,
    },
)
"""What is known of a model: `model` in manifests."""
_LEFT_OUT = record({}, {"exams_left_out": listed(text)})
_UNLABELLED = record(
    {},
    {
        "exams_left_out": listed(text),
        "decisions": mapping(COUNT),
        "confidence": maybe(number(0, 1)),
    },
)
_MARKS = record({}, {"annotators": COUNT, "are_cause": flag})
_GALLERY = record(
    {},
    {
        "documents": COUNT,
        "epsilon": number(0, 1),
        "bias": listed(number()),
        "scores": listed(text),
        "marks": _MARKS,
        "note": text,
    },
)
_TABLE_NAME = both(text, lambda value, where: _file_name(value, where))
MANIFEST: Kind = record(
    {"exams": listed(text), "tables": listed(_TABLE_NAME, once=True)},
    {
        "format": COUNT,
        "verax": text,
        "source": maybe(text),
        "weights": maybe(text),
        "options": exam_options,
        "importances": listed(text),
        "seed": whole(0, 2**32 - 1),
        "split": text,
        "documents": COUNT,
        "sampled_from": COUNT,
        "attended": maybe(text),
        "classes": maybe(listed(text, once=True)),
        "labels": mapping(COUNT),
        "unknown_words": maybe(number(0, 1)),
        "words": maybe(number(0)),
        "limits": limits,
        "corpus": CORPUS,
        "model": MODEL,
        "kind": maybe(text),
        "device": text,
        "python": text,
        "torch": text,
        "seconds": number(0),
        "plan": listed(mapping(plain)),
        "splits": mapping(COUNT),
        "cut_at": maybe(COUNT),
        "cut_texts": maybe(COUNT),
        "decided": record({"documents": COUNT, "right": COUNT}),
        "without_labels": _UNLABELLED,
        "without_rationales": _LEFT_OUT,
        "rationales": record({}, {"fingerprint": maybe(text), "are_cause": flag}),
        "gallery": _GALLERY,
    },
)
"""The schema of a verdict's manifest, in a folder of its own and in a study's cell."""


def _file_name(value: str, where: str) -> None:
    if not value or set(value) & set("/\\:") or value in (".", ".."):
        raise SchemaError(f"{where} is {value!r:.60}: expected the name of a table")


_COUNTED = ("classes", "decision", "items")
"""Measures of tidy tables that are whole numbers of every document."""


_TIDY_COLUMNS = {"id": WHOLE, "measure": TEXT, "value": NUMBER}
"""Columns that every tidy table has."""


@dataclass(frozen=True)
class Tidy(Columns):
    """Columns of a tidy table: a row for each document, combination of labels and measure."""

    def check(self, table: pd.DataFrame, where: str) -> None:
        super().check(table, where)
        labels = [name for name in table.columns if name not in _TIDY_COLUMNS]
        keys = ["id", *labels, "measure"]
        if table.duplicated(keys).any():
            raise SchemaError(f"{where} has a document's measure twice")
        groups = 1 if not labels else len(table[labels].drop_duplicates())
        expected = table["id"].nunique() * table["measure"].nunique() * groups
        if len(table) != expected:
            raise SchemaError(f"{where} has {len(table):,} rows: expected {expected:,}")
        counts = table["value"][table["measure"].isin(_COUNTED).to_numpy()]
        if not (counts >= 0).all() or (counts % 1 != 0).any():
            raise SchemaError(f"{where} has a count that is none")


@dataclass(frozen=True)
class _Summary(Columns):
    """Columns of a summary: a row for each number."""

    def check(self, table: pd.DataFrame, where: str) -> None:
        super().check(table, where)
        if not set(table["unit"]) <= set(SCALE):
            raise SchemaError(f"{where} has a unit that is none of {', '.join(SCALE)}")
        if len(table) and table["n"].min() < 0:
            raise SchemaError(f"{where} has a number over fewer than no documents")


_SUMMARY = _Summary(
    {
        **dict.fromkeys(("exam", "table", "row", "column", "measure"), TEXT),
        **dict.fromkeys(("value", "low", "high"), NUMBER),
        "n": WHOLE,
        "unit": TEXT,
    },
    key=("table", "row", "column"),
)
_LABELS = {
    "adversary": {"epsilon": TEXT, "by": TEXT},
    "agreement": {"on": TEXT, "first": TEXT, "second": TEXT, "over": TEXT},
    "deletion": {"ranking": TEXT, "draw": WHOLE},
    "dispersion": {"of": TEXT},
    "dispersion_heads": {"place": TEXT},
    "dispersion_influence": {"kind": TEXT},
    "erasure_many": {"ranking": TEXT, "draw": WHOLE},
    "erasure_single": {"top": TEXT, "rule": TEXT},
    "plausibility": {"ranking": TEXT, "draw": WHOLE},
    "replacement": {"attention": TEXT, "draw": WHOLE},
    "replacement_places": {"place": TEXT, "attention": TEXT, "draw": WHOLE},
    "sufficiency": {"ranking": TEXT, "percentage": TEXT},
    "sufficiency_best": {"percentage": TEXT},
}
"""Tidy table → what tells rows of one document and measure apart; nothing does in the others."""
_OF_ALL = {
    "adversary": "adversary_instances",
    "agreement": "agreement_instances",
    "dispersion": "dispersion_instances",
    "dispersion_heads": "dispersion_instances",
    "replacement": "replacement_instances",
    "replacement_places": "replacement_instances",
}
"""Tidy tables that have every document that their exam has seen → the table that lists these."""
_MEASURED = {"measure": TEXT, "value": NUMBER}
_ITEMS = {
    **dict.fromkeys(("id", "item", "first", "last", "by_attention", "by_gradient"), WHOLE),
    **dict.fromkeys(("weight", "adversary", "gradient", "deleted", "alone"), NUMBER),
    "minimal": WHOLE,
}
_OTHERS = {
    "information": Columns({"words": TEXT, **_MEASURED}),
    "information_words": Columns({"id": WHOLE, "words": TEXT, "word": TEXT, **_MEASURED}),
    "information_layers": Columns(_MEASURED),
    "single_token_tokens": Columns(
        {"id": WHOLE, "item": WHOLE, "p": NUMBER, "weight": NUMBER}, key=("id", "item")
    ),
    "gallery_documents": Columns(
        {
            **dict.fromkeys(("id", "label", "decision", "items", "least"), WHOLE),
            **dict.fromkeys(("by_attention", "by_gradient"), WHOLE),
            **dict.fromkeys(("rank", "excess", "jsd", "tau"), NUMBER),
            "ranked_by": TEXT,
            **dict.fromkeys(("flips", "everything", "certified"), "true or false"),
        },
        key=("id",),
    ),
    "gallery_items": Columns(_ITEMS, others=(NUMBER,), key=("id", "item")),
    "gallery_tokens": Columns(
        {"id": WHOLE, "token": WHOLE, "item": WHOLE, "text": TEXT},
        others=(NUMBER,),
        key=("id", "token"),
    ),
    "gallery_texts": Columns(
        {"id": WHOLE, "label": WHOLE, "decision": WHOLE, "tau": NUMBER},
        others=(NUMBER,),
        key=("id",),
    ),
    "gallery_words": Columns(
        {"id": WHOLE, "place": WHOLE, "text": TEXT}, others=(NUMBER,), key=("id", "place")
    ),
    SUMMARY: _SUMMARY,
}
"""Tables that are not tidy → their columns."""


def columns_of(table: str) -> Columns:
    """The schema of a verdict's table; of an exam from elsewhere, any columns of one kind each."""
    from verax.exams.registry import EXAMS

    if table in _OTHERS:
        return _OTHERS[table]
    own = [exam.tidy_tables for exam in EXAMS.values() if exam.__module__.startswith("verax.")]
    if not any(table in tables for tables in own):
        return Columns({})
    return Tidy({**_TIDY_COLUMNS, **_LABELS.get(table, {})}, others=(TEXT, WHOLE))


def check_together(tables: Mapping[str, pd.DataFrame], manifest: Mapping[str, Any]) -> None:
    """Raise `SchemaError` where tables and manifest of a verdict do not fit one another."""
    from verax.exams.registry import EXAMS

    if manifest.get("documents"):
        for exam in manifest["exams"]:
            first = EXAMS[exam].tidy_tables[:1] if exam in EXAMS else ()
            for name in first:
                if name in tables and isinstance(columns_of(name), Tidy) and not len(tables[name]):
                    raise SchemaError(f"{name}.parquet has no rows")
    for name, instances in _OF_ALL.items():
        seen = [set(tables[one]["id"].unique()) for one in (name, instances) if one in tables]
        if len(seen) == 2 and seen[0] != seen[1]:
            raise SchemaError(f"{name}.parquet is of other documents than {instances}.parquet")
    classes = manifest.get("classes")
    for documents, parts in (
        ("gallery_documents", ("gallery_items", "gallery_tokens")),
        ("gallery_texts", ("gallery_words",)),
    ):
        if documents not in tables:
            continue
        about = tables[documents]
        for part in parts:
            if part not in tables:
                raise SchemaError(f"there is a {documents}.parquet and no {part}.parquet")
            if set(about["id"]) != set(tables[part]["id"]):
                raise SchemaError(f"{part}.parquet is of other documents than {documents}.parquet")
        gallery = manifest.get("gallery")
        if gallery is None or classes is None:
            raise SchemaError("a gallery without its classes")
        words = tables[parts[-1]]
        if "marks" in gallery and len(words):
            _has(words, ["marked"], parts[-1])
        n = len(classes)
        if about["decision"].min() < 0 or max(about["decision"].max(), about["label"].max()) >= n:
            raise SchemaError(f"{documents}.parquet has a class that is not among the classes")
        needed = [f"p_{c}" for c in range(n)]
        _has(about, needed, documents)
        if documents == "gallery_documents":
            _has(tables["gallery_items"], [f"logit_{c}" for c in range(n)], "gallery_items")
            if len(gallery.get("bias", ())) != n or "epsilon" not in gallery:
                raise SchemaError("gallery.bias is not one number for each class")
            if "attended" not in manifest:
                raise SchemaError("a gallery, and not what attention weighs")
        else:
            _has(tables["gallery_words"], gallery.get("scores", ()), "gallery_words")
            if not gallery.get("scores"):
                raise SchemaError("a gallery without scores")


def _has(table: pd.DataFrame, columns: Any, name: str) -> None:
    for column in columns:
        if column not in table:
            raise SchemaError(f"{name}.parquet has no column {column!r}")
        kind = SURE if column.startswith(("p_", "logit_")) else NUMBER
        if not is_of_kind(table[column], kind):
            raise SchemaError(f"{name}.parquet: column {column!r} is not of {kind}")
