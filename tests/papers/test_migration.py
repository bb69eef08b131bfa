"""Results of format 1 get the present names, keys and ids, and lose what names a machine."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from old_study import FIRST, FOLDER, HOST, SECOND, SUMMARY, THIRD, pack_old
from pyarrow import parquet

import verax
from verax.errors import VeraxError
from verax.studies.grid.cell import Cell

SCRIPTS = Path(__file__).parents[2] / "scripts"
IDS = [
    ("replacement", "replacement.documents", "documents", "value"),
    ("replacement", "replacement", "permuted", "delta_f1"),
    ("replacement", "replacement", "uniform", "survival"),
    ("single_token", "single_token", "correct", "mean_probability"),
    ("information", "information", "frequent", "retained"),
    ("dispersion", "dispersion.entropy", "influence@norm", "mean"),
    ("adversary", "adversary.groups", "class=0,max_weight=0.25-0.5", "far@epsilon=0.05"),
    ("adversaries", "adversaries.controls", "mlp-guided-by-base", "validation_f1"),
]
"""What `SUMMARY` is called now."""


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(SCRIPTS))
    import migrate_results

    yield migrate_results
    for name in ("migrate_results", "format_1", "loose_tables", "old_names", "old_tables"):
        sys.modules.pop(name, None)


@pytest.fixture
def old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of results: a study, points of its cells, and a table of measures."""
    pack_old(tmp_path / "results" / "paper" / "part", monkeypatch)
    points = pd.DataFrame({"cell": [FIRST, SECOND], "id": [0, 1], "delta_js": [0.5, 0.25]})
    points.to_parquet(tmp_path / "results" / "paper" / "delta_js_points.parquet", index=False)
    values = pd.DataFrame({"exam": ["fragility"], "measure": ["fragility: survives uniform"]})
    values.assign(value=[0.5]).to_parquet(tmp_path / "results" / "values.parquet", index=False)
    return tmp_path / "results"


def contents(folder: Path) -> dict[str, bytes]:
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def keys_of(folder: Path) -> dict[str, str]:
    table = pd.read_csv(folder / "cell_keys.csv", dtype=str)
    return dict(zip(table["old"], table["new"], strict=True))


def test_an_old_study_says_what_to_do(old: Path) -> None:
    with pytest.raises(VeraxError, match=r"in format 1: .*scripts/migrate_results\.py"):
        verax.open_study(old / "paper" / "part")


def test_numbers_have_ids_and_their_values(old: Path, script: Any) -> None:
    script.migrate(old)
    keys = keys_of(old)
    summary = verax.open_study(old / "paper" / "part").summary([])
    for seed, key in enumerate((FIRST, SECOND)):
        own = summary[summary["cell"] == keys[key]]
        names = own[["exam", "table", "row", "column"]].itertuples(index=False, name=None)
        assert list(names) == IDS
        assert own["value"].tolist() == [row[-1] + seed for row in SUMMARY]
        assert set(own["low"]) == {0.25}
        assert own["high"].isna().all()
        assert own["measure"].tolist()[:2] == [
            "replacement.documents.documents",
            "replacement.permuted.delta_f1",
        ]


def test_cells_have_the_keys_of_the_present_rule_everywhere(old: Path, script: Any) -> None:
    script.migrate(old)
    keys = keys_of(old)
    assert set(keys) == {FIRST, SECOND, THIRD}
    found = verax.open_study(old / "paper" / "part")
    assert found.cells["cell"].tolist() == list(keys.values())
    assert found.counts == {"done": 2, "failed": 1}
    cells = pd.read_parquet(old / "paper" / "part" / "cells.parquet").set_index("cell")
    for old_key, key in keys.items():
        config = json.loads(cells.loc[key, "config"])
        assert Cell.from_json(config).key == key != old_key
        assert config["exams"] == {
            "replacement": {"permutations": 4},
            "single_token": {"curves": 0},
            "information": {"max_words": 50},
            "dispersion": {"entropy_of": "gradient"},
        }
    assert json.loads(cells.loc[keys[SECOND], "manifest"])["model_of"] == keys[FIRST]
    assert json.loads(cells.loc[keys[THIRD], "failure"])["cell"] == keys[THIRD]
    points = pd.read_parquet(old / "paper" / "delta_js_points.parquet")
    assert dict(zip(points["cell"], points["delta_js"], strict=True)) == {
        keys[FIRST]: 0.5,
        keys[SECOND]: 0.25,
    }


def test_tables_are_those_of_their_cells_under_new_names(old: Path, script: Any) -> None:
    script.migrate(old)
    keys = keys_of(old)
    found = verax.open_study(old / "paper" / "part")
    tidy = ["replacement", "information", "single_token_tokens", "adversaries"]
    assert found.tables == sorted(["history", "summary", *tidy])
    assert found.table("adversaries", [])["name"].tolist() == ["base", "mlp-own"] * 2
    assert found.left_out == ["single_token"]
    manifest = found.manifest(keys[FIRST])
    assert manifest["tables"] == tidy
    assert manifest["classes"] == ["/b/", "1"]  # a class is no path
    instances = found.table("replacement", []).set_index("cell")
    assert instances.loc[keys[SECOND], "value"].tolist() == [1, 0.5]
    assert instances["attention"].cat.categories.tolist() == ["trained", "uniform", "permuted"]
    tokens = found.table("single_token_tokens", []).set_index("cell")
    assert tokens.loc[keys[SECOND], "p"].tolist() == [0.1, 1.2]
    assert found.table("information", []).set_index("cell").loc[keys[SECOND], "id"] == 1


def test_the_study_file_asks_for_the_exams_by_their_names(old: Path, script: Any) -> None:
    script.migrate(old)
    path = old / "paper" / "part" / "cells.parquet"
    text = json.loads(parquet.read_schema(path).metadata[b"verax.study"])["study"]
    assert "question: does fragility come of leakage?" in text
    assert text[text.index("exams:") :] == (
        "exams:\n- replacement:\n    permutations: 4\n- single_token\n"
        "- information: {max_words: 50}\n- dispersion:\n    entropy_of: gradient\nsplit: test\n"
    )


def test_nothing_names_the_machine(old: Path, script: Any) -> None:
    before = json.dumps([path.read_text("latin-1") for path in old.rglob("cells.parquet")])
    assert FOLDER in before
    script.migrate(old)
    told = []
    for path in old.rglob("*.parquet"):
        table = parquet.read_table(path)
        told += [str(table.schema.metadata), *map(str, table.to_pylist())]
    whole = "\n".join(told)
    for word in (HOST, FOLDER, "somebody", "6.1.2", "glibc", "'host'", "6379"):
        assert word not in whole
    assert "Linux x86_64" in whole
    assert "glove.txt.gz" in whole
    assert "cannot read glove.txt.gz" in whole
    assert "verax/files.py" in whole


def test_a_second_run_changes_nothing(old: Path, script: Any) -> None:
    said = script.migrate(old)
    assert [line.rpartition(": ")[2] for line in said] == ["3 cells", "2 rows", "1 rows"]
    after = contents(old)
    assert script.migrate(old) == []
    assert contents(old) == after
    assert pd.read_parquet(old / "values.parquet").iloc[0].tolist() == [
        "replacement",
        "replacement.uniform.survival",
        0.5,
    ]


def test_a_dry_run_only_says_what_would_change(old: Path, script: Any) -> None:
    before = contents(old)
    assert len(script.migrate(old, dry_run=True)) == 3
    assert contents(old) == before


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (("fragility", "fragility", "shuffled", "F1", 1.0), "unknown row of fragility: 'shuffled'"),
        (("fragility", "fragility", "uniform", "F2", 1.0), "unknown column of fragility: 'F2'"),
        (("fragility", "chance", "uniform", "F1", 1.0), "unknown table 'chance'"),
        (("sanity", "fragility", "uniform", "F1", 1.0), "unknown exam 'sanity'"),
    ],
)
def test_an_unknown_label_is_refused_before_anything_is_written(
    row: tuple[str, str, str, str, float],
    words: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    script: Any,
) -> None:
    pack_old(tmp_path / "results" / "a", monkeypatch)
    pack_old(tmp_path / "results" / "b", monkeypatch, [*SUMMARY, row])
    before = contents(tmp_path)
    with pytest.raises(VeraxError, match=words):
        script.migrate(tmp_path / "results")
    assert contents(tmp_path) == before


def test_an_unknown_measure_of_a_table_is_refused(tmp_path: Path, script: Any) -> None:
    values = pd.DataFrame({"measure": ["fragility: sings uniform"], "value": [0.5]})
    values.to_parquet(tmp_path / "values.parquet", index=False)
    with pytest.raises(VeraxError, match="unknown measure of documents: 'fragility: sings"):
        script.migrate(tmp_path)


def test_the_command_says_what_it_did(
    old: Path, script: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["migrate_results.py", str(old)])
    assert script.main() == 0
    assert f"changed {old / 'paper' / 'part'}: 3 cells" in capsys.readouterr().out
    assert script.main() == 0
    assert capsys.readouterr().out == f"{old}: nothing to migrate\n"
