"""`run_sweep`: a study over λ, a model for every λ of sparsegen and every seed."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Any

from verax.corpora.corpus import Corpus
from verax.corpora.loading import load_corpus, recorded_config
from verax.corpora.options import CorpusOptions
from verax.corpora.planted import Planted
from verax.errors import VeraxError
from verax.exams.examine import check_split
from verax.exams.registry import EXAMS, chosen_exams, divide_options
from verax.exams.verdict import Verdict
from verax.models.options import ModelOptions
from verax.options import SEED, build, check, divide, names
from verax.portable import portable
from verax.progress import is_watched
from verax.studies.engines.local import HereEngine
from verax.studies.grid.cell import Cell
from verax.studies.grid.options import declared
from verax.studies.grid.reading import read_study
from verax.studies.grid.study import Study
from verax.studies.running.runner import Runner
from verax.studies.store.results import open_study
from verax.studies.store.store import Store
from verax.studies.sweep import SPARSEGEN, Point, Sweep, sweep_of
from verax.training import TrainingOptions

LAMS = (-100.0, -30.0, -10.0, -3.0, -1.0, -0.3, 0.0, 0.25, 0.5, 0.75, 0.9, 0.97)
"""From nearly uniform attention to nearly one item; Meister et al. do not say theirs."""

EXAMINED = ("agreement", "dispersion")
NAME, QUESTION = "sweep", "Does attention explain better where it is sparser?"


def run_sweep(
    corpus: Corpus | str | Path,
    lams: Iterable[float] = LAMS,
    seeds: Iterable[int] = (0,),
    *,
    exams: Sequence[str] = EXAMINED,
    split: str = "test",
    sample: int | None = None,
    device: str = "auto",
    progress: bool | None = None,
    keep: str | Path | None = None,
    done: Callable[[float, int, Verdict], None] = lambda lam, seed, verdict: None,
    **options: Any,
) -> Sweep:
    """Train and examine a sparsegen model for every λ and seed.

    Args:
        corpus: one that is loaded, or its name or path.
        lams: values of λ, below 1; larger is sparser.
        seeds: of training.
        exams: agreement, dispersion or both, and others beside them.
        split: the documents examined; `sample` draws some of them, the same for all.
        device: auto, cpu, cuda or cuda:1.
        progress: show bars; None shows them where a terminal or a notebook does.
        keep: a folder for the study, in which every point is put as soon as it is done. A later
            call takes it from there, so that an interrupted sweep goes on; `verax.open` opens it.
        done: called with λ, seed and verdict of each point, kept ones too.
        options: of models, training and the exams.

    >>> import verax
    >>> corpus = verax.load_corpus("planted", documents=120)
    >>> found = verax.sweep(corpus, lams=[-1, 0.5], encoder="none", epochs=1)
    >>> found.points().query("measure == 'decisions.accuracy'")["lam"].tolist()
    [-1.0, 0.5]
    """
    lams = [float(check("lam", lam, float, {"below": 1})) for lam in _several("lams", lams)]
    seeds = [int(check("seed", seed, int, SEED)) for seed in _several("seeds", seeds)]
    exams = chosen_exams([exams] if isinstance(exams, str) else exams)
    if not set(exams) & set(EXAMINED):
        raise VeraxError(
            f"a sweep needs measures of {' or '.join(EXAMINED)}: name one of them",
            code="option.missing",
        )
    check_split(split)
    sample = None if sample is None else check("sample", sample, int, {"minimum": 1})
    for name in ("projection", "lam"):
        if name in options:
            raise VeraxError(
                f"option {name!r} is what a sweep sets: leave it out", code="option.conflict"
            )
    known = names(ModelOptions, TrainingOptions)
    examined = divide_options(exams, {n: v for n, v in options.items() if n not in known}, known)
    training = {n: v for n, v in options.items() if n in known}
    trained, also_trained = divide(training, ModelOptions, TrainingOptions)
    # in the kinds that options take: a number of NumPy's is as good, and no JSON
    trained = _checked(ModelOptions, trained) | _checked(TrainingOptions, also_trained)
    by_exam = {name: _checked(EXAMS[name].options_class, v) for name, v in examined.items()}
    for name, values in by_exam.items():  # refuse what cannot be done before a model is trained
        EXAMS[name](build(EXAMS[name].options_class, values), 0, {})
    if not isinstance(corpus, Corpus):
        corpus = load_corpus(corpus)
    study = study_over(corpus, lams, seeds, by_exam, split, sample, trained)
    watched = is_watched() if progress is None else progress
    verdicts: dict[Point, Verdict] = {}
    scratch: AbstractContextManager[str | Path]
    scratch = tempfile.TemporaryDirectory(prefix="verax-") if keep is None else nullcontext(keep)
    with scratch as folder:
        for cell, verdict in _performed(study, folder, device, watched):
            point = float(cell.model["lam"]), cell.seed
            verdicts[point] = verdict
            done(*point, verdict)
    sweep = sweep_of(verdicts)
    manifest = {**sweep.manifest, "split": split, "sample": sample, "exams": exams}
    recorded = recorded_config(corpus)
    manifest["corpus"] = {k: v for k, v in recorded.items() if k != "fingerprint"}
    with_options = {name: values for name, values in by_exam.items() if values}
    manifest["options"] = {**dict(sorted(trained.items())), **with_options}
    return Sweep(sweep.instances, portable(manifest))


def study_over(
    corpus: Corpus,
    lams: Iterable[float],
    seeds: Iterable[int],
    exams: Mapping[str, Mapping[str, Any]],
    split: str,
    sample: int | None,
    options: Mapping[str, Any],
) -> Study:
    """The study whose cells are the points of a sweep, in the order of λ, then of seeds.

    Args:
        corpus: of all cells.
        lams: one that is there twice is one; so are seeds.
        seeds: of training.
        exams: exam → the options given.
        split: the documents examined.
        sample: how many of them; None is all.
        options: those given of the model and its training.
    """
    name = str(corpus.config.get("corpus") or corpus.name)
    reading = {**declared(CorpusOptions), **declared(Planted)}
    read = {n: v for n, v in corpus.config.items() if n in reading and v is not None}
    models = {n: value for n, value in options.items() if n != "max_tokens"}
    source = {
        "name": NAME,
        "question": QUESTION,
        "corpora": {name: read},
        "models": {**models, "projection": {SPARSEGEN: {"lam": list(dict.fromkeys(lams))}}},
        "seeds": list(dict.fromkeys(seeds)),
        "exams": {exam: dict(exam_options) for exam, exam_options in exams.items()},
        "split": split,
        "sample": sample,
        "hardware": {"max_tokens": options.get("max_tokens")},
    }
    return read_study(source, in_memory=[corpus])


def _performed(
    study: Study, folder: str | Path, device: str, progress: bool
) -> Iterator[tuple[Cell, Verdict]]:
    """Every cell in its order, with its verdict: run here, unless it is in the folder's store."""
    store = Store.create(folder, study.name, study.text, study.resolved())
    runner = Runner(study, store, retry_failed=True)
    waiting = {cell.key for cell in runner.pending()}
    for cell in study.cells:
        if cell.key in waiting:
            runner.run(HereEngine(device, progress), [cell])
        failure = runner.ran.failed.get(cell.key)
        if failure is not None:
            error = VeraxError(
                f"{study.labels[cell.key]}: {failure['error']}", code="study.cell-failed"
            )
            error.add_note(str(failure["traceback"]))
            raise error
        yield cell, open_study(folder).verdict(cell.key)


def _several(name: str, values: Any) -> list[Any]:
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise VeraxError(
            f"{name} is {values!r}: give a list of numbers, such as [0, 1]",
            code="option.wrong-type",
        )
    listed = list(values)
    if not listed:
        raise VeraxError(
            f"nothing to sweep: {name} is empty, give at least one", code="option.empty"
        )
    return listed


def _checked(cls: type, values: Mapping[str, Any]) -> dict[str, Any]:
    """The options given, in the kinds that they take."""
    made = asdict(build(cls, values))
    return {name: made[name] for name in values}
