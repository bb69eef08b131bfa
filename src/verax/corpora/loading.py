"""`load_corpus`: from a name or a path to a checked `Corpus`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Unpack

import pandas as pd

from verax.corpora import mimic, planted, reviews
from verax.corpora.assembling import assemble
from verax.corpora.corpus import Corpus
from verax.corpora.files import SUFFIXES, class_order, is_corpus_folder, read_folder, read_table
from verax.corpora.hub import read_hub
from verax.corpora.keywords import LoadKeywords
from verax.corpora.options import CorpusOptions
from verax.errors import VeraxError, near, nearest
from verax.options import build, names, show_options

BUILT_IN = (*reviews.SOURCES, "planted")


def load_corpus(name_or_path: str | Path, **options: Unpack[LoadKeywords]) -> Corpus:
    """Load a corpus by name or path.

    A name means, in this order: a built-in (`rotten_tomatoes`, `imdb_reviews`, `planted`); a CSV,
    TSV, JSONL or Parquet file, or a folder of `train`, `validation` and `test` files, by path;
    a folder `$VERAX_DATA/<name>`; `mimic_diabetes` or `mimic_anemia`, from the tables of your own
    MIMIC-III in `$VERAX_DATA/mimic3` or a folder written into the name (`mimic_anemia:/my/mimic`);
    a dataset `owner/name` of the Hugging Face hub (extra `hf`).
    Splits the source lacks are cut off its train rows, stratified by label and always the same;
    so are those that `resplit` has cut anew.

    `options` are the fields of `CorpusOptions`; for `planted`, those of `Planted` as well, which
    can also be written into the name: `planted:classes=3,length=40`.

    >>> load_corpus("planted", classes=3, documents=60)
    Corpus('planted', 3 classes, 40/10/10 documents)
    """
    name = str(name_or_path)
    if name == "planted" or name.startswith("planted:"):
        return _load_planted(name, options)
    settings = build(CorpusOptions, options, also_valid=())
    if name in reviews.SOURCES:
        tables = {"train": reviews.read_reviews(name)}
        return assemble(name, tables, _with_fixed_cut(name, settings))
    folder = _folder(name)
    if name.partition(":")[0] in mimic.CLASSES and not (folder and is_corpus_folder(folder)):
        return _load_mimic(name, settings)
    if folder is not None:
        return assemble(name, read_folder(folder), settings, class_order(folder))
    if _is_hub_name(name):
        splits, order = read_hub(name, settings.hub_config, settings.label_column)
        return assemble(name, splits, settings, order)
    return assemble(name, {"train": _read(name)}, settings)


show_options(load_corpus, CorpusOptions, planted.Planted)


def known_corpora() -> list[str]:
    """The names that load here and now: built-ins, then what `$VERAX_DATA` holds."""
    data = _data_folder()
    if data is None:
        return list(BUILT_IN)
    there = {f.name for f in data.iterdir() if is_corpus_folder(f)}
    if mimic.is_there(data / mimic.FOLDER):
        there |= set(mimic.CLASSES)
    return [*BUILT_IN, *sorted(there)]


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


def _read(name: str) -> pd.DataFrame:
    path = Path(name).expanduser()
    if path.is_file() or "/" in name or path.suffix.lower() in SUFFIXES or name[:1] in "~.":
        return read_table(path)
    valid = {*known_corpora(), *mimic.CLASSES}
    told = nearest(name, valid)
    if _data_folder() is None:
        expected = f"a folder $VERAX_DATA/{name} is expected, and VERAX_DATA is not set"
        if near(name, valid) is not None:
            told += f" Or else {expected}"
        else:
            told = f"{expected}; set it to the folder that has {name}, or {told}"
    raise VeraxError(f"unknown corpus {name!r}: {told}")


def _data_folder() -> Path | None:
    value = os.environ.get("VERAX_DATA")
    if not value:
        return None
    folder = Path(value).expanduser()
    if not folder.is_dir():
        raise VeraxError(
            f"$VERAX_DATA is {value!r}, which is not a folder: set it to one, or unset it"
        )
    return folder


def _with_fixed_cut(name: str, settings: CorpusOptions) -> CorpusOptions:
    defaults = CorpusOptions()
    if any(getattr(settings, n) != getattr(defaults, n) for n in reviews.FIXED):
        raise VeraxError(f"corpus {name!r} has fixed splits: leave out {', '.join(reviews.FIXED)}")
    return settings


def _load_mimic(name: str, settings: CorpusOptions) -> Corpus:
    task, colon, place = name.partition(":")
    data = None if colon else _data_folder()
    if place:
        folder = Path(place).expanduser()
    elif data:
        folder = data / mimic.FOLDER
    else:
        raise VeraxError(
            f"corpus {name!r} needs your own copy of MIMIC-III: put its tables into "
            f"$VERAX_DATA/{mimic.FOLDER}, or name their folder, as in {task}:/path/to/mimic-iii"
        )
    if mimic.has_fixed_cut(task, folder):
        settings = _with_fixed_cut(task, settings)
    elif settings.resplit != "none":
        raise VeraxError(f"corpus {task!r} is cut by patient, texts are not: leave out resplit")
    tables, notes = mimic.read_mimic(task, folder, settings)
    corpus = assemble(task, tables, settings, mimic.CLASSES[task])
    config = {**corpus.config, "corpus": name}
    return replace(corpus, config=config, notes=(*notes, *corpus.notes))


def _load_planted(name: str, options: Mapping[str, Any]) -> Corpus:
    knobs: dict[str, Any] = {}
    if ":" in name:
        for pair in name.split(":", 1)[1].split(","):
            key, _, value = (part.strip() for part in pair.partition("="))
            try:
                knobs[key] = float(value) if key == "label_noise" else int(value)
            except ValueError:
                raise VeraxError(
                    f"planted knob {pair!r}: expected name=number, such as classes=3"
                ) from None
    given = names(planted.Planted)
    knobs |= {k: v for k, v in options.items() if k in given}
    settings = build(
        CorpusOptions, {k: v for k, v in options.items() if k not in given}, also_valid=given
    )
    generator = build(planted.Planted, knobs)
    settings = replace(settings, tokeniser="tokens")
    corpus = assemble("planted", planted.generate(generator), settings)
    corpus = replace(corpus, config={**corpus.config, **asdict(generator)})
    return corpus
