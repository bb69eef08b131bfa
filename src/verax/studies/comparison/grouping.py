"""Which models are seeds of one, and what each group is called."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from verax.errors import VeraxError
from verax.exams.verdict import Verdict
from verax.models.classifier import AttentionClassifier
from verax.models.encoders import ENCODER_OPTIONS
from verax.models.options import AUTO, ModelOptions
from verax.models.projection_registry import PROJECTION_OPTIONS
from verax.options import names
from verax.studies.comparison.entries import Entry, Given, entry_of
from verax.training.adversary import DEFAULTS as ADVERSARIAL
from verax.training.options import TrainingOptions
from verax.training.strength import candidates

Groups = dict[str, list[Entry]]
Settings = dict[str, Any]

_RESOLVED = ("sentence_encoder", "feedforward_size", "head", "boundaries", "strength")
"""Options that resolving fills in."""

_LAM, _BASE, _GUIDE = "adversary λ", "base of the adversary", "guide"
_OF_ITS_KIND = (*ADVERSARIAL, _BASE)
"""What tells adversaries from each other, but not from other models: all of them have it."""


def grouped(models: Mapping[str, Given | Sequence[Given]] | Iterable[Given]) -> Groups:
    """Name → models that are seeds of one; the first group is the reference.

    A mapping says so itself. In a list, models whose options, training and corpus differ in
    nothing but the seed are one group, called by what differs between groups (`grounding=tying`).
    Where all would be one group, or it is not known how a model was made, each is its own, called
    by its folder's name.
    """
    if isinstance(models, Mapping):
        found = _by_name(models)
    else:
        listed = _list(models)
        found = _by_settings([entry_of(given, n) for n, given in enumerate(listed, start=1)])
    if len(found) < 2:
        raise VeraxError("fewer than two models to compare: give the reference, then the others")
    return found


def _list(given: Any) -> list[Any]:
    one = isinstance(given, (str, Path, AttentionClassifier, Verdict))
    return [given] if one or not isinstance(given, Iterable) else list(given)


def _by_name(models: Mapping[str, Given | Sequence[Given]]) -> Groups:
    found: Groups = {}
    number = 0
    for name, given in models.items():
        if not isinstance(name, str) or not name.strip():
            raise VeraxError(f"a model is called {name!r}: name it with text")
        listed = _list(given)
        if not listed:
            raise VeraxError(f"no model is given under {name!r}: give one, or several seeds of it")
        found[name] = [entry_of(one, number := number + 1) for one in listed]
        _refuse_mixture(name, found[name])
        _refuse_twins(name, found[name])
    return found


def _by_settings(entries: Sequence[Entry]) -> Groups:
    found: dict[Any, list[Entry]] = {}
    for number, entry in enumerate(entries):
        settings = settings_of(entry)
        corpus = entry.record.get("corpus", {}).get("fingerprint")
        key = (corpus, *settings.items()) if settings and entry.seed is not None else number
        found.setdefault(key, []).append(entry)
    groups = list(found.values())
    if len(groups) == 1:
        groups = [[entry] for entry in entries]
    called = _unique([_called(group, groups) for group in groups], groups)
    for name, group in zip(called, groups, strict=True):
        _refuse_twins(name, group)
    return dict(zip(called, groups, strict=True))


def _refuse_mixture(name: str, group: Sequence[Entry]) -> None:
    """Models of several kinds, taken for seeds of one, would make differences surer than they are.

    Adversaries of several bases, and models of several guides, may be seeds of one.
    """
    told = [settings for entry in group if (settings := settings_of(entry))]
    corpora = {entry.record.get("corpus", {}).get("fingerprint") for entry in group}
    differ = ["corpus"] if len(corpora - {None}) > 1 else []
    for option in dict.fromkeys(option for settings in told for option in settings):
        if option not in (_BASE, _GUIDE) and len({str(s.get(option)) for s in told}) > 1:
            differ.append(option)
    if differ:
        raise VeraxError(
            f"{name!r} holds models that differ in {', '.join(differ)}: several under one name are "
            "seeds of one model; give them in a list, which tells them apart, or a name each"
        )


def _refuse_twins(name: str, group: Sequence[Entry]) -> None:
    """A model that counts twice would make intervals over seeds too narrow."""
    seen: dict[Any, Entry] = {}
    for entry in group:
        key = entry.name if entry.seed is None else (entry.seed, *settings_of(entry).items())
        if key in seen:
            raise VeraxError(
                f"{seen[key].name} and {entry.name} are one model with one seed, both under "
                f"{name!r}: give each seed once, or name groups"
            )
        seen[key] = entry


def settings_of(entry: Entry) -> Settings:
    """What a model was told, less its seed and what has no effect on it; empty if not known.

    What resolving filled in is None, and a strength that was chosen on validation `auto`: the
    number is a result. An adversary was told λ and its base, too, and a guided model its guide.
    """
    told = entry.record.get("training")
    known = {name: entry.options[name] for name in names(ModelOptions) if name in entry.options}
    if not told or not known:
        return {}
    options = ModelOptions(**known)
    defaults = {f.name: f.default for f in fields(ModelOptions) if f.name in _RESOLVED}
    usual = asdict(ModelOptions(**{**known, **defaults}).resolved(len(entry.classes)))
    found = {n: None if n in _RESOLVED and usual[n] == v else v for n, v in known.items()}
    found |= {name: told[name] for name in names(TrainingOptions) if name in told}
    found["strengths"] = None
    chosen = entry.record.get("strength")
    if chosen:
        tried = [row["strength"] for row in chosen["candidates"] if row["strength"] is not None]
        found["strength"] = AUTO
        if tried != candidates(options.grounding, None):
            found["strengths"] = ",".join(f"{strength:g}" for strength in tried)
    without = _without_effect(options, found)
    found = {name: value for name, value in found.items() if name not in without}
    return found | made_after(entry)


def made_after(entry: Entry) -> Settings:
    """λ and the seed of its base of an adversary, the seed of its guide of a guided model."""
    against, guide = entry.record.get("adversary"), entry.record.get("guide")
    found: Settings = {}
    if against:
        found |= {_LAM: against.get("lam"), _BASE: against.get("base_seed")}
    if guide:
        found[_GUIDE] = guide.get("seed")
    return found


def _without_effect(options: ModelOptions, told: Mapping[str, Any]) -> set[str]:
    has_effect = {
        **{option: options.projection_uses(option) for option in PROJECTION_OPTIONS},
        "strength": options.grounding in ("tying", "mlm"),
        "strengths": told["strength"] == AUTO,
        "mask_probability": options.grounding == "mlm",
        "query_init": options.attention != "additive",
        "attention_size": options.attention == "additive",
        **{option: options.encoder_uses(option) for option in ENCODER_OPTIONS},
        "sentence_encoder": options.hierarchical,
        "dropout_sentence": options.hierarchical,
        "dropout_head_on": options.dropout_head > 0,
        "plateau_patience": told.get("plateau_factor") is not None,
        "vectors_epochs": told.get("vectors") == "word2vec",
        "max_tokens": False,
    }
    return {name for name, has in has_effect.items() if not has}


def _called(group: Sequence[Entry], groups: Sequence[Sequence[Entry]]) -> str:
    """What differs between this group and others; its first folder's name where nothing does."""
    each = [{**_corpus_settings(one[0]), **settings_of(one[0])} for one in groups]
    own = each[groups.index(group)]
    defaults = {f.name: f.default for cls in (ModelOptions, TrainingOptions) for f in fields(cls)}
    shown = []
    alike = [settings for settings in each if (_LAM in settings) == (_LAM in own)]
    for name, value in own.items():
        beside = alike if name in _OF_ITS_KIND else each
        others = {str(settings[name]) for settings in beside if name in settings}
        everywhere = all(name in settings for settings in beside)
        if len(others) > 1 or (not everywhere and value != defaults.get(name)):
            shown.append((name, value))
    said = [pair for pair in shown if pair[1] is not None]
    if not said:  # as it was filled in, if it was
        said = [(name, group[0].options.get(name)) for name, _ in shown]
    return ", ".join(f"{name}={_text(value)}" for name, value in said) or group[0].short_name


def _corpus_settings(entry: Entry) -> Settings:
    config = entry.record.get("corpus", {})
    rest = {n: v for n, v in config.items() if n not in ("seed", "fingerprint")}
    return rest | ({"corpus seed": config["seed"]} if "seed" in config else {})


def _unique(called: Sequence[str], groups: Sequence[Sequence[Entry]]) -> list[str]:
    """Names of which no two are the same: folders in place of those that are."""
    found = [
        group[0].short_name if called.count(name) > 1 else name
        for name, group in zip(called, groups, strict=True)
    ]
    found = [
        group[0].name if found.count(name) > 1 else name
        for name, group in zip(found, groups, strict=True)
    ]
    return [
        f"{name} ({found[:n].count(name) + 1})" if name in found[:n] else name
        for n, name in enumerate(found)
    ]


def _text(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)
