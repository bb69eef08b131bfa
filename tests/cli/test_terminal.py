"""What people see: tables that keep their numbers, words in colour, nothing that takes command."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from verax.cli.terminal import console, heat, printable, table


@given(st.text())
def test_printable_text_cannot_command_a_terminal(text: str) -> None:
    shown = printable(text)
    assert len(shown) == len(text)
    assert all(c.isprintable() or c == "\ufffd" for c in shown)
    assert all(a == b for a, b in zip(text, shown, strict=True) if a.isprintable())


def test_a_narrow_terminal_wraps_words_before_it_cuts_numbers() -> None:
    stream = io.StringIO()
    narrow = Console(file=stream, width=40, force_terminal=True, color_system=None)
    narrow.print(table(["text", "p_0", "p_1"], [["word " * 12, "0.5123", "0.4877"]]))
    assert "0.5123" in stream.getvalue()
    assert "0.4877" in stream.getvalue()


def shown(width: int, *told: object) -> str:
    stream = io.StringIO()
    Console(file=stream, width=width, force_terminal=True, color_system=None).print(*told)
    return stream.getvalue()


HEADS = ["", "JSD", "decisions kept", "certified", "short of the bound"]
ROWS = [["ε = 0.01", "0.594", "98.8%", "100.0%", "0.07"], ["any output", "0.6", "75%", "9%", "0"]]


@pytest.mark.parametrize("width", [26, 30, 45, 60, 200])
def test_labels_and_numbers_are_there_at_any_width(width: int) -> None:
    text = shown(width, table(HEADS, ROWS))
    lines = text.splitlines()
    assert max(map(len, lines)) <= width
    for row in ROWS:
        blocks = [line.split() for line in lines if line.startswith(row[0])]
        numbers = [cell for words in blocks for cell in words[len(row[0].split()) :]]
        assert numbers == row[1:]  # in order, each once, with its label before it
    words = " ".join(text.split())
    assert all(word in words for head in HEADS for word in head.split())


def test_heads_are_broken_before_columns_are_put_below_one_another() -> None:
    assert len(shown(200, table(HEADS, ROWS)).splitlines()) == 3
    assert len(shown(50, table(HEADS, ROWS)).splitlines()) == 6  # heads of up to four lines


def test_heads_are_no_markup() -> None:
    assert "[bold]" in shown(80, table(["", "[bold]"], [["a", "1"]]))


def test_a_pipe_has_no_edge(capsys: pytest.CaptureFixture[str]) -> None:
    console().print("word " * 100)
    assert capsys.readouterr().out.count("\n") == 1


def test_heat_colours_by_weight_and_dims_what_is_not_attended() -> None:
    text = heat(["a", "b", "c"], [0.0, 0.25, 0.5])
    assert text.plain == "a b c"
    assert [str(span.style) for span in text.spans] == [
        "dim",
        "not dim #000000 on rgb(143,193,226)",
        "not dim #000000 on rgb(31,131,198)",
    ]
    assert heat([], []).plain == ""
