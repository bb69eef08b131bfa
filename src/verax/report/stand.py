"""The documents of a gallery as the page's script reads them: one JSON text.

    {"models": [{"name", "classes", "attended", "bias", "documents": [
        {"id", "label", "decision", "probabilities", "tokens", "items", "weights", "logits",
         "heats", "deleted", "orders", "everything", "flips", "adversary", "surprise"}]}]}

Numbers of items are base64 of little-endian float32, `logits` row by row, a class after the other.
After erasing R the page shows the softmax of Σ_{i∉R} α_i ℓ_i / Σ_{i∉R} α_i, or of the bias where no
weight is left.
"""

from __future__ import annotations

import base64
import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from verax.exams.verdict import Verdict

TABLES = ("gallery_documents", "gallery_items", "gallery_tokens")

# what could end the script element, what is no character, and what some parsers call a line's end
_UNSAFE = re.compile("[<>&\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")


def stand_data(verdicts: Mapping[str, Verdict]) -> str:
    """The galleries of some verdicts by the models' names: JSON that is safe in a script element.

    All models list their documents in one order: those that more of them show first, then by the
    mean of their places. A verdict without a gallery is left out. The same id is the same document
    only within one split of one corpus: ids of others are moved up, beyond those before them.
    """
    galleries = {name: gallery_of(verdict) for name, verdict in verdicts.items()}
    models = [{"name": name, **g} for name, g in galleries.items() if g is not None]
    _tell_corpora_apart(models, [verdicts[model["name"]] for model in models])
    _put_in_one_order(models)
    return script_json({"models": models})


def gallery_of(verdict: Verdict) -> dict[str, Any] | None:
    """classes, attended, bias and documents of a verdict's gallery; None where it has none."""
    if not all(name in verdict.tables for name in TABLES):
        return None
    documents, items, tokens = (verdict.tables[name] for name in TABLES)
    manifest = verdict.manifest
    kept = manifest["gallery"]
    attended = str(manifest["attended"])
    by_item = dict(iter(items.groupby("id", sort=False)))
    by_token = dict(iter(tokens.groupby("id", sort=False)))
    shown = [
        _document(row, by_item[row["id"]], by_token[row["id"]], attended, float(kept["epsilon"]))
        for row in documents.to_dict("records")
    ]
    return {
        "classes": [str(name) for name in manifest["classes"]],
        "attended": attended,
        "bias": [float(b) for b in kept["bias"]],
        "documents": shown,
    }


def script_json(value: Any) -> str:
    """JSON to stand between <script type="application/json"> and </script>, whatever texts hold.

    >>> script_json(["</script>", "☃"])
    '["\\\\u003c/script\\\\u003e","☃"]'
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def floats(values: ArrayLike) -> str:
    """Base64 of little-endian float32, row-major."""
    return base64.b64encode(np.ascontiguousarray(values, dtype="<f4").tobytes()).decode("ascii")


def _document(
    row: Mapping[Any, Any],
    items: pd.DataFrame,
    tokens: pd.DataFrame,
    attended: str,
    epsilon: float,
) -> dict[str, Any]:
    classes = [name for name in items.columns if name.startswith("logit_")]
    adversary = None
    if row["jsd"] > 0:
        adversary = {
            "epsilon": epsilon,
            "weights": floats(items["adversary"]),
            "jsd": float(row["jsd"]),
            "certified": bool(row["certified"]),
        }
    spans = None
    if attended == "sentences":
        spans = items[["first", "last"]].to_numpy().tolist()
    return {
        "id": int(row["id"]),
        "label": int(row["label"]) if row["label"] >= 0 else None,
        "decision": int(row["decision"]),
        "probabilities": [float(row[f"p_{c}"]) for c in range(len(classes))],
        "tokens": tokens["text"].tolist(),
        "items": spans,
        "weights": floats(items["weight"]),
        "logits": floats(items[classes].to_numpy()),
        "heats": _heats(items, "sentence" if attended == "sentences" else "word"),
        "deleted": floats(items["deleted"]),
        "orders": {
            "attention": _order(items["by_attention"]),
            "gradient": _order(items["by_gradient"]),
            "minimal": _order(items["minimal"]),
        },
        "everything": bool(row["everything"]),
        "flips": bool(row["flips"]),
        "adversary": adversary,
        "surprise": {name: _or_null(row[name]) for name in ("excess", "jsd", "tau")},
    }


def _heats(items: pd.DataFrame, one: str) -> dict[str, dict[str, Any]]:
    about = {
        "attention": ("weight", f"α: the weight of each {one}"),
        "gradient": ("gradient", f"‖∂p/∂x‖: how the decision's probability moves with each {one}"),
        "leave-one-out": ("deleted", f"|Δp| of the decision when the {one} is deleted and all read "
                          "again"),
        "alone": ("alone", f"p of the decision, had attention been on this {one} alone"),
    }  # fmt: skip
    # no heat takes sides: what is deleted is shown by how much, and `deleted` says which way
    return {
        name: {"values": floats(items[column].abs()), "signed": False, "about": words}
        for name, (column, words) in about.items()
    }


def _order(when: pd.Series) -> list[int]:
    """When each item goes, −1 for never → the items, the first to go first."""
    places = when.to_numpy()
    order: list[int] = np.argsort(places, kind="stable")[np.count_nonzero(places < 0) :].tolist()
    return order


def _or_null(value: float) -> float | None:
    return None if math.isnan(value) else float(value)


def _tell_corpora_apart(models: Sequence[dict[str, Any]], verdicts: Sequence[Verdict]) -> None:
    """Move the ids of a corpus up where an earlier one has some of them, in place."""
    sources = [
        (str(v.manifest.get("corpus", {}).get("fingerprint")), str(v.manifest.get("split")))
        for v in verdicts
    ]
    ids: dict[tuple[str, str], list[int]] = {}
    for model, source in zip(models, sources, strict=True):
        ids.setdefault(source, []).extend(d["id"] for d in model["documents"])
    moved: dict[tuple[str, str], int] = {}
    free = None
    for source, numbers in ids.items():
        moved[source] = 0 if free is None else max(0, free - min(numbers))
        free = max(free or 0, max(numbers) + moved[source] + 1)
    for model, source in zip(models, sources, strict=True):
        for document in model["documents"]:
            document["id"] += moved[source]


def _put_in_one_order(models: Sequence[dict[str, Any]]) -> None:
    """Sort the documents of all models alike, in place."""
    places: dict[int, list[int]] = {}
    for model in models:
        for place, document in enumerate(model["documents"]):
            places.setdefault(document["id"], []).append(place)
    order = sorted(places, key=lambda n: (-len(places[n]), sum(places[n]) / len(places[n]), n))
    when = {number: place for place, number in enumerate(order)}
    for model in models:
        model["documents"].sort(key=lambda document: when[document["id"]])
