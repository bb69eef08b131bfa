"""`run_audit`: what is not done yet of an audit, a folder for each model."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

from verax.audits.audit import SCALES, Audit, Entry, Scale, model_id
from verax.audits.examining import Examined, examine_entry, plain
from verax.errors import VeraxError, nearest
from verax.files import refuse_unwritable, replace_folder, write_table, write_text

MODELS, FACTS = "models", "model.json"


def planned(audit: Audit, scale: Scale) -> list[tuple[Entry, int]]:
    """The models of an audit; one that is not trained has a single seed."""
    return [
        (entry, seed)
        for entry in audit.entries
        for seed in (scale.seeds if entry.training != "as-is" else scale.seeds[:1])
    ]


def is_done(folder: Path, id: str) -> bool:
    """Whether a folder has a model's results."""
    return (folder / MODELS / id / FACTS).is_file()


def run_audit(
    audit: Audit,
    scale: str,
    out: str | Path,
    *,
    only: Sequence[str] | None = None,
    sample: int | None = None,
    device: str = "auto",
    weights: str | Path | None = None,
    vectors: str | Path | None = None,
    say: Callable[[str], None] = lambda line: None,
) -> list[str]:
    """Make and examine the models of an audit that `out` does not have yet.

    Args:
        audit: which.
        scale: smoke, small or full.
        out: the folder of results.
        only: ids of models; all, unless given.
        sample: documents to examine, in place of the scale's.
        device: auto, cpu, cuda.
        weights: a folder of weights that are not installed as packages.
        vectors: word vectors of BiLSTMs.
        say: is told when a model is begun and done.

    Returns:
        The ids of the models that were made now.
    """
    size, folder = SCALES[scale], Path(out)
    models = planned(audit, size)
    ids = [model_id(*one) for one in models]
    for id in only or ():
        if id not in ids:
            raise VeraxError(
                f"audit {audit.name} has no model {id!r}: {nearest(id, ids)}",
                code="option.unknown-value",
            )
    refuse_unwritable(folder / MODELS)
    made = []
    for (entry, seed), id in zip(models, ids, strict=True):
        if (only and id not in only) or is_done(folder, id):
            continue
        say(f"{id}: making and examining")
        examined = examine_entry(
            *(entry, seed, size), sample=sample, device=device, weights=weights, vectors=vectors
        )
        examined.facts["scale"] = scale
        keep(examined, folder, id)
        seconds = examined.facts["seconds"]
        say(f"{id}: {seconds['making']:.0f} s to make, {seconds['exams']:.0f} s of exams")
        made.append(id)
    return made


def keep(examined: Examined, folder: Path, id: str) -> None:
    """Write a model's results, all at once."""

    def write(place: Path) -> None:
        for name, table in examined.tables.items():
            write_table(place / f"{name}.parquet", table, index=False, compression="zstd")
        write_text(place / FACTS, json.dumps(plain(examined.facts), indent=1) + "\n")

    replace_folder(folder / MODELS / id, write, lambda place: (place / FACTS).is_file())
