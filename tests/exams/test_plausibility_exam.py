"""The plausibility exam on models: rankings against marks, what is left out, where it stands."""

from __future__ import annotations

import html
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.metrics import average_precision_score, f1_score

import verax
from support.documents import marked_in, per_document, tokens_of
from support.errors import raises
from support.internals import BASELINES, GROUND_TRUTH, OF_DOCUMENTS, PEOPLE, Models, direction_of
from support.internals import PLAUSIBILITY_REASONS as REASONS
from support.internals import plausibility_charts as charts
from verax.corpora import SPLITS
from verax.exams import EXAMS, default_exams, plan
from verax.exams.authoring import ModelSummary, wide
from verax.models import AttentionClassifier
from verax.report import report_page
from verax.statistics import holm, paired

Make = Callable[..., AttentionClassifier]


def by_letters(model: Any, trace: Any) -> torch.Tensor:
    """The longer the word, the more important; SOS and EOS have no say."""
    scores = torch.zeros(trace.tokens.shape, dtype=torch.float64)
    for row, words in enumerate(trace.words):
        scores[row, trace.batch.words[row]] = torch.tensor([float(len(w)) for w in words]).double()
    return scores


@pytest.fixture(scope="module")
def verdict(make_model: Make, planted: verax.Corpus) -> verax.Verdict:
    return verax.examine(
        make_model(encoder="conv"), planted, "plausibility", importances={"letters": by_letters}
    )


def ranking(verdict: verax.Verdict, name: str) -> pd.DataFrame:
    table = verdict.tables["plausibility"]
    return wide(table[table["ranking"] == name], "draw").groupby("id").mean()


@pytest.mark.slow
def test_ones_own_ranking_by_scikit_learn(verdict: verax.Verdict, planted: verax.Corpus) -> None:
    """Words by their length: AUPRC of each document, and F1 of as many as are marked."""
    table = ranking(verdict, "letters")
    documents = planted.test
    assert marked_in(documents) is not None
    for row, number in enumerate(documents.ids.tolist()):
        marks = marked_in(documents)[row].astype(bool)
        lengths = np.array([len(word) for word in tokens_of(documents)[row]])
        expected = average_precision_score(marks, lengths)
        assert table.loc[number, "auprc"] == pytest.approx(expected)
        first = np.argsort(-lengths, kind="stable")[: marks.sum()]
        chosen = np.isin(np.arange(len(marks)), first)
        assert table.loc[number, "token_f1"] == pytest.approx(f1_score(marks, chosen))


def test_baselines_know_rarity_and_place(verdict: verax.Verdict, planted: verax.Corpus) -> None:
    documents = planted.test
    assert marked_in(documents) is not None
    counts = np.bincount(planted.train.token_numbers.values, minlength=len(planted.train.lexicon))
    marks = marked_in(documents)[0].astype(bool)
    number = int(documents.ids[0])
    numbers = documents.token_numbers[0]
    expected = {
        "frequency": average_precision_score(marks, -counts[numbers]),
        "earlier": average_precision_score(marks, -np.arange(len(marks))),
        "later": average_precision_score(marks, np.arange(len(marks))),
    }
    for name, value in expected.items():
        assert ranking(verdict, name).loc[number, "auprc"] == pytest.approx(value)


def test_chance_is_what_random_rankings_have_on_average(
    make_model: Make, planted: verax.Corpus
) -> None:
    """Σ over places k of E[1/k · marked at k · marked up to k], over the marked ones: with R of n
    words marked, E[AP] = H/n + (R − 1)(n − H)/(n(n − 1)), where H = 1 + 1/2 + … + 1/n.
    """
    how: dict[str, Any] = {"rankings": "random", "random_orders": 500, "sample": 5}
    verdict = verax.examine(make_model(encoder="none"), planted, "plausibility", **how)
    table = verdict.tables["plausibility"]
    drawn = table[(table["ranking"] == "random") & (table["measure"] == "auprc")]
    instances = per_document(verdict, "plausibility_instances")
    for number, values in drawn.groupby("id")["value"]:
        n, marked = instances.loc[number, ["words", "marked"]]
        harmonic = (1 / np.arange(1, n + 1)).sum()
        expected = harmonic / n + (marked - 1) * (n - harmonic) / (n * (n - 1))
        assert len(values) == 500
        assert values.mean() == pytest.approx(expected, abs=4 * values.std() / np.sqrt(500))
        assert expected > 1.2 * marked / n  # the share of marked words is too low a bar


def test_an_importance_equal_to_the_marks_is_perfect(
    make_model: Make, planted: verax.Corpus
) -> None:
    assert marked_in(planted.test) is not None
    marks = [row.astype(float) for row in marked_in(planted.test)]
    flat = [np.full(len(row), 0.25) for row in marks]
    own = {"marks": marks, "flat": flat}
    model = make_model(encoder="none")
    verdict = verax.examine(model, planted, "plausibility", importances=own, rankings="attention")
    for column in ("auprc", "token_f1", "iou_f1"):
        assert verdict.value(f"plausibility.marks.{column}") == pytest.approx(1.0)
    shares = ranking(verdict, "flat")["auprc"].to_numpy()
    assert shares == pytest.approx([row.mean() for row in marks])
    instances = per_document(verdict, "plausibility_instances")
    assert instances["marked_share"].to_numpy() == pytest.approx(shares)


@pytest.mark.slow
def test_marks_and_spans_give_the_same_tables(make_model: Make, planted: verax.Corpus) -> None:
    """Tokens with 0/1, text with spans, and both twice, as of two annotators who agree."""
    frames = {s: part.to_frame(planted.classes) for s, part in planted.splits.items()}
    spans = {}
    for split, part in planted.splits.items():
        assert part.marks is not None
        cells = [row[:, 1:].tolist() for row in part.marks.spans]  # type: ignore[call-overload]
        spans[split] = frames[split].assign(rationale=cells)
    twice = {s: f.assign(rationale=[[c, c] for c in f["rationale"]]) for s, f in spans.items()}
    model = make_model(encoder="none")
    expected = None
    for tables in (frames, spans, twice):
        corpus = verax.load_corpus(tables, tokens_column="tokens")
        found = verax.examine(model, corpus, "plausibility")
        expected = found if expected is None else expected
        pd.testing.assert_frame_equal(found.tables["plausibility"], expected.tables["plausibility"])
        agreement = per_document(found, "plausibility_instances")["annotator_f1"]
        assert (agreement.isna() if tables is not twice else agreement == 1).all()
        assert found.value("plausibility.documents.cause") == 0  # a file does not say so


def test_differences_from_the_best_baseline_and_their_tests(verdict: verax.Verdict) -> None:
    means = {name: ranking(verdict, name)["auprc"].mean() for name in BASELINES}
    best = ranking(verdict, max(means, key=lambda name: means[name]))["auprc"]
    names = ("attention", "gradient", "leave-one-out", "letters")
    tests = [paired(ranking(verdict, name)["auprc"], best, "permutation") for name in names]
    for name, test, p in zip(names, tests, holm([t.p for t in tests]), strict=True):
        found = verdict.number(f"plausibility.{name}.above_baseline")
        assert (found.value, found.low, found.high) == (test.difference, test.low, test.high)
        assert verdict.value(f"plausibility.{name}.p") == p
    rows = verdict.summary().query("table == 'plausibility'")
    assert list(dict.fromkeys(rows["row"])) == [*names, *BASELINES]
    for name in BASELINES:
        assert f"plausibility.{name}.p" not in set(rows["measure"])


def reviews(cells: list[Any], **options: Any) -> verax.Corpus:
    """Texts of four words with these rationales, the same in all splits."""
    texts = [f"one good film {number}" for number in range(len(cells))]
    labels = [str(number % 2) for number in range(len(cells))]
    table = pd.DataFrame({"text": texts, "label": labels, "rationale": cells})
    return verax.load_corpus(dict.fromkeys(SPLITS, table), **options)


@pytest.mark.slow
def test_what_is_left_out_is_counted_by_its_reason() -> None:
    cells = [[[4, 8]], None, [], [[0, 15]], [[4, 13]], [[0, 3]]]
    corpus = reviews(cells)
    model = verax.train(corpus, encoder="none", epochs=1, progress=False)
    verdict = verax.examine(model, corpus, "plausibility", rankings="attention")
    counts = verdict.summary("plausibility.documents")["value"]
    assert [counts[f"out: {reason}"] for reason in REASONS[1:]] == [1, 1, 1]
    assert (counts["documents"], counts["examined"]) == (6, 3)
    assert len(ranking(verdict, "attention")) == 3
    values = verdict.document_values()
    values = values[values["measure"] == "plausibility.attention.auprc"].set_index("id")
    assert values["reason"].tolist()[1:4] == [*REASONS[1:]]
    # a quarter, a half and a quarter of the words are marked, in train and validation alike
    assert counts["usual share of marked words, from other splits"] == pytest.approx(100 / 3)
    whole = verax.examine(model, corpus, "plausibility", "all", rankings="attention")
    assert "share_token_f1" not in set(whole.summary()["column"])
    none = reviews([None, *[[]] * 5])
    empty = verax.examine(model, none, "plausibility")
    assert empty.value("plausibility.documents.examined") == 0
    assert not len(empty.tables["plausibility"])


def test_annotators_agree_by_hand() -> None:
    """ "good" and "good film": F1 is 2/3. Nothing and "one": 0. Nothing twice has no F1."""
    cells = [[[[4, 8]], [[4, 13]]], [[], [[0, 3]]], [[], []], *[[[[4, 8]]]] * 3]
    corpus = reviews(cells)
    model = verax.train(corpus, encoder="none", epochs=1, progress=False)
    verdict = verax.examine(model, corpus, "plausibility", rankings="attention")
    number = verdict.number("plausibility.documents.annotator_f1")
    assert (number.value, number.n) == (pytest.approx(1 / 3), 2)
    assert verdict.value("plausibility.documents.annotators") == 1.25  # of those examined


def test_without_marks_it_does_not_apply(make_model: Make, planted: verax.Corpus) -> None:
    model = make_model()
    frames = {s: d.to_frame(planted.classes) for s, d in planted.splits.items()}
    bare = verax.load_corpus(
        {s: f.drop(columns="rationale") for s, f in frames.items()}, tokenizer="tokens"
    )
    with raises("exam.not-applicable", "plausibility"):
        verax.examine(model, bare, "plausibility")
    with pytest.warns(UserWarning, match="'plausibility' is left out: .*has none: name"):
        named = verax.examine(model, bare, ["replacement", "plausibility"])
    usual = verax.examine(model, bare, "replacement")
    assert named.manifest["exams"] == ["replacement"]
    assert any("needs people's marks" in line for line in named.judgement.caveats)
    pd.testing.assert_frame_equal(named.summary(), usual.summary())
    different = {"seconds", "without_rationales"}
    assert set(named.manifest) - set(usual.manifest) == different - {"seconds"}
    for name in set(usual.manifest) - different:
        assert named.manifest[name] == usual.manifest[name], name


def test_it_speaks_neither_for_nor_against(verdict: verax.Verdict) -> None:
    assert "plausibility" not in default_exams()
    (row,) = verdict.judgement.rows
    assert not row.counts
    assert "Plausible is not faithful." in row.sentence
    assert "not applicable: Plausibility" in str(verdict.judgement)
    for column in OF_DOCUMENTS:
        direction = direction_of(f"plausibility.attention.{column}")
        assert (direction.better, direction.note) == ("", "plausible is not faithful")
    assert direction_of("plausibility.attention.auprc").shown
    assert not direction_of("plausibility.frequency.auprc").shown
    exam = EXAMS["plausibility"]
    assert "Plausible is not faithful" in exam.explanation
    assert "ground truth" in exam.explanation


@pytest.mark.slow
def test_on_planted_marks_are_ground_truth(verdict: verax.Verdict, planted: verax.Corpus) -> None:
    """A model without an encoder that learnt the evidence attends it; the page says what it is."""
    assert verdict.value("plausibility.documents.cause") == len(planted.test)
    assert verdict.manifest["rationales"]["are_cause"] is True
    page = report_page(verdict)
    assert "whose marks are the known cause: ground truth" in page
    assert "plausible is not faithful" in page
    assert html.escape(GROUND_TRUTH) in page
    assert EXAMS["plausibility"].remark(ModelSummary("", verdict.summary().iloc[:0])) == PEOPLE


@pytest.mark.slow
def test_attention_that_learnt_the_evidence_finds_it() -> None:
    corpus = verax.load_corpus("planted", documents=240, vocabulary=50, lexicon=3)
    sizes: dict[str, Any] = {"epochs": 6, "lr": 5e-2, "batch_size": 16, "embedding_size": 8}
    model = verax.train(corpus, encoder="none", progress=False, **sizes)
    verdict = verax.examine(model, corpus, ["plausibility"], rankings="attention")
    assert verdict.value("plausibility.documents.accuracy") == 100
    assert verdict.value("plausibility.attention.auprc") > 0.99
    assert verdict.value("plausibility.attention.token_f1") > 0.99
    assert verdict.value("plausibility.attention.p") < 0.001


@pytest.mark.parametrize("hierarchical", [False, True])
def test_words_of_sentences_and_boundaries(
    hierarchical: bool, make_model: Make, planted: verax.Corpus
) -> None:
    """Marks lie under the right words, whatever the model reads around them."""
    assert marked_in(planted.test) is not None
    marks = [row.astype(float) for row in marked_in(planted.test)]
    for sizes in ({"encoder": "conv"}, {"encoder": "none", "boundaries": not hierarchical}):
        model = make_model(hierarchical=hierarchical, **sizes)
        how: dict[str, Any] = {"importances": {"marks": marks}, "max_tokens": 200}
        verdict = verax.examine(model, planted, "plausibility", rankings="attention", **how)
        assert verdict.value("plausibility.marks.auprc") == pytest.approx(1.0)


def test_results_depend_on_no_batch(make_model: Make, planted: verax.Corpus) -> None:
    model = make_model(encoder="none")
    small, large = (
        verax.examine(model, planted, "plausibility", sample=20, max_tokens=budget).tables
        for budget in (64, 16_384)
    )
    pd.testing.assert_frame_equal(small["plausibility"], large["plausibility"], rtol=1e-9)


def test_names_of_baselines_are_taken(make_model: Make, planted: verax.Corpus) -> None:
    with raises("importance.name-taken", "frequency"):
        verax.examine(make_model(), planted, "plausibility", importances={"frequency": by_letters})


def test_the_plan_and_the_charts(verdict: verax.Verdict, make_model: Make) -> None:
    (planned,) = plan(make_model(), ["plausibility"])
    assert planned.promise == "exact; chance is sampled"
    drawn = list(charts(Models({"m": verdict})))
    assert [chart.name for chart in drawn] == ["plausibility-auprc", "plausibility-f1"]
    assert "not faithful" in drawn[0].reading


def test_a_saved_verdict_is_summarised_again(verdict: verax.Verdict, tmp_path: Path) -> None:
    verdict.save(tmp_path / "verdict")
    again = verax.load_verdict(tmp_path / "verdict")
    summary = EXAMS["plausibility"].summarise(again.tables)
    pd.testing.assert_frame_equal(summary, verdict.summary(), check_dtype=False)
