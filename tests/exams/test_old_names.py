"""Names that exams and their options had are accepted, with a note, and mean the same."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

import verax
from verax.cli import main
from verax.models import AttentionClassifier

Make = Callable[..., AttentionClassifier]


def same(one: verax.Verdict, other: verax.Verdict) -> None:
    pd.testing.assert_frame_equal(one.summary(), other.summary())
    assert list(one.tables) == list(other.tables)
    for name in ("exams", "options", "tables"):
        assert one.manifest[name] == other.manifest[name]


@pytest.mark.parametrize(
    ("old", "new"), [("fragility", "replacement"), ("leakage", "single_token")]
)
def test_an_exam_by_the_name_it_had(
    old: str, new: str, make_model: Make, planted: verax.Corpus
) -> None:
    model = make_model()
    with pytest.warns(FutureWarning, match=f"^exam '{old}' is called '{new}' now$") as notes:
        found = verax.examine(model, planted, [old])
    assert len(notes) == 1
    same(found, verax.examine(model, planted, new))


def test_an_exam_by_both_names_is_taken_once(make_model: Make, planted: verax.Corpus) -> None:
    with pytest.warns(FutureWarning, match="'single_token'"):
        found = verax.examine(make_model(), planted, ["single_token", "leakage"])
    assert found.manifest["exams"] == ["single_token"]


def test_an_option_by_the_name_it_had(make_model: Make, planted: verax.Corpus) -> None:
    model = make_model(encoder="none")
    for exam, old, new, value in (
        ("dispersion", "spread", "entropy_of", "gradient"),
        ("information", "words", "max_words", 12),
    ):
        with pytest.warns(FutureWarning, match=f"^option '{old}' is called '{new}' now$"):
            found = verax.examine(model, planted, exam, **{old: value})
        expected = verax.examine(model, planted, exam, **{new: value})
        same(found, expected)
        assert found.manifest["options"][exam][new] == value
        with pytest.warns(FutureWarning, match=f"'{new}'"):
            same(verax.examine(model, planted, exam, **{exam: {old: value}}), expected)


def test_options_under_the_name_an_exam_had(make_model: Make, planted: verax.Corpus) -> None:
    model = make_model()
    with pytest.warns(FutureWarning, match="^exam 'fragility' is called 'replacement' now$"):
        found = verax.examine(model, planted, "replacement", fragility={"permutations": 3})
    same(found, verax.examine(model, planted, "replacement", permutations=3))


def test_an_old_name_of_an_option_of_no_exam_taken_is_refused(
    make_model: Make, planted: verax.Corpus
) -> None:
    with (
        pytest.warns(FutureWarning, match="'entropy_of'"),
        pytest.raises(verax.VeraxError, match="unknown option 'spread'"),
    ):
        verax.examine(make_model(), planted, "replacement", spread="gradient")


def test_the_command_line_notes_it_in_one_line(
    planted: verax.Corpus, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = verax.train(planted, encoder="none", embedding_size=8, epochs=1)
    folder = str(tmp_path / "model")
    model.save(folder)
    capsys.readouterr()
    assert main(["examine", folder, "--exams", "leakage"]) == 0
    old = capsys.readouterr()
    notes = [line for line in old.err.splitlines() if line.startswith("verax:")]
    assert notes == ["verax: note: exam 'leakage' is called 'single_token' now"]
    assert main(["examine", folder, "--exams", "single_token"]) == 0
    new = capsys.readouterr()
    assert new.out == old.out
    assert "note" not in new.err
