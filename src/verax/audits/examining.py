"""One model of an audit, examined: tables of numbers, no texts of others."""

from __future__ import annotations

import platform
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from verax.audits.audit import INJECTIONS, Entry, Scale, documents_of, model_id
from verax.audits.building import build_model
from verax.audits.registry import VERAX
from verax.audits.spans import find_instruction
from verax.audits.texts import known_of, load_texts
from verax.exams.examine import examine
from verax.exams.randomisation import randomisation_check
from verax.exams.registry import EXAMS, default_exams
from verax.exams.verdict import Verdict
from verax.models.kinds import POOLED
from verax.version import __version__, source_fingerprint

DELETION, INFORMATION = "deletion", "information"
KEPT = ("deletion.", "replacement.", "decisions.", "erasure.fraction.", "agreement.inputs:")
"""Beginnings of the measures whose values of single documents are kept."""
RANDOMISED_SEED = 0
"""The seed of which weights are drawn anew: it is a question of the score, not of the model."""
TABLES = ("summary", "values", "documents", "randomisation", "spans")


@dataclass(frozen=True, eq=False)
class Examined:
    """What an audit keeps of one model.

    tables  summary, values (of single documents), documents, randomisation, spans
    facts   what was examined, how, where, and how long it took
    """

    tables: Mapping[str, pd.DataFrame]
    facts: dict[str, Any]


def examine_entry(
    entry: Entry,
    seed: int,
    scale: Scale,
    *,
    sample: int | None = None,
    device: str = "auto",
    weights: str | Path | None = None,
    vectors: str | Path | None = None,
) -> Examined:
    """Make one model of an audit and put it through all exams that apply.

    Args:
        entry: which kind.
        seed: of its training; exams draw the same for all.
        scale: how much.
        sample: documents to examine, in place of the scale's.
        device: auto, cpu, cuda.
        weights: a folder of weights that are not installed as packages.
        vectors: word vectors of BiLSTMs.
    """
    started = time.monotonic()
    corpus = load_texts(entry.texts, scale, "words" if entry.training == VERAX else "as-written")
    built = build_model(entry, seed, corpus, scale, device, weights, vectors)
    made = time.monotonic()
    model = built.model
    wanted = list(dict.fromkeys([*default_exams(model.kind), DELETION]))
    wanted = [name for name in wanted if not EXAMS[name].needs_rationales]
    options = {} if model.kind == POOLED else dict(scale.options)

    def examined_by(exams: list[str], documents: int) -> Verdict:
        settings: Any = {name: options[name] for name in exams if name in options}
        return examine(
            *(model, corpus, exams, "test"),
            sample=documents,
            progress=False,
            exam_options=settings,
        )

    rest = [name for name in wanted if name != INFORMATION]
    verdict = examined_by(rest, sample or documents_of(scale.sample, entry))
    tables = _tables(verdict, corpus)
    states = examined_by([INFORMATION], documents_of(scale.information, entry)).summary()
    tables["summary"] = pd.concat([tables["summary"], states], ignore_index=True)
    examined = time.monotonic()
    if model.kind != POOLED and scale.randomised and seed == RANDOMISED_SEED:
        tables["randomisation"] = randomisation_check(
            model, corpus, sample=scale.randomised, progress=False
        )
    if entry.texts == INJECTIONS:
        tables["spans"] = find_instruction(model, sample or documents_of(scale.sample, entry))
    facts = {
        "model": model_id(entry, seed),
        "entry": entry.id,
        "seed": seed,
        "built": built.facts,
        "fingerprint": verdict.manifest["weights"],
        "texts": entry.texts,
        "corpus": corpus.name,
        "texts_fingerprint": corpus.texts_fingerprint,
        "split_sizes": {name: len(part) for name, part in corpus.splits.items()},
        "documents": verdict.manifest["documents"],
        "classes": list(verdict.manifest["classes"]),
        "cut_texts": verdict.manifest.get("cut_texts", 0),
        "plan": verdict.manifest.get("plan", []),
        "options": verdict.manifest["options"],
        "description": model.describe(),
        "limits": verdict.judgement.limits.version,
        "seconds": {
            "making": round(made - started, 1),
            "exams": round(examined - made, 1),
            "rest": round(time.monotonic() - examined, 1),
        },
        "device": _device(model.device),
        "verax": __version__,
        "source": source_fingerprint(),
        "torch": torch.__version__,
        "python": platform.python_version(),
    }
    return Examined(tables, facts)


def _tables(verdict: Verdict, corpus: Any) -> dict[str, pd.DataFrame]:
    values = verdict.document_values()[["id", "measure", "value"]]
    kept = values["measure"].astype(str).str.startswith(KEPT)
    values = values[kept].assign(measure=values["measure"].astype(str))
    values["value"] = values["value"].astype("float32")
    known = known_of(corpus.test, corpus.classes)
    known = known[known["id"].isin(set(values["id"]))].reset_index(drop=True)
    return {
        "summary": verdict.summary(),
        "values": values.reset_index(drop=True),
        "documents": known,
    }


def _device(device: torch.device) -> str:
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    return f"CPU, {torch.get_num_threads()} threads"


def plain(value: Any) -> Any:
    """A value that JSON can hold."""
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value if isinstance(value, (str, int, float, bool, type(None))) else str(value)
