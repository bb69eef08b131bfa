"""From a plan to its cells: options crossed, impossible combinations refused, each cell once."""

from __future__ import annotations

import hashlib
import importlib.util
import itertools
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from verax.corpora.corpus import Corpus
from verax.corpora.loading import load_corpus
from verax.corpora.vectors import TRAINED as WORD2VEC
from verax.errors import VeraxError, is_utf8
from verax.exams.registry import EXAMS
from verax.models.options import AUTO, ModelOptions
from verax.models.transformers.loading import HF, function_in
from verax.options import build, divide
from verax.progress import Progress
from verax.studies.grid import vectors
from verax.studies.grid.cell import NAME, SOURCE, Cell
from verax.studies.grid.loader import LOADER, Loader
from verax.studies.grid.parse import (
    DEFAULTS,
    AdversaryPlan,
    CorpusSpec,
    Grid,
    ModelGrid,
    Plan,
    Setting,
    adversary_options,
)
from verax.studies.grid.source import Place, Problems
from verax.training.adversary import DEFAULTS as OF_ADVERSARIES
from verax.training.adversary import UNIFORM
from verax.training.options import (
    TrainingOptions,
    canonical_options,
    deciding_option,
    inactive_options,
    no_effect,
)
from verax.training.strength import candidates

MOST_CELLS = 100_000

Combination = Mapping[str, Setting]


class Combined(NamedTuple):
    """A combination of options, for one corpus; None where it could not be loaded."""

    spec: CorpusSpec
    corpus: Corpus | None
    options: Combination


def load_corpora(
    specs: Sequence[CorpusSpec],
    problems: Problems,
    progress: bool,
    loaded: dict[str, Corpus] | None = None,
) -> list[Corpus | None]:
    """Load each corpus once; None stands for one that cannot be loaded, which is a problem.

    `loaded` has those that were read before, for other studies, and takes in those read now.
    """
    done: dict[str, Corpus | None] = dict(loaded or {})
    keys = [repr((spec.name, sorted(spec.options.items()))) for spec in specs]
    with Progress(progress) as display:
        for key, spec in zip(keys, specs, strict=True):
            if key in done:
                continue
            done[key] = None
            if spec.whole:
                with problems.at(spec.place), display.busy(f"loading {spec.name}"):
                    done[key] = _load(spec)
    if loaded is not None:
        loaded.update({key: corpus for key, corpus in done.items() if corpus is not None})
    return [done[key] for key in keys]


def _load(spec: CorpusSpec) -> Corpus:
    options = {name: value for name, value in spec.options.items() if name != LOADER}
    if LOADER in spec.options:
        return Loader.named(spec.options[LOADER]).load(spec.name, options)
    return load_corpus(spec.name, **options)


# -- crossing


def count(grid: Grid) -> int:
    """Return how many combinations there are, without making any."""
    return math.prod(
        max(1, sum(count(one.options) for one in alternatives)) for alternatives in grid.values()
    )


def cross(grid: Grid, problems: Problems) -> Iterator[Combination]:
    """Yield every combination of the alternatives; the first option varies slowest.

    Options that come with an alternative take the place of plain ones.
    """
    choices = [
        [
            ({name: one.setting}, nested)
            for one in alternatives
            for nested in cross(one.options, problems)
        ]
        for name, alternatives in grid.items()
        if alternatives
    ]
    for parts in itertools.product(*choices):
        whole = {name: setting for own, _ in parts for name, setting in own.items()}
        brought: dict[str, Setting] = {}
        for _, nested in parts:
            for name, setting in nested.items():
                other = brought.setdefault(name, setting)
                if other.value != setting.value:
                    problems.add(
                        f"option {name!r} is {other.value!r} by one choice and {setting.value!r} "
                        "by another that goes with it: set it in one of them",
                        other.place,
                        setting.place,
                        code="option.conflict",
                    )
        yield {**whole, **brought}


def values_of(combination: Combination) -> dict[str, Any]:
    return {name: setting.value for name, setting in combination.items()}


def _distinct(combinations: Iterable[Combination]) -> list[Combination]:
    """Without those that differ only in what something of higher precedence has set over them."""
    first: dict[frozenset[tuple[str, Any]], Combination] = {}
    for combination in combinations:
        first.setdefault(frozenset(values_of(combination).items()), combination)
    return list(first.values())


def combine(plan: Plan, corpora: Sequence[Corpus | None], problems: Problems) -> list[Combined]:
    """Return every combination of every corpus, but those that are excluded."""
    models = sum(count(grid.options) for grid in plan.models) * count(plan.training)
    cells = models * len(plan.seeds) * sum(count(spec.training) for spec in plan.corpora)
    if cells > MOST_CELLS:
        problems.add(
            f"the grid has {cells:,} cells: a study has at most {MOST_CELLS:,}"
            if cells < 10**15
            else f"the grid has more than 10^15 cells: a study has at most {MOST_CELLS:,}",
            code="study.too-large",
        )
        return []
    # of a value that was refused it is not known what it would have excluded
    exclusions_count = not len(problems) and bool(plan.corpora)
    # a corpus's cells stand together, whatever mapping of models they come from
    everything: list[list[Combined]] = [[] for _ in plan.corpora]
    for grid in plan.models:
        kept = 0
        for number, (spec, corpus) in enumerate(zip(plan.corpora, corpora, strict=True)):
            options = _not_excluded(grid, spec, plan, problems)
            everything[number] += [Combined(spec, corpus, one) for one in options]
            kept += len(options)
        for exclusion in grid.exclusions if exclusions_count else ():
            if not exclusion.used:
                message = "exclude leaves nothing out: no combination has all of these values"
                problems.add(message, exclusion.place, code="option.not-applicable")
        if exclusions_count and not kept:
            message = "exclude leaves no model: every combination is left out"
            places = [exclusion.place for exclusion in grid.exclusions]
            problems.add(message, *places, code="option.conflict")
    return [one for part in everything for one in part]


def _not_excluded(
    grid: ModelGrid, spec: CorpusSpec, plan: Plan, problems: Problems
) -> list[Combination]:
    of_training = list(cross(plan.training, problems))
    of_corpus = list(cross(spec.training, problems))
    in_file = _distinct(
        {**training, **corpus, **model}
        for model in cross(grid.options, problems)
        for training in of_training
        for corpus in of_corpus
    )
    kept = []
    for options in in_file:
        final = {**options, **plan.changed}
        fitting = [exclusion for exclusion in grid.exclusions if exclusion.fits(final)]
        for exclusion in grid.exclusions:
            exclusion.used |= exclusion in fitting or exclusion.fits(options)
        if not fitting:
            kept.append(final)
    return _distinct(kept)


# -- what cannot be


def read_vectors(
    combinations: Iterable[Combined], problems: Problems, progress: bool
) -> tuple[dict[str, str], dict[str, int]]:
    """Return the hash of each vectors file's content, and its width, by path as written."""
    places: dict[str, set[Place]] = {}
    for one in combinations:
        setting = one.options.get("vectors")
        if setting is not None and setting.value not in (None, WORD2VEC):
            places.setdefault(setting.value, set()).add(setting.place)
    hashes, widths = {}, {}
    with Progress(progress) as display:
        for path, where in places.items():
            try:
                hashes[path] = vectors.content(path, display.watching(f"reading {path}"))
                widths[path] = vectors.width(path)
            except VeraxError as error:
                for place in where:  # a line each
                    problems.add(str(error), place, code=error.code)
    return hashes, widths


class Refusal(NamedTuple):
    """Why options do not go together, and which options these are."""

    message: str
    options: tuple[str, ...]
    code: str


@dataclass(frozen=True)
class Requirements:
    """What a combination has to fit: corpus, widths of vectors files, adversaries.

    A corpus that could not be loaded has two classes.
    """

    widths: Mapping[str, int]
    adversaries: AdversaryPlan | None
    classes: int = 2
    all_validated: bool = True

    def of(self, corpus: Corpus | None) -> Requirements:
        """Return the same for a corpus."""
        if corpus is None:
            return self
        classes = len(corpus.classes)
        validated = len(np.unique(corpus.validation.labels)) == classes
        return replace(self, classes=classes, all_validated=validated)


def refuse(
    plan: Plan, combinations: Sequence[Combined], widths: Mapping[str, int], problems: Problems
) -> None:
    """Note every combination that cannot be, as one problem for each reason.

    A reason is noted with the lines of the options that do not go together. Nothing is said about
    options of which a value was refused already.
    """
    without_corpus = Requirements(widths, plan.adversaries)
    corpora = {id(one.corpus): one.corpus for one in combinations}
    requirements = {number: without_corpus.of(corpus) for number, corpus in corpora.items()}
    numbers: Counter[Refusal] = Counter()
    places: dict[Refusal, set[Place]] = {}
    for one in combinations:
        values, required = values_of(one.options), requirements[id(one.corpus)]
        refused: set[str] = set()
        while new := [r for r in _refusals(values, required) if refused.isdisjoint(r.options)]:
            for refusal in new:
                numbers[refusal] += 1
                where = places.setdefault(refusal, set())
                where.update(_places(refusal, one.options, plan.adversaries))
                if refusal not in _refusals(values, without_corpus):
                    where.add(one.spec.place)
            refused.update(*(refusal.options for refusal in new))
            # there may be another reason beside these
            values = {name: value for name, value in values.items() if name not in refused}
    for refusal, where in places.items():
        if not problems.refused.intersection(refusal.options):
            share = f" ({numbers[refusal]:,} of {len(combinations):,} combinations)"
            message = refusal.message + (share if len(combinations) > 1 else "")
            problems.add(message, *where, code=refusal.code)


def _places(
    refusal: Refusal, combination: Combination, adversaries: AdversaryPlan | None
) -> Iterator[Place]:
    of_adversaries = adversaries.options if adversaries is not None else {}
    if adversaries is not None and refusal.message.startswith(_ADVERSARIES):
        if not of_adversaries.keys() & refusal.options:
            yield adversaries.place
    else:
        of_adversaries = {}
    for name in refusal.options:
        if name in of_adversaries:
            yield of_adversaries[name].place
        elif name in combination:
            yield combination[name].place


_ADVERSARIES = "adversaries: "


def _refusals(values: Mapping[str, Any], required: Requirements) -> list[Refusal]:
    """Why these options do not go together, or not with adversaries; empty where they do."""
    of_model = _refusals_of_model(values, required)
    plan = required.adversaries
    if of_model or plan is None:
        return of_model
    if values.get("projection") == UNIFORM:
        message = (
            f"{_ADVERSARIES}there are none of projection {UNIFORM!r}, for its attention cannot "
            "move: leave one of them out"
        )
        return [Refusal(message, ("projection",), code="option.conflict")]
    if not plan.options:
        return []
    model, training = canonical_options(values, required.classes)
    of_adversaries = _refusals_of_model(adversary_options(plan, {**model, **training}), required)
    return [one._replace(message=_ADVERSARIES + one.message) for one in of_adversaries]


def _refusals_of_model(values: Mapping[str, Any], required: Requirements) -> list[Refusal]:
    of_model, of_training = divide(values, ModelOptions, TrainingOptions)
    model = ModelOptions(**of_model)
    path, metric = of_training.get("vectors"), of_training.get("metric")
    refused: list[Refusal] = []
    with _noted(refused):
        model.resolved(required.classes)
        with _noted(refused, "vectors"):
            if path in required.widths:
                width = required.widths[str(path)]
                replace(model, embedding_size=width).resolved(required.classes)
    with _noted(refused):
        TrainingOptions(**of_training)
    if model.strength == AUTO:
        with _noted(refused):
            candidates(model.grounding, of_training.get("strengths"))
    if metric == "f1" and required.classes != 2:
        message = f"metric 'f1' is for two classes, not {required.classes}: use 'macro_f1'"
        refused.append(Refusal(message, ("metric",), code="option.not-applicable"))
    if metric == "roc_auc" and not required.all_validated:
        message = "metric 'roc_auc' needs validation documents of every class: use 'macro_f1'"
        refused.append(Refusal(message, ("metric",), code="option.not-applicable"))
    if path == WORD2VEC and importlib.util.find_spec("gensim") is None:
        message = "vectors 'word2vec' needs gensim: pip install 'verax[vectors]'"
        refused.append(Refusal(message, ("vectors",), code="package.missing"))
    return refused


@contextmanager
def _noted(refused: list[Refusal], *options: str) -> Iterator[None]:
    """Add the error that is raised inside to a list; `options` have a part in it."""
    try:
        yield
    except VeraxError as error:
        known = (*error.options, *options) or tuple(DEFAULTS)
        refused.append(Refusal(str(error), known, code=error.code))


# -- cells


def cells_of(
    plan: Plan, combinations: Iterable[Combined], hashes: Mapping[str, str]
) -> tuple[list[Cell], list[str]]:
    """Return the cells, each once, and notes on combinations that turn out to be one."""
    exams = {
        name: asdict(build(EXAMS[name].options_class, given or {}))
        for name, given in plan.exams.items()
    }
    cells: dict[str, Cell] = {}
    same: dict[str, list[dict[str, Any]]] = {}
    for one in combinations:
        assert one.corpus is not None
        values, classes = values_of(one.options), len(one.corpus.classes)
        model, training = canonical_options(values, classes)
        adversaries = None
        if plan.adversaries is not None:
            adversaries = _settled_adversaries(plan.adversaries, {**model, **training}, classes)
        first = Cell(
            **_of_corpus(one.corpus, exams, plan),
            model=model,
            training=training,
            seed=plan.seeds[0],
            exams=exams,
            vectors=hashes.get(training["vectors"]),
            adversaries=adversaries,
        )
        same.setdefault(first.key, []).append(values)
        for cell in (first, *(replace(first, seed=seed) for seed in plan.seeds[1:])):
            cells.setdefault(cell.key, cell)
    sizes: dict[str, list[int]] = {}
    for group in same.values():
        if len(group) > 1:
            sizes.setdefault(_why_one(group), []).append(len(group))
    notes = []
    for why, numbers in sizes.items():
        several = "one model" if len(numbers) == 1 else f"{len(numbers):,} models"
        notes.append(f"{sum(numbers):,} combinations are {several} ({why}): run once")
    of_adversaries = plan.adversaries.keywords["seeds"] if plan.adversaries is not None else []
    shared = [str(seed) for seed in of_adversaries if seed in plan.seeds]
    if shared:
        notes.append(
            f"adversaries with seed {', '.join(shared)} begin as the model of the study with that "
            "seed: give adversaries other seeds"
        )
    return list(cells.values()), notes


def _of_corpus(corpus: Corpus, exams: Iterable[str], plan: Plan) -> dict[str, Any]:
    """The fields of a cell that come with its corpus and its documents."""
    needs_rationales = any(EXAMS[name].needs_rationales for name in exams)
    return {
        "corpus": {name: value for name, value in corpus.config.items() if value is not None},
        "fingerprint": corpus.fingerprint,
        "split": plan.options.split,
        "sample": plan.options.sample,
        "rationales": corpus.rationales_fingerprint if needs_rationales else None,
    }


def _settled_adversaries(
    plan: AdversaryPlan, base: Mapping[str, Any], classes: int
) -> dict[str, Any]:
    """The keywords of `run_adversaries` for a base of these options (see `canonical_options`).

    All defaults are spelt out; options that the base has too, or that have no effect, are left
    out, so that equal adversaries have equal ones.
    """
    options = adversary_options(plan, base)
    of_model, of_training = divide(options, ModelOptions, TrainingOptions)
    inactive = inactive_options(
        ModelOptions(**of_model).resolved(classes), TrainingOptions(**of_training)
    )
    differing = {
        name: setting.value
        for name, setting in plan.options.items()
        if name in OF_ADVERSARIES or (name not in inactive and setting.value != base[name])
    }
    return {**plan.keywords, **OF_ADVERSARIES, **differing}


def _why_one(group: Sequence[Mapping[str, Any]]) -> str:
    """Why combinations are one model: in what they differ, and why that does not matter."""
    reasons = []
    for name, default in DEFAULTS.items():
        if len({values.get(name, default) for values in group}) == 1:
            continue
        decider = deciding_option(name)
        chosen = {values.get(decider, DEFAULTS[decider]) for values in group} if decider else set()
        if len(chosen) == 1:
            reasons.append(no_effect(name, chosen.pop()))
        else:
            reasons.append(f"{name} makes no difference")
    return ", ".join(reasons) or "written more than once"


def outside_cells(plan: Plan, corpora: Sequence[Corpus | None], problems: Problems) -> list[Cell]:
    """Return a cell for each corpus, seed and model that was not trained here.

        models: {mine: my_module.py:make, theirs: "hf:my-folder"}

    These cells examine, and train nothing; a seed is that of what exams draw. Where the study has
    `all` exams, a model takes those of its kind.
    """
    described: dict[str, dict[str, Any]] = {}
    every = None in plan.exams.values()
    for name, (source, place) in plan.outside.items():
        with problems.at(place):
            files = {SOURCE: _absolute(source), "content": _content(source)}
            described[name] = {NAME: name, **files, "every_exam": every}
    exams = {name: dict(given) for name, given in plan.exams.items() if given is not None}
    return [
        Cell(
            **_of_corpus(corpus, EXAMS if every else exams, plan),
            model=model,
            training={},
            seed=seed,
            exams=exams,
            exam_seed=seed,
        )
        for corpus in corpora
        if corpus is not None
        for model in described.values()
        for seed in plan.seeds
    ]


def _absolute(source: str) -> str:
    """The name of a model with its whole path, for workers in other folders."""
    if source.startswith(HF):
        return f"{HF}{Path(source.removeprefix(HF)).absolute()}"
    file, _, name = source.rpartition(":")
    return f"{Path(file).absolute()}:{name}"


def _content(source: str) -> str:
    """A hash of the files that a model comes from: a folder's, or the one that makes it."""
    if source.startswith(HF):
        folder, function = Path(source.removeprefix(HF)), ""
        files = sorted(path for path in folder.glob("*") if path.is_file())
        expected = f"{folder} is no folder of a model"
    else:
        made, function = function_in(source), source.rpartition(":")[2]
        files = [made[0]] if made is not None and made[0].is_file() else []
        expected = f"there is no file {source.rpartition(':')[0]}"
    if not files:
        raise VeraxError(
            f"{expected}: give hf:FOLDER, or FILE.py:FUNCTION", code="option.malformed"
        )
    digest = hashlib.sha256(function.encode())
    for path in files:
        digest.update(path.name.encode())
        with path.open("rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
    return digest.hexdigest()[:16]


def refuse_unstorable(cells: Iterable[Cell], problems: Problems) -> None:
    """Note names of files that no table of results can hold, before anything is trained."""
    values = {(name, v) for c in cells for name, v in c.columns().items() if isinstance(v, str)}
    for name, value in sorted(values):
        if not is_utf8(value):
            advice = f"{name} is {value!r}, which is not UTF-8: rename the file or folder"
            problems.add(advice, code="file.bad-name")
