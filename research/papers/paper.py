"""A paper as data: its studies, its published numbers, its claims."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

from research.papers.axes import Source, plain_name
from research.papers.claims import Aside, Claim
from research.papers.exhibits import Content, Exhibit
from research.papers.probing import PROBES
from research.papers.published import read_table
from research.papers.results import PaperResults, paper_of, studies_in
from verax import VeraxError, open_study

NAMES = (
    "serrano-smith-2019",
    "tutek-snajder-2020",
    "meister-2021",
    "jain-wallace-2019",
    "wiegreffe-pinter-2019",
)
"""The names of the papers, first the three that Verax is about."""
DATA = Path(__file__).parent / "data"


def data_folder(name: str) -> Path:
    """Return the folder of a paper's data."""
    return DATA / name


SCALES = ("smoke", "small", "full")
"""The sizes at which the studies of a paper can be run."""
OWN_DATA = "own_data"
"""Studies at full scale on corpora that only some people may have."""
_SECTIONS = {PROBES: PROBES, OWN_DATA: OWN_DATA}
"""Studies of a paper beside its scales → their section of studies.yaml; others have `parts`."""
_READINGS = "readings.yaml"


@dataclass(frozen=True, eq=False)
class Paper:
    """One paper.

    name      author-author-year
    folder    its data: studies.yaml, published/*.csv, contents.csv, deviations.md, differences.md
    exhibits  its tables and figures
    claims    its statements
    corpora   names here → names in the paper's tables, of the paper's own corpora
    probed    name → source of a number that is shown of its probes
    kept      parts whose tables of single documents are packed, for figures that draw them
    conclusion  a clause of the first sentence → the claims by which it is judged
    setup     what differs most, in three lines
    scatter   panel of the chart → the measures of exhibits, or the claims, that it shows
    aside     results → corpus → why no verdict goes by it
    """

    name: str
    title: str
    authors: str
    url: str
    folder: Path
    exhibits: Sequence[Exhibit]
    claims: Sequence[Claim]
    corpora: Mapping[str, str] = field(default_factory=dict)
    probed: Mapping[str, Source] = field(default_factory=dict)
    kept: Sequence[str] = ()
    conclusion: Mapping[str, Sequence[int]] = field(default_factory=dict)
    setup: Sequence[str] = ()
    scatter: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    aside: Callable[[PaperResults], Mapping[str, Aside]] = lambda results: {}

    def __repr__(self) -> str:
        return f"Paper({self.name})"

    @cached_property
    def _studies(self) -> dict[str, Any]:
        text = (self.folder / "studies.yaml").read_text(encoding="utf-8")
        return dict(yaml.safe_load(text))

    def studies(self, scale: str = "full") -> dict[str, dict[str, Any]]:
        """Part → a study as its file would hold it, for `verax.run_study`.

        `full` is what studies.yaml has under `parts`. A smaller scale changes each part by its
        `every`, then by what its `parts` have for that part, and leaves out those in `leave_out`.
        `probes` and `own_data` are the studies under these names. `strength` of a model may be the
        name of a rule, whose choices are under `strengths`. `readings` of a study names an entry
        of readings.yaml, which says how corpora are read.
        """
        if scale not in (*SCALES, *_SECTIONS):
            raise unknown("scale", scale, (*SCALES, PROBES))
        if scale == PROBES and not self.has_probes:
            raise VeraxError(
                f"{self.name} has no probes: run it at {', '.join(SCALES)}",
                code="option.not-applicable",
            )
        full = self._studies.get(_SECTIONS.get(scale, "parts"), {})
        smaller = {} if scale in _SECTIONS else self._studies.get(scale) or {}
        every, parts = smaller.get("every") or {}, smaller.get("parts") or {}
        studies = {}
        for part in full:
            if part in smaller.get("leave_out", ()):
                continue
            study = with_strengths(full[part], self._studies.get("strengths") or {})
            study = laid(laid(study, every), parts.get(part) or {})
            study = {"name": f"{self.name}.{part}", **study}
            studies[part] = read_as(study, study.pop("readings", None))
        return studies

    @property
    def has_probes(self) -> bool:
        """Whether the paper has studies under `probes`."""
        return bool(self._studies.get(PROBES))

    @property
    def own_data(self) -> list[str]:
        """Parts on corpora that only some people may have."""
        return list(self._studies.get(OWN_DATA, ()))

    def published(self, name: str) -> pd.DataFrame:
        """A published table: dataset, model, attention, metric, value, std; values as text."""
        return read_table(self.folder, name)

    @property
    def contents(self) -> list[Content]:
        """Every table and figure, and the exhibits that it is made as, of contents.csv."""
        rows = pd.read_csv(self.folder / "contents.csv", dtype=str, keep_default_na=False)
        return [
            Content(row["name"], row["made"].split(), row["published"].split(), row["note"])
            for row in rows.to_dict("records")
        ]

    def words(self, name: str) -> str:
        """A text of the paper's page, deviations or differences; empty if there is none."""
        file = self.folder / f"{name}.md"
        return file.read_text(encoding="utf-8").strip() if file.is_file() else ""

    def has(self, corpus: str) -> bool:
        """Whether a corpus, by its name here, is the paper's; any is if the paper lists none.

        Anything after a colon, such as the folder of the corpus, does not count.
        """
        return not self.corpora or plain_name(corpus) in self.corpora

    def exhibit(self, name: str) -> Exhibit:
        """A table or figure by name: `table1`, `figure 3`, or `1` for the table."""
        key = "".join(str(name).lower().split())
        key = f"table{key}" if key.isdigit() else key.replace("fig.", "figure")
        known = {exhibit.name: exhibit for exhibit in self.exhibits}
        if key not in known:
            raise unknown(f"exhibit of {self.name}", name, known)
        return known[key]


def paper(name: str) -> Paper:
    """Return a paper by name.

    Args:
        name: one of `NAMES`, such as "meister-2021".

    Raises:
        VeraxError: no paper has that name.

    >>> paper("meister-2021").claims[0].id
    1
    """
    if name not in NAMES:
        raise unknown("paper", name, NAMES)
    found = import_module(f"research.papers.{name.replace('-', '_')}").PAPER
    assert isinstance(found, Paper)
    return found


def papers() -> list[Paper]:
    """Return all papers, in the order of `NAMES`."""
    return [paper(name) for name in NAMES]


def refuse_others(paper: Paper, folder: str | Path) -> None:
    """Raise an error if a folder holds a study, finished or not, that is not of this paper."""
    folder = Path(folder)
    names = {path: open_study(path).name for path in studies_in(folder)}
    foreign = {path: name for path, name in names.items() if paper_of(name) != paper.name}
    if not foreign:
        return
    others = sorted({paper_of(name) for name in foreign.values()} & set(NAMES))
    if others and len(foreign) == len(names):
        problem = (
            f"{folder} holds results of {', '.join(others)}, not of {paper.name}: give a folder of "
            f"{paper.name}'s, or name the paper that these are of"
        )
    elif others:
        problem = (
            f"{folder} holds results of {', '.join(others)} beside those of {paper.name}: give "
            "each paper a folder of its own"
        )
    else:
        path, name = next(iter(foreign.items()))
        problem = (
            f"{path} is a study named {name!r}, which is no paper's: expected {paper.name}'s, as "
            "python -m research papers run makes them"
        )
    raise VeraxError(problem, code="result.wrong-kind")


def unknown(what: str, name: str, known: Iterable[str]) -> VeraxError:
    """The error for a name that does not exist."""
    choices = ", ".join(known)
    return VeraxError(
        f"unknown {what} {name!r}: choose from {choices}", code="option.unknown-value"
    )


_WHOLE = ("corpora", "exams", "seeds", "adversaries")
"""Sections that a smaller scale replaces; others it changes option by option."""


def laid(study: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """A copy of a study with the sections of `over` changed; in a list, every entry is changed."""
    laid_over = copy.deepcopy(dict(study))
    for section, changes in over.items():
        before = laid_over.get(section)
        if section in _WHOLE or before is None or not isinstance(changes, Mapping):
            laid_over[section] = copy.deepcopy(changes)
        elif isinstance(before, list):
            laid_over[section] = [{**options, **changes} for options in before]
        else:
            laid_over[section] = {**before, **changes}
    return laid_over


@cache
def _readings() -> dict[str, dict[str, Any]]:
    """Name → corpus → how it is read."""
    text = (DATA / _READINGS).read_text(encoding="utf-8")
    return dict(yaml.safe_load(text))


def read_as(study: dict[str, Any], readings: str | None) -> dict[str, Any]:
    """The study with each corpus it names read as `readings` has it; options beside it win."""
    if readings is None:
        return study
    known = _readings()[readings]
    section = study["corpora"]
    named: dict[str, Any] = {}
    for item in section if isinstance(section, list) else [section]:
        with_options = item if isinstance(item, Mapping) else {item: {}}
        if twice := named.keys() & with_options:
            raise VeraxError(
                f"{study['name']} reads {min(twice)} twice: make it two parts",
                code="option.conflict",
            )
        named |= with_options
    corpora = {name: {**known.get(name, {}), **(options or {})} for name, options in named.items()}
    return {**study, "corpora": corpora}


Strengths = Mapping[str, Mapping[str, Mapping[str, Mapping[str, float]]]]
"""Rule → corpus → attention → grounding → strength."""
CHOSEN_WITH = "additive"
"""The attention whose strengths serve those for which none were chosen."""


def with_strengths(study: Mapping[str, Any], strengths: Strengths) -> dict[str, Any]:
    """The study with each name of a rule replaced by the strength that the rule chose.

    Args:
        study: a part of studies.yaml; one with names of rules has one corpus, and each of its
            models one attention, or a list of them, which is divided.
        strengths: what each rule chose.

    >>> chosen = {"best": {"sst": {"additive": {"tying": 0.1}, "dot": {"tying": 0.3}}}}
    >>> model = {"attention": ["additive", "dot"], "grounding": [{"tying": {"strength": "best"}}]}
    >>> for one in with_strengths({"corpora": ["sst"], "models": [model]}, chosen)["models"]:
    ...     print(one)
    {'attention': 'additive', 'grounding': [{'tying': {'strength': 0.1}}]}
    {'attention': 'dot', 'grounding': [{'tying': {'strength': 0.3}}]}
    """
    models = study["models"] if isinstance(study["models"], list) else [study["models"]]
    if not any(_rules(model, strengths) for model in models):
        return dict(study)
    if len(study["corpora"]) != 1:
        named = list(study["corpora"])
        raise VeraxError(
            f"strengths are chosen for a corpus each: make {named} a part each",
            code="option.conflict",
        )
    (corpus,) = study["corpora"]
    resolved: list[Mapping[str, Any]] = []
    for model in models:
        if not _rules(model, strengths):
            resolved.append(model)
            continue
        several = model["attention"] if isinstance(model["attention"], list) else None
        for attention in several or [model["attention"]]:
            resolved.append(_resolved({**model, "attention": attention}, corpus, strengths))
    return {**study, "models": resolved}


def _rules(model: Mapping[str, Any], strengths: Strengths) -> list[str]:
    """Names of rules that a model says in place of a strength."""
    items = [item for item in _groundings(model) if isinstance(item, Mapping)]
    values = [options.get("strength") for item in items for options in item.values()]
    return [value for value in values if isinstance(value, str) and value in strengths]


def _groundings(model: Mapping[str, Any]) -> list[Any]:
    section = model.get("grounding")
    return section if isinstance(section, list) else []


def _resolved(model: Mapping[str, Any], corpus: str, strengths: Strengths) -> dict[str, Any]:
    """A model of one attention, with numbers in place of rules."""

    def chosen(grounding: str, options: Mapping[str, Any]) -> dict[str, Any]:
        rule, attention = options.get("strength"), model["attention"]
        if not isinstance(rule, str) or rule not in strengths:
            return dict(options)
        by_attention = strengths[rule].get(corpus, {})
        numbers = by_attention.get(attention) or by_attention.get(CHOSEN_WITH, {})
        if grounding not in numbers:
            raise VeraxError(
                f"no strength of {grounding} by the rule {rule!r} for {corpus} with {attention} "
                "attention: add it to `strengths`",
                code="option.conflict",
            )
        return {**options, "strength": numbers[grounding]}

    groundings = [
        {name: chosen(name, options) for name, options in item.items()}
        if isinstance(item, Mapping)
        else item
        for item in _groundings(model)
    ]
    return {**model, "grounding": groundings}
