"""What can be compared, which models are seeds of one, and what each group is called."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from verax.errors import VeraxError
from verax.exams.verdict import Verdict
from verax.models.base import TextClassifier
from verax.models.kinds import KINDS, POOLED
from verax.models.options import AUTO, ModelOptions
from verax.models.saving import is_model_folder, read_config, with_files_beside
from verax.models.transformers.loading import is_outside, open_classifier
from verax.options import check_path, names
from verax.portable import portable
from verax.results import saved_kind
from verax.studies.naming import group_name
from verax.training.adversary import DEFAULTS as ADVERSARIAL
from verax.training.options import (
    TrainingOptions,
    canonical_options,
    format_value,
    inactive_options,
)
from verax.training.strength import candidates


@dataclass(frozen=True, eq=False)
class Entry:
    """One model of a comparison, before it is examined.

    name       its folder as given, or its number
    source     the classifier, the verdict, or the folder of a model
    options    of the model
    record     what is known of its making: training, corpus, strength
    classes    the names of its classes
    kind       pooled, transformer or predict
    """

    name: str
    source: TextClassifier | Verdict | Path
    options: Mapping[str, Any]
    record: Mapping[str, Any]
    classes: Sequence[str]
    kind: str = POOLED

    @property
    def verdict(self) -> Verdict | None:
        return self.source if isinstance(self.source, Verdict) else None

    @property
    def seed(self) -> int | None:
        """The seed it was trained with."""
        seed = self.record.get("training", {}).get("seed")
        return None if seed is None else int(seed)

    @property
    def fingerprint(self) -> str | None:
        """The fingerprint of the corpus it was trained on."""
        return self.record.get("corpus", {}).get("fingerprint")

    @property
    def short_name(self) -> str:
        """The folder's own name, without the way to it."""
        return Path(self.name).name or self.name


Comparable = TextClassifier | Verdict | str | Path | Entry


def entry_of(source: Any, number: int) -> Entry:
    """The entry of the number-th model, neither loaded nor examined."""
    if isinstance(source, Entry):
        return source
    if is_outside(source):
        source = open_classifier(source)
    if is_classifier(source):
        name = f"model {number}"
        name = name if source.trained_here else str(source.record.get("name") or name)
        more = (source.classes, source.kind)
        return Entry(name, source, source.describe(), source.record, *more)
    if isinstance(source, Verdict):
        return _of_verdict(f"verdict {number}", source)
    if not isinstance(source, (str, Path)):
        kind = type(source).__name__
        raise VeraxError(
            f"cannot compare a {kind}: give models, verdicts, or folders of them",
            code="result.wrong-kind",
        )
    folder = Path(check_path("what to compare", source))
    if is_model_folder(folder):
        return _of_folder(str(source), folder)
    if saved_kind(folder) == Verdict.kind:
        return _of_verdict(str(source), Verdict.load(folder))
    raise VeraxError(
        f"{source} is neither a saved model nor a saved verdict: expected a folder that train or "
        "examine wrote",
        code="result.missing",
    )


def is_classifier(source: Any) -> bool:
    """Whether something is a model, of whichever kind."""
    return not isinstance(source, Verdict) and getattr(source, "kind", None) in KINDS


def _of_folder(name: str, folder: Path) -> Entry:
    config = read_config(folder)
    record = with_files_beside(config, folder)
    return Entry(name, folder, config["model"], record, list(config["classes"]))


def _of_verdict(name: str, verdict: Verdict) -> Entry:
    record = verdict.manifest.get("model", {})
    classes = list(verdict.manifest.get("classes", []))
    kind = verdict.manifest.get("kind", POOLED)
    return Entry(name, verdict, record.get("options", {}), record, classes, kind)


Groups = dict[str, list[Entry]]
Settings = dict[str, Any]

_AUTOMATIC = (
    *("sentence_encoder", "feedforward_size", "head", "boundaries", "strength"),
    *("layers", "dropout_encoder"),
)
"""Options that are filled in where they are not set."""

_LAM, _BASE, _GUIDE = "adversary λ", "base of the adversary", "guide"
_OF_ADVERSARIES = (*ADVERSARIAL, _BASE)
"""What tells adversaries from each other, but not from other models: all of them have it."""


def grouped(
    models: Mapping[str, Comparable | Sequence[Comparable]] | Iterable[Comparable],
) -> Groups:
    """Name → models that are seeds of one; the first group is the reference.

    A mapping says so itself. In a list, models whose options, training and corpus differ in
    nothing but the seed are one group, called by what differs between groups (`grounding=tying`).
    Where all would be one group, or it is not known how a model was made, each is its own, called
    by its folder's name.
    """
    if isinstance(models, Mapping):
        groups = _by_name(models)
    else:
        listed = _list(models)
        groups = _by_settings([entry_of(model, n) for n, model in enumerate(listed, start=1)])
    if len(groups) < 2:
        raise VeraxError(
            "fewer than two models to compare: give the reference, then the others",
            code="result.too-few",
        )
    return groups


def _list(models: Any) -> list[Any]:
    one = isinstance(models, (str, Path, Verdict)) or is_classifier(models)
    return [models] if one or not isinstance(models, Iterable) else list(models)


def _by_name(models: Mapping[str, Comparable | Sequence[Comparable]]) -> Groups:
    groups: Groups = {}
    number = 0
    for name, members in models.items():
        if not isinstance(name, str) or not name.strip():
            raise VeraxError(
                f"a model is called {name!r}: name it with text", code="option.wrong-type"
            )
        listed = _list(members)
        if not listed:
            raise VeraxError(
                f"no model is given under {name!r}: give one, or several seeds of it",
                code="option.empty",
            )
        groups[name] = [entry_of(one, number := number + 1) for one in listed]
        _refuse_mixture(name, groups[name])
        _refuse_twins(name, groups[name])
    return groups


def _by_settings(entries: Sequence[Entry]) -> Groups:
    by_key: dict[Any, list[Entry]] = {}
    for number, entry in enumerate(entries):
        settings = settings_of(entry)
        key = (entry.fingerprint, *settings.items())
        known = settings and entry.seed is not None
        by_key.setdefault(key if known else number, []).append(entry)
    groups = list(by_key.values())
    if len(groups) == 1:
        groups = [[entry] for entry in entries]
    named = dict(zip(_names(groups), groups, strict=True))
    for name, group in named.items():
        _refuse_twins(name, group)
    return named


def _refuse_mixture(name: str, group: Sequence[Entry]) -> None:
    """Raise an error where a group holds more than seeds of one model.

    Adversaries of several bases, and models of several guides, may be seeds of one.
    """
    each = [settings for entry in group if (settings := settings_of(entry))]
    corpora = {entry.fingerprint for entry in group}
    differ = ["corpus"] if len(corpora - {None}) > 1 else []
    for option in dict.fromkeys(option for settings in each for option in settings):
        if option not in (_BASE, _GUIDE) and len({str(s.get(option)) for s in each}) > 1:
            differ.append(option)
    if differ:
        raise VeraxError(
            f"{name!r} holds models that differ in {', '.join(differ)}: several under one name are "
            "seeds of one model; give them in a list, which tells them apart, or a name each",
            code="result.incomparable",
        )


def _refuse_twins(name: str, group: Sequence[Entry]) -> None:
    """Raise an error where a group holds a model twice: intervals would be too narrow."""
    by_key: dict[Any, Entry] = {}
    for entry in group:
        key = entry.name if entry.seed is None else (entry.seed, *settings_of(entry).items())
        if key in by_key:
            raise VeraxError(
                f"{by_key[key].name} and {entry.name} are one model with one seed, both under "
                f"{name!r}: give each seed once, or name groups",
                code="option.duplicate",
            )
        by_key[key] = entry


def settings_of(entry: Entry) -> Settings:
    """The options of a model that have an effect, without its seed; empty if they are not known.

    An automatic choice is None, and a strength that was chosen on validation `auto`: the number is
    a result. An adversary has its λ and its base, too, and a guided model its guide.
    """
    trained = portable(entry.record.get("training"))
    known = {name: entry.options[name] for name in names(ModelOptions) if name in entry.options}
    if not trained or not known:
        return {}
    values = {**known, **{n: trained[n] for n in names(TrainingOptions) if n in trained}}
    values["strengths"], usual_strengths = None, False
    chosen = entry.record.get("strength")
    if chosen:
        tried = [row["strength"] for row in chosen["candidates"] if row["strength"] is not None]
        values |= {"strength": AUTO, "strengths": ",".join(map(format_value, tried))}
        usual_strengths = tried == candidates(known["grounding"], None)
    classes = max(2, len(entry.classes))
    model, training = canonical_options(values, classes)
    inactive = inactive_options(ModelOptions(**model), TrainingOptions(**training))
    automatic, _ = canonical_options(
        {name: value for name, value in values.items() if name not in _AUTOMATIC}, classes
    )
    settings = {
        name: None if name in _AUTOMATIC and value == automatic[name] else value
        for name, value in {**model, **training}.items()
        if name not in inactive
    }
    if usual_strengths:
        settings["strengths"] = None
    return settings | made_after(entry)


def made_after(entry: Entry) -> Settings:
    """λ and the seed of its base of an adversary, the seed of its guide of a guided model."""
    against, guide = entry.record.get("adversary"), entry.record.get("guide")
    settings: Settings = {}
    if against:
        settings |= {_LAM: against.get("lam"), _BASE: against.get("base_seed")}
    if guide:
        settings[_GUIDE] = guide.get("seed")
    return settings


def _names(groups: Sequence[Sequence[Entry]]) -> list[str]:
    """A name a group, by what differs from others of its kind; else its folder's name."""
    each = [{**_corpus_settings(group[0]), **settings_of(group[0])} for group in groups]
    called = []
    for settings, group in zip(each, groups, strict=True):
        pairs = zip(each, groups, strict=True)
        like = [other for other, members in pairs if members[0].kind == group[0].kind]
        name = group_name(settings, like, group[0].options, _OF_ADVERSARIES, _LAM)
        called.append(name or group[0].short_name)
    called = [
        group[0].short_name if called.count(name) > 1 else name
        for name, group in zip(called, groups, strict=True)
    ]
    return _numbered(called)


def kept_names(entries: Sequence[Entry]) -> dict[int, str]:
    """The id() of each entry → what results call it: its folder's own name, without the way to it.

    Of several with one name, all but the first have a number.
    """
    named = _numbered([entry.short_name for entry in entries])
    return {id(entry): name for entry, name in zip(entries, named, strict=True)}


def _numbered(names: Sequence[str]) -> list[str]:
    """Names that differ: those that stand before, too, with a number.

    >>> _numbered(["model", "other", "model"])
    ['model', 'other', 'model (2)']
    """
    return [
        f"{name} ({names[:n].count(name) + 1})" if name in names[:n] else name
        for n, name in enumerate(names)
    ]


def _corpus_settings(entry: Entry) -> Settings:
    config = portable({"corpus": entry.record.get("corpus", {})})["corpus"]
    rest = {n: v for n, v in config.items() if n not in ("seed", "fingerprint")}
    return rest | ({"corpus seed": config["seed"]} if "seed" in config else {})
