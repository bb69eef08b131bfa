"""Names that exams and their options had are accepted, with a note, and mean the same."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd
import pytest

import verax
from verax.cli import main
from verax.models import AttentionClassifier
from verax.studies.grid.reading import read_study

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


@pytest.fixture(scope="module")
def folder(planted: verax.Corpus, tmp_path_factory: pytest.TempPathFactory) -> str:
    where = str(tmp_path_factory.mktemp("models") / "model")
    verax.train(planted, encoder="none", embedding_size=8, epochs=1).save(where)
    return where


@pytest.mark.parametrize(
    ("old", "new", "note"),
    [
        (
            ["--exams", "leakage"],
            ["--exams", "single_token"],
            "exam 'leakage' is called 'single_token' now",
        ),
        (
            ["--exams", "information", "--words", "12"],
            ["--exams", "information", "--max-words", "12"],
            "option 'words' is called 'max_words' now",
        ),
        (
            ["--exams", "dispersion", "--spread", "gradient"],
            ["--exams", "dispersion", "--entropy-of", "gradient"],
            "option 'spread' is called 'entropy_of' now",
        ),
    ],
)
def test_the_command_line_notes_it_in_one_line(
    folder: str, capsys: pytest.CaptureFixture[str], old: list[str], new: list[str], note: str
) -> None:
    command = ["examine", folder, "--full"]
    assert main([*command, *old]) == 0
    before = capsys.readouterr()
    notes = [line for line in before.err.splitlines() if line.startswith("verax:")]
    assert notes == [f"verax: note: {note}"]
    assert main([*command, *new]) == 0
    after = capsys.readouterr()
    assert after.out == before.out
    assert "note" not in after.err


def test_old_flags_are_not_in_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["examine", "--help"])
    told = capsys.readouterr().out
    assert "--max-words" in told
    assert "--words " not in told


def test_a_study_by_old_names_is_the_same_study() -> None:
    study = {"name": "names", "corpora": {"planted": {"documents": 60}}}
    old = {"leakage": {"curves": 2}, "information": {"words": 12}, "dispersion": {"spread": ""}}
    new = {"single_token": {"curves": 2}, "information": {"max_words": 12}}
    with pytest.warns(FutureWarning) as notes:
        (found,) = read_study({**study, "exams": old}).cells
    assert sorted(str(note.message) for note in notes) == [
        "exam 'leakage' is called 'single_token' now",
        "option 'spread' is called 'entropy_of' now",
        "option 'words' is called 'max_words' now",
    ]
    (cell,) = read_study({**study, "exams": {**new, "dispersion": {"entropy_of": ""}}}).cells
    assert found == cell
    assert found.key == cell.key
    both = {"information": {"words": 12, "max_words": 12}}
    with pytest.raises(verax.VeraxError, match="unknown option 'words'"):
        read_study({**study, "exams": both})
