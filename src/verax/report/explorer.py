"""The documents of a gallery as the page's script reads them: one JSON text.

    {"numbers", "texts", "models": [{"name", "classes", "attended", "bias", "heats", "marks",
        "documents": [
        {"id", "label", "decision", "probabilities", "text", "items", "weights", "logits",
         "gradient", "deleted", "orders", "everything", "flips", "adversary", "surprise",
         "ranked_by", "marks"}]}]}

`text` is a place in `texts`, so that models share the tokens they all read. Numbers of items are
[from, to) of `numbers` (see `Numbers`), `logits` row by row, a class after the other. `marks` are
those of `verax.report.people`. What follows from numbers is left to the page: the order and the
heat by attention, the heat of leaving one out (−deleted) and that of an item alone (the softmax of
its logits).

After erasing R the page shows the softmax of Σ_{i∉R} α_i ℓ_i / Σ_{i∉R} α_i, or of the bias where no
weight is left.
"""

from __future__ import annotations

import base64
import json
import math
import re
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from verax.drawing.palette import LEGEND, OPPOSES, SUPPORTS
from verax.exams.verdict import Verdict
from verax.report.people import marks_legend, runs_of_marks

TABLES = ("gallery_documents", "gallery_items", "gallery_tokens")

# what could end the script element, what is no character, and what some parsers call a line's end
_UNSAFE = re.compile("[<>&\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")


def explorer_data(verdicts: Mapping[str, Verdict]) -> str:
    """The galleries of some verdicts by the models' names: JSON that is safe in a script element.

    All models list their documents in one order: those that more of them show first, then by the
    mean of their places. A verdict without a gallery is left out. The same id is the same document
    only within one split of one corpus: ids of others are moved up, beyond those before them.
    """
    galleries = {name: gallery_of(verdict) for name, verdict in verdicts.items()}
    models = [{"name": name, **g} for name, g in galleries.items() if g is not None]
    _tell_corpora_apart(models, [verdicts[model["name"]] for model in models])
    _put_in_one_order(models)
    return script_json(packed(models))


def packed(models: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Models as `gallery_of` gives them, with their names → what the page's script reads."""
    numbers, texts = Numbers(), dict[tuple[str, ...], int]()

    def document(about: Mapping[str, Any]) -> dict[str, Any]:
        kept = {name: value for name, value in about.items() if name != "tokens"}
        kept["text"] = texts.setdefault(tuple(about["tokens"]), len(texts))
        kept["orders"] = {n: v for n, v in about["orders"].items() if n != "attention"}
        return kept

    shown = [{**m, "documents": [document(d) for d in m["documents"]]} for m in models]
    shown = numbers.placed(shown)
    return {"numbers": numbers.text(), "texts": list(texts), "models": shown}


class Numbers:
    """The numbers of all items as one text: base64 of deflated little-endian float32.

    All first bytes stand before all second ones, and so on: signs and exponents, which are much
    alike, lie together and deflate well, while fractions hardly do.

    >>> numbers = Numbers()
    >>> numbers.placed({"weights": np.array([0.5, 0.5]), "id": 7})
    {'weights': [0, 2], 'id': 7}
    """

    def __init__(self) -> None:
        self._parts: list[NDArray[np.float32]] = []
        self._count = 0

    def placed(self, value: Any) -> Any:
        """The value with [from, to) in place of each array, which is appended to the numbers."""
        if isinstance(value, Mapping):
            return {name: self.placed(inner) for name, inner in value.items()}
        if isinstance(value, list):
            return [self.placed(inner) for inner in value]
        if not isinstance(value, np.ndarray):
            return value
        first, self._count = self._count, self._count + value.size
        self._parts.append(np.asarray(value, dtype="<f4").ravel())
        return [first, self._count]

    def text(self) -> str:
        whole = np.concatenate([np.zeros(0, "<f4"), *self._parts])
        planes = whole.view(np.uint8).reshape(-1, 4).T.tobytes()
        return base64.b64encode(zlib.compress(planes)).decode("ascii")


def gallery_of(verdict: Verdict) -> dict[str, Any] | None:
    """classes, attended, bias, heats and documents of a verdict's gallery; None where it has none.

    Numbers of items are arrays here, and each document has its tokens.
    """
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
        "heats": _heats("sentence" if attended == "sentences" else "word"),
        "marks": marks_legend(kept),
        "documents": shown,
    }


def script_json(value: Any) -> str:
    """JSON to stand between <script type="application/json"> and </script>, whatever texts hold.

    >>> script_json(["</script>", "☃"])
    '["\\\\u003c/script\\\\u003e","☃"]'
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return _UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


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
            "weights": items["adversary"].to_numpy(),
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
        "weights": items["weight"].to_numpy(),
        "logits": items[classes].to_numpy(),
        "gradient": items["gradient"].to_numpy(),
        "deleted": items["deleted"].to_numpy(),
        "orders": {
            "attention": _order(items["by_attention"]),
            "gradient": _order(items["by_gradient"]),
            "minimal": _order(items["minimal"]).tolist(),
        },
        "everything": bool(row["everything"]),
        "flips": bool(row["flips"]),
        "adversary": adversary,
        "surprise": {name: _or_null(row[name]) for name in ("excess", "jsd", "tau")},
        "ranked_by": row["ranked_by"] or None,
        "marks": runs_of_marks(tokens),
    }


def _heats(item: str) -> dict[str, dict[str, Any]]:
    """What each importance is called, what it is, and, where it takes sides, the ends' words."""
    about = {
        "attention": ("attention", f"α: the weight of each {item}"),
        "gradient": (
            "gradient",
            f"‖∂p/∂x‖: how the decision's probability moves with each {item}",
        ),
        "leave-one-out": (
            "leave-one-out",
            f"p − p without it: what the decision's probability loses when the {item} is deleted "
            "and all is read again",
        ),
        "alone": (
            "probability alone",
            f"p of the decision, had attention been on this {item} alone",
        ),
    }
    sides = {"leave-one-out": [LEGEND[OPPOSES], LEGEND[SUPPORTS]]}
    return {
        name: {"label": label, "about": words, "sides": sides.get(name)}
        for name, (label, words) in about.items()
    }


def _order(when: pd.Series) -> NDArray[np.int64]:
    """Items in the order in which they go, from when each goes (−1: never)."""
    places = when.to_numpy()
    return np.argsort(places, kind="stable")[np.count_nonzero(places < 0) :]


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
