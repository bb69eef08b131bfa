"""A cell's files are what training and examining give, and depend on nothing else."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
import torch
from made_up_cells import cell
from running import failed, finished, lasting

import verax
from support.internals import failure, perform
from verax.exams import EXAMS
from verax.studies import DIVERGED, ERROR, OUT_OF_MEMORY, Job, Progressed

ALL = tuple(EXAMS)


def read(content: bytes) -> pd.DataFrame:
    return pd.read_parquet(io.BytesIO(content))


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"exams": ALL, "sample": 12, "seed": 3}])
def test_files_are_what_train_and_examine_give(
    options: dict[str, Any], small: verax.Corpus
) -> None:
    one = cell(small, encoder="conv", projection="sparsemax", **options)
    outcome = finished(perform(Job(one), small, device="cpu"))
    model = verax.train(small, seed=one.seed, device="cpu", **one.model, **one.training)
    verdict = verax.examine(model, small, list(one.exams), sample=one.sample, seed=0)
    expected = {"summary": verdict.summary(), "history": model.history, **verdict.tables}
    assert set(outcome.files) == {"verdict.json", *(f"{name}.parquet" for name in expected)}
    for name, table in expected.items():
        found = read(outcome.files[f"{name}.parquet"])
        assert found.columns[0] == "cell"
        assert set(found["cell"].astype(str)) <= {one.key}
        pd.testing.assert_frame_equal(
            found.drop(columns="cell"), table.reset_index(drop=True), check_categorical=False
        )
    manifest = json.loads(outcome.files["verdict.json"])
    assert manifest["tables"] == list(verdict.tables)
    assert manifest["options"] == {name: dict(given) for name, given in one.exams.items()}
    assert outcome.facts["test"] == model.record["test"]


@pytest.mark.slow
def test_the_key_is_a_dictionary_of_one_word_and_costs_little(small: verax.Corpus) -> None:
    one = cell(small, exams=("agreement",))
    content = finished(perform(Job(one), small, device="cpu")).files["agreement.parquet"]
    stored = pq.ParquetFile(io.BytesIO(content))
    chunk = stored.metadata.row_group(0).column(0)
    assert stored.schema_arrow.names[0] == "cell"
    assert str(stored.schema_arrow.field("cell").type).startswith("dictionary<values=")
    assert chunk.compression == "ZSTD"
    assert chunk.total_compressed_size < 200


@pytest.mark.slow
def test_options_of_the_exams_and_the_split_are_heeded(small: verax.Corpus) -> None:
    one = cell(small, permutations=7, split="validation", sample=5)
    manifest = json.loads(finished(perform(Job(one), small, device="cpu")).files["verdict.json"])
    assert manifest["options"]["replacement"]["permutations"] == 7
    assert (manifest["split"], manifest["documents"], manifest["sampled_from"]) == (
        "validation",
        5,
        len(small.validation),
    )


@pytest.mark.slow
def test_weights_are_the_model_that_was_examined(small: verax.Corpus, tmp_path: Path) -> None:
    one = cell(small, encoder="conv", seed=2)
    files = finished(perform(Job(one, weights=True), small, device="cpu")).files
    kept = {name for name in files if name.startswith("model/")}
    assert kept == {"model/config.json", "model/vocabulary.json", "model/model.safetensors"}
    (tmp_path / "model").mkdir()
    for name in kept:
        (tmp_path / name).write_bytes(files[name])
    loaded = verax.load(tmp_path / "model", device="cpu")
    trained = verax.train(small, seed=2, device="cpu", **one.model, **one.training)
    assert loaded.logits(small.test).equal(trained.logits(small.test))


@pytest.mark.slow
def test_files_name_no_folder_of_the_machine(small: verax.Corpus, tmp_path: Path) -> None:
    path = tmp_path / "vectors.txt"
    path.write_text("w1 1 2\nw2 3 4\n")
    one = cell(small, vectors=str(path), embedding_size=2)
    outcome = finished(perform(Job(one, weights=True), small, device="cpu"))
    assert one.training["vectors"] == str(path)  # where it is read from, not what is kept
    for data in outcome.files.values():
        assert str(tmp_path).encode() not in data
    assert str(tmp_path) not in json.dumps([one.to_json(), outcome.facts])


@pytest.mark.slow
def test_a_cell_does_not_depend_on_what_ran_before_it(small: verax.Corpus) -> None:
    noisy = {"encoder": "conv", "grounding": "mlm", "dropout_head": 0.3, "exams": ALL, "sample": 8}
    a = Job(cell(small, seed=1, **noisy), weights=True)
    b = Job(cell(small, seed=5, encoder="bilstm", projection="entmax", dropout_embedding=0.2))
    torch.manual_seed(1)
    np.random.seed(1)
    first = lasting(perform(a, small, device="cpu"))
    other = lasting(perform(b, small, device="cpu"))
    torch.manual_seed(2)
    np.random.seed(2)
    again = lasting(perform(a, small, device="cpu"))
    assert first == again
    assert first["history.parquet"] != other["history.parquet"]


@pytest.mark.slow
def test_another_seed_is_another_model_on_the_same_draws(small: verax.Corpus) -> None:
    runs = [
        finished(perform(Job(cell(small, seed=s, sample=6)), small, device="cpu")) for s in (0, 1)
    ]
    ids = [read(run.files["replacement.parquet"])["id"].tolist() for run in runs]
    assert ids[0] == ids[1]
    losses = [read(run.files["history.parquet"])["train_loss"].iloc[-1] for run in runs]
    assert losses[0] != losses[1]


@pytest.mark.slow
def test_facts_say_where_how_long_and_with_what(small: verax.Corpus) -> None:
    one = cell(small, seed=4)
    facts = finished(perform(Job(one, max_tokens=700), small, device="cpu")).facts
    assert json.loads(json.dumps(facts, allow_nan=False)) == facts
    assert facts["versions"]["torch"] == torch.__version__
    assert facts["versions"]["verax"] == verax.__version__
    assert facts["seed"] == 4
    assert (facts["max_tokens"], facts["halved"]) == (700, False)
    assert (facts["device"], facts["gpu"]) == ("cpu", None)
    assert facts["threads"] == torch.get_num_threads()
    seconds = facts["seconds"]
    assert 0 < seconds["train"] + seconds["examine"] <= seconds["total"] + 0.002
    started, ended = (pd.Timestamp(facts[name]) for name in ("started", "finished"))
    assert started <= ended
    assert str(started.tz) == "UTC"


@pytest.mark.slow
def test_progress_is_told_by_the_cells_key(small: verax.Corpus) -> None:
    told: list[Progressed] = []
    one = cell(small, epochs=2)
    perform(Job(one), small, device="cpu", report=told.append)
    assert {p.key for p in told} == {one.key}
    phases = list(dict.fromkeys(p.what for p in told))
    assert [p for p in phases if p.startswith("epoch")] == ["epoch 1/2", "epoch 2/2"]
    assert phases[-1] == "writing"


@pytest.mark.slow
def test_a_loss_that_is_not_finite_is_told_as_such(small: verax.Corpus) -> None:
    one = cell(small, lr=1e30)
    outcome = failed(perform(Job(one), small, device="cpu"))
    assert (outcome.key, outcome.reason) == (one.key, DIVERGED)
    assert outcome.code == "training.diverged"
    assert "Traceback" in outcome.traceback
    assert "loop.py" in outcome.traceback


@pytest.mark.slow
def test_a_corpus_that_is_not_the_cells_is_refused(small: verax.Corpus) -> None:
    other = verax.load_corpus("planted", documents=120, seed=9)
    outcome = failed(perform(Job(cell(small)), other, device="cpu"))
    assert (outcome.reason, outcome.code) == (ERROR, "corpus.changed")


@pytest.mark.slow
def test_vectors_that_changed_since_the_study_was_read_are_refused(
    small: verax.Corpus, tmp_path: Path
) -> None:
    path = tmp_path / "vectors.txt"
    path.write_text("w1 1 2\nw2 3 4\n")
    one = cell(small, vectors=str(path), embedding_size=2)
    manifest = json.loads(finished(perform(Job(one), small, device="cpu")).files["verdict.json"])
    assert manifest["model"]["vectors"]["found"] == 2
    assert manifest["model"]["training"]["vectors"] == "vectors.txt"
    path.write_text("w1 1 2\nw2 3 5\nw3 5 6\n")
    outcome = failed(perform(Job(one), small, device="cpu"))
    assert (outcome.reason, outcome.code) == (ERROR, "vectors.changed")
    assert str(path) in outcome.error


@pytest.mark.slow
def test_whatever_goes_wrong_is_told() -> None:
    broken = verax.load_corpus("planted", documents=120, classes=3)
    broken.train.labels[:] = 7
    one = cell(broken)
    outcome = failed(perform(Job(one), broken, device="cpu"))
    assert (outcome.key, outcome.reason, outcome.code) == (one.key, ERROR, None)
    assert outcome.error.count("\n") == 0
    assert outcome.traceback.startswith("Traceback")


@pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit])
def test_being_told_to_stop_is_no_failure(stop: type[BaseException], small: verax.Corpus) -> None:
    def report(progressed: Progressed) -> None:
        raise stop

    with pytest.raises(stop):
        perform(Job(cell(small)), small, device="cpu", report=report)


def no_memory_for_torch() -> object:
    return torch.empty(1 << 50)


def no_memory_for_numpy() -> object:
    return np.empty(1 << 50)


def no_memory_on_a_gpu() -> object:
    raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")


def no_memory_for_cublas() -> object:
    raise RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate`")


def another_error() -> object:
    return torch.zeros(2) @ torch.zeros(3)


@pytest.mark.parametrize(
    ("act", "reason"),
    [
        (no_memory_for_torch, OUT_OF_MEMORY),
        (no_memory_for_numpy, OUT_OF_MEMORY),
        (no_memory_on_a_gpu, OUT_OF_MEMORY),
        (no_memory_for_cublas, OUT_OF_MEMORY),
        (another_error, ERROR),
    ],
)
def test_memory_that_runs_out_is_known_by_its_error(act: Any, reason: str) -> None:
    with pytest.raises(Exception) as caught:  # noqa: PT011
        act()
    outcome = failure("key", caught.value)
    assert outcome.reason == reason
    assert act.__name__ in outcome.traceback
    assert "\n" not in outcome.error
