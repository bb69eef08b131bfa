"""The columns of a table that are in use, checked: texts or tokens, labels, ids, rationales."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd

from verax.corpora.marks import add_rationales
from verax.corpora.options import CorpusOptions
from verax.errors import VeraxError, nearest
from verax.options import is_writable, shown

_LONGEST_LABEL = 1000


class MissingColumnError(VeraxError):
    """A table without a column that was to be read; `option` is the option that names it."""

    code = "corpus.missing-column"

    def __init__(self, message: str, option: str) -> None:
        super().__init__(message)
        self.option = option


def label_key(value: Any) -> str:
    """A label as text, the same from every kind of file.

    1, 1.0, "1", "1.0" and numpy's 1 are all "1"; booleans and their names are "true" and "false".
    """
    text = str(value).strip()
    if text in ("True", "False"):
        return text.lower()
    whole = re.fullmatch(r"(-?[0-9]+)\.0*", text)
    return whole[1] if whole else text


def label_keys(values: pd.Series) -> list[str]:
    """The key of every label; there are few labels and many documents."""
    texts = [_text_of(value) for value in values.tolist()]
    keys = {text: label_key(text) for text in set(texts)}
    return [keys[text] for text in texts]


def _text_of(value: Any) -> str:
    try:
        return str(value)
    except ValueError:  # a whole number of thousands of digits
        return "9" * (_LONGEST_LABEL + 1)


def columns_in_use(
    where: str, table: pd.DataFrame, options: CorpusOptions, notes: list[str]
) -> pd.DataFrame:
    """The columns in use, checked, under plain names; a note where one cannot be used."""
    given_tokens = options.tokens_column is not None
    source = options.tokens_column or options.text_column
    labels: list[str] | None = None
    for column, flag in (
        (source, "tokens" if given_tokens else "text"),
        (options.label_column, "label"),
    ):
        if column is None:
            continue
        if column not in table.columns:
            columns = [str(c) for c in table.columns]
            without = ", or give label_column=None (--label-column none) if there are no labels"
            advice = without if flag == "label" else ""
            if options.label_column not in table.columns and flag != "label":
                advice = (
                    ", or, if the first line is no header, write the names of the columns above"
                )
            raise MissingColumnError(
                f"{where} has no column {column!r} ({nearest(column, columns)}); "
                f"name it with {flag}_column (--{flag}-column){advice}",
                f"{flag}_column",
            )
        empty = table[column].isna().to_numpy()
        if flag == "label":  # CSV knows no null
            labels = label_keys(table[column])
            for label in set(labels):
                if not is_writable(label) or len(label) > _LONGEST_LABEL:
                    raise VeraxError(
                        f"{where} has the label {shown(label)}, which cannot name a class: "
                        f"expected at most {_LONGEST_LABEL} characters, none NUL or half of one",
                        code="corpus.bad-value",
                    )
            empty = empty | np.array([label == "" for label in labels], dtype=bool)
        missing = np.flatnonzero(empty)
        if len(missing):
            raise VeraxError(
                f"{where} has {len(missing)} rows with null {flag} (first: row {missing[0]}): "
                "fill or remove them",
                code="corpus.null-value",
            )
    clean = pd.DataFrame({"id": _ids(table)})
    clean["label"] = "" if labels is None else labels
    if given_tokens:
        clean["tokens"] = _token_lists(where, source, table)
        clean["text"] = [" ".join(t) for t in clean["tokens"]]
    else:
        clean["text"] = _texts(where, source, table)
    add_rationales(where, table, options, clean, notes)
    return clean


def _ids(table: pd.DataFrame) -> np.ndarray:
    """The `id` column where it holds whole numbers (CSV has them as text), else row numbers."""
    if "id" in table.columns and table["id"].dtype == np.int64:
        return table["id"].to_numpy()
    ids = table["id"].tolist() if "id" in table.columns else []
    try:
        if ids and all(re.fullmatch(r"-?[0-9]+", str(i)) for i in ids):
            return np.array([int(i) for i in ids], dtype=np.int64)
    except (OverflowError, ValueError):  # thousands of digits
        pass
    return np.arange(len(table), dtype=np.int64)


def _texts(where: str, column: str, table: pd.DataFrame) -> list[str]:
    texts = table[column].tolist()
    for row, text in enumerate(texts):
        if not isinstance(text, str):
            raise VeraxError(
                f"{where} row {row} has {type(text).__name__} in column {column!r}, not text: "
                "name the text with text_column (--text-column), or lists of tokens with "
                "tokens_column (--tokens-column)",
                code="corpus.bad-value",
            )
        if not (text.isascii() or _is_unicode(text)):
            raise VeraxError(
                f"{where} row {row} holds half a character (a lone surrogate) in column "
                f"{column!r}: mend the text",
                code="text.invalid-unicode",
            )
    return texts


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _token_lists(where: str, column: str, table: pd.DataFrame) -> list[list[str]]:
    lists = []
    for row, tokens in enumerate(table[column]):
        if isinstance(tokens, str) or not hasattr(tokens, "__iter__"):
            raise VeraxError(
                f"{where} row {row} has {type(tokens).__name__} in column {column!r}, not a list "
                "of tokens: name texts with text_column (--text-column)",
                code="corpus.bad-value",
            )
        lists.append([str(t) for t in tokens])
        for token in lists[-1]:
            if len(token.split()) > 1:
                raise VeraxError(
                    f"{where} row {row} has the token {token!r:.60} in column {column!r}: "
                    "expected tokens without blanks, such as New_York",
                    code="corpus.bad-value",
                )
        if not _is_unicode("".join(lists[-1])):
            raise VeraxError(
                f"{where} row {row} holds half a character (a lone surrogate) in column "
                f"{column!r}: mend the token",
                code="text.invalid-unicode",
            )
    return lists
