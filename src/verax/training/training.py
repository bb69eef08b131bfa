"""`train`: from a corpus to a classifier, in one call."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Unpack

from verax.corpora.corpus import Corpus
from verax.corpora.encoded import EncodedDocuments
from verax.device import resolve_device
from verax.errors import VeraxError
from verax.files import kept_if_possible, refuse_foreign, refuse_unwritable, stamp
from verax.models.classifier import AttentionClassifier
from verax.models.options import AUTO, ModelOptions
from verax.models.saving import is_only_a_model, load
from verax.options import SEED, build, check, divide, show_options
from verax.progress import Display, shown
from verax.training.loop import Loop
from verax.training.options import TrainingOptions, TrainKeywords
from verax.training.preparing import classification, prepare, repeatable, scores_on_test
from verax.training.strength import candidates, choose
from verax.version import __version__


def train(
    corpus: Corpus,
    *,
    seed: int = 0,
    device: str = "auto",
    progress: bool | Display | None = None,
    keep: str | Path | None = None,
    done: Callable[[Mapping[str, Any]], None] = lambda row: None,
    **options: Unpack[TrainKeywords],
) -> AttentionClassifier:
    """Train an attention classifier on a corpus.

    With `strength="auto"` the ungrounded model and one for each of `strengths` are trained, and the
    one chosen on validation is returned (see `verax.training.strength`).

    Args:
        corpus: a corpus with labels, from `verax.load_corpus`.
        seed: of initialisation, dropout and the order of documents.
        device: auto, cpu, cuda or cuda:1.
        progress: whether to show bars, or a display of your own (see `verax.progress`); None shows
            bars on a terminal and in a notebook.
        keep: with `strength="auto"`, a folder in which each model is put as soon as it is trained;
            a later call with the same settings takes it from there.
        done: with `strength="auto"`, called with the scores of each model.
        options: fields of `ModelOptions` (the model) and `TrainingOptions` (how it is trained).

    Returns:
        The classifier in eval mode, with the weights of the epoch that scored best on validation.
        Its `history` has a row for each epoch, its `record` the corpus, the options and the scores
        on test, among which `f1` is that of `classes[1]`. With `strength="auto"`,
        `record["strength"]` has the scores of every model.

    >>> import verax
    >>> corpus = verax.load_corpus("planted", documents=120)
    >>> model = verax.train(corpus, encoder="none", projection="sparsemax", epochs=1, seed=1)
    >>> model.predict(["w1 w2 good0_3 ."]).columns.tolist()
    ['label', 'p_0', 'p_1']
    """
    check("seed", seed, int, SEED)
    values = _with_strengths_as_text(options)
    call: dict[str, Any] = {"seed": seed, "device": device, "progress": progress}
    if isinstance(strength := values.get("strength"), str) and strength == AUTO:
        model = _train_at_chosen_strength(corpus, values, call, keep, done)
    else:
        model = _train(corpus, values, **call)
    budget = model.record["training"]["max_tokens"]
    model.record = {**model.record, "test": scores_on_test(model, corpus, budget)}
    return model


def _train(
    corpus: Corpus,
    options: Mapping[str, Any],
    seed: int,
    device: str,
    progress: bool | Display | None,
) -> AttentionClassifier:
    """One model, not yet scored on test."""
    model_values, training_values = divide(options, ModelOptions, TrainingOptions)
    model_options = build(ModelOptions, model_values)
    settings = build(TrainingOptions, training_values)
    where = resolve_device(device)
    with shown(progress) as display, repeatable(where):
        prepared = prepare(
            corpus, model_options, settings, seed=seed, device=where, display=display
        )
        model = prepared.model
        loop = Loop(
            model,
            prepared.train,
            prepared.validation,
            classification(prepared, settings, seed),
            settings,
            seed,
            display.step,
        )
        model.history = loop.run()
    model.record = prepared.record
    return model.eval()


def _train_at_chosen_strength(
    corpus: Corpus,
    options: Mapping[str, Any],
    call: Mapping[str, Any],
    keep: str | Path | None,
    done: Callable[[Mapping[str, Any]], None],
) -> AttentionClassifier:
    """Every candidate trained, or taken from where it was kept, and the chosen one returned."""
    model_values, training_values = divide(options, ModelOptions, TrainingOptions)
    model_options = build(ModelOptions, model_values)
    settings = build(TrainingOptions, training_values)
    strengths = candidates(model_options.grounding, settings.strengths)
    if keep is not None and Path(keep).exists() and not Path(keep).is_dir():
        raise VeraxError(
            f"cannot keep candidates in {keep}: it is a file, choose another place",
            code="output.wrong-kind",
        )
    if keep is not None:
        refuse_unwritable(Path(keep) / "model")
    model_options.resolved(len(corpus.classes))
    fixed = {n: v for n, v in options.items() if n not in ("grounding", "strength", "strengths")}
    resolved = {**asdict(model_options), **asdict(settings), "file": stamp(settings.vectors)}
    for name in ("strengths", "max_tokens"):  # change no candidate
        resolved.pop(name)

    def fit(changed: Mapping[str, Any]) -> tuple[AttentionClassifier, EncodedDocuments]:
        candidate = {
            **resolved,
            **changed,
            "seed": call["seed"],
            "corpus": corpus.fingerprint,
            "verax": __version__,
        }
        name = changed["grounding"]
        if changed["strength"] is not None:
            name = f"{name}-{repr(changed['strength']).removesuffix('.0')}"
        folder = None if keep is None else Path(keep) / name
        model = _kept(folder, candidate, call["device"])
        if model is None:
            model = _train(corpus, {**fixed, **changed}, **call)
            if folder is not None:
                record = model.record
                model.record = {**record, "candidate": candidate}
                with kept_if_possible():
                    model.save(folder, overwrite=True)
                model.record = record
        return model, model.encode(corpus.validation)

    seed = int(call["seed"])
    model, scores = choose(fit, model_options.grounding, strengths, seed, settings.max_tokens, done)
    model.record = {**model.record, "strength": scores}
    return model


def _with_strengths_as_text(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options with `strengths`, which may be a number or a list of them, as text has them."""
    strengths = options.get("strengths")
    if strengths is None or isinstance(strengths, str):
        return dict(options)
    several = strengths if isinstance(strengths, Iterable) else [strengths]
    return {**options, "strengths": ",".join(map(str, several))}


def _kept(
    folder: Path | None, candidate: Mapping[str, Any], device: str
) -> AttentionClassifier | None:
    """The model kept in a folder, if it is the one asked for."""
    if folder is None or not folder.exists():
        return None
    refuse_foreign(folder, is_only_a_model)
    model = load(folder, device=device)
    if model.record.get("candidate") != candidate:
        return None
    model.record = {n: v for n, v in model.record.items() if n != "candidate"}
    return model


show_options(train, ModelOptions, TrainingOptions)
