"""`run_adversaries`: a row of λ, the yardstick they are read by, and the controls."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd

from verax.corpora.corpus import Corpus
from verax.corpora.loading import recorded_config
from verax.errors import VeraxError
from verax.exams.examine import check_split, load_trained_on
from verax.models.classifier import AttentionClassifier
from verax.models.options import ModelOptions
from verax.options import SEED, check, divide
from verax.portable import corpus_name
from verax.progress import Display, shown
from verax.studies.adversaries.adversaries import Adversaries
from verax.studies.adversaries.making import (
    BY_ADVERSARY,
    BY_BASE,
    CONTROLS,
    NAMES,
    Making,
    left_out_of,
    recipe_of,
    refuse_as_base,
)
from verax.studies.adversaries.manifest import manifest_of
from verax.studies.adversaries.scores import (
    ADVERSARY,
    BASE,
    CONTROL,
    MEASURES,
    Model,
    joined,
    jsd_of_several,
    score,
    tidied,
)
from verax.studies.adversaries.scores import SEED as ANOTHER_SEED
from verax.studies.adversaries.variance import (
    ModelLike,
    corpus_of,
    loaded_model,
    model_entry,
    refuse_more_than_seeds,
    seeds_of,
    several_models,
)
from verax.training.options import TrainingOptions
from verax.training.preparing import refuse_other_corpus

LAMS = (0.0, 0.01, 0.03, 0.1, 0.3, 1.0)
"""Weights between means over documents, in nats; those of another code do not carry over."""

Callback = Callable[[Mapping[str, Any]], None]


def run_adversaries(
    base: ModelLike,
    corpus: Corpus | str | Path | None = None,
    lams: Iterable[float] = LAMS,
    seeds: Iterable[int] = (1,),
    *,
    others: Sequence[ModelLike] = (),
    retrain: Iterable[int] = (),
    controls: bool = True,
    split: str = "test",
    device: str = "auto",
    progress: bool | Display | None = None,
    keep: str | Path | None = None,
    begin: Callback = lambda row: None,
    done: Callback = lambda row: None,
    **options: Any,
) -> Adversaries:
    """Train adversaries of a model for every λ and seed, and what they are to be read by.

    Args:
        base: a classifier, or the folder of a saved one.
        corpus: a corpus, or the name or path of one; the base's own, unless given.
        lams: weights of the divergence of attention.
        seeds: of adversaries and controls. Give others than the base's, or they begin as it did.
        others: models that differ from the base only by seed. They are the yardstick: how far
            attention moves between two seeds.
        retrain: seeds with which to train such models here, as the base was.
        controls: train the controls too (see `verax.studies.adversaries.making.control`).
        split: train, validation or test.
        device: auto, cpu, cuda or cuda:1.
        progress: show how far it got; None shows it on a terminal and in a notebook.
        keep: a folder in which every model is saved as soon as it is trained. A later call with
            the same settings loads it from there, so that an interrupted study goes on.
        begin: called with each model before it is trained: kind, name, lam, seed, number, total.
        done: called with each model: kind, name, lam, seed, number of classes, validation scores.
        options: of `train_adversary`, such as epochs; `vectors` and `max_tokens` reach all models.

    Returns:
        The adversaries, with the yardstick and the controls.

    >>> import verax
    >>> corpus = verax.load_corpus("planted", documents=120)
    >>> base = verax.train(corpus, encoder="none", epochs=1)
    >>> found = verax.adversaries(base, corpus, [0, 1], retrain=[2], epochs=1, controls=False)
    >>> found.points()[["lam", "seeds"]].to_numpy().tolist()
    [[0.0, 1.0], [1.0, 1.0]]
    """
    lams = sorted({float(check("lams", v, float, {"minimum": 0})) for v in _several("lams", lams)})
    seeds = _seeds("seeds", seeds)
    again = _seeds("retrain", retrain, empty=True)
    check_split(split)
    if "lam" in options:
        raise VeraxError(
            "option 'lam' is what this study sets: leave it out, or give lams",
            code="option.conflict",
        )
    divide(options, ModelOptions, TrainingOptions)  # refuse what none knows
    beside = several_models("others", others)
    entries = [model_entry(base, "the base")]
    entries += [model_entry(other, f"model {n}") for n, other in enumerate(beside, start=1)]
    refuse_more_than_seeds(entries)
    their_seeds = seeds_of(entries, taken=again)[1:]
    for seed in again:
        if seed == entries[0].seed:
            raise VeraxError(
                f"cannot retrain with seed {seed}: it is the base's, and would give the base again",
                code="option.conflict",
            )
        if seed in [entry.seed for entry in entries[1:]]:
            raise VeraxError(
                f"seed {seed} is among others already: leave it out of retrain",
                code="option.duplicate",
            )
    base = loaded_model(base, device)
    refuse_as_base(base)
    corpus = _own_corpus(base) if corpus is None else corpus_of(base, corpus, "the base")
    _refuse_another_corpus(base, corpus)
    recipe = recipe_of(base, options) if again or controls else {}
    left_out = left_out_of(base.options.hierarchical)
    control_names = [name for name in CONTROLS if controls and name not in left_out]
    plan = [Model(ADVERSARY, NAMES[ADVERSARY], lam, seed) for lam in lams for seed in seeds]
    plan += [Model(ANOTHER_SEED, NAMES[ANOTHER_SEED], None, seed) for seed in again]
    plan += [Model(CONTROL, name, None, seed) for name in control_names for seed in seeds]

    def announce(model: Model) -> None:
        begin({**model._asdict(), "number": plan.index(model) + 1, "total": len(plan)})

    making = Making(base, corpus, options, recipe, device, progress, keep, announce)
    splits = list(dict.fromkeys(["validation", split]))
    with shown(progress) as display:
        for name in splits:
            corpus.splits[name].tokenise(display.watching(f"tokenising {name}"))
    parts: list[pd.DataFrame] = []

    def note(model: Model, documents: pd.DataFrame) -> None:
        parts.append(tidied(model, documents))
        scores = _on_validation(documents, len(corpus.classes))
        done({**model._asdict(), "classes": len(corpus.classes), **scores})

    note(Model(CONTROL, BASE, None, entries[0].seed), making.measure(base, splits))
    adversaries: dict[tuple[float, int], AttentionClassifier] = {}
    for lam in lams:
        for seed in seeds:
            model = making.adversary(lam, seed)
            note(Model(ADVERSARY, NAMES[ADVERSARY], lam, seed), making.measure(model, splits))
            adversaries[lam, seed] = model.to("cpu")  # until one of them may be a guide
    for other, seed in zip(beside, their_seeds, strict=True):
        model = loaded_model(other, device)
        note(Model(ANOTHER_SEED, "given", None, seed), making.measure(model, splits))
    for seed in again:
        model = making.again(seed)
        note(Model(ANOTHER_SEED, NAMES[ANOTHER_SEED], None, seed), making.measure(model, splits))
    manifest = manifest_of(
        {"lams": lams, "seeds": seeds, "retrain": again, "controls": bool(controls)},
        others=[{"name": entry.short_name, "seed": entry.seed} for entry in entries[1:]],
        split=split,
        classes=corpus.classes,
        options=making.options,
        corpus=recorded_config(corpus),
        name=entries[0].short_name,
        model={**base.record, "options": asdict(base.options)},
    )
    chosen = Adversaries(joined(parts), manifest).chosen().lam
    for name in control_names:
        for seed in seeds:
            if name in (BY_BASE, BY_ADVERSARY):
                guide = base if name == BY_BASE else adversaries[chosen, seed]
                documents = making.guided(name, guide, seed, splits)
            else:
                documents = making.measure(making.control(name, seed), splits)
            note(Model(CONTROL, name, None, seed), documents)
    return Adversaries(joined(parts), manifest)


def _on_validation(documents: pd.DataFrame, classes: int) -> dict[str, float]:
    validation = documents[documents["split"] == "validation"].set_index("id")
    validation["jsd"] = jsd_of_several(validation["jsd"], validation["items"])
    scores = score(validation, validation["label"], classes)
    return {name: scores[name][0] for name in MEASURES}


def _several(name: str, values: Any, empty: bool = False) -> list[Any]:
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise VeraxError(
            f"{name} is {values!r}: give a list of numbers, such as [0, 1]",
            code="option.wrong-type",
        )
    listed = list(values)
    if not listed and not empty:
        raise VeraxError(f"{name} is empty: give at least one", code="option.empty")
    return listed


def _seeds(name: str, values: Any, empty: bool = False) -> list[int]:
    checked = [int(check(name, seed, int, SEED)) for seed in _several(name, values, empty)]
    return list(dict.fromkeys(checked))


def _own_corpus(base: AttentionClassifier) -> Corpus:
    """The corpus that the base's record names, which may have changed since."""
    config = dict(base.record.get("corpus") or {})
    config.pop("fingerprint", None)
    try:
        return load_trained_on({"corpus": config}, "the base")
    except VeraxError as error:
        if not config:
            raise
        raise VeraxError(
            f"the corpus that the base was trained on cannot be loaded ({error}): put it back, or "
            "give the place where it is now",
            code="corpus.not-at-hand",
        ) from error


def _refuse_another_corpus(base: AttentionClassifier, corpus: Corpus) -> None:
    """Raise an error where the corpus is not the base's; it names what would make it so."""
    refuse_other_corpus(base, corpus)
    config = dict(base.record.get("corpus") or {})
    fingerprint = config.pop("fingerprint", None)
    if fingerprint is None or fingerprint == corpus.fingerprint:
        return
    start = (
        f"corpus {corpus.name!r} is not what the base was trained on (its texts or labels differ)"
    )
    now = corpus_name(str(recorded_config(corpus).get("corpus")))
    name = corpus_name(str(config.pop("corpus", now)))
    here = {key: corpus.config.get(key) for key in {**config, **corpus.config} if key != "corpus"}
    other = {key: config.get(key) for key, value in here.items() if config.get(key) != value}
    options = ", ".join(f"{key} {'none' if v is None else v}" for key, v in other.items())
    if other or name != now:
        as_then = f"{name!r} with {options}" if options else repr(name)
        raise VeraxError(
            f"{start}: leave out corpus (--corpus), or give {as_then}, as the base had it",
            code="corpus.changed",
        )
    raise VeraxError(
        f"{start}: it has changed since; bring it back as it was, or train the base again",
        code="corpus.changed",
    )
