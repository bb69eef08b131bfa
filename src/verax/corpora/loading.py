"""`load_corpus`: from a name, a path or what is in memory to a checked `Corpus`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Unpack

import numpy as np
import pandas as pd

from verax.corpora import planted, reviews
from verax.corpora.assembling import assemble
from verax.corpora.corpus import Corpus
from verax.corpora.files import (
    SUFFIXES,
    EncodingError,
    class_order,
    is_corpus_folder,
    read_folder,
    read_table,
)
from verax.corpora.hub import read_hub
from verax.corpora.options import CorpusOptions, LoadKeywords
from verax.corpora.splitting import ALIASES
from verax.errors import VeraxError, near, nearest
from verax.options import build, check_path, names, show_options, shown
from verax.portable import corpus_name

BUILT_IN = (*reviews.SOURCES, "planted")
"""The names of the corpora that come with Verax."""
IN_MEMORY = "in-memory"

Source = (
    str
    | Path
    | pd.DataFrame
    | Mapping[str, pd.DataFrame]
    | tuple[Sequence[str], Sequence[Any]]
    | Sequence[str]
)
"""What a corpus is loaded from; see `load_corpus`."""


def load_corpus(source: Source, **options: Unpack[LoadKeywords]) -> Corpus:
    """Load a corpus from a name, a file, a folder, a DataFrame, or lists.

    Splits that the source lacks are cut off its train documents, stratified by label and always the
    same. Documents without labels and splits are not cut: all are in test, unless options say how
    to cut them.

    Args:
        source: one of

            - a built-in name: `rotten_tomatoes`, `imdb_reviews`, `planted`;
            - the path of a CSV, TSV, JSONL or Parquet file, which may have a column `split`;
            - the path of a folder of `train`, `validation` and `test` files;
            - the name of such a folder in `$VERAX_DATA`;
            - a dataset `owner/name` of the Hugging Face hub (extra `hf`);
            - a DataFrame with the columns of a file, or a dict of split → DataFrame;
            - `(texts, labels)`, two lists, or `texts` alone, which have no labels. A text may be a
              list of tokens, which are joined by blanks: a model trained with
              `tokenizer="whitespace"` reads these tokens.
        options: the fields of `CorpusOptions`. The corpus `planted` takes those of `Planted` as
            well, also as part of its name: `planted:classes=3,length=40`.

    Returns:
        The corpus. Its `notes` say what was dropped, cut or counted.

    Raises:
        VeraxError: a file, a column or an option is wrong; the message says what to do.

    >>> load_corpus("planted", classes=3, documents=60)
    Corpus('planted', 3 classes, 40/10/10 documents)
    >>> texts = [f"good film {i}" for i in range(40)] + [f"bad film {i}" for i in range(40)]
    >>> load_corpus((texts, ["pos"] * 40 + ["neg"] * 40))
    Corpus('in-memory', 2 classes, 64/8/8 documents)
    """
    return _load(source, options)


def load_for_examining(
    source: Source,
    options: Mapping[str, Any],
    *,
    cut: bool,
    trained_on: Mapping[str, Any] | None = None,
) -> Corpus:
    """A corpus that a trained model is examined on.

    Args:
        source: what `load_corpus` takes. Without a column `label` it is read without labels.
        options: those of `load_corpus`.
        cut: whether splits are cut off a lone file, DataFrame or list; else all of it is the test
            split.
        trained_on: config of the corpus that the model was trained on. Its text column is read
            where the source lacks a column `text`, and its encoding is that of a file that is not
            UTF-8, unless options name others. Notes say so.
    """
    config = dict(trained_on or {})
    column = None if "text_column" in options else config.get("text_column")
    encoding = None if "encoding" in options else config.get("encoding")
    how: dict[str, Any] = {"labels_needed": False, "cut": cut, "other_text_column": column}
    try:
        return _load(source, options, **how)
    except EncodingError:
        if encoding is None:
            raise
    corpus = _load(source, {**options, "encoding": encoding}, **how)
    note = f"not UTF-8: read as {encoding}, as the corpus that the model was trained on"
    return replace(corpus, notes=(note, *corpus.notes))


show_options(load_corpus, CorpusOptions, planted.Planted)


def _load(
    source: Source, options: Mapping[str, Any], cut: bool | None = None, **how: Any
) -> Corpus:
    """The corpus; `cut` and `how` are those of `assemble`."""
    try:
        return _loaded(source, options, cut, **how)
    except OSError as error:
        raise VeraxError(
            f"cannot read corpus {shown(str(source))}: {error.strerror}", code="file.unreadable"
        ) from error


def _loaded(source: Source, options: Mapping[str, Any], cut: bool | None, **how: Any) -> Corpus:
    if not isinstance(source, (str, Path)):
        return _load_in_memory(source, build(CorpusOptions, options), cut=cut, **how)
    name = check_path("the corpus", source)
    if name == "planted" or name.startswith("planted:"):
        return _load_planted(name, options)
    settings = build(CorpusOptions, options)
    if name in reviews.SOURCES:
        tables = {"train": reviews.read_reviews(name)}
        return assemble(name, tables, _with_fixed_cut(name, settings))
    folder = _folder(name)
    if folder is not None:
        tables = read_folder(folder, settings.encoding, _needed(settings))
        order = class_order(folder)
        return assemble(name, tables, settings, order, cut=cut or None, **how)
    if _is_hub_name(name):
        tables, order = read_hub(name, settings.hub_config, settings.label_column)
        return assemble(name, tables, settings, order, cut=cut or None, **how)
    tables = {"train": _read(name, settings)}
    return assemble(name, tables, settings, cut=cut, **how)


def _load_in_memory(source: Any, options: CorpusOptions, **how: Any) -> Corpus:
    """A corpus from a DataFrame, a dict of them, or lists; its config has a hash for a name."""
    if isinstance(source, Mapping):
        for split in source:
            if split not in ALIASES:
                raise VeraxError(
                    f"unknown split {split!r}: {nearest(str(split), ALIASES)}",
                    code="option.unknown-value",
                )
        tables = {ALIASES[split]: table for split, table in source.items()}
    elif isinstance(source, pd.DataFrame):
        tables = {"train": source}
    elif isinstance(source, bytes | str) or not isinstance(source, Iterable):
        raise VeraxError(
            f"a corpus cannot be a {type(source).__name__}: give a name, a path, a DataFrame, a "
            "list of texts, or (texts, labels)",
            code="corpus.wrong-source",
        )
    else:
        texts: Iterable[Any] = source
        labels: list[Any] | None = None
        if isinstance(source, tuple) and len(source) == 2 and not isinstance(source[1], str):
            if not all(isinstance(part, Iterable) for part in source):
                raise VeraxError(
                    "(texts, labels) are two lists: give one of texts, one of labels",
                    code="corpus.wrong-source",
                )
            texts, labels = source[0], list(source[1])
        values = list(texts)
        if values and isinstance(values[0], (list, tuple, np.ndarray)):
            options = replace(options, tokens_column=options.tokens_column or "tokens")
        column = options.tokens_column or options.text_column
        table = pd.DataFrame({column: pd.Series(values, dtype=object)})
        if labels is None:
            options = replace(options, label_column=None)
        elif len(labels) != len(table):
            raise VeraxError(
                f"{len(table):,} texts and {len(labels):,} labels: give a label for each text",
                code="corpus.wrong-source",
            )
        else:
            table[options.label_column or "label"] = labels
        tables = {"train": table}
    for split, table in tables.items():
        if not isinstance(table, pd.DataFrame) or table.empty:
            raise VeraxError(
                f"{split} is no DataFrame with rows: give at least one document",
                code="corpus.wrong-source",
            )
    corpus = assemble(IN_MEMORY, tables, options, **how)
    name = f"{IN_MEMORY}:{corpus.fingerprint}"
    return replace(corpus, config={**corpus.config, "corpus": name})


def is_built_in(corpus: Corpus) -> bool:
    """Whether a corpus is one of Verax's own, so that its texts are public.

    >>> is_built_in(load_corpus("planted", documents=60)), is_built_in(load_corpus(["one", "two"]))
    (True, False)
    """
    config = corpus.config
    return "loader" not in config and str(config.get("corpus")).partition(":")[0] in BUILT_IN


def recorded_config(corpus: Corpus) -> dict[str, Any]:
    """How a corpus was loaded, with its fingerprint, as models and verdicts record it.

    A file or a folder is named from the root on. So it is found again from any folder, and
    `verax.portable` cuts it to its own name when it is saved.
    """
    config = {name: value for name, value in corpus.config.items() if value is not None}
    name = config.get("corpus")
    if isinstance(name, str) and (path := _path_of(name)) is not None:
        config["corpus"] = str(path.absolute())
    return {**config, "fingerprint": corpus.fingerprint}


def saved_name(corpus: Corpus) -> str:
    """Return the name of a corpus as results keep it: without the folders of its path."""
    path = _path_of(corpus.name)
    return corpus_name(corpus.name if path is None else str(path.absolute()))


def _path_of(name: str) -> Path | None:
    """The file or folder that a name means; None for one of $VERAX_DATA, and for what is none."""
    if name.partition(":")[0] in (*BUILT_IN, IN_MEMORY) or _is_hub_name(name):
        return None
    path = Path(name).expanduser()
    return path if path.is_file() or _folder(name) == path else None


def known_corpora() -> list[str]:
    """The names that load here and now: built-ins, then what `$VERAX_DATA` holds."""
    data = _data_folder()
    if data is None:
        return list(BUILT_IN)
    try:
        names = {f.name for f in data.iterdir() if is_corpus_folder(f)}
    except OSError as error:
        raise VeraxError(
            f"$VERAX_DATA is {str(data)!r}, which cannot be read ({error.strerror}): set it to "
            "another folder, or unset it",
            code="file.unreadable",
        ) from error
    return [*BUILT_IN, *sorted(names)]


def _folder(name: str) -> Path | None:
    path = Path(name).expanduser()
    if is_corpus_folder(path):
        return path
    data = _data_folder()
    # a folder that happens to share the name, such as a saved model, is not in the way
    if data and not path.is_file() and (data / name).is_dir():
        return data / name
    return path if path.is_dir() else None


def _is_hub_name(name: str) -> bool:
    """`owner/name`, unless it looks like a path: a file or folder here is meant to be one here."""
    owner, _, rest = name.partition("/")
    looks_local = name.startswith(("/", ".", "~")) or Path(name).suffix.lower() in SUFFIXES
    return bool(rest) and "/" not in rest and not looks_local and not Path(owner).exists()


def _needed(options: CorpusOptions) -> list[str]:
    """Return the names of the columns that a file must have."""
    source = options.tokens_column or options.text_column
    return [name for name in (options.label_column, source) if name is not None]


def _read(name: str, options: CorpusOptions) -> pd.DataFrame:
    path = Path(name).expanduser()
    if path.is_file() or "/" in name or path.suffix.lower() in SUFFIXES or name[:1] in "~.":
        return read_table(path, options.encoding, columns=_needed(options))
    if name.startswith(f"{IN_MEMORY}:"):
        raise VeraxError(
            f"corpus {name!r} was given in Python, not as a file: give it again, or write it with "
            "its method save and name that folder",
            code="corpus.not-named",
        )
    valid = known_corpora()
    advice = nearest(name, valid)
    if _data_folder() is None:
        expected = f"a folder $VERAX_DATA/{name} is expected, and VERAX_DATA is not set"
        if near(name, valid) is not None:
            advice += f" Or else {expected}"
        else:
            advice = f"{expected}; set it to the folder that has {name}, or {advice}"
    raise VeraxError(f"unknown corpus {name!r}: {advice}", code="corpus.unknown")


def _data_folder() -> Path | None:
    value = os.environ.get("VERAX_DATA")
    if not value:
        return None
    folder = Path(value).expanduser()
    try:
        there = folder.is_dir()
    except (OSError, ValueError):
        there = False
    if not there:
        raise VeraxError(
            f"$VERAX_DATA is {value!r}, which is not a folder: set it to one, or unset it",
            code="file.missing",
        )
    return folder


def _with_fixed_cut(name: str, settings: CorpusOptions) -> CorpusOptions:
    defaults = CorpusOptions()
    if any(getattr(settings, n) != getattr(defaults, n) for n in reviews.FIXED):
        raise VeraxError(
            f"corpus {name!r} has fixed splits: leave out {', '.join(reviews.FIXED)}",
            code="option.not-applicable",
        )
    return settings


def _load_planted(name: str, options: Mapping[str, Any]) -> Corpus:
    knobs: dict[str, Any] = {}
    if ":" in name:
        for pair in name.split(":", 1)[1].split(","):
            key, _, value = (part.strip() for part in pair.partition("="))
            if key in knobs:
                raise VeraxError(
                    f"planted knob {key!r:.60} is given twice: give it once",
                    code="option.duplicate",
                )
            try:
                knobs[key] = float(value) if key == "label_noise" else int(value)
            except ValueError:
                raise VeraxError(
                    f"planted knob {pair!r:.60}: expected name=number, such as classes=3",
                    code="option.malformed",
                ) from None
    of_planted = names(planted.Planted)
    knobs |= {k: v for k, v in options.items() if k in of_planted}
    others = {k: v for k, v in options.items() if k not in of_planted}
    settings = build(CorpusOptions, others, also_valid=of_planted)
    generator = build(planted.Planted, knobs)
    corpus = assemble("planted", planted.generate(generator), settings)
    config = {**corpus.config, **asdict(generator)}
    return replace(corpus, config=config, marks_are_cause=True)
