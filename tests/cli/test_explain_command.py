"""`verax explain`: decisions and words, on the screen and in a file."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pandas as pd
import pytest
from refused import refusal

import verax
from verax.cli import main
from verax.cli.terminal import shade
from verax.drawing.palette import OPPOSES, SUPPORTS, css
from verax.report.notebook import heat

pytestmark = pytest.mark.usefixtures("alone")

TEXTS = ["w1 good0_3 .", "good1_2 unheard w2 w3 .", "w5"]
BY = ["attention", "gradient", "leave-one-out"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    corpus = verax.load_corpus("planted:documents=60,length=12")
    where = tmp_path_factory.mktemp("models") / "flat"
    verax.train(corpus, encoder="conv", hidden_size=8, embedding_size=8, epochs=1).save(where)
    return str(where)


@pytest.fixture(scope="module")
def hierarchical(tmp_path_factory: pytest.TempPathFactory) -> str:
    corpus = verax.load_corpus("planted:documents=60,length=12")
    where = tmp_path_factory.mktemp("models") / "hierarchical"
    options = {"encoder": "none", "hierarchical": True, "embedding_size": 8, "epochs": 1}
    verax.train(corpus, **options).save(where)
    return str(where)


def on_stdin(monkeypatch: pytest.MonkeyPatch, content: str) -> None:
    stream = io.TextIOWrapper(io.BytesIO(content.encode()), encoding="utf-8")
    monkeypatch.setattr("sys.stdin", stream)


def shown(number: float) -> str:
    return f"{number:.4f}" if number == 0 or abs(number) >= 0.0005 else f"{number:.1e}"


def printed(frame: pd.DataFrame, names: list[str]) -> list[str]:
    """What is to be read, line by line and blank by blank."""
    lines: list[str] = []
    for _, own in frame.groupby("text", sort=False):
        label, share = own["label"].iloc[0], own["probability"].iloc[0]
        lines.append(f"{label} ({share:.1%})")
        lines += [" ".join([name, *own["word"]]) for name in names]
        lines.append(" ".join(["word", *names]))
        for row in own.to_dict("records"):
            lines.append(" ".join([row["word"], *(shown(row[name]) for name in names)]))
    return lines


def read(out: str) -> list[str]:
    return [" ".join(line.split()) for line in out.splitlines() if line.strip()]


@pytest.mark.parametrize("flags_first", [False, True])
def test_prints_labels_words_and_numbers(
    folder: str, flags_first: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    flags = ["--device", "cpu"]
    arguments = [folder, *flags, *TEXTS] if flags_first else [folder, *TEXTS, *flags]
    assert main(["explain", *arguments]) == 0
    out, err = capsys.readouterr()
    assert read(out) == printed(verax.load(folder).explain(TEXTS), BY)
    assert "\x1b" not in out
    assert err == ""


def test_by_chosen_importances_in_the_order_given(
    folder: str, capsys: pytest.CaptureFixture[str]
) -> None:
    names = ["integrated-gradients", "random"]
    assert main(["explain", folder, TEXTS[1], "--by", ", ".join(names), "--seed", "3"]) == 0
    expected = verax.load(folder).explain(TEXTS[1:2], names, seed=3)
    assert read(capsys.readouterr().out) == printed(expected, names)


def test_a_hierarchical_model(hierarchical: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = "w1 good0_3 . w2 w3 ."
    assert main(["explain", hierarchical, text]) == 0
    assert read(capsys.readouterr().out) == printed(verax.load(hierarchical).explain([text]), BY)
    assert main(["explain", hierarchical, text, "--out", "out.csv"]) == 0
    assert pd.read_csv("out.csv")["sentence"].tolist() == [0, 0, 0, 1, 1, 1]


READERS = {
    ".csv": lambda path: pd.read_csv(path, dtype={"label": str}),
    ".jsonl": lambda path: pd.DataFrame(map(json.loads, Path(path).read_text().splitlines())),
    ".parquet": pd.read_parquet,
}


@pytest.mark.parametrize("suffix", READERS)
def test_a_file_holds_every_digit(
    folder: str, suffix: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A small score is a score: as many digits as the numbers have, not so many decimals."""
    names = [*BY, "integrated-gradients"]
    out = f"out{suffix}"
    assert main(["explain", folder, *TEXTS, "--by", ",".join(names), "--out", out]) == 0
    assert capsys.readouterr().out == f"3 texts explained in {out}\n"
    expected = verax.load(folder).explain(TEXTS, names)
    found = READERS[suffix](out)
    assert found.columns.tolist() == expected.columns.tolist()
    pd.testing.assert_frame_equal(found, expected, check_dtype=False, rtol=1e-14, atol=0)
    assert [p.name for p in Path().iterdir()] == [out]


def test_empty_texts_are_left_out_and_the_others_keep_their_number(
    folder: str, capsys: pytest.CaptureFixture[str]
) -> None:
    texts = [TEXTS[0], " ", TEXTS[1]]
    pd.DataFrame({"review": texts, "label": ""}).to_csv("in.csv", index=False)
    arguments = ["--file", "in.csv", "--text-column", "review", "--out", "out.csv"]
    assert main(["explain", folder, *arguments]) == 0
    out, err = capsys.readouterr()
    assert err == "1 empty texts left out\n"
    assert out == "2 texts explained in out.csv\n"
    assert pd.read_csv("out.csv")["text"].tolist() == [0, 0, 0, 2, 2, 2, 2, 2]


def test_one_text_a_line_on_standard_input(
    folder: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    on_stdin(monkeypatch, "\r\n".join([TEXTS[0], "", TEXTS[1]]) + "\n")
    assert main(["explain", folder]) == 0
    out, err = capsys.readouterr()
    assert read(out) == printed(verax.load(folder).explain(TEXTS[:2]), BY)
    assert err == "1 empty texts left out\n"


def test_a_text_may_hold_commands_for_a_terminal(
    folder: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", folder, "\x1b[31mred\x07 [bold]w1[/bold] :smile: \u202eback"]) == 0
    out = capsys.readouterr().out
    assert not [c for c in out if not c.isprintable() and c != "\n"]
    assert "[bold]w1[/bold]" in out
    assert ":smile:" in out
    assert "\ufffdback" in out


def test_bytes_that_are_no_text_are_shown_as_such(
    folder: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """As `verax predict` does; Python hands them on as lone surrogates."""
    assert main(["explain", folder, "caf\udce9 w1"]) == 0
    assert "caf\ufffd w1" in capsys.readouterr().out


def test_a_class_may_have_any_name(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{"text": f"w{i} word", "label": ["a [red]\x1b", "b"][i % 2]} for i in range(60)]
    pd.DataFrame(rows).to_json("mine.jsonl", orient="records", lines=True)
    corpus = verax.load_corpus("mine.jsonl")
    verax.train(corpus, encoder="none", embedding_size=4, epochs=1).save("model")
    label = verax.load("model").predict(["w1"])["label"][0]
    assert main(["explain", "model", "w1"]) == 0
    out = capsys.readouterr().out
    assert out.startswith(label.replace("\x1b", "\ufffd") + " (")
    assert "\x1b" not in out


def test_bad_requests_are_one_line(folder: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("in.csv").write_text("review,label\na,1\n")
    before = sorted(p.name for p in Path().iterdir())
    cases = [
        ([folder, "a", "--by", "atention"], "did you mean 'attention'?"),
        ([folder, "a", "--by", "gradient,grdient-input"], "did you mean 'gradient-input'?"),
        ([folder, "a", "--by", "attention-product"], "unknown importance 'attention-product'"),
        ([folder, "a", "--by", ","], "--by names no importance: choose from attention, gradient"),
        ([folder, "a", "--seed", "-1"], "option 'seed' is -1"),
        ([folder, "a", "--seed", "x"], "--seed"),
        (["missing", "a"], "missing is not a saved model"),
        ([folder, "--file", "in.csv"], "no column 'text'"),
        ([folder, "a", "--file", "in.csv"], "not both"),
        ([folder, "a", "--out", "out.txt"], "end it in .csv"),
        ([folder, "a", "--out", "none/out.csv"], "cannot write none/out.csv"),
        ([folder, "a", "--max-tokens", "0"], "at least 1"),
        ([folder, " ", ""], "no text to explain"),
        ([folder, "a", "--bye", "attention"], "did you mean '--by'?"),
        ([folder, "a", "--device", "gpu"], "gpu"),
        ([], "MODEL"),
    ]
    for arguments, fragment in cases:
        assert fragment in refusal(capsys, ["explain", *arguments])
    assert sorted(p.name for p in Path().iterdir()) == before


def test_a_wrong_name_is_told_before_the_model_is_loaded(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert "unknown importance 'x'" in refusal(capsys, ["explain", "missing", "a", "--by", "x"])


def test_the_budget_changes_nothing(folder: str, capsys: pytest.CaptureFixture[str]) -> None:
    outs = []
    for budget in ("1", "10000"):
        assert main(["explain", folder, *TEXTS, "--max-tokens", budget]) == 0
        outs.append(capsys.readouterr().out)
    assert outs[0] == outs[1]


def test_help_names_every_importance_of_inputs(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["explain", "--help"])
    assert stop.value.code == 0
    text = capsys.readouterr().out
    for name in ("gradient-input-detached", "integrated-gradients", "random"):
        assert name in text.replace("\n", " ")
    assert "attention-product" not in text


def test_a_class_of_choice(folder: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", folder, TEXTS[0], "--target", "1"]) == 0
    out = capsys.readouterr().out
    assert "; explained: 1 (" in out.splitlines()[0]
    assert out.endswith("attention does not depend on the class explained.\n")
    expected = verax.load(folder).explain(TEXTS[:1], target=1)
    assert all(shown(number) in out for number in expected["leave-one-out"])
    assert "the model has no class '7'" in refusal(capsys, ["explain", folder, "a", "--target=7"])


def test_a_page_that_stands_alone(folder: str, capsys: pytest.CaptureFixture[str]) -> None:
    texts = ["w1 <script>alert(1)</script>", TEXTS[1]]
    assert main(["explain", folder, *texts, "--target", "0", "--out", "page.html"]) == 0
    assert capsys.readouterr().out == "2 texts explained in page.html\n"
    page = Path("page.html").read_text(encoding="utf-8")
    assert "<script>alert" not in page
    assert 'src="' not in page
    assert 'href="http' not in page
    assert "text 1: " in page
    assert "attention does not depend on the class explained." in page
    assert css(SUPPORTS) in page


def test_colours_and_signs_agree_everywhere(folder: str) -> None:
    """Blue supports the class, orange opposes it: in the terminal as in a notebook."""
    frame = pd.DataFrame({"text": 0, "word": ["for", "against"], "mine": [2.0, -2.0]})
    markup = heat(frame)._repr_html_()
    for score, colour in ((1.0, SUPPORTS), (-1.0, OPPOSES)):
        assert shade(score).endswith(f"on {css(colour)}")
        assert css(colour) in markup
