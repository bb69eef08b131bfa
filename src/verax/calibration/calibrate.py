"""`calibrate`: from a plan to packed results, limits and a page about them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from verax.calibration.analysis import Calibrated, measured_limits
from verax.calibration.crossing import crossed_limits
from verax.calibration.making import Effort
from verax.calibration.plan import REVIEWS, Spec, like, smoke, whole
from verax.calibration.running import pack, run
from verax.corpora.corpus import Corpus
from verax.corpora.loading import recorded_config
from verax.errors import VeraxError
from verax.exams.judgement.limits import LimitSet
from verax.files import json_text, write_text
from verax.models.classifier import AttentionClassifier
from verax.models.kinds import POOLED
from verax.portable import corpus_name

FINISHED = "models"
"""Folder with a file for each finished model."""
LIMITS = "limits.json"
SMALL = Effort(documents=1200, epochs=8, ramp=8, size=24, sample=40, costly=20, berts=20)
"""Effort of a smoke test: minutes become seconds, and more models fail their gates."""


def calibrate(
    out: str | Path,
    *,
    seeds: int = 3,
    small: bool = False,
    reviews: bool | str | Path = True,
    berts: bool = True,
    workers: int = 1,
    seconds: float | None = None,
    said: Callable[[str], None] = lambda line: None,
) -> Path:
    """Make the models of the shipped calibration, and pack them.

    Args:
        out: folder that gets the packed files; models that it holds already are not made again.
        seeds: a kind and place; one more of those that are held out.
        small: make a few models with little effort, to try it out.
        reviews: whether real reviews with planted evidence are among what is held out; or a folder
            with the texts of `imdb_reviews`, where that package is not installed.
        berts: whether BERTs of Hugging Face are among the models; they need transformers.
        workers: processes, each on one core.
        seconds: begin no model after so many; another call goes on.
        said: is told how far it got.

    Returns:
        The folder: `models.parquet`, `numbers.parquet` and `calibration.json`.
    """
    specs = smoke(berts) if small else whole(seeds, bool(reviews), berts)
    sources = {} if isinstance(reviews, bool) else {REVIEWS: str(reviews)}
    effort = SMALL if small else Effort()
    return _made(specs, effort, Path(out), workers, seconds, said, sources)


def calibrate_like(
    model: AttentionClassifier,
    corpus: Corpus,
    out: str | Path,
    *,
    seeds: int = 6,
    effort: Effort | None = None,
    workers: int = 1,
    said: Callable[[str], None] = lambda line: None,
) -> LimitSet:
    """Limits for one model and its corpus, measured on models like it.

    Args:
        model: whose encoder the calibrated models have.
        corpus: whose texts get planted evidence; as many classes, texts as long.
        out: folder that gets the packed files and `limits.json`.
        seeds: a kind; a third of them is left out in turn, to test limits on.
        effort: how models are trained and examined.
        workers: processes, each on one core.
        said: is told how far it got.

    Returns:
        Limits that `verax.examine` and `Verdict.judge` take.
    """
    lengths = corpus.train.token_numbers.lengths
    length = max(10, round(float(np.mean(lengths))))
    source = str(recorded_config(corpus).get("corpus", corpus.name))
    specs = like(model.options.encoder, source, length, max(2, len(corpus.classes)), seeds)
    folder = _made(specs, effort or Effort(), Path(out), workers, None, said)
    texts = corpus_name(source)
    name = f"like {texts} {model.fingerprint}"
    provenance = f"Measured by verax calibrate on models like {model.fingerprint}, {texts}."
    limits = crossed_limits(Calibrated.load(folder).family(POOLED), name, provenance)
    _write(limits, Path(out) / LIMITS)
    return limits


def write_limits(
    folder: str | Path, path: str | Path, version: str, provenance: str = ""
) -> LimitSet:
    """Limits measured on the packed models of a folder, written as a file.

    Args:
        folder: what `calibrate` returned.
        path: the file.
        version: what to call the limits by.
        provenance: where they come from; how many models, unless given.
    """
    data = Calibrated.load(folder)
    models = data.passed
    chosen = f"{len(data.models)} models of verax calibrate, {len(models)} of which passed"
    said = provenance or f"Provisional: measured on planted evidence, {chosen} their gates."
    limits = measured_limits(data, version, said)
    _write(limits, Path(path))
    return limits


def _write(limits: LimitSet, path: Path) -> None:
    write_text(path, json_text(limits.to_json(whole=True)) + "\n")


def _made(
    specs: Sequence[Spec],
    effort: Effort,
    out: Path,
    workers: int,
    seconds: float | None,
    said: Callable[[str], None],
    sources: Mapping[str, str] | None = None,
) -> Path:
    if out.exists() and not out.is_dir():
        raise VeraxError(
            f"cannot calibrate into {out}: it is a file, give a folder", code="output.wrong-kind"
        )
    how: dict[str, Any] = {"workers": workers, "seconds": seconds, "said": said}
    run(specs, effort, out / FINISHED, sources=sources, **how)
    pack(out / FINISHED, out, effort)
    left = len(specs) - len(list((out / FINISHED).glob("*.json")))
    said(
        f"{len(specs) - left} of {len(specs)} models are done" + (f", {left} left" if left else "")
    )
    return out
