"""A study of trained and examined models: every exam's tables, there and back, and in DuckDB."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pandas as pd
import pytest
from made_up_cells import cell as made_by_hand
from made_up_store import FACTS, labelled, resolved

import verax
from verax.exams import EXAMS
from verax.studies import Cell, Store, open_study, pack


@dataclass(frozen=True)
class Ran:
    cell: Cell
    model: verax.AttentionClassifier
    verdict: verax.Verdict


def run(corpus: verax.Corpus, projection: str) -> Ran:
    cell = made_by_hand(corpus, 0, tuple(EXAMS), sample=20, projection=projection)
    model = verax.train(corpus, device="cpu", **cell.model, **cell.training)
    options = {name: value for given in cell.exams.values() for name, value in given.items()}
    verdict = verax.examine(model, corpus, list(EXAMS), sample=20, **options)
    return Ran(cell, model, verdict)


@pytest.fixture(scope="module")
def ran(planted: verax.Corpus) -> dict[str, Ran]:
    found = [run(planted, projection) for projection in ("softmax", "sparsemax")]
    return {one.cell.key: one for one in found}


@pytest.fixture(scope="module")
def folders(ran: dict[str, Ran], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The same study as it was run, packed, and in a folder that holds the pack."""
    above = tmp_path_factory.mktemp("studies")
    study, packed, again = (above / name for name in ("study", "packed", "again"))
    store = Store.create(study, "made up", "", resolved(one.cell for one in ran.values()))
    for key, one in ran.items():
        tables = {
            **one.verdict.tables,
            "summary": one.verdict.summary(),
            "history": one.model.history,
        }
        files = {f"{name}.parquet": labelled(table, key) for name, table in tables.items()}
        files["verdict.json"] = json.dumps(one.verdict.manifest).encode()
        one.model.save(above / key)
        for path in (above / key).iterdir():
            files[f"model/{path.name}"] = path.read_bytes()
        store.commit(key, one.cell.to_json(), files, FACTS)
    pack(study, packed, weights=True)
    shutil.copytree(packed, again / "packed")
    Store.create(again, "made up", "", resolved(one.cell for one in ran.values()))
    return {"study": study, "packed": packed, "again": again}


WAYS = pytest.mark.parametrize("way", ["study", "packed", "again"])


@pytest.mark.slow
@WAYS
def test_every_table_of_every_exam_comes_back(
    way: str, folders: dict[str, Path], ran: dict[str, Ran]
) -> None:
    found = open_study(folders[way])
    for key, one in ran.items():
        verdict = found.verdict(key)
        assert list(verdict.tables) == list(one.verdict.tables)
        for name, table in one.verdict.tables.items():
            pd.testing.assert_frame_equal(
                verdict.tables[name], table, check_categorical=way == "study"
            )
        pd.testing.assert_frame_equal(verdict.summary(), one.verdict.summary())
        assert verdict.manifest == json.loads(json.dumps(one.verdict.manifest))
    tables = {name for one in ran.values() for name in one.verdict.tables}
    assert found.tables == sorted([*tables, "summary", "history"])
    single_token = found.table("single_token")
    assert len(single_token) == sum(len(one.verdict.tables["single_token"]) for one in ran.values())
    means = single_token.groupby(["projection", "measure"], observed=True)["value"].mean()
    for one in ran.values():
        own = one.verdict.tables["single_token"]
        expected = own[own["measure"] == "confidence"]["value"].mean()
        found_mean = means[str(one.cell.model["projection"]), "confidence"]
        assert found_mean == pytest.approx(expected, rel=1e-12)
    histories = [one.model.history["loss"] for one in ran.values()]
    assert found.history()["loss"].tolist() == [loss for own in histories for loss in own]


@pytest.mark.slow
def test_reopened_verdicts_can_be_compared(folders: dict[str, Path], ran: dict[str, Ran]) -> None:
    def compared(verdicts: list[verax.Verdict]) -> pd.DataFrame:
        return verax.compare({"plain": verdicts[0], "sparse": verdicts[1]}).table()

    reopened = compared(list(open_study(folders["packed"]).verdicts().values()))
    pd.testing.assert_frame_equal(reopened, compared([one.verdict for one in ran.values()]))


@WAYS
def test_models_come_back(way: str, folders: dict[str, Path], ran: dict[str, Ran]) -> None:
    texts = ["w1 good0_3 w2 .", "w3"]
    for key, one in ran.items():
        model = open_study(folders[way]).model(key, device="cpu")
        pd.testing.assert_frame_equal(model.predict(texts), one.model.predict(texts))


def test_duckdb_reads_a_store(folders: dict[str, Path], ran: dict[str, Ran]) -> None:
    cells = folders["study"] / "cells"
    query = f"""
        select c.config.model.projection, c.seconds.total, s.value
        from read_parquet('{cells}/*/summary.parquet', union_by_name=true) s
        join read_json('{cells}/*/manifest.json', union_by_name=true) c using (cell)
        where s.exam = 'single_token' order by all
    """
    rows = duckdb.sql(query).fetchall()
    expected = []
    for one in ran.values():
        summary = one.verdict.summary().query("exam == 'single_token'")
        expected += [(one.cell.model["projection"], 2.0, v) for v in summary["value"].dropna()]
    assert [row for row in rows if row[2] is not None] == sorted(expected)
    assert len(expected) > 2


def test_duckdb_and_pandas_read_a_packed_study(
    folders: dict[str, Path], ran: dict[str, Ran]
) -> None:
    packed = folders["packed"]
    query = f"""
        select c.config->>'$.model.projection', i.measure, count(*), avg(i.value)
        from '{packed}/single_token.parquet' i join '{packed}/cells.parquet' c using (cell)
        group by all order by all
    """
    rows = duckdb.sql(query).fetchall()
    expected = []
    for one in ran.values():
        own = one.verdict.tables["single_token"].groupby("measure", observed=True)["value"]
        for measure, values in own:
            expected.append((one.cell.model["projection"], measure, len(values), values.mean()))
    expected.sort()
    assert [row[:3] for row in rows] == [row[:3] for row in expected]
    assert [row[3] for row in rows] == pytest.approx([row[3] for row in expected], nan_ok=True)
    single_token = pd.read_parquet(packed / "single_token.parquet")
    assert len(single_token) == sum(len(one.verdict.tables["single_token"]) for one in ran.values())
    assert set(single_token["cell"]) == set(ran)


@pytest.mark.slow
@pytest.mark.parametrize("exam", ["replacement", "single_token"])
def test_one_seed_of_a_study_is_judged_by_the_limits_of_its_verdict(
    exam: str,
    make_model: Callable[..., verax.AttentionClassifier],
    planted: verax.Corpus,
    tmp_path: Path,
) -> None:
    """The default limits depend on the words per document, which not every exam's tables have."""
    cell = made_by_hand(planted, 0, (exam,), projection="softmax")
    verdict = verax.examine(make_model(), planted, exam)
    store = Store.create(tmp_path / "study", "made up", "", resolved([cell]))
    tables = {**verdict.tables, "summary": verdict.summary()}
    files = {f"{name}.parquet": labelled(table, cell.key) for name, table in tables.items()}
    files["verdict.json"] = json.dumps(verdict.manifest).encode()
    store.commit(cell.key, cell.to_json(), files, FACTS)
    (judgement,) = open_study(tmp_path / "study").judgements().values()
    assert [row.limits for row in judgement.rows] == [row.limits for row in verdict.judgement.rows]
