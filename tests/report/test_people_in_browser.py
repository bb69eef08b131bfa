"""What people marked, in the page: lines under words, and what they mean."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import verax
from support.internals import page
from verax.corpora import SPLITS
from verax.report.explorer import explorer_data
from verax.report.people import marks_legend, runs_of_marks
from verax.report.scored_texts import scored_part
from verax.report.sections import explorer_part

Open = Callable[..., Any]

TEXTS = ["A dull plot. Good acting", "<b>dull</b> film", "العمل ممل جدا", "nobody looked"]
SPANS = [[[[2, 6], [13, 17]], [[2, 11]]], [[[3, 7]], [[3, 7]]], [[[6, 9]], [[6, 9]]], None]
"""Of two annotators, who agree on *dull* and *ممل*; one has *plot*, too, the other *Good*."""
LINES = {
    0: [("dull", True), ("plot", False), ("good", False)],
    1: [("dull", True)],
    2: [("ممل", True)],
    3: [],
}


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    return pd.DataFrame({"text": TEXTS, "label": ["no", "yes"] * 2, "rationale": SPANS})


@pytest.fixture(scope="module")
def explorer(table: pd.DataFrame) -> str:
    corpus = verax.load_corpus(dict.fromkeys(SPLITS, table))
    model = verax.train(corpus, encoder="none", epochs=1, embedding_size=4, progress=False)
    verdict = verax.examine(model, corpus, "replacement", gallery=[0, 1, 2, 3], progress=False)
    return page("marks", "", [explorer_part(explorer_data({"m": verdict}))], explorer=True)


def lines(view: Any, selector: str) -> list[tuple[str, bool]]:
    """The words with a line under them, and whether it is a whole one."""
    found = view.eval_on_selector_all(
        f"{selector} .marked",
        """words => words.map(word => {
            const style = getComputedStyle(word);
            return [word.textContent, style.textDecorationLine, style.textDecorationStyle];
        })""",
    )
    assert all(line == "underline" for _, line, _ in found)
    return [(text.lower(), style == "solid") for text, _, style in found]


@pytest.mark.slow
def test_marked_words_are_underlined_in_the_explorer(open_page: Open, explorer: str) -> None:
    view = open_page(explorer)
    for number, expected in LINES.items():
        view.click(f"[data-document='{number}']")
        assert lines(view, ".explorer-text") == expected
    legend = view.text_content(".explorer-legend .marks-legend")
    assert legend == (
        "underlined: words that most annotators marked as the reason for the label; dotted: that "
        "half of them or fewer marked"
    )


@pytest.mark.slow
def test_a_marked_word_is_told_and_can_be_erased(open_page: Open, explorer: str) -> None:
    view = open_page(explorer)
    view.click("[data-document='0']")
    told = ["not marked", "marked", "marked by 50% of annotators"]
    for item, words in enumerate(told):
        view.hover(f"[data-item='{item}']")
        assert view.text_content(".explorer-pointed").endswith(f"· {words}")
    view.click(".explorer-word .marked >> nth=0")
    assert view.get_attribute("[data-item='1']", "aria-pressed") == "true"
    view.click("[data-document='3']")
    view.hover(".explorer-word >> nth=0")
    assert view.text_content(".explorer-pointed").endswith("· nobody looked for marks here")


@pytest.mark.slow
def test_marked_words_are_underlined_beside_scores(open_page: Open, table: pd.DataFrame) -> None:
    how: dict[str, Any] = {"tokenizer": "as-written", "lowercase": False}
    corpus = verax.load_corpus(dict.fromkeys(SPLITS, table), **how)

    def probabilities(texts: list[str]) -> np.ndarray:
        dull = np.array([0.9 if "dull" in text else 0.2 for text in texts])
        return np.stack([dull, 1 - dull], axis=1)

    model = verax.from_predict(probabilities, classes=["no", "yes"])
    verdict = verax.examine(model, corpus, "plausibility", gallery=[0, 1, 2, 3], progress=False)
    view = open_page(page("marks", "", scored_part({"m": verdict}), scored=True))
    for place, expected in enumerate(LINES.values(), start=1):
        assert lines(view, f".scored-list li:nth-child({place})") == expected
    assert view.text_content(".scored-lines").startswith("underlined: words that most annotators")
    assert "nobody looked" in view.text_content(".scored-list li:nth-child(4) p")
    assert "nobody looked" not in view.text_content(".scored-list li:nth-child(1) p")


@pytest.mark.slow
def test_without_marks_no_line_and_no_legend(open_page: Open, table: pd.DataFrame) -> None:
    bare = table.drop(columns="rationale")
    corpus = verax.load_corpus(dict.fromkeys(SPLITS, bare))
    model = verax.train(corpus, encoder="none", epochs=1, embedding_size=4, progress=False)
    verdict = verax.examine(model, corpus, "replacement", gallery=[0], progress=False)
    assert "marked" not in verdict.tables["gallery_tokens"]
    assert "marks" not in verdict.manifest["gallery"]
    view = open_page(
        page("none", "", [explorer_part(explorer_data({"m": verdict}))], explorer=True)
    )
    assert view.query_selector(".marked, .marks-legend") is None
    view.hover(".explorer-word >> nth=0")
    assert "marked" not in view.text_content(".explorer-pointed")


def test_legends_and_runs() -> None:
    person = marks_legend({"marks": {"annotators": 1, "are_cause": False}})
    cause = marks_legend({"marks": {"annotators": 1, "are_cause": True}})
    assert person == {
        "most": "words that a person marked as the reason for the label",
        "some": None,
    }
    assert cause == {"most": "planted words, which decide the label", "some": None}
    shares = pd.DataFrame({"marked": [0, 1, 1, 1 / 3, 0, 0, 1]})
    assert runs_of_marks(shares) == [[1, 3, 1], [3, 4, 0.333], [6, 7, 1]]
    assert runs_of_marks(shares.assign(marked=np.nan)) is None
    assert runs_of_marks(pd.DataFrame({"text": ["a"]})) is None
