"""A folder of weights as --weights takes it: tiny BERTs in the places of MiniLM and the guard."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

sys.path.insert(0, str(Path(__file__).parents[1] / "external"))

from tiny_bert import make_bert, make_tokenizer

from verax.audits.audit import INJECTIONS, REVIEWS, SCALES, SENTENCES, Scale
from verax.audits.examining import Examined, examine_entry
from verax.audits.registry import entry
from verax.audits.results import AuditResults
from verax.audits.running import keep


@pytest.fixture(scope="session")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("weights")
    for name, seed in (("minilm", 0), ("guard", 1)):
        bert = make_bert(seed, max_position_embeddings=160)
        bert.bert.save_pretrained(folder / name)
        make_tokenizer().save_pretrained(folder / name)
        record = {"sha256": f"{seed}" * 64}
        (folder / name / "source.json").write_text(json.dumps(record), encoding="utf-8")
    torch.manual_seed(3)
    shapes = {"0.weight": (4, 16), "0.bias": (4,), "3.weight": (2, 4), "3.bias": (2,)}
    head = {name: torch.randn(shape) for name, shape in shapes.items()}
    save_file(head, folder / "guard" / "head.safetensors")
    return folder


@pytest.fixture(scope="session")
def tiny() -> Scale:
    """A scale of seconds."""
    smoke = SCALES["smoke"]
    few = {SENTENCES: 5, REVIEWS: 4, INJECTIONS: 4}
    pieces = {SENTENCES: 16, REVIEWS: 16, INJECTIONS: 100}
    return replace(
        smoke,
        corpora={SENTENCES: "planted:documents=60,length=8", REVIEWS: "planted:documents=40"},
        sample=few,
        information=few,
        randomised=2,
        pieces=pieces,
        options={
            "adversary": {"search_steps": 2, "restarts": 1, "permutation_test": 2},
            "deletion": {"random_orders": 1, "steps": 3},
            "erasure": {"erased_steps": 3},
            "information": {"clusters": 4, "max_words": 6},
        },
    )


@pytest.fixture(scope="session")
def made(weights: Path, tiny: Scale) -> dict[str, Examined]:
    """Models of several audits, examined; two more are one of them under other names."""
    examined = {}
    for id in ("minilm-tuned-sentences", "guard", "bilstm"):
        one = examine_entry(entry(id), 0, tiny, device="cpu", weights=weights)
        one.facts["scale"] = "smoke"
        examined[f"{id}-0"] = one
    tuned = examined["minilm-tuned-sentences-0"]
    for id, seed in (("minilm-tuned-sentences", 1), ("minilm-tying-sentences", 0)):
        named = {"model": f"{id}-{seed}", "entry": id, "seed": seed}
        values = tuned.tables["values"].assign(value=lambda table: table["value"].clip(upper=0.9))
        tables = {**tuned.tables, "values": values}
        examined[f"{id}-{seed}"] = Examined(tables, {**tuned.facts, **named})
    return examined


@pytest.fixture(scope="session")
def folder(made: dict[str, Examined], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of their results as they are made."""
    place = tmp_path_factory.mktemp("audit")
    for id, examined in made.items():
        keep(examined, place, id)
    return place


@pytest.fixture(scope="session")
def results(folder: Path) -> AuditResults:
    return AuditResults.open(folder)
