"""Compare all numbers with the frozen ones: equal bits in the same environment, else tolerances.

`freeze.py` froze the numbers, `tests/golden/frozen.py` computes them again.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from golden import frozen as golden
from support.documents import COLUMNS

pytestmark = pytest.mark.slow


def agrees(name: str, rows: golden.pd.DataFrame, model: str | None = None) -> None:
    frozen = golden.frozen_numbers(name)
    if model is not None:
        frozen = frozen[frozen["model"] == model]
    assert len(frozen)
    lines = golden.differences(frozen, rows, bits=golden.same_machine())
    assert not lines, f"{len(lines)} of {len(frozen)} numbers changed:\n" + "\n".join(lines[:40])


@pytest.mark.parametrize("case", golden.CASES)
def test_numbers_of_every_exam(case: str) -> None:
    agrees(case, golden.exam_rows(case))


@pytest.mark.parametrize("name", golden.SETS)
def test_weights_before_and_after_an_epoch(name: str) -> None:
    agrees("weights", golden.weight_rows(name), name)


def test_logits_of_tiny_architectures() -> None:
    names = golden.architectures()
    assert set(names) == set(golden.frozen_numbers("architectures")["model"])
    rows = [golden.architecture_rows(name) for name in names]
    agrees("architectures", golden.pd.concat(rows))


def test_tables_and_keys_of_a_study(tmp_path: Path) -> None:
    rows, keys = golden.study_rows(tmp_path / "study")
    agrees("study", rows)
    frozen = {id: v for id, v in golden.frozen_json("exact").items() if id.startswith("study/")}
    assert len(frozen) == 4
    assert not golden.json_differences(frozen, keys)


def test_tokens_places_and_encoded_texts() -> None:
    frozen = golden.frozen_json("exact")
    rest = {id: value for id, value in frozen.items() if not id.startswith("study/")}
    lines = golden.json_differences(rest, golden.exact())
    assert not lines, "\n".join(line[:400] for line in lines)


def test_encoded_texts_of_option_sets() -> None:
    frozen = golden.frozen_json("encoded")
    assert {id.split("/")[1] for id in frozen} == set(golden.SETS)
    lines = golden.json_differences(frozen, golden.encoded())
    assert not lines, "\n".join(line[:400] for line in lines)


def test_spans_are_places_in_the_original_text() -> None:
    """Those of documents over `max_length` words, too, of which others are frozen."""
    read, options = golden.set_of("bilstm")
    texts = golden.untrained_model(read, options).encode(read.test)
    written = read.test.texts
    assert max(len(text.split()) for text in written) > golden.LONGEST
    for text, words, spans in zip(written, texts.words, texts.spans, strict=True):
        assert [text[start:stop].lower() for start, stop in spans] == list(words)
        assert len(words) <= golden.LONGEST


@pytest.mark.parametrize("paper", golden.PAPERS)
def test_results_of_papers(paper: str) -> None:
    frozen = {
        name: value
        for name, value in golden.frozen_json("papers").items()
        if name.startswith(f"{paper}/")
    }
    assert frozen
    assert not golden.json_differences(frozen, golden.paper_sums(paper))


def test_a_change_names_what_is_frozen() -> None:
    """Every row of changes.csv matches as many frozen values as it says."""
    files = sorted(path.stem for path in golden.NUMBERS.glob("*.parquet"))
    ids = [id for name in files for id in golden.number_ids(golden.frozen_numbers(name))]
    ids += [*golden.frozen_json("exact"), *golden.frozen_json("papers")]
    ids += golden.frozen_json("encoded")
    table = golden.changes()
    assert table.columns.tolist() == ["id", "values", "largest", "reason"]
    for change in table.itertuples():
        hits = int(golden.matches(str(change.id), ids).sum())
        assert hits, f"{change.id} is nothing that is frozen"
        assert hits == change.values, f"{change.id} is {hits} numbers"
        assert str(change.reason).strip(), f"{change.id} has no reason"


def test_numbers_are_only_loosened() -> None:
    """Every pattern matches something frozen, and no number gets a tighter kind."""
    files = [golden.NUMBERS / f"{case}.parquet" for case in golden.CASES]
    ids = {id for path in files for id in golden.number_ids(golden.pd.read_parquet(path))}
    for pattern in golden.LOOSER:
        assert golden.matches(pattern, ids).any(), pattern
    for path in files:
        kinds = golden.pd.read_parquet(path)["kind"].astype(str).map(golden.TOLERANCE)
        loosened = golden.frozen_numbers(path.stem)["kind"].map(golden.TOLERANCE)
        assert (loosened >= kinds).all()


def test_models_are_small() -> None:
    sizes = {path: path.stat().st_size for path in golden.MODELS.rglob("*") if path.is_file()}
    assert sizes
    assert max(sizes.values()) <= 100_000


def test_each_kind_of_number_is_held_to_its_tolerance() -> None:
    frozen = golden.frozen_numbers("pooled-2")
    fresh = frozen[COLUMNS]
    assert not golden.differences(frozen, fresh, bits=True)
    for kind, allowed in golden.TOLERANCE.items():
        numbers = frozen["value"].where(frozen["kind"] == kind)
        row = numbers.abs().sub(0.5).abs().idxmin()
        for factor, is_caught in ((0.5, False), (2.0, True)):
            off = min(allowed, 1.0) * factor if allowed else (factor > 1) * 1e-12
            moved = fresh.assign(value=fresh["value"].where(fresh.index != row, numbers[row] + off))
            found = len(golden.differences(frozen, moved, bits=False))
            assert found == (is_caught and kind != golden.ORDER), (kind, off)
            assert len(golden.differences(frozen, moved, bits=True)) == (off > 0)
    without = fresh.drop(index=[3])
    assert [line.endswith("missing") for line in golden.differences(frozen, without, bits=False)]
    nothing = fresh.assign(value=fresh["value"].where(fresh.index != 5, np.nan))
    assert len(golden.differences(frozen, nothing, bits=False)) == 1


def test_the_first_freeze_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    import freeze

    monkeypatch.setattr("sys.argv", ["freeze.py"])
    monkeypatch.setattr(freeze, "make_models", lambda: pytest.fail("it froze again"))
    with pytest.raises(SystemExit, match=r"changes\.csv"):
        freeze.main()
