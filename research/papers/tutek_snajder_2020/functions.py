"""Lengths, curves of adversaries, and rows of the odder exhibits; paper.yaml names them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from research.papers.exhibits import Rows, entry, published_number, published_table
from research.papers.numbers import SeedMean
from research.papers.points import Grid, Point, Value, plain_name
from research.papers.results import PaperResults

LENGTHS = {"sst": "SST", "ag_news": "AG News", "20news_sports": "20NG", "imdb": "IMDB"}
LENGTHS |= {"mimic_anemia": "Anemia", "mimic_diabetes": "Diabetes"}
"""Names here → names in the paper's table 5."""
OPTIONS = {
    "width of word vectors": ("embedding_dim", "embedding_size", 1.0),
    "width of the encoder, a direction": ("rnn_hidden_dim", "hidden_size", 0.5),
    "learning rate": ("learning_rate", "lr", 1.0),
    "gradient clipping": ("grad_clipping", "clip", 1.0),
    "batch size": ("batch_size", "batch_size", 1.0),
    "weight decay": ("weight_decay", "weight_decay", 1.0),
}
"""Measure → the paper's name, our option, and the factor of ours."""
GRIDS = {
    "mlm": ["masking_weight_eta_grid"],
    "tying": ["tying_weight_delta_grid_table4", "tying_weight_delta_grid_text"],
}
TOKENS = "single_token_tokens"
SELECTION = "selection"
SHOWN, PART = "reviews", "sst"
"""The probe, and else the part, whose documents figures 2 to 7 show."""
STEPS = 101


def length(point: Point, corpus: str) -> SeedMean | None:
    """Words of a document, on average over those that were examined for their entropy."""
    where = {"part": "initialisation", "corpus": corpus, "query_init": "normal"}
    return point.results.find("dispersion.documents", "items", "value", **where)


def _words(point: Point, corpus: str) -> float:
    """The same, or that of table 5; NaN if it is not known."""
    measured = length(point, corpus)
    if measured is not None:
        return measured.value
    name = LENGTHS.get(plain_name(corpus), "")
    return published_number(point.grid.package, "table5", (name, "", "", "avg_length"))


def texts(point: Point, kind: str) -> Iterator[Value]:
    """Corpora of short or of long texts."""
    for corpus in point.choose("corpus"):
        words = _words(point, corpus.name)
        long = point.grid.criteria["long"]
        if words >= long if kind == "long" else words < long:
            yield Value(corpus.name)


Curve = tuple[np.ndarray, np.ndarray]
"""JSD, rising, and TVD at each."""


def _curves(point: Point) -> dict[str, Curve]:
    """The curve of each cell of a model's adversaries, with a point per λ."""
    points: dict[str, list[tuple[float, float]]] = {}
    for row in point.rows("adversaries/jsd"):
        jsd, tvd = (point.number(f"adversaries/{row}/{column}") for column in ("jsd", "tvd"))
        if jsd and tvd:
            other = dict(zip(tvd.cells, tvd.values, strict=True))
            for cell, value in zip(jsd.cells, jsd.values, strict=True):
                points.setdefault(cell, []).append((value, other[cell]))
    return {cell: tuple(np.array(sorted(by_lam)).T) for cell, by_lam in points.items()}


def common(point: Point) -> Iterator[Value]:
    """The divergences that adversaries of the base and the masked LM reach, if both have any."""
    curves = [_curves(model) for model in point.over({"model": ["base", "mlm"]})]
    if all(curves):
        reached = [jsd for by_cell in curves for jsd, _ in by_cell.values()]
        low, high = max(jsd[0] for jsd in reached), min(jsd[-1] for jsd in reached)
        facts = {"low": low, "high": high, "is_apart": not low < high}
        yield Value(f"JSD {low:.2f}–{high:.2f}", {}, facts)


def cost(point: Point) -> SeedMean:
    """The mean TVD of each cell over common divergences; between values of λ it is a line."""
    curves, shared = _curves(point), point.values["common"]
    steps = np.linspace(shared.low, shared.high, STEPS)
    values = [float(np.interp(steps, jsd, tvd).mean()) for jsd, tvd in curves.values()]
    return SeedMean.of(values, list(curves))


def hyperparameters(point: Point) -> Rows:
    """The paper's, and those of the cells of table 1 and of the selection."""
    results, package = point.results, point.grid.package
    for measure, (metric, option, factor) in OPTIONS.items():
        ours = [factor * value for value in _values(results.select(**point.where), option)]
        theirs = published_number(package, "table4", ("all", "all", "both", metric))
        yield from _beside("all", measure, ours, theirs)
    masked = _values(results.select(**point.where, grounding="mlm"), "mask_probability")
    theirs = published_number(package, "table4", ("all", "MLM", "both", "masking_prob"))
    yield from _beside("mlm", "share of words masked", masked, theirs)
    table = published_table(package, "table4")
    parts = [*point.grid.parts["main"], SELECTION]
    for model, metrics in GRIDS.items():
        grids = table.loc[table["metric"].isin(metrics), "value"]
        grid = {float(value) for values in grids for value in values.split()}
        tried = _values(results.select(part=parts, grounding=model), "strength")
        for value in sorted({*grid, *tried}):
            theirs = value if value in grid else math.nan
            yield from _beside(
                model, f"strength {value:g}", [value] if value in tried else [], theirs
            )


def _values(cells: pd.DataFrame, option: str) -> list[float]:
    """The distinct values of an option, rising; empty if cells have no such column."""
    if option not in cells:
        return []
    values = pd.to_numeric(cells[option], errors="coerce").dropna()
    return sorted({float(value) for value in values})


def _beside(model: str, measure: str, values: Sequence[float], theirs: float) -> Rows:
    """A row per value of ours; without any, a row of the published number alone."""
    ours: list[SeedMean | None] = [SeedMean.of([value], []) for value in values]
    for number in ours or [None]:
        yield entry({"model": model}, measure, number, theirs, setting=True)


def lengths(point: Point) -> Rows:
    """Words of a document, and the vocabulary."""
    others = (n for n in point.results.corpora(**point.where) if plain_name(n) not in LENGTHS)
    measures = {"words": ("avg_length", "words_mean"), "vocabulary": ("vocabulary", "vocabulary")}
    for corpus in [*LENGTHS, *others]:
        for measure, (metric, column) in measures.items():
            key = (LENGTHS.get(corpus, ""), "", "", metric)
            theirs = published_number(point.grid.package, "table5", key)
            number = point.results.described(column, **{**point.where, "corpus": corpus})
            yield entry({"corpus": corpus}, measure, number, theirs, setting=True)


def tokens(point: Point, place: str) -> Rows:
    """Probability and weight of each item of a document, one seed per model.

    `place` counts documents, by id, from 0. There are no words in it. Documents are those of the
    probe `SHOWN`, whose texts may be shown; without it, of the part `PART`.
    """
    results, part = point.results, PART
    if results.probes is not None and results.probes.corpora(part=SHOWN):
        results, part = results.probes, SHOWN
    corpora = results.corpora(part=part)
    if not corpora or TOKENS not in results.tables:
        return
    cells = results.select(part=part, corpus=corpora[0])["cell"]
    of_part = results.tables[TOKENS][results.tables[TOKENS]["cell"].isin(cells)]
    shown = sorted(of_part["id"].unique())[int(place) : int(place) + 1]
    axes = {"corpus": corpora[0], "attention": None, "model": ["base", "residual", "tying", "mlm"]}
    for model in replace(point, results=results).over(axes):
        labels = {axis: value.name for axis, value in model.values.items()}
        rows = results.kept(TOKENS, **{**model.where, "part": part})
        tokens_shown = [token for token in rows if token["id"] in shown]
        for token in sorted(tokens_shown, key=lambda token: token["item"]):
            named = {**labels, "document": int(token["id"]), "item": int(token["item"])}
            for measure in ("p", "weight"):
                yield entry(named, measure, SeedMean.of([token[measure]], [token["cell"]]))


def selection(point: Point) -> Rows:
    """F1 and replacement on validation, by strength, and which rules picked it (see `picked`)."""
    for setting in point.over({"corpus": None, "attention": None}):
        labels = {axis: value.name for axis, value in setting.values.items()}
        (base,) = (_scores(model) for model in setting.over({"model": "base"}))
        yield from _entries({**labels, "model": "base", "strength": 0.0}, base, "", "")
        for model in setting.over({"model": ["tying", "mlm"]}):
            by_strength = {s: _scores(model, s) for s in _strengths(model, "selection")}
            by_rule, used = picked(base, by_strength), _strengths(model, "main")
            for strength, scores in by_strength.items():
                named = {**labels, "model": model.values["model"].name, "strength": strength}
                rules = ", ".join(rule for rule, choice in by_rule.items() if choice == strength)
                yield from _entries(named, scores, rules, "yes" if strength in used else "")


def chosen_strengths(results: PaperResults, grid: Grid) -> dict[str, Any]:
    """Rule → corpus → attention → grounding → strength, of the cells of the part `selection`.

    It is what studies.yaml has under `strengths`.
    """
    chosen: dict[str, Any] = {rule: {} for rule in RULES}
    for setting in grid.start(results, "selection").over({"corpus": None, "attention": None}):
        corpus, attention = (setting.values[axis].name for axis in ("corpus", "attention"))
        (base,) = (_scores(model) for model in setting.over({"model": "base"}))
        for model in setting.over({"model": ["tying", "mlm"]}):
            grounding = model.values["model"].name
            by_strength = {s: _scores(model, s) for s in _strengths(model, "selection")}
            for rule, strength in picked(base, by_strength).items():
                # what nothing is run with: the paper's own grid of the masked LM is all of it
                if rule == AS_WRITTEN and (grounding, attention) != ("tying", "additive"):
                    continue
                by_attention = chosen[rule].setdefault(corpus, {})
                by_attention.setdefault(attention, {})[grounding] = strength
    return chosen


Scores = list[SeedMean | None]
"""F1, and what permuted attention takes of it."""
BEST, FRAGILE, AS_WRITTEN = RULES = ("best", "fragile", "as-written")
WRITTEN = (1.0, 10.0, 20.0, 30.0)
"""Weights of tying that the paper names, of a sum over dimensions."""


def _scores(model: Point, strength: float | None = None) -> Scores:
    where = model.where | ({} if strength is None else {"strength": strength})
    keys = (("trained", "f1"), ("permuted", "delta_f1"))
    return [model.results.find("replacement", row, column, **where) for row, column in keys]


def _strengths(model: Point, part: str) -> list[float]:
    where = {**model.where, "part": model.grid.start(model.results, part).where["part"]}
    cells = model.results.select(**where)
    return sorted({float(strength) for strength in cells["strength"]}) if len(cells) else []


def picked(base: Scores, by_strength: Mapping[float, Scores]) -> dict[str, float]:
    """Rule → the strength that it picks, the weakest of equals; empty if a number is missing.

    best        the best F1
    fragile     of strengths within a point of the base's F1 the most fragile to permuted
                attention; the best F1 if none is within a point
    as-written  the best F1, of strengths in `WRITTEN`
    """
    known = {s: (f1.value, lost.value) for s, (f1, lost) in by_strength.items() if f1 and lost}
    if base[0] is None or not known or len(known) < len(by_strength):
        return {}
    close = {s: fall for s, (f1, fall) in known.items() if f1 >= base[0].value - 1 - 1e-10}
    rules = {
        BEST: max(known, key=lambda s: (known[s][0], -s)),
        FRAGILE: _first_best({s: -fall for s, fall in close.items()})
        if close
        else _first_best({s: f1 for s, (f1, _) in known.items()}),
    }
    written = [strength for strength in known if strength in WRITTEN]
    if written:
        rules[AS_WRITTEN] = max(written, key=lambda s: (known[s][0], -s))
    return rules


def _first_best(scores: Mapping[float, float]) -> float:
    """The first strength with the largest score but for rounding."""
    best = max(scores.values())
    return next(strength for strength, score in scores.items() if score >= best - 1e-10)


def _entries(labels: Mapping[str, Any], scores: Iterable[Any], rules: str, used: str) -> Rows:
    marks = {"picked": rules, "used": used}
    for measure, number in zip(("F1", "Δ F1, permuted"), scores, strict=True):
        yield entry({**labels, **marks}, measure, number)
