"""The page: complete in itself, safe with any text, a part for each exam."""

from __future__ import annotations

import base64
import hashlib
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from made_up_summaries import cell, optimal, right, survives, verdict
from support.errors import raises
from support.internals import REPORT_CHARTS_OF
from support.internals import page_text as text
from verax.exams import Verdict, load_limits
from verax.report import open_reported, report, report_page

HOSTILE = "</script><script>hacked=1</script>\"'<img src=x onerror=hacked=2>\u202eabc\x00\ud800"


@dataclass
class Drawn:
    """A chart as the page sees one."""

    name: str
    exam: str
    title: str = "a & b"
    reading: str = "read <it>"

    def svg(self) -> str:
        return '<svg viewBox="0 0 4 4"><rect width="4" height="4" fill="var(--chart-1)"/></svg>'


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[Drawn]:
    """Charts that are known beforehand."""
    charts = [Drawn("boxes", "erasure"), Drawn("bars", "replacement")]
    monkeypatch.setattr(REPORT_CHARTS_OF, lambda verdicts: charts)
    return charts


class Elements(HTMLParser):
    """Every element that a browser would see."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attributes)))

    def of(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.found if name == tag]


def judged(**manifest: Any) -> Verdict:
    return verdict(optimal(10.0, 5.0, 15.0), survives(99.0, 98.0, 100.0), **manifest)


@pytest.mark.usefixtures("drawn")
def test_a_section_an_exam_with_its_figures_and_the_contents_name_them() -> None:
    seen = Elements(report_page(judged()))
    exams = [s["data-exam"] for s in seen.of("section") if "data-exam" in s]
    assert exams == ["erasure", "replacement"]
    figures = [(f["data-exam"], f["data-chart"]) for f in seen.of("figure")]
    assert figures == [("erasure", "boxes"), ("replacement", "bars")]
    ids = {s["id"] for s in seen.of("section")}
    links = {str(a["href"])[1:] for a in seen.of("a") if str(a["href"]).startswith("#")}
    assert links <= ids | {"main"}
    assert ids <= links
    assert "explorer" not in ids


@pytest.mark.usefixtures("drawn")
def test_nothing_is_fetched_and_only_its_own_scripts_may_run() -> None:
    page = report_page(judged())
    assert not re.search(r'(src|href)="(?!#|data:,")', page)
    assert "@import" not in page
    assert not re.search(r"url\((?!#)", page)
    (policy,) = [m["content"] for m in Elements(page).of("meta") if "http-equiv" in m]
    assert policy is not None
    assert "default-src 'none'" in policy
    scripts = re.findall(r"<script>(.*?)</script>", page, flags=re.DOTALL)
    assert scripts
    for script in scripts:
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy
    assert "unsafe-inline" not in policy.split("script-src")[1].split(";")[0]


@pytest.mark.usefixtures("drawn")
def test_hostile_names_are_text(tmp_path: Path) -> None:
    plain = judged()
    clean = Elements(report_page({"a": plain, "b": plain}))
    hostile = judged(corpus={"corpus": HOSTILE}, split=HOSTILE, model={HOSTILE: HOSTILE})
    report({HOSTILE: hostile, "b": hostile}, tmp_path / "r.html", title=HOSTILE)
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    seen = Elements(page)
    for tag in ("script", "img", "style", "iframe"):
        assert len(seen.of(tag)) == len(clean.of(tag)), tag
    assert not any(name.startswith("on") for _, given in seen.found for name in given)
    assert "\x00" not in page


def test_text_keeps_what_can_be_kept() -> None:
    assert text("שלום 👋 \t ok") == "שלום 👋 \t ok"
    assert text("a\x1b[31m\ud800") == "a\ufffd[31m\ufffd"


def test_without_a_drawing_library_the_page_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "altair", None)
    page = report_page(judged())
    assert not Elements(page).of("figure")
    assert text("pip install 'verax[report]'") in page
    assert "30.0%" not in page
    assert "10.0%" in page


@pytest.mark.usefixtures("drawn")
def test_several_models_stand_side_by_side() -> None:
    better = verdict(optimal(90.0, 85.0, 95.0), survives(50.0, 40.0, 60.0))
    page = report_page({"one": judged(), "two": better})
    assert "<bdi>one</bdi></b> Do not take" in page
    assert "<bdi>two</bdi></b> No exam contradicts this" in page
    assert not Elements(page).of("noscript")


@pytest.mark.usefixtures("drawn")
def test_models_of_several_corpora_are_not_taken_for_one() -> None:
    some = judged(corpus={"corpus": "sst"}, split="test", documents=250, sampled_from=1821)
    all_ = judged(corpus={"corpus": "data/mine.csv"}, split="test", documents=43, sampled_from=43)
    page = report_page({"one": some, "two": all_})
    assert "<title>Attention on sst and mine.csv</title>" in page
    assert "<bdi>one</bdi>: 250 documents of test · <bdi>two</bdi>: 43 documents of test" in page
    assert "<li><bdi>one</bdi>: 250 of 1,821 documents were examined.</li>" in page
    assert "<li>Intervals are over documents of one trained model" in page
    alike = report_page({"one": some, "two": some})
    assert "<title>Attention on sst</title>" in alike
    assert "2 models · 250 documents of test" in alike
    assert "<li>250 of 1,821 documents were examined.</li>" in alike


@pytest.mark.usefixtures("drawn")
def test_numbers_side_by_side_have_below_them_what_they_are_compared_to() -> None:
    random = cell("erasure", "erasure.excess", "random", "optimal", 7.2, 4.0, 12.6, "percent")
    accurate = right(90.0, 85.0, 95.0)
    own = verdict(optimal(30.6, 23.7, 38.5), random, accurate)
    page = report_page({"one": own, "two": own})
    assert page.count('<span class="compared">in random order 7.2%</span></td>') == 2
    assert page.count("90.0% <span") == 2 + 2  # in the first table, and in the exam's own
    assert "says how well it decides, not why" not in page  # no number, and twice the same


@pytest.mark.usefixtures("drawn")
def test_what_was_examined_is_told_once_a_line_a_fact_and_details_wait() -> None:
    corpus = {"corpus": "sst", "text_column": "text", "fingerprint": "6491ebd774ac093d"}
    options = {"erasure": {"draws": 5, "top_k": None}, "single_token": {"curves": 0}}
    told = {"verax": "0.1.0", "sampled_from": 854, "importances": [], "options": options}
    model = {"options": {"encoder": "conv", "hierarchical": False}, "corpus": corpus}
    ours = {"version": "ours", "limits": {"replacement": {"for_below": 75}}}
    limits = load_limits(ours).to_json()
    page = report_page(judged(corpus=corpus, model=model, limits=limits, **told))
    about = page.partition('<section id="about"')[2].partition("</section>")[0]
    rows = re.findall(r"<tr><th scope=\"row\"><bdi>(.*?)</bdi></th><td>(.*?)</td></tr>", about)
    lines = [(name, re.sub("</?bdi>", "", said)) for name, said in rows]
    assert lines[:4] == [
        ("corpus", "sst"),
        ("documents", "100"),
        ("drawn from", "854"),
        ("exams", "erasure, replacement"),
    ]
    assert ("erasure", "draws: 5") in lines
    assert ("single token", "curves: 0") in lines
    assert ("hierarchical", "no") in lines
    assert [name for name, _ in lines].count("text column") == 1
    for unwanted in ("{", "6491ebd774ac093d", "importances", ">value<", "top k"):
        assert unwanted not in about, unwanted
    assert ("replacement", "for below: 75<br>against above: 95") in lines
    folds = re.findall("<summary>(.*?)</summary>", about)
    assert folds == ["Corpus", "Model: options", "Limits", "Limits, each", "Options"]


def test_what_is_no_result_is_refused(tmp_path: Path) -> None:
    with raises("result.missing"):
        open_reported([tmp_path])
    with raises("file.missing"):
        open_reported([tmp_path / "none"])
    with raises("option.missing"):
        report_page({})


def test_a_file_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with raises("output.not-writable"):
        report({"a": verdict(cell("x", "t", "r", "c", 1.0))}, tmp_path / "file" / "r.html")


@pytest.mark.slow
@pytest.mark.usefixtures("drawn")
@pytest.mark.parametrize("width", [1280, 375])
def test_in_a_browser_contents_fold_on_a_phone_and_tables_scroll_alone(
    open_page: Callable[..., Any], width: int
) -> None:
    view = open_page(report_page(judged()), viewport={"width": width, "height": 700})
    assert view.evaluate("document.documentElement.scrollWidth") == width
    assert view.evaluate("document.querySelector('nav details').open") is (width > 800)
    assert view.locator("nav a[aria-current]").text_content() == "The verdict"
    coloured = "getComputedStyle(document.querySelector('.drawing rect')).fill"
    light = view.evaluate(coloured)
    view.click("#theme")
    assert view.evaluate(coloured) != light
    assert view.inner_text("#theme") == "Light"
