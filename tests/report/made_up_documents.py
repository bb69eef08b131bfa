"""Explorer data made by hand, and what erasure must give on it, by brute force."""

from __future__ import annotations

import base64
import itertools
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import verax
from support.internals import colours, explorer_script, packed

WORDS = ["a", "gorgeous", ",", "witty", "film", "that", "never", "quite", "forgives"]
BIAS = np.array([0.2, -0.3, 0.1])
CLASSES = ("bad", "fair", "good")
HEATS = {
    "attention": "the weight of each item",
    "gradient": "how the probability moves with each weight",
    "leave-one-out": "how far deleting it moves the output",
    "alone": "the probability each item would give alone",
}
LABELS = {"alone": "probability alone"}
SIDES = {"gradient": ["against it", "for the decision"]}
ASSETS = Path(verax.__file__).parent / "report" / "assets"

HOSTILE = [
    "<script>window.hacked=1</script>",
    "</script><script>window.hacked=2</script>",
    "<img src=x onerror=window.hacked=3>",
    "\"'><svg/onload=window.hacked=4>",
    "<!--<script>",
    "]]>",
    "${window.hacked=5}",
    "{{constructor.constructor('window.hacked=6')()}}",
    "javascript:window.hacked=7",
    "&lt;b&gt;&amp;",
    "\u202eright\u202c-to-left",
    "שלום",
    "مرحبا",
    "👩‍👩‍👧‍👦🏳️‍🌈",
    "\x00\x07\x1b[31m",
    "\u2028\u2029",
    "",
    " ",
    "e\u0301" * 40,
    "x" * 50_000,
    "__proto__",
]


def encoded(values: np.ndarray | Sequence[float]) -> str:
    return base64.b64encode(np.asarray(values, dtype="<f4").tobytes()).decode()


def decoded(text: str) -> np.ndarray:
    return np.frombuffer(base64.b64decode(text), dtype="<f4").astype(np.float64)


def softmax(logits: np.ndarray) -> np.ndarray:
    raised = np.exp(logits - logits.max())
    return raised / raised.sum()


def after(
    weights: np.ndarray, logits: np.ndarray, bias: np.ndarray, gone: Iterable[int]
) -> np.ndarray:
    """Class probabilities once `gone` is erased: the weighted mean over what is left."""
    left = np.setdiff1d(np.arange(len(weights)), list(gone))
    total = weights[left].sum()
    mean = weights[left] @ logits[left] / total if total > 0 else bias
    return softmax(mean)


def smallest_set(
    weights: np.ndarray, logits: np.ndarray, bias: np.ndarray, held: int
) -> list[int] | None:
    """The fewest items whose erasure changes the decision, by trying all subsets."""
    items = [int(i) for i in np.flatnonzero(weights)]
    for size in range(1, len(items) + 1):
        for gone in itertools.combinations(items, size):
            if after(weights, logits, bias, gone).argmax() != held:
                return list(gone)
    return None


def document(
    number: int,
    tokens: Sequence[str],
    weights: np.ndarray,
    logits: np.ndarray,
    bias: np.ndarray,
    *,
    items: list[list[int]] | None = None,
    label: int | None = None,
    minimal: list[int] | None = None,
    adversary: np.ndarray | None = None,
    surprise: Sequence[float | None] = (0.0, 0.0, 0.0),
    seed: int = 0,
) -> dict[str, Any]:
    """One document; `minimal` is found by brute force where it is not given."""
    weights, logits = weights.astype("<f4").astype(float), logits.astype("<f4").astype(float)
    probabilities = after(weights, logits, bias, [])
    held = int(probabilities.argmax())
    least = minimal or smallest_set(weights, logits, bias, held)
    generator = np.random.default_rng(seed)
    slope = (logits - bias) @ (probabilities[held] * (np.eye(len(bias))[held] - probabilities))
    drawn = generator.normal(scale=0.05, size=len(weights))
    other = None
    if adversary is not None:
        other = {"epsilon": 0.05, "weights": encoded(adversary), "jsd": 0.6012, "certified": True}
    return {
        "id": number,
        "label": label,
        "decision": held,
        "probabilities": probabilities.tolist(),
        "tokens": list(tokens),
        "items": items,
        "weights": encoded(weights),
        "logits": encoded(logits.ravel()),
        "gradient": encoded(slope),
        "deleted": encoded(drawn),
        "orders": {
            "attention": np.argsort(-weights, kind="stable").tolist(),
            "gradient": np.argsort(-slope, kind="stable").tolist(),
            "minimal": least or [],
        },
        "everything": least is not None and len(least) == int((weights > 0).sum()),
        "flips": least is not None,
        "adversary": other,
        "surprise": dict(zip(("excess", "jsd", "tau"), surprise, strict=True)),
    }


def model(
    documents: list[dict[str, Any]],
    bias: np.ndarray,
    *,
    name: str = "softmax",
    classes: Sequence[str] = ("negative", "positive"),
    attended: str = "words",
) -> dict[str, Any]:
    return {
        "name": name,
        "classes": list(classes),
        "attended": attended,
        "bias": bias.tolist(),
        "heats": {
            name: {"label": LABELS.get(name, name), "about": about, "sides": SIDES.get(name)}
            for name, about in HEATS.items()
        },
        "documents": documents,
    }


def drawn_document(
    number: int, tokens: Sequence[str], bias: np.ndarray, seed: int, **more: Any
) -> dict[str, Any]:
    """A document whose weights and logits are drawn."""
    generator = np.random.default_rng(seed)
    count = len(more["items"]) if more.get("items") else len(tokens)
    weights = generator.dirichlet(np.full(count, 0.5))
    logits = generator.normal(scale=2, size=(count, len(bias))) + bias
    return document(number, tokens, weights, logits, bias, seed=seed, **more)


def packed_data(data: dict[str, Any]) -> dict[str, Any]:
    """The models with their numbers and texts where the page's script looks for them."""

    def arrays(about: dict[str, Any]) -> dict[str, Any]:
        made = {n: decoded(about[n]) for n in ("weights", "logits", "gradient", "deleted")}
        other = about["adversary"]
        made["adversary"] = other and {**other, "weights": decoded(other["weights"])}
        order = np.array(about["orders"]["gradient"])
        return {**about, **made, "orders": {**about["orders"], "gradient": order}}

    return packed([{**m, "documents": [arrays(d) for d in m["documents"]]} for m in data["models"]])


def page(data: dict[str, Any]) -> str:
    """A page with the document explorer alone, under the report's own content policy."""
    text = (
        json.dumps(packed_data(data))
        .replace("<", "\\u003c")
        .replace(">", "\\u003e")
        .replace("&", "\\u0026")
    )
    css = colours() + (ASSETS / "explorer.css").read_text(encoding="utf-8")
    script = explorer_script()
    rules = (
        "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"
    )
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{rules}">'
        '<link rel="icon" href="data:,"><title>explorer</title>'
        "<style>:root{color-scheme:light dark}body{font-family:system-ui,sans-serif;margin:1rem}"
        f"{css}</style></head><body><main><div id='explorer-root'></div></main>"
        f'<script type="application/json" id="explorer-data">{text}</script>'
        f"<script>{script}</script></body></html>"
    )


def small_document() -> dict[str, Any]:
    """A document of nine words and three classes; its adversary keeps the decision."""
    about = drawn_document(12, WORDS, BIAS, 3, label=1)
    draws = np.random.default_rng(9).dirichlet(np.full(len(WORDS), 0.5), size=99)
    others = (w.astype("f4").astype(float) for w in draws)
    kept = next(
        w for w in others if after(w, held(about)[1], BIAS, []).argmax() == about["decision"]
    )
    return drawn_document(12, WORDS, BIAS, 3, label=1, adversary=kept)


def one_model(*documents: dict[str, Any]) -> dict[str, Any]:
    return {"models": [model(list(documents), BIAS, classes=CLASSES)]}


def held(about: dict[str, Any], weights: str | None = None) -> tuple[np.ndarray, np.ndarray]:
    return decoded(weights or about["weights"]), decoded(about["logits"]).reshape(-1, len(BIAS))


def shown(page: Any) -> np.ndarray:
    rows = page.eval_on_selector_all(
        "[data-class]", "rows => rows.map(r => Number(r.dataset.probability))"
    )
    return np.array(rows)


def flipped(page: Any) -> bool:
    return bool(page.get_attribute(".explorer-decision", "data-flipped") == "true")


def erased(page: Any) -> list[int]:
    return list(
        page.eval_on_selector_all(
            ".explorer-word[aria-pressed=true]", "words => words.map(w => Number(w.dataset.item))"
        )
    )
