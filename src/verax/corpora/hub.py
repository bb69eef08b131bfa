"""Corpora from the Hugging Face hub, through the `hf` extra."""

from __future__ import annotations

import importlib.util
import logging

import pandas as pd

from verax.corpora.columns import label_key
from verax.errors import VeraxError

_NAMES = {"train": "train", "validation": "validation", "dev": "validation", "test": "test"}


def read_hub(
    name: str, config: str | None, label_column: str | None
) -> tuple[dict[str, pd.DataFrame], list[str] | None]:
    """The splits of a hub dataset as tables, and its classes in its own order where it names them.

    Class labels are given by name; an unlabelled test split is left out.

    Data files only: a dataset that needs code of its own to load is refused by `datasets` itself.
    """
    if importlib.util.find_spec("datasets") is None:
        raise VeraxError(
            f"corpus {name!r} is not built in and not a file here; "
            "to look for it on the Hugging Face hub: pip install 'verax[hf]'",
            code="corpus.unknown",
        )
    import datasets

    # its warnings about every new attempt would drown the one line that counts
    logging.getLogger("huggingface_hub").setLevel(logging.ERROR)
    try:
        loaded = datasets.load_dataset(name, config)
    except Exception as error:  # the hub's many ways to fail are all one to the user: not loaded
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise VeraxError(
            f"cannot load {name!r} from the hub: {reason}", code="corpus.not-at-hand"
        ) from error
    tables: dict[str, pd.DataFrame] = {}
    classes: list[str] | None = None
    for split, dataset in loaded.items():
        if split not in _NAMES:
            continue
        table = dataset.to_pandas()
        feature = dataset.features.get(label_column)
        if isinstance(feature, datasets.ClassLabel):
            classes = [label_key(name) for name in feature.names]
            table = table[table[label_column] >= 0]
            labels = [feature.names[int(i)] for i in table[label_column]]
            table = table.assign(**{str(label_column): labels})
        if len(table):
            tables[_NAMES[split]] = table
    if "train" not in tables:
        raise VeraxError(
            f"hub dataset {name!r} has no train split: found {', '.join(loaded)}",
            code="corpus.wrong-splits",
        )
    return tables, classes
