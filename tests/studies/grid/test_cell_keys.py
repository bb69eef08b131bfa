"""A cell's key: the same for the same results, however the study says it; another otherwise."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from study_files import study, write

from verax.studies import Cell, Study, read_study

SOURCE: dict[str, Any] = {
    "name": "keys",
    "question": "does the order matter?",
    "corpora": [{"planted": {"documents": 60, "length": 12, "label_noise": 0, "epochs": 2}}],
    "models": {
        "encoder": ["conv", "mlp"],
        "projection": ["softmax", {"sparsegen": {"lam": [0, 0.5], "clip": 1}}],
        "grounding": ["concat", {"tying": {"strength": "auto", "strengths": "0.1,1"}}],
        "exclude": [{"encoder": "mlp", "grounding": "tying"}],
    },
    "training": {"lr": 1, "weight_decay": 0, "vectors": None},
    "seeds": [0, 1],
    "exams": {"erasure": {"draws": 2}, "replacement": None, "agreement": {"spearman": True}},
    "split": "validation",
    "sample": 5,
}


def keys(found: Study) -> set[str]:
    return {cell.key for cell in found.cells}


def shuffled(value: Any, order: random.Random) -> Any:
    """The same with every mapping in another order; lists too, for none here depends on theirs."""
    if isinstance(value, dict):
        names = list(value)
        order.shuffle(names)
        return {name: shuffled(value[name], order) for name in names}
    if isinstance(value, list):
        items = [shuffled(item, order) for item in value]
        order.shuffle(items)
        return items
    return value


def as_floats(value: Any, order: random.Random) -> Any:
    """Whole numbers of float options as 1, 1.0 or text."""
    if isinstance(value, dict):
        return {
            n: _other(v, order) if n in FLOATS else as_floats(v, order) for n, v in value.items()
        }
    return [as_floats(item, order) for item in value] if isinstance(value, list) else value


FLOATS = ("lr", "weight_decay", "lam", "clip", "label_noise")


def _other(value: Any, order: random.Random) -> Any:
    if isinstance(value, list):
        return [_other(item, order) for item in value]
    return order.choice([value, float(value), f"{value:e}"])


BASE = keys(read_study(SOURCE))


@pytest.mark.slow
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.randoms(use_true_random=False), st.sampled_from(["yaml", "json", "python"]))
def test_keys_depend_on_values_not_on_how_they_are_written(
    tmp_path_factory: pytest.TempPathFactory, order: random.Random, form: str
) -> None:
    source = as_floats(shuffled(SOURCE, order), order)
    if form == "python":
        found = read_study(source)
    else:
        folder = tmp_path_factory.mktemp("somewhere")
        text = json.dumps(source) if form == "json" else yaml.safe_dump(source, sort_keys=False)
        (folder / f"study.{form}").write_text(text)
        found = read_study(folder / f"study.{form}")
    assert len(found.cells) == 2 * (3 + 2 * 3) == len(BASE)
    assert keys(found) == BASE


@pytest.mark.parametrize(
    "changed",
    [
        {"name": "other", "question": "another"},
        {"weights": True},
        {"hardware": {"engine": "ray", "workers": 7, "max_tokens": 99, "threads": 2}},
    ],
)
def test_keys_do_not_depend_on_names_and_hints(changed: dict[str, Any]) -> None:
    assert keys(read_study({**SOURCE, **changed})) == BASE


def test_another_seed_keeps_the_other_keys() -> None:
    more = keys(read_study({**SOURCE, "seeds": [1, 7, 0]}))
    assert more > BASE
    assert len(more) == len(BASE) * 3 // 2


@pytest.mark.parametrize(
    "changed",
    [
        {"seeds": [2, 3]},
        {"split": "test"},
        {"sample": 6},
        {"exams": {"erasure": {"draws": 3}, "replacement": None, "agreement": {"spearman": True}}},
        {"exams": {"erasure": {"draws": 2}, "replacement": None}},
        {"training": {**SOURCE["training"], "lr": 2}},
        {"corpora": [{"planted": {"documents": 60, "length": 12, "epochs": 3}}]},
        {"corpora": [{"planted": {"documents": 72, "length": 12, "epochs": 2}}]},
        {"corpora": [{"planted": {"documents": 60, "length": 12, "epochs": 2, "seed": 1}}]},
        {"models": {**SOURCE["models"], "hidden_size": 50, "embedding_size": 50}},
    ],
)
def test_what_changes_results_changes_every_key(changed: dict[str, Any]) -> None:
    assert not keys(read_study({**SOURCE, **changed})) & BASE


def test_vectors_count_by_content_not_by_name(tmp_path: Path) -> None:
    rows = "".join(f"w{n} 0.5 0.25\n" for n in range(5))
    text = "corpora: SMALL\nmodels: {encoder: none, vectors: PATH}\n"
    found = {}
    for name, content in (("a.txt", rows), ("b.txt", rows), ("c.txt", rows + "x 1 2\n")):
        (tmp_path / name).write_text(content)
        (found[name],) = study(tmp_path, text.replace("PATH", str(tmp_path / name))).cells
    assert found["a.txt"].key == found["b.txt"].key != found["c.txt"].key
    assert found["a.txt"].trained == found["b.txt"].trained != found["c.txt"].trained
    assert found["a.txt"].training["vectors"] == str(tmp_path / "a.txt")
    # sha256 of the file, by the system's own tool
    assert found["a.txt"].vectors == "sha256:e9826e17bd5a33b9"


def test_word2vec_is_not_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "word2vec").write_text("not this\n")
    (cell,) = study(tmp_path, "corpora: SMALL\ntraining: {vectors: word2vec}\n").cells
    assert (cell.vectors, cell.training["vectors"]) == (None, "word2vec")


def test_cells_of_one_model_share_what_is_trained() -> None:
    cells = [
        read_study({**SOURCE, "exams": exams, "split": split}).cells[0]
        for exams, split in (("all", "test"), ("erasure", "validation"))
    ]
    assert cells[0].trained == cells[1].trained
    assert cells[0].key != cells[1].key


def test_a_cell_goes_through_json() -> None:
    for cell in read_study(SOURCE).cells:
        again = Cell.from_json(json.loads(json.dumps(cell.to_json())))
        assert again == cell
        assert again.key == cell.key


def test_a_key_is_what_it_was(tmp_path: Path) -> None:
    """Results are found by their keys: if this fails, `RULE` needs another version."""
    found = read_study(
        write(
            tmp_path,
            """
            corpora: {planted: {documents: 60, length: 12}}
            models: {encoder: conv, projection: {sparsegen: {lam: 0.5}}, grounding: tying}
            training: {epochs: 2}
            seeds: 3
            exams: {erasure: {draws: 2}, single_token: }
            sample: 5
            """,
        )
    )
    assert [cell.key for cell in found.cells] == ["5221eeeaeae68211"]


def test_marks_count_where_an_exam_needs_them(tmp_path: Path) -> None:
    """The texts are the same; cells of other exams have the keys that they had without marks."""
    rows = [{"text": f"word {n}", "label": n % 2, "rationale": [[0, 4]]} for n in range(40)]
    file = tmp_path / "corpus.jsonl"
    found: dict[tuple[str, str], set[str]] = {}
    shapes = {
        "bare": [{k: v for k, v in row.items() if k != "rationale"} for row in rows],
        "marked": rows,
        "others": [{**row, "rationale": [[5, 6]]} for row in rows],
    }
    for name, some in shapes.items():
        file.write_text("\n".join(map(json.dumps, some)))
        for exam in ("erasure", "plausibility"):
            source = {**SOURCE, "corpora": [str(file)], "exams": [exam], "seeds": [0]}
            cells = read_study(source).cells
            found[name, exam] = {cell.key for cell in cells}
            assert all(Cell.from_json(cell.to_json()).key == cell.key for cell in cells)
            assert len({cell.trained for cell in cells}) == len(cells)
    assert found["bare", "erasure"] == found["marked", "erasure"] == found["others", "erasure"]
    every = [found[name, "plausibility"] for name in shapes]
    assert all(a.isdisjoint(b) for a, b in ((every[0], every[1]), (every[1], every[2])))
