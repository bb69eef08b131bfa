"""`run_adversaries`: adversaries of a base, other seeds of it and controls, as cells of a grid."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from verax.corpora.corpus import Corpus
from verax.corpora.loading import recorded_config
from verax.corpora.vectors import TRAINED
from verax.errors import VeraxError
from verax.exams.examine import check_split, load_trained_on
from verax.models.classifier import AttentionClassifier
from verax.models.guided import GuidedClassifier
from verax.models.options import ModelOptions
from verax.models.saving import load, model_files
from verax.options import SEED, check, divide
from verax.portable import corpus_name
from verax.progress import Display
from verax.studies.adversaries import Adversaries, left_out_of, manifest_of
from verax.studies.adversary_scores import (
    ADVERSARY,
    BASE,
    BY_ADVERSARY,
    BY_BASE,
    CONTROL,
    CONTROLS,
    GIVEN,
    LAMS,
    MEASURES,
    MLP_UNIFORM,
    RETRAINED,
    UNIFORM,
    Model,
    ModelLike,
    control_title,
    corpus_of,
    joined,
    jsd_of_several,
    loaded_model,
    measured,
    model_entry,
    refuse_more_than_seeds,
    score,
    seeds_of,
    several_models,
    tidied,
)
from verax.studies.adversary_scores import SEED as ANOTHER_SEED
from verax.studies.function_cell import FunctionCell, FunctionGrid
from verax.studies.function_grid import read_grid
from verax.studies.running.run import hardware_of, refuse_hardware, run_cells, watching
from verax.studies.running.runner import Runner, Waiting
from verax.studies.running.watching import Watcher
from verax.studies.store.results import GridResults, open_grid
from verax.studies.store.store import Store
from verax.training.adversary import as_inherited, refuse_uniform, train_adversary
from verax.training.guided import DEFAULTS as UNENCODED
from verax.training.guided import FIXED as SET_BY_GUIDE
from verax.training.guided import train_guided
from verax.training.options import TrainingOptions
from verax.training.preparing import inherit, refuse_other_corpus
from verax.training.training import train

Recipe = dict[str, Any]
SHARED = ("vectors", "max_tokens")
"""Options that apply to every model: where a file is, and how much is held at once."""


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
    engine: str = "here",
    workers: int | None = None,
    device: str = "auto",
    address: str | None = None,
    progress: bool | None = None,
    watcher: Watcher | None = None,
    keep: str | Path | None = None,
    **options: Any,
) -> Adversaries:
    """Train adversaries of a model for each λ and seed, and the models to compare them with.

    Args:
        base: a classifier, or the folder of a saved one.
        corpus: a corpus, or its name or path; by default the one the base was trained on.
        lams: weights of the divergence of attention.
        seeds: seeds of adversaries and controls. Choose others than the base's; otherwise they
            start where the base started.
        others: models that differ from the base only by seed. They are the yardstick: how far
            attention moves between two seeds.
        retrain: seeds with which to train such models here.
        controls: whether to train the controls (see `control_options`).
        split: train, validation or test.
        engine: "here" (this process), "local" (worker processes), or "ray" (a cluster).
        workers: models at once; by default one per core, or one per GPU.
        device: auto, cpu, cuda or cuda:1.
        address: address of a Ray cluster; without it, Ray starts one on this machine.
        progress: whether to show bars; None shows them on a terminal and in a notebook.
        watcher: is called as the run goes on, instead of bars.
        keep: a folder for models and measurements, each stored when it is finished. A later call
            with this folder resumes an interrupted run; `verax.open_grid` opens it.
        options: options of `train_adversary`, such as epochs; `vectors` and `max_tokens` apply to
            all models.

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
    trained = [name for name in CONTROLS if controls and name not in left_out]
    model_options, settings = as_inherited(base, options)
    whole = {**asdict(model_options), **asdict(settings)}
    options = {name: whole[name] for name in options}
    splits = list(dict.fromkeys(["validation", split]))
    manifest = manifest_of(
        {"lams": lams, "seeds": seeds, "retrain": again, "controls": bool(controls)},
        others=[{"name": entry.short_name, "seed": entry.seed} for entry in entries[1:]],
        split=split,
        classes=corpus.classes,
        options=options,
        corpus=recorded_config(corpus),
        name=entries[0].short_name,
        model={**base.record, "options": asdict(base.options)},
    )
    hardware, here = hardware_of(
        engine, workers=workers, device=device, address=address, max_tokens=whole["max_tokens"]
    )
    refuse_hardware(hardware)
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="verax-")))
        base.save(scratch / "base")
        inputs: dict[str, Any] = {"base": scratch / "base", "corpus": corpus}
        if whole["vectors"] not in (None, TRAINED):
            inputs["vectors"] = whole["vectors"]
        not_in_key = {"max_tokens", *inputs}

        def grid_of(models: Iterable[Model], **more: Path) -> FunctionGrid:
            configs = []
            for model in models:
                how = _options_of(model, options, recipe)
                kept = {name: how[name] for name in sorted(how) if name not in not_in_key}
                configs.append({**model._asdict(), "splits": splits, "options": kept})
            return read_grid(train_and_measure, configs, hardware, {**inputs, **more})

        plan = [Model(CONTROL, BASE, None, entries[0].seed)]
        plan += [Model(ADVERSARY, ADVERSARY, lam, seed) for lam in lams for seed in seeds]
        parts = [grid_of(plan)]
        for number, (other, seed) in enumerate(zip(beside, their_seeds, strict=True)):
            loaded_model(other, device).save(scratch / f"other-{number}")
            given = Model(ANOTHER_SEED, GIVEN, None, seed)
            plan.append(given)
            parts.append(grid_of([given], model=scratch / f"other-{number}"))
        rest = [Model(ANOTHER_SEED, RETRAINED, None, seed) for seed in again]
        rest += [Model(CONTROL, n, None, s) for n in trained if n != BY_ADVERSARY for s in seeds]
        if rest:
            parts.append(grid_of(rest))
        plan += rest
        last = [Model(CONTROL, BY_ADVERSARY, None, s) for s in seeds if BY_ADVERSARY in trained]
        labels: dict[str, str] = {}
        grid = _merged(parts, plan, labels)
        keys = dict(zip(plan, (cell.key for cell in grid.cells), strict=True))
        folder = scratch / "store" if keep is None else keep
        store = Store.create(folder, grid.name, grid.text, grid.resolved())
        if watcher is None:
            watcher = stack.enter_context(watching(labels, progress))
        runner = Runner(grid, store, watcher, retry_failed=True, fail_fast=True)
        runner.ran.cells += len(last)

        def adversaries(results: GridResults) -> Adversaries:
            documents = dict(iter(results.table("documents").groupby("cell", observed=True)))
            rows = joined(tidied(model, documents[key]) for model, key in keys.items())
            return Adversaries(rows, manifest)

        def guided_by_adversary(waiting: Waiting) -> Waiting:
            """Add the controls whose guide is known once all other models are measured."""
            if waiting or runner.in_flight or BY_ADVERSARY not in trained or last[0] in keys:
                return waiting
            results = open_grid(folder)
            chosen = adversaries(results).chosen().lam
            for model in last:
                guide = scratch / f"guide-{model.seed}"
                _extract(results, keys[Model(ADVERSARY, ADVERSARY, chosen, model.seed)], guide)
                parts.append(grid_of([model], guide=guide))
            runner.study = _merged(parts, [*plan, *last], labels)
            Store.create(folder, grid.name, grid.text, runner.study.resolved())
            cells: Sequence[FunctionCell] = runner.study.cells[len(plan) :]
            keys.update(zip(last, (cell.key for cell in cells), strict=True))
            return [(runner, cell) for cell in cells if not store.complete(cell.key)]

        run_cells(runner, here=here, revise=guided_by_adversary)
        return adversaries(open_grid(folder))


def train_and_measure(
    config: Mapping[str, Any],
    corpus: Corpus,
    base: Path,
    device: str,
    progress: Display,
    max_tokens: int,
    vectors: Path | None = None,
    model: Path | None = None,
    guide: Path | None = None,
) -> dict[str, Any]:
    """Train one model and measure it beside the base: the function of the grid.

    Args:
        config: kind, name, λ and seed of the model, its options, and the splits to measure.
        corpus: the corpus.
        base: folder of the base.
        device: the device.
        progress: display.
        max_tokens: padded tokens held at once.
        vectors: file of word vectors.
        model: folder of a model that is measured as it is.
        guide: folder of the guide, unless the base is the guide.

    Returns:
        The table `documents` (see `measured`), scores on validation, and the files of the model.
        The base, given models and guided models, which cannot be saved, have no files.
    """
    reference = load(base, device=device)
    how = {**config["options"], "max_tokens": max_tokens, "seed": config["seed"]}
    how |= {"device": device, "progress": progress}
    if vectors is not None:
        how["vectors"] = str(vectors)
    trained: AttentionClassifier
    if config["name"] == BASE:
        trained = reference
    elif model is not None:
        trained = load(model, device=device)
    elif config["kind"] == ADVERSARY:
        trained = train_adversary(reference, corpus, config["lam"], **how)
    elif config["name"] in (BY_BASE, BY_ADVERSARY):
        trained = train_guided(reference if guide is None else load(guide, device), corpus, **how)
    else:
        trained = train(corpus, **how)
    documents = measured(trained, reference, corpus, config["splits"], max_tokens)
    files = {}
    if config["name"] not in (BASE, GIVEN, BY_BASE, BY_ADVERSARY):
        files = {f"model/{name}": data for name, data in model_files(trained).items()}
    validation = documents[documents["split"] == "validation"].set_index("id")
    validation["jsd"] = jsd_of_several(validation["jsd"], validation["items"])
    scores = score(validation, validation["label"], len(corpus.classes))
    return {
        "documents": documents,
        **{f"validation_{name}": scores[name][0] for name in MEASURES},
        **files,
    }


def _options_of(model: Model, options: Mapping[str, Any], recipe: Recipe) -> Mapping[str, Any]:
    """The options with which a model is trained."""
    if model.kind == ADVERSARY:
        return options
    if model.name == RETRAINED:
        return recipe
    return control_options(model.name, recipe) if model.name in CONTROLS else {}


def recipe_of(base: AttentionClassifier, changed: Mapping[str, Any]) -> Recipe:
    """The options with which the base was trained, except given ones that all models share."""
    if not base.record.get("training"):
        raise VeraxError(
            "the base does not say how it was trained, so that nothing can be trained like it: "
            "leave out retrain and controls",
            code="model.unsuitable-base",
        )
    shared = {name: value for name, value in changed.items() if name in SHARED}
    options, settings = inherit(base, shared, {}, ())
    return {**asdict(options), **asdict(settings)}


def control_options(name: str, recipe: Recipe) -> Recipe:
    """The options of a control; for a guided one, those that its guide does not set.

    uniform                   as the base, with uniform attention in training, too
    mlp-uniform               each word by itself, without context, under uniform attention
    mlp-own                   the same with attention of its own, by the base's projection
    mlp-guided-by-base        the same under the base's weights
    mlp-guided-by-adversary   the same under those of the chosen adversary
    """
    if name == UNIFORM:
        return {**recipe, "projection": "uniform"}
    options = {**recipe, **UNENCODED, "sentence_encoder": "same"}
    if name == MLP_UNIFORM:
        options["projection"] = "uniform"
    if name in (BY_BASE, BY_ADVERSARY):
        options = {n: v for n, v in options.items() if n not in SET_BY_GUIDE}
    return options


def refuse_as_base(base: AttentionClassifier) -> None:
    """Raise an error if a model cannot be a base: it needs attention, trained for its labels."""
    if isinstance(base, GuidedClassifier):
        raise VeraxError(
            "a guided model has no attention of its own: give its guide as the base",
            code="model.unsuitable-base",
        )
    if "adversary" in base.record:
        raise VeraxError(
            "this is an adversary: give the model that it was trained against",
            code="model.unsuitable-base",
        )
    refuse_uniform(base)


def model_title(model: Model) -> str:
    """A short name of a model, such as `λ 0.1, seed 1`."""
    name = control_title(model.name) if model.lam is None else f"λ {model.lam:g}"
    return name if model.seed is None else f"{name}, seed {model.seed}"


def _merged(
    parts: Sequence[FunctionGrid], plan: Sequence[Model], labels: dict[str, str]
) -> FunctionGrid:
    """One grid of several, its cells in the order of the plan; `labels` is filled with titles."""
    by_place = {_place(cell): cell for part in parts for cell in part.cells}
    cells = tuple(by_place[model] for model in plan)
    labels.update({cell.key: model_title(m) for m, cell in zip(plan, cells, strict=True)})
    inputs = {digest: value for part in parts for digest, value in part.inputs.items()}
    return replace(parts[0], cells=cells, inputs=inputs, labels=labels)


def _place(cell: FunctionCell) -> Model:
    return Model(*(cell.config[name] for name in Model._fields))


def _extract(results: GridResults, key: str, folder: Path) -> None:
    """Write the model of a cell to a folder."""
    folder.mkdir()
    for name in results.files(key):
        (folder / Path(name).name).write_bytes(results.file(key, name))


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
