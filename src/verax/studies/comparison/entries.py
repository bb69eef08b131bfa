"""What can be compared: models and verdicts, in memory or in a folder."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from verax.errors import VeraxError
from verax.exams.verdict import Verdict
from verax.models.classifier import AttentionClassifier
from verax.models.saving import is_model_folder
from verax.results import saved_kind


@dataclass(frozen=True, eq=False)
class Entry:
    """One model of a comparison, before it is examined.

    name       its folder as given, or its number
    given      the classifier, the verdict, or the folder of a model
    options    of the model
    record     what is known of its making: training, corpus, strength
    reading    tokeniser and lowercase, for loading a corpus as the model reads
    classes    the names of its classes
    """

    name: str
    given: AttentionClassifier | Verdict | Path
    options: Mapping[str, Any]
    record: Mapping[str, Any]
    reading: Mapping[str, Any]
    classes: Sequence[str]

    @property
    def verdict(self) -> Verdict | None:
        return self.given if isinstance(self.given, Verdict) else None

    @property
    def seed(self) -> int | None:
        """The seed it was trained with."""
        seed = self.record.get("training", {}).get("seed")
        return None if seed is None else int(seed)

    @property
    def fingerprint(self) -> str | None:
        """That of the corpus it was trained on."""
        return self.record.get("corpus", {}).get("fingerprint")

    @property
    def short_name(self) -> str:
        """The folder's own name, without the way to it."""
        return Path(self.name).name or self.name


Given = AttentionClassifier | Verdict | str | Path | Entry


def entry_of(given: Any, number: int) -> Entry:
    """The model given as the number-th, neither loaded nor examined."""
    if isinstance(given, Entry):
        return given
    if isinstance(given, AttentionClassifier):
        reading = {"tokeniser": given.tokeniser.kind, "lowercase": given.tokeniser.lowercase}
        options = asdict(given.options)
        return Entry(f"model {number}", given, options, given.record, reading, given.classes)
    if isinstance(given, Verdict):
        return _of_verdict(f"verdict {number}", given)
    if not isinstance(given, (str, Path)):
        kind = type(given).__name__
        raise VeraxError(f"cannot compare a {kind}: give models, verdicts, or folders of them")
    folder = Path(given)
    if is_model_folder(folder):
        return _of_folder(str(given), folder)
    if saved_kind(folder) == Verdict.kind:
        return _of_verdict(str(given), Verdict.load(folder))
    raise VeraxError(
        f"{given} is neither a saved model nor a saved verdict: expected a folder that train or "
        "examine wrote"
    )


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
    return Entry(name, verdict, record.get("options", {}), record, reading, classes)
