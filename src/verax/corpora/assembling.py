"""From raw tables to a corpus: columns, labels, empty documents, splits, lengths."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, TypeGuard

import numpy as np
import pandas as pd

from verax.corpora.columns import columns_in_use, label_key
from verax.corpora.corpus import SPLITS, Corpus, Documents, checked
from verax.corpora.marks import check_named
from verax.corpora.options import LEFT_OUT, CorpusOptions
from verax.corpora.rationales import Rationales
from verax.corpora.splitting import by_split_column, stratified_order, with_missing_splits
from verax.corpora.tokenizer import Tokenizer, tokenize
from verax.errors import VeraxError, nearest

_CUTS = ("validation_fraction", "test_fraction", "split_seed")


def assemble(
    name: str,
    tables: Mapping[str, pd.DataFrame],
    options: CorpusOptions,
    class_order: Sequence[str] | None = None,
    *,
    labels_needed: bool = True,
    cut: bool | None = None,
    other_text_column: str | None = None,
) -> Corpus:
    """A corpus from one table per split; its notes say what is dropped or cut.

    Args:
        name: name of the corpus, for its config and messages.
        tables: split → table; a table that is alone may name splits in a column `split`.
        options: how to read it.
        class_order: the order of the classes, where the source has one.
        labels_needed: whether a missing column `label` is an error; else labels are not read.
        cut: whether missing splits are cut off train; None: where documents have labels. Else a
            table that is alone is the test split, unless options say how to cut, and other splits
            may be empty.
        other_text_column: the column of the text where tables have it and lack the one of options.
    """
    notes: list[str] = []
    tables = by_split_column(tables, notes)
    has_labels = any(options.label_column in table.columns for table in tables.values())
    if not labels_needed and not has_labels and options.label_column == "label":
        notes.append("no column 'label': read without labels, so accuracy is not known")
        options = replace(options, label_column=None)
    if _is_elsewhere(other_text_column, tables.values(), options):
        notes.append(
            f"no column {options.text_column!r}: text is column {other_text_column!r}, as in the "
            "corpus that the model was trained on"
        )
        options = replace(options, text_column=other_text_column)
    mapping = _mapping(options)
    check_named(name, tables, options)
    frames = {
        s: columns_in_use(f"corpus {name!r} ({s})", table, options, notes)
        for s, table in tables.items()
    }
    if mapping is not None:
        _refuse_unknown(name, mapping, frames)
    frames = {s: _clean(s, f, options, mapping, notes) for s, f in frames.items()}
    is_examined = cut is False
    if cut is None:
        cut = options.label_column is not None
    cut = cut or (len(frames) > 1 and "train" in frames) or not _is_uncut(options)
    if not cut:
        if "train" in frames:
            frames = {"test": frames["train"]}
            notes.append(
                "no splits: all documents are examined, none are cut off"
                if is_examined
                else "no labels and no splits: all documents are in test, none are cut off"
            )
        nothing = next(iter(frames.values())).iloc[:0]
        frames = {split: frames.get(split, nothing) for split in SPLITS}
    elif "train" not in frames:
        raise VeraxError(
            f"corpus {name!r} has no train documents: give some, or a train split",
            code="corpus.wrong-splits",
        )
    else:
        frames = with_missing_splits(frames, options, notes)
    classes = [] if options.label_column is None else _classes(frames, mapping, class_order)
    if options.limit is not None:
        frames = {s: _limited(s, f, options.limit, notes) for s, f in frames.items()}
    if options.test_limit is not None:
        frames["test"] = _limited("test", frames["test"], options.test_limit, notes)
    index = {label: i for i, label in enumerate(classes)}
    splits = {s: _documents(f, index) for s, f in frames.items()}
    if options.min_words is not None or options.max_words is not None:
        splits = {s: _within_lengths(s, d, options, notes) for s, d in splits.items()}
    config = _config(name, options, mapping)
    train, validation, test = (splits[split] for split in SPLITS)
    corpus = Corpus(name, classes, train, validation, test, config, tuple(notes))
    if cut:
        checked(corpus)
    elif not any(map(len, splits.values())):
        raise VeraxError(
            f"corpus {name!r} has no documents left ({'; '.join(notes)})", code="corpus.empty"
        )
    return corpus


def _is_elsewhere(
    column: str | None, tables: Iterable[pd.DataFrame], options: CorpusOptions
) -> TypeGuard[str]:
    """Whether the text is in this column of every table, and not in the one of `options`."""
    if column is None or options.tokens_column is not None:
        return False
    return all(column in t.columns and options.text_column not in t.columns for t in tables)


def _is_uncut(options: CorpusOptions) -> bool:
    return all(getattr(options, name) == getattr(CorpusOptions(), name) for name in _CUTS)


def _config(name: str, options: CorpusOptions, mapping: Mapping[str, str] | None) -> dict[str, Any]:
    """What a corpus was loaded with; "none" as label column, since readers drop what is None."""
    defaults = asdict(CorpusOptions())
    values = {n: v for n, v in asdict(options).items() if n not in LEFT_OUT or v != defaults[n]}
    return {
        "corpus": name,
        **values,
        "label_column": options.label_column or "none",
        "labels": mapping,
    }


def _mapping(options: CorpusOptions) -> dict[str, str] | None:
    labels = options.labels
    if labels is None:
        return None
    if not labels:
        raise VeraxError(
            "option 'labels' is empty: give at least two, such as 0=world,2=business",
            code="option.empty",
        )
    if options.label_column is None:
        raise VeraxError(
            "option 'labels' chooses labels, and these documents have none", code="corpus.no-labels"
        )
    return {label_key(k): label_key(v) for k, v in labels.items()}


def _refuse_unknown(
    name: str, mapping: Mapping[str, str], frames: Mapping[str, pd.DataFrame]
) -> None:
    known: set[str] = set().union(*(set(f["label"]) for f in frames.values()))
    for label in mapping:
        if label not in known:
            raise VeraxError(
                f"option 'labels' has {label!r}, which no document of corpus {name!r} has: "
                f"{nearest(label, known)}",
                code="option.unknown-value",
            )


def _clean(
    split: str,
    clean: pd.DataFrame,
    options: CorpusOptions,
    mapping: dict[str, str] | None,
    notes: list[str],
) -> pd.DataFrame:
    """The documents that have at least one word and, if labels are chosen, one of these."""
    if mapping is not None:
        kept = clean["label"].isin(list(mapping))
        if dropped := int((~kept).sum()):
            notes.append(f"{split}: {dropped:,} documents with other labels left out")
        clean = clean[kept].assign(label=lambda t: t["label"].map(mapping))
    tokenizer = Tokenizer(options.count_words_by)
    full = np.array([tokenizer.finds_words(t) for t in clean["text"]], dtype=bool)
    if dropped := int((~full).sum()):
        notes.append(f"{split}: {dropped:,} empty documents dropped")
    return clean[full].reset_index(drop=True)


def _classes(
    frames: Mapping[str, pd.DataFrame],
    mapping: dict[str, str] | None,
    order: Sequence[str] | None,
) -> list[str]:
    """Numbers by size, names by the alphabet, unless the source or a mapping has an order."""
    labels: set[str] = set().union(*(set(f["label"]) for f in frames.values()))
    if order is not None and mapping is None and labels <= set(order):
        return list(order)
    if all(re.fullmatch(r"-?[0-9]+(\.[0-9]+)?", label) for label in labels):
        return sorted(labels, key=float)
    if mapping is not None:
        return [label for label in dict.fromkeys(mapping.values()) if label in labels]
    return sorted(labels)


def _limited(split: str, frame: pd.DataFrame, limit: int, notes: list[str]) -> pd.DataFrame:
    if len(frame) > limit:
        notes.append(f"{split}: {len(frame) - limit:,} documents over the limit left out")
    places = stratified_order(frame["text"].tolist(), frame["label"].tolist(), seed=0)
    rows = np.sort(np.argsort(places, kind="stable")[:limit])
    return frame.iloc[rows].reset_index(drop=True)


def _documents(frame: pd.DataFrame, index: Mapping[str, int]) -> Documents:
    marks = None
    if "rationale" in frame.columns:
        marks = Rationales.of(frame["rationale"].tolist(), frame["annotators"].tolist())
    return Documents(
        texts=frame["text"].tolist(),
        labels=np.array([index.get(label, -1) for label in frame["label"]], dtype=np.int64),
        ids=frame["id"].to_numpy(dtype=np.int64),
        marks=marks,
    )


def _within_lengths(
    split: str, documents: Documents, options: CorpusOptions, notes: list[str]
) -> Documents:
    """The documents within the bounds."""
    lengths = tokenize(documents, Tokenizer(options.count_words_by)).numbers.lengths
    low, high = options.min_words or 1, options.max_words or int(lengths.max(initial=1))
    kept = np.flatnonzero((lengths >= low) & (lengths <= high))
    if dropped := len(documents) - len(kept):
        notes.append(f"{split}: {dropped:,} documents outside {low} to {high} words dropped")
    return documents.take(kept)
