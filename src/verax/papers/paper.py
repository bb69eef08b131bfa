"""A paper as data: its studies, its published numbers, its claims."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Any

import pandas as pd
import yaml

from verax.errors import VeraxError, near, nearest
from verax.papers.claims import Claim
from verax.papers.exhibits import Exhibit, published_table
from verax.papers.probing import PROBES, Measure

SCALES = ("smoke", "small", "full")
_READINGS = "readings.yaml"


@dataclass(frozen=True, eq=False)
class Paper:
    """One paper.

    name      author-author-year
    package   the folder its data are in: studies.yaml, published/*.csv, deviations.md and
              differences.md
    exhibits  its tables and figures
    claims    what it says
    corpora   names here → names in the paper's tables; those of which the paper is judged
    probed    name → what is measured of its probes
    """

    name: str
    title: str
    authors: str
    url: str
    package: str
    exhibits: Sequence[Exhibit]
    claims: Sequence[Claim]
    corpora: Mapping[str, str] = field(default_factory=dict)
    probed: Mapping[str, Measure] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"Paper({self.name})"

    @property
    def _folder(self) -> Traversable:
        return resources.files(self.package)

    @cached_property
    def _studies(self) -> dict[str, Any]:
        text = (self._folder / "studies.yaml").read_text(encoding="utf-8")
        return dict(yaml.safe_load(text))

    def studies(self, scale: str = "full") -> dict[str, dict[str, Any]]:
        """Part → a study as its file would hold it, for `verax.run_study`.

        `full` is what studies.yaml has under `parts`. A smaller scale lays its `every` over each
        part, then what it has for that part alone under `parts`, and leaves out those in
        `leave_out`. `probes` are other studies, those under `probes`. `readings` names how corpora
        are read, in readings.yaml.
        """
        if scale == PROBES:
            if not self.has_probes:
                raise VeraxError(f"{self.name} has no probes: run it at {', '.join(SCALES)}")
            given = self._studies[PROBES]
            return {part: self._study(part, laid(study, {})) for part, study in given.items()}
        if scale not in SCALES:
            raise VeraxError(f"unknown scale {scale!r}: {nearest(scale, (*SCALES, PROBES))}")
        smaller: Mapping[str, Any] = self._studies.get(scale) or {}
        found = {}
        for part, given in self._studies["parts"].items():
            if part in smaller.get("leave_out", ()):
                continue
            study = laid(given, smaller.get("every") or {})
            study = laid(study, (smaller.get("parts") or {}).get(part) or {})
            found[part] = self._study(part, study)
        return found

    @property
    def has_probes(self) -> bool:
        return bool(self._studies.get(PROBES))

    def _study(self, part: str, given: Mapping[str, Any]) -> dict[str, Any]:
        study = {"name": f"{self.name}.{part}", **given}
        return read_as(study, study.pop("readings", None))

    def published(self, name: str) -> pd.DataFrame:
        """A published table: dataset, model, attention, metric, value, std; values as text."""
        return published_table(self.package, name)

    def words(self, name: str) -> str:
        """A text of the paper's page: deviations, differences; empty where there is none."""
        file = self._folder / f"{name}.md"
        return file.read_text(encoding="utf-8").strip() if file.is_file() else ""

    def has(self, corpus: str) -> bool:
        """Whether a corpus, by its name here, is the paper's; any is, where `corpora` are not told.

        What may follow a name, such as the folder that it is made of, is of no account.
        """
        return not self.corpora or corpus.partition(":")[0] in self.corpora

    def exhibit(self, name: str) -> Exhibit:
        """A table or figure by name: `table1`, `figure 3`, or `1` for the table."""
        wanted = "".join(str(name).lower().split())
        wanted = f"table{wanted}" if wanted.isdigit() else wanted.replace("fig.", "figure")
        known = {exhibit.name: exhibit for exhibit in self.exhibits}
        if wanted not in known:
            # another number is another exhibit, and no slip of the hand
            meant = near(wanted, [one for one in known if _digits(one) == _digits(wanted)])
            told = f"did you mean {meant!r}?" if meant else f"choose from {', '.join(known)}"
            raise VeraxError(f"{self.name} has no {name!r}: {told}")
        return known[wanted]


def _digits(name: str) -> str:
    return "".join(c for c in name if c.isdigit())


_WHOLE = ("corpora", "exams", "seeds", "adversaries")
"""Sections that a smaller scale replaces; others it changes option by option."""


def laid(study: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """A study with some of its sections changed; `models` that are a list are changed each."""
    found = copy.deepcopy(dict(study))
    for section, given in over.items():
        there = found.get(section)
        if section in _WHOLE or there is None or not isinstance(given, Mapping):
            found[section] = copy.deepcopy(given)
        elif isinstance(there, list):
            found[section] = [{**one, **given} for one in there]
        else:
            found[section] = {**there, **given}
    return found


@cache
def _readings() -> dict[str, dict[str, Any]]:
    """Name → corpus → how it is read."""
    text = (resources.files("verax.papers") / _READINGS).read_text(encoding="utf-8")
    return dict(yaml.safe_load(text))


def read_as(study: dict[str, Any], readings: str | None) -> dict[str, Any]:
    """The study with each corpus it names read as `readings` has it; options beside it win."""
    if readings is None:
        return study
    known = _readings()[readings]
    given = study["corpora"]
    named: dict[str, Any] = {}
    for one in given if isinstance(given, list) else [given]:
        own = one if isinstance(one, Mapping) else {one: {}}
        if twice := named.keys() & own:
            raise VeraxError(f"{study['name']} reads {min(twice)} twice: make it two parts")
        named |= own
    corpora = {name: {**known.get(name, {}), **(own or {})} for name, own in named.items()}
    return {**study, "corpora": corpora}
