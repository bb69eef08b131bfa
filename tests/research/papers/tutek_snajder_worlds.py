"""Made-up results of Tutek & Šnajder's studies: one world in which every claim replicates."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from made_up_results import crossed, made_up_results

from research.papers import PaperResults, paper
from research.papers import tutek_snajder_2020 as module

PAPER = paper("tutek-snajder-2020")

TRAINED, UNIFORM, PERMUTED = "trained", "uniform", "permuted"
CORPORA = module.PUBLISHED.corpora
MODELS: dict[str, dict[str, Any]] = {value.name: value.where for value in module.MODELS}
PUBLISHED = {value.name: value.published for value in module.MODELS}
Configuration = Mapping[str, Any]
Numbers = dict[tuple[str, str, str], float]
Change = Callable[[Configuration, Numbers], None]
"""Changes the numbers of a configuration in place."""

LENGTHS = {"sst": 17.0, "ag_news": 31.0, "imdb": 234.0, "mimic_diabetes": 1700.0}
LOST = {"base": 3, "base, frozen": 4, "concat": 4, "residual": 5, "tying": 20, "mlm": 15}
ALONE = {"base": 0.7, "base, frozen": 0.7, "concat": 0.7, "residual": 0.68}
ALONE |= {"tying": 0.58, "mlm": 0.6}
NATS = {"base": 2.4, "residual": 5.0, "tying": 4.8, "mlm": 3.7}
CURVES = {"lambda=0": 0.1, "lambda=0.1": 0.3, "lambda=1": 0.6}
PRICE = {"base": 0.1, "mlm": 0.4}
"""TVD per JSD: curves are straight lines."""
STRENGTHS = {"tying": (0.1, 0.3, 1.0), "mlm": (0.3, 1.0)}


def model_of(configuration: Configuration) -> str:
    chosen = (configuration["grounding"], configuration["freeze_embeddings"])
    return next(m for m, o in MODELS.items() if (o["grounding"], o["freeze_embeddings"]) == chosen)


def configurations(corpora: Iterable[str] = ("sst", "imdb")) -> list[dict[str, Any]]:
    """Every part of the paper's studies, on some corpora."""
    found = []
    for corpus in corpora:
        common: dict[str, Any] = {"corpus": corpus, "layers": 1, "query_init": "normal"}
        common |= {"strength": 0.0, "embedding_size": 100, "hidden_size": 100, "lr": 0.001}

        def add(part: str, common: dict[str, Any] = common, **values: Any) -> None:
            for own in crossed(**{name: v for name, v in values.items() if name != "model"}):
                for model in values["model"]:
                    strength = {"tying": 0.3, "mlm": 1.0}.get(model, 0.0)
                    chosen = {**common, "strength": strength, **MODELS[model], **own}
                    found.append({"part": part, **chosen})

        add(corpus, attention=["additive"], model=list(MODELS))
        add(corpus, attention=["dot"], model=[m for m in MODELS if m != "base, frozen"])
        add(f"information-{corpus}", attention=["additive"], model=list(NATS))
        deep = ["base", "concat", "tying", "mlm"]
        add(f"layers-{corpus}", attention=["additive"], layers=[2, 3], model=deep)
        begun = ["normal", "default"]
        add("initialisation", attention=["dot"], query_init=begun, model=["base"])
        add(f"adversaries-{corpus}", attention=["additive"], model=list(PRICE))
        add("selection", attention=["additive", "dot"], model=["base"])
        for model, strengths in STRENGTHS.items():
            add("selection", attention=["additive"], strength=strengths, model=[model])
    return found


def numbers(configuration: Configuration) -> Numbers:
    """What the cells of a configuration say, in the world in which every claim holds."""
    part, corpus, model = configuration["part"], configuration["corpus"], model_of(configuration)
    found: Numbers = {}
    if not part.startswith("information"):
        lost = LOST[model] / configuration["layers"] * (1 if LENGTHS.get(corpus, 17) < 100 else 2)
        f1 = 85.0 if model == "base" else 84.0
        for row, share in ((TRAINED, 0.0), (UNIFORM, 0.5), (PERMUTED, 1.0)):
            found["replacement", row, "f1"] = f1 - share * lost
            found["replacement", row, "delta_f1"] = -share * lost
            if corpus == "mimic_diabetes" and row != TRAINED:
                found["replacement", row, "f1"] = 0.0
    if part == corpus:
        found["single_token", "correct", "mean_probability"] = ALONE[model]
        found["single_token", "correct", "agreeing"] = 90.0
    if part.startswith("information"):
        for row in ("frequent", "sampled"):
            found["information", row, "information"] = NATS[model]
            found["information", row, "word_entropy"] = 5.5
            found["information", row, "above_shuffled"] = NATS[model] - 1
    if part == "initialisation":
        entropy = 0.99 if configuration["query_init"] == "default" else 0.6
        found["dispersion.entropy", "attention", "mean"] = entropy
        words = LENGTHS.get(corpus, 17.0)
        found["dispersion.documents", "items", "value"] = words
    if part.startswith("adversaries"):
        for row, jsd in CURVES.items():
            found["adversaries", row, "jsd"] = jsd
            found["adversaries", row, "tvd"] = jsd * PRICE[model]
    return found


def world(
    change: Change = lambda configuration, own: None,
    corpora: Iterable[str] = ("sst", "imdb"),
    keep: Callable[[Configuration], bool] = lambda configuration: True,
    seeds: Iterable[int] = (1, 2, 3),
) -> PaperResults:
    """The world in which every claim holds, changed, and with some cells left out."""

    def changed(configuration: Configuration) -> Numbers:
        own = numbers(configuration)
        change(configuration, own)
        return own

    kept = [c for c in configurations(corpora) if keep(c)]
    return quick(made_up_results(kept, changed, seeds, spread=0.001))


def quick(results: PaperResults) -> PaperResults:
    """The same, in columns that are selected from twice as fast."""
    return PaperResults(results.cells.astype(object), results.summary, results.tables)
