"""The yardstick: how far apart the attentions are of models that differ only by seed."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import combinations, count
from pathlib import Path
from typing import Any

import pandas as pd

from verax.corpora.batching import MAX_TOKENS
from verax.corpora.corpus import Corpus
from verax.errors import VeraxError
from verax.exams.examine import check_split, load_as_read_by
from verax.exams.verdict import Verdict
from verax.models.classifier import AttentionClassifier
from verax.models.saving import is_model_folder, load
from verax.options import check
from verax.progress import shown
from verax.results import saved_kind
from verax.studies.adversaries.scores import measured
from verax.studies.comparison.grouping import Entry, entry_of, made_after, settings_of
from verax.training.preparing import refuse_other_corpus

ModelLike = AttentionClassifier | str | Path
"""A model, or the folder of a saved one."""


def seed_variance(
    models: Sequence[ModelLike],
    corpus: Corpus | str | Path | None = None,
    split: str = "test",
    *,
    device: str = "auto",
    max_tokens: int = MAX_TOKENS,
    progress: bool | None = None,
) -> pd.DataFrame:
    """Compare every two of these models, document by document.

    Args:
        models: two or more, or folders of saved ones, which differ in nothing but the seed. A
            strength of grounding that was chosen on validation is a result, and may differ.
        corpus: by default the one that they were trained on.
        split: the documents on which models are compared.
        device: auto, cpu, cuda or cuda:1.
        max_tokens: padded tokens held at once.
        progress: show bars.

    Returns:
        A row for each pair of models and document.

    first, second      the seeds of the two; one that is not known is a number that no other has
    id, label, items   of the document
    jsd                Jensen–Shannon divergence of the two attentions, in nats; 0 of one item
    tvd, same          total variation distance of the two outputs; whether decisions are the same
    decision, correct  of the second
    max_weight         the first's largest

    >>> import verax
    >>> corpus = verax.load_corpus("planted", documents=120)
    >>> models = [verax.train(corpus, encoder="none", epochs=1, seed=seed) for seed in (0, 1, 2)]
    >>> found = seed_variance(models, corpus)
    >>> found[["first", "second"]].drop_duplicates().to_numpy().tolist()
    [[0, 1], [0, 2], [1, 2]]
    """
    check_split(split)
    max_tokens = check("max_tokens", max_tokens, int, {"minimum": 1})
    listed = several_models("models", models)
    if len(listed) < 2:
        raise VeraxError(
            "fewer than two models: seed variance is between two or more", code="result.too-few"
        )
    entries = [model_entry(model, f"model {n}") for n, model in enumerate(listed, start=1)]
    refuse_more_than_seeds(entries)
    loaded = [loaded_model(model, device) for model in listed]
    corpus = corpus_of(loaded[0], corpus, "the first model")
    refuse_other_corpus(loaded[0], corpus)
    seeds = seeds_of(entries)
    pairs = list(combinations(range(len(loaded)), 2))
    parts = []
    with shown(progress) as display:
        corpus.splits[split].tokenise(display.watching(f"tokenising {split}"))
        for a, b in display.watching("pairs of models")(pairs):
            differences = measured(loaded[b], loaded[a], corpus, [split], max_tokens)
            differences = differences.drop(columns="split")
            differences.insert(0, "first", seeds[a])
            differences.insert(1, "second", seeds[b])
            parts.append(differences)
    return pd.concat(parts, ignore_index=True)


def refuse_more_than_seeds(entries: Sequence[Entry]) -> None:
    """Raise an error where models differ in more than the seed, or in nothing; it names what."""
    first = entries[0]
    settings = _settings(first)
    for entry in entries[1:]:
        other = _settings(entry)
        names = [n for n in {**settings, **other} if settings.get(n) != other.get(n)]
        if names:
            shown = ", ".join(f"{n} ({settings.get(n)}, {other.get(n)})" for n in names)
            raise VeraxError(
                f"{first.name} and {entry.name} differ in more than the seed: {shown}; "
                "give models that were trained alike",
                code="model.incomparable",
            )
    for one, other_one in combinations(entries, 2):
        if one.seed is not None and one.seed == other_one.seed:
            raise VeraxError(
                f"{one.name} and {other_one.name} are one model with one seed, {one.seed}: "
                "give each seed once",
                code="option.duplicate",
            )


def _settings(entry: Entry) -> dict[str, Any]:
    """All that makes a model what it is, but for its seed."""
    corpus = entry.record.get("corpus") or {}
    return {
        **(settings_of(entry) or {**entry.options, **made_after(entry)}),
        "classes": list(entry.classes),
        **{f"reading {name}": value for name, value in entry.reading.items()},
        "corpus": corpus.get("fingerprint"),
    }


def seeds_of(entries: Sequence[Entry], taken: Collection[int] = ()) -> list[int]:
    """Their seeds; for one that is not known, the smallest number that is no one's."""
    known = [entry.seed for entry in entries]
    free = (number for number in count() if number not in (*known, *taken))
    return [next(free) if seed is None else seed for seed in known]


def several_models(name: str, models: Any) -> list[ModelLike]:
    """A list of models; one alone is a mistake that a string would hide."""
    if isinstance(models, (str, Path, AttentionClassifier)):
        raise VeraxError(
            f"{name} is one model: give a list of models, or of folders of them",
            code="option.wrong-type",
        )
    return list(models)


def model_entry(model: ModelLike, name: str) -> Entry:
    """What is known of a model before it is loaded; in memory it is called by this name."""
    folder = Path(model) if isinstance(model, (str, Path)) else None
    if folder and not (is_model_folder(folder) or saved_kind(folder) == Verdict.kind):
        raise VeraxError(
            f"{model} is not a saved model: expected a folder that train wrote",
            code="model.missing",
        )
    entry = entry_of(model, 0)
    if entry.verdict is not None:
        raise VeraxError(
            f"{entry.name} is a verdict: give models, or folders of saved ones",
            code="result.wrong-kind",
        )
    return replace(entry, name=name) if isinstance(model, AttentionClassifier) else entry


def loaded_model(model: ModelLike, device: str) -> AttentionClassifier:
    if isinstance(model, AttentionClassifier):
        return model
    if not isinstance(model, (str, Path)):
        raise VeraxError(
            f"a {type(model).__name__} cannot be trained again: give a model that Verax trained",
            code="model.wrong-type",
        )
    return load(model, device=device)


def corpus_of(model: AttentionClassifier, corpus: Corpus | str | Path | None, who: str) -> Corpus:
    """The corpus given, by name read as the model reads, or the one it was trained on."""
    return corpus if isinstance(corpus, Corpus) else load_as_read_by(model, corpus, who)
