"""Which split a document is in: given, cut off train where missing, or cut anew."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from verax.corpora.corpus import SPLITS
from verax.corpora.options import CorpusOptions
from verax.corpora.splitting import cut
from verax.errors import VeraxError

_POOLED = {"none": (), "validation": ("train", "validation"), "all": SPLITS}


def pooled(
    frames: Mapping[str, pd.DataFrame], options: CorpusOptions, notes: list[str]
) -> dict[str, pd.DataFrame]:
    """The splits that `resplit` names as one train split, which the others are then missing from.

    Splits often number their documents each from 0: where an id would be there twice, ids become
    row numbers of the pool (train, then validation, then test, as their files have them).
    """
    together = [split for split in _POOLED[options.resplit] if split in frames]
    if len(together) < 2:
        return dict(frames)
    parts = [frames[split] for split in together]
    notes.append(f"{', '.join(together[:-1])} and {together[-1]} pooled, to be cut anew")
    some = [("rationale" in part.columns) for part in parts]
    if any(some) and not all(some):
        notes.append("rationales left out: not every split has them")
    pool = pd.concat(parts, ignore_index=True, join="inner")
    if pool["id"].duplicated().any():
        pool["id"] = np.arange(len(pool), dtype=np.int64)
    return {"train": pool, **{s: f for s, f in frames.items() if s not in together}}


def with_missing_splits(
    frames: Mapping[str, pd.DataFrame], options: CorpusOptions, notes: list[str]
) -> dict[str, pd.DataFrame]:
    """All three splits; those that are not there are cut off train."""
    wanted = {"validation": options.validation_fraction, "test": options.test_fraction}
    missing = {s: f for s, f in wanted.items() if s not in frames}
    train = frames["train"]
    if not missing:
        return dict(frames)
    if sum(missing.values()) >= 1:
        raise VeraxError("validation_fraction and test_fraction leave nothing to train on")
    texts, labels = train["text"].tolist(), train["label"].tolist()
    rest, *parts = cut(texts, labels, list(missing.values()), options.split_seed)
    notes.append(f"{' and '.join(missing)} cut off train, stratified by label")
    rows = {"train": rest, **dict(zip(missing, parts, strict=True))}
    made = {s: train.iloc[r].reset_index(drop=True) for s, r in rows.items()}
    return {s: made.get(s, frames.get(s, train)) for s in SPLITS}
