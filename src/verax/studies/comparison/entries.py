"""What can be compared: models and verdicts, in memory or in a folder."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from verax.errors import VeraxError
from verax.exams.verdict import Verdict
from verax.external.opening import is_outside, open_classifier
from verax.models.kinds import KINDS, POOLED, TextClassifier
from verax.models.saving import is_model_folder
from verax.results import saved_kind


@dataclass(frozen=True, eq=False)
class Entry:
    """One model of a comparison, before it is examined.

    name       its folder as given, or its number
    source     the classifier, the verdict, or the folder of a model
    options    of the model
    record     what is known of its making: training, corpus, strength
    reading    tokeniser and lowercase, for loading a corpus as the model reads
    classes    the names of its classes
    kind       pooled, transformer or predict
    """

    name: str
    source: TextClassifier | Verdict | Path
    options: Mapping[str, Any]
    record: Mapping[str, Any]
    reading: Mapping[str, Any]
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
        reading = {"tokeniser": source.tokeniser.kind, "lowercase": source.tokeniser.lowercase}
        name = f"model {number}"
        name = name if source.trained_here else str(source.record.get("name") or name)
        more = (reading, source.classes, source.kind)
        return Entry(name, source, source.describe(), source.record, *more)
    if isinstance(source, Verdict):
        return _of_verdict(f"verdict {number}", source)
    if not isinstance(source, (str, Path)):
        kind = type(source).__name__
        raise VeraxError(f"cannot compare a {kind}: give models, verdicts, or folders of them")
    folder = Path(source)
    if is_model_folder(folder):
        return _of_folder(str(source), folder)
    if saved_kind(folder) == Verdict.kind:
        return _of_verdict(str(source), Verdict.load(folder))
    raise VeraxError(
        f"{source} is neither a saved model nor a saved verdict: expected a folder that train or "
        "examine wrote"
    )


def is_classifier(source: Any) -> bool:
    """Whether something is a model, of whichever kind."""
    return not isinstance(source, Verdict) and getattr(source, "kind", None) in KINDS


def _of_folder(name: str, folder: Path) -> Entry:
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        read = config["tokeniser"]
        reading = {"tokeniser": read["kind"], "lowercase": read["lowercase"]}
        return Entry(name, folder, config["model"], config, reading, list(config["classes"]))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise VeraxError(f"cannot read {folder / 'config.json'}: save the model again") from error


def _of_verdict(name: str, verdict: Verdict) -> Entry:
    record = verdict.manifest.get("model", {})
    corpus = verdict.manifest.get("corpus", {})
    reading = {key: corpus[key] for key in ("tokeniser", "lowercase") if key in corpus}
    classes = list(verdict.manifest.get("classes", []))
    kind = verdict.manifest.get("kind", POOLED)
    return Entry(name, verdict, record.get("options", {}), record, reading, classes, kind)
