"""`verax explain`: decisions and words, on the screen and in a file."""

from __future__ import annotations

import io
import json
import math
import re
from pathlib import Path

import pandas as pd
import pytest
from refused import refusal

import verax
from verax.cli import main
from verax.cli.explain import _decimals
from verax.cli.terminal import shade
from verax.drawing.palette import OPPOSES, SUPPORTS, css
from verax.report import heat

pytestmark = pytest.mark.usefixtures("alone")

TEXTS = ["w1 good0_3 .", "good1_2 unheard w2 w3 .", "w5"]
BY = ["attention", "gradient", "leave-one-out"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    corpus = verax.load_corpus("planted:documents=60,length=12")
    where = tmp_path_factory.mktemp("models") / "flat"
    verax.train(
        corpus, tokenizer="whitespace", encoder="conv", hidden_size=8, embedding_size=8, epochs=1
    ).save(where)
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


def shown(column: pd.Series) -> list[str]:
    """Scores with the same decimals down a column: four, or two digits of the strongest."""
    strongest = column.abs().max()
    decimals = 4 if strongest == 0 else max(4, 1 - math.floor(math.log10(strongest)))
    return [f"{number:z.{decimals}f}" for number in column]


def decisions(frame: pd.DataFrame) -> list[str]:
    rows = frame.groupby("text", sort=False).first().itertuples()
    return [f"text {row.Index}: {row.label} ({row.probability:.1%})" for row in rows]


def printed(frame: pd.DataFrame, names: list[str]) -> list[str]:
    """What is to be read, line by line and blank by blank."""
    lines: list[str] = []
    for _, own in frame.groupby("text", sort=False):
        label, share = own["label"].iloc[0], own["probability"].iloc[0]
        lines.append(f"{label} ({share:.1%})")
        lines.append(" ".join(["word", *names]))
        columns = [own["word"], *(shown(own[name]) for name in names)]
        lines += [" ".join(row) for row in zip(*columns, strict=True)]
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
    expected = verax.load(folder).explain(TEXTS, names)
    lines = capsys.readouterr().out.splitlines()
    assert lines == [*decisions(expected), f"3 texts explained in {out}"]
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
    assert err == "1 empty text left out\n"
    lines = out.splitlines()
    assert [line.split(":")[0] for line in lines[:-1]] == ["text 0", "text 2"]
    assert lines[-1] == "2 texts explained in out.csv"
    assert pd.read_csv("out.csv")["text"].tolist() == [0, 0, 0, 2, 2, 2, 2, 2]


def test_one_text_a_line_on_standard_input(
    folder: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    on_stdin(monkeypatch, "\r\n".join([TEXTS[0], "", TEXTS[1]]) + "\n")
    assert main(["explain", folder]) == 0
    out, err = capsys.readouterr()
    assert read(out) == printed(verax.load(folder).explain(TEXTS[:2]), BY)
    assert err == "1 empty text left out\n"


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
    assert "\ncaf\ufffd " in capsys.readouterr().out


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


@pytest.mark.slow
def test_bad_requests_are_one_line(folder: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("in.csv").write_text("review,label\na,1\n")
    before = sorted(p.name for p in Path().iterdir())
    cases = [
        ([folder, "a", "--by", "atention"], ("option.unknown-value", "attention")),
        (
            [folder, "a", "--by", "gradient,grdient-input"],
            ("option.unknown-value", "gradient-input"),
        ),
        ([folder, "a", "--by", "attention-product"], ("option.unknown-value", "attention-product")),
        ([folder, "a", "--by", ","], ("option.empty", "--by")),
        ([folder, "a", "--seed", "-1"], ("option.out-of-range", "--seed")),
        ([folder, "a", "--seed", "x"], ("option.wrong-type", "--seed")),
        (["missing", "a"], ("model.missing",)),
        ([folder, "--file", "in.csv"], ("corpus.missing-column", "text")),
        ([folder, "a", "--file", "in.csv"], ("option.conflict",)),
        ([folder, "a", "--out", "out.txt"], ("output.unknown-format",)),
        ([folder, "a", "--out", "/dev/null/out.csv"], ("output.not-writable", "out.csv")),
        ([folder, "a", "--max-tokens", "0"], ("option.out-of-range", "--max-tokens")),
        ([folder, " ", ""], ("text.missing",)),
        ([folder, "a", "--bye", "attention"], ("option.unknown", "--by")),
        ([folder, "a", "--device", "gpu"], ("device.unknown",)),
        ([], ("command.usage",)),
    ]
    for arguments, expected in cases:
        refusal(capsys, ["explain", *arguments], *expected)
    assert sorted(p.name for p in Path().iterdir()) == before


def test_a_wrong_name_is_told_before_the_model_is_loaded(
    capsys: pytest.CaptureFixture[str],
) -> None:
    refusal(capsys, ["explain", "missing", "a", "--by", "x"], "option.unknown-value", "x")


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
    assert "p − p without it; above 0 it supports the class" in " ".join(text.split())
    assert "|p" not in text


def test_one_text_and_more_than_ten(folder: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A file's texts are counted, and the decisions about the first of them printed."""
    for count, last in ((1, ["1 text explained"]), (12, ["… and 2 more", "12 texts explained"])):
        texts = ["w1 w2"] * count
        assert main(["explain", folder, *texts, "--out", f"{count}.csv", "--by", "attention"]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert len(lines) == min(10, count) + len(last)
        assert [line.split(" in ")[0] for line in lines[-len(last) :]] == last


def test_colours_have_words_and_a_legend(
    folder: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where there is no colour, neither: words in it would be the same for every importance."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("TERM", "xterm-256color")
    arguments = ["explain", folder, TEXTS[0], "--by", "attention,leave-one-out"]
    outs = []
    for more in ([], ["--target", "1"]):
        assert main([*arguments, *more]) == 0
        outs.append(re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out))
    decided, chosen = outs
    assert f"attention      {TEXTS[0]}\n" in decided
    assert "\nleave-one-out: for the decision · against it\nattention: more (no sign)\n" in decided
    assert "\nleave-one-out: for 1 · against 1\nattention: more (no sign)\n" in chosen
    monkeypatch.setenv("NO_COLOR", "1")
    assert main(arguments) == 0
    plain = capsys.readouterr().out
    assert TEXTS[0] not in plain
    assert "more (no sign)" not in plain


@pytest.mark.parametrize(
    ("strongest", "decimals"), [(0.0, 4), (1.0, 4), (0.5, 4), (3.5e-4, 5), (2e-30, 12)]
)
def test_a_column_has_fixed_decimals(strongest: float, decimals: int) -> None:
    assert _decimals(strongest) == decimals


def test_a_class_of_choice(folder: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", folder, TEXTS[0], "--target", "1"]) == 0
    out = capsys.readouterr().out
    assert "; explained: 1 (" in out.splitlines()[0]
    assert out.endswith("Attention does not depend on the class explained.\n")
    expected = verax.load(folder).explain(TEXTS[:1], target=1)
    assert all(number in out for number in shown(expected["leave-one-out"]))
    refusal(capsys, ["explain", folder, "a", "--target=7"], "model.unknown-class", "7")


def test_a_page_that_stands_alone(folder: str, capsys: pytest.CaptureFixture[str]) -> None:
    texts = ["w1 <script>alert(1)</script>", TEXTS[1]]
    assert main(["explain", folder, *texts, "--target", "0", "--out", "page.html"]) == 0
    assert capsys.readouterr().out.endswith("\n2 texts explained in page.html\n")
    page = Path("page.html").read_text(encoding="utf-8")
    assert "<script>alert" not in page
    assert 'src="' not in page
    assert 'href="http' not in page
    assert "text 1: " in page
    assert "oppose it. Attention does not depend on the class explained." in page
    assert ">for 0<" in page
    assert ">against 0<" in page
    assert ">more (no sign)<" in page
    assert "for the decision" not in page
    assert css(SUPPORTS) in page


def test_colours_and_signs_agree_everywhere(folder: str) -> None:
    """Blue supports the class, orange opposes it: in the terminal as in a notebook."""
    frame = pd.DataFrame({"text": 0, "word": ["for", "against"], "mine": [2.0, -2.0]})
    markup = heat(frame)._repr_html_()
    for score, colour in ((1.0, SUPPORTS), (-1.0, OPPOSES)):
        assert shade(score).endswith(f"on {css(colour)}")
        assert css(colour) in markup
