"""Audits end to end on tiny models, and what their answers are made of."""

from __future__ import annotations

import json
import math
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from safetensors.torch import save_file

sys.path.insert(0, str(Path(__file__).parents[1] / "external"))

from support.errors import raises, refused
from support.tiny_bert import make_bert, make_tokenizer
from verax.audits.answers import Answers, answers_of, fewer
from verax.audits.audit import INJECTIONS, REVIEWS, SCALES, SENTENCES, Scale
from verax.audits.building import MARGIN, STRENGTHS, build_model
from verax.audits.contrasts import NOTICED, contrast, spans_by_score
from verax.audits.estimating import NO, OPEN, UNJUDGED, YES, Estimate, estimate
from verax.audits.examining import TABLES, Examined, examine_entry
from verax.audits.findings import findings_page, write_findings
from verax.audits.injections import INJECTED, SAFE, make_injections
from verax.audits.page import page, tell, write_page
from verax.audits.registry import ALL_MODELS, NAMES, audit, audits, entries_of, entry
from verax.audits.results import AuditResults
from verax.audits.running import keep
from verax.audits.texts import drawn, load_texts
from verax.audits.weights import PACKAGES
from verax.cli import main

PAGES = Path(__file__).parents[2] / "results" / "audits"


@pytest.fixture(scope="session")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("weights")
    for name, seed in (("minilm", 0), ("guard", 1)):
        bert = make_bert(seed, max_position_embeddings=160)
        bert.bert.save_pretrained(folder / name)
        make_tokenizer().save_pretrained(folder / name)
        record = {"sha256": f"{seed}" * 64}
        (folder / name / "source.json").write_text(json.dumps(record), encoding="utf-8")
    torch.manual_seed(3)
    shapes = {"0.weight": (4, 16), "0.bias": (4,), "3.weight": (2, 4), "3.bias": (2,)}
    head = {name: torch.randn(shape) for name, shape in shapes.items()}
    save_file(head, folder / "guard" / "head.safetensors")
    return folder


@pytest.fixture(scope="session")
def tiny() -> Scale:
    """A scale of seconds."""
    smoke = SCALES["smoke"]
    few = {SENTENCES: 5, REVIEWS: 4, INJECTIONS: 4}
    pieces = {SENTENCES: 16, REVIEWS: 16, INJECTIONS: 100}
    return replace(
        smoke,
        corpora={SENTENCES: "planted:documents=60,length=8", REVIEWS: "planted:documents=40"},
        sample=few,
        information=few,
        randomised=2,
        pieces=pieces,
        options={
            "adversary": {"search_steps": 2, "restarts": 1, "permutation_test": 2},
            "deletion": {"random_orders": 1, "steps": 3},
            "erasure": {"erased_steps": 3},
            "information": {"clusters": 4, "max_words": 6},
        },
    )


@pytest.fixture(scope="session")
def made(weights: Path, tiny: Scale) -> dict[str, Examined]:
    """Models of several audits, examined; two more are one of them under other names."""
    examined = {}
    for id in ("minilm-tuned-sentences", "guard", "bilstm"):
        one = examine_entry(entry(id), 0, tiny, device="cpu", weights=weights)
        one.facts["scale"] = "smoke"
        examined[f"{id}-0"] = one
    tuned = examined["minilm-tuned-sentences-0"]
    for id, seed in (("minilm-tuned-sentences", 1), ("minilm-tying-sentences", 0)):
        named = {"model": f"{id}-{seed}", "entry": id, "seed": seed}
        values = tuned.tables["values"].assign(value=lambda table: table["value"].clip(upper=0.9))
        tables = {**tuned.tables, "values": values}
        examined[f"{id}-{seed}"] = Examined(tables, {**tuned.facts, **named})
    return examined


@pytest.fixture(scope="session")
def folder(made: dict[str, Examined], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of their results as they are made."""
    place = tmp_path_factory.mktemp("audit")
    for id, examined in made.items():
        keep(examined, place, id)
    return place


@pytest.fixture(scope="session")
def results(folder: Path) -> AuditResults:
    return AuditResults.open(folder)


class TestInjections:
    def test_the_sentence_is_where_it_is_said_to_be(self) -> None:
        frame = make_injections(40)
        for row in frame.itertuples():
            sentence = row.text[row.start : row.stop]
            assert sentence.endswith(".")
            assert row.text.count(sentence) == 1

    def test_twins_differ_in_that_sentence_alone(self) -> None:
        for _, pair in make_injections(40).groupby("pair"):
            first, second = pair.itertuples()
            assert {first.label, second.label} == {SAFE, INJECTED}
            assert first.text[: first.start] == second.text[: second.start]
            assert first.text[first.stop :] == second.text[second.stop :]

    def test_more_texts_begin_with_the_same(self) -> None:
        assert make_injections(10).equals(make_injections(40).iloc[:10])


class TestEstimates:
    def test_reaches_as_far_as_both_intervals(self) -> None:
        random = np.random.default_rng(0)
        samples = [random.normal(size=50) + shift for shift in (0.0, 0.1, 0.5)]
        one = estimate(samples)
        assert one is not None
        means = [sample.mean() for sample in samples]
        half = 4.302653 * np.std(means, ddof=1) / math.sqrt(3)
        assert one.value == pytest.approx(np.mean(means))
        assert one.low <= np.mean(means) - half + 1e-6
        assert one.high >= np.mean(means) + half - 1e-6

    def test_nothing_has_no_estimate(self) -> None:
        assert estimate([[math.nan]]) is None

    @pytest.mark.parametrize(
        ("low", "high", "said"), [(1, 2, YES), (-2, -1, NO), (-1, 1, OPEN), (math.nan, 1, OPEN)]
    )
    def test_beyond(self, low: float, high: float, said: str) -> None:
        assert Estimate(0.0, low, high, 1, 9).beyond(0.0) == said


class TestResults:
    @pytest.mark.slow
    def test_packed_results_are_those_that_were_made(
        self, results: AuditResults, tmp_path: Path
    ) -> None:
        results.pack(tmp_path)
        again = AuditResults.open(tmp_path)
        assert again.facts == results.facts
        for name, table in results.tables.items():
            assert len(again.tables[name]) == len(table)
        model = results.models("minilm-tuned-sentences")[0]
        for measure in results.measures(model):
            np.testing.assert_equal(again.number(model, measure), results.number(model, measure))

    @pytest.mark.slow
    def test_packing_twice_gives_the_same_bytes(
        self, results: AuditResults, tmp_path: Path
    ) -> None:
        for name in ("one", "two"):
            results.pack(tmp_path / name)
        for file in sorted((tmp_path / "one").iterdir()):
            assert file.read_bytes() == (tmp_path / "two" / file.name).read_bytes()

    def test_no_text_is_kept(self, results: AuditResults) -> None:
        assert set(results.tables) <= set(TABLES)
        for table in results.tables.values():
            assert not {"text", "sentence"} & set(table.columns)

    def test_a_folder_without_results_is_refused(self, tmp_path: Path) -> None:
        with raises("result.missing"):
            AuditResults.open(tmp_path)


class TestAnswers:
    def test_every_question_has_an_answer(self, results: AuditResults) -> None:
        one = answers_of(results, entry("minilm-tuned-sentences"))
        assert isinstance(one, Answers)
        assert one.seeds == 2
        assert one.heads is not None
        assert one.heads.all == 6
        assert one.rollout is not None
        assert set(one.shown.values()) == {UNJUDGED}  # of few documents

    def test_fewer_than_random_is_the_difference_of_shares(self, results: AuditResults) -> None:
        model = results.models("minilm-tuned-sentences")[0]
        values = results.tables["values"]
        of = values[values["model"] == model].set_index(["measure", "id"])["value"]
        expected = 100 * (of["deletion.random.share"] - of["deletion.rollout.share"])
        seen = fewer(results, model, "rollout")
        assert seen is not None
        pd.testing.assert_series_equal(
            seen.sort_index(), expected.sort_index(), check_names=False, check_dtype=False
        )

    def test_uniform_survival_is_that_of_the_verdicts(self, results: AuditResults) -> None:
        one = answers_of(results, entry("guard"))
        number = results.number("guard-0", "replacement.uniform.survival")
        assert one is not None
        assert number is not None
        assert one.uniform is not None
        assert one.uniform.value == pytest.approx(number[0])

    def test_models_without_results_have_none(self, results: AuditResults) -> None:
        assert answers_of(results, entry("smollm2")) is None

    def test_contrast_of_a_kind_with_itself_is_nothing(self, results: AuditResults) -> None:
        one = contrast(results, "minilm-tuned-sentences", "minilm-tuned-sentences")
        assert one is not None
        assert one.differences[NOTICED].value == 0
        assert contrast(results, "scratch", "minilm-tuned-sentences") is None


class TestSpans:
    def test_a_score_of_the_sentence_itself_finds_it(self) -> None:
        rows = {"id": [0, 1], "place": ["first"] * 2, "score": ["x"] * 2}
        table = pd.DataFrame({**rows, "auprc": [1.0, 0.5], "top": [1.0, 0.0], "share": [0.2, 0.4]})
        assert spans_by_score(table)["x"]["auprc"].value == 0.75

    def test_of_the_guard(self, results: AuditResults) -> None:
        spans = results.tables.get("spans")
        if spans is None:  # a random head may flag no text
            return
        assert spans["auprc"].between(0, 1).all()
        assert (spans["share"] > 0).all()


class TestPages:
    @pytest.mark.slow
    @pytest.mark.parametrize("name", ["minilm", "guard", "bilstm"])
    def test_answers_stand_first(self, results: AuditResults, name: str, tmp_path: Path) -> None:
        path = write_page(audit(name), results, tmp_path)
        text = path.read_text(encoding="utf-8")
        head = text.split("\n## ")[0]
        assert "may be shown" in head
        assert "rollout" in head
        assert "trial" in head
        assert list((tmp_path / "charts").glob("*.svg"))
        again = AuditResults.open(tmp_path)
        assert page(tell(audit(name), again)) == page(tell(audit(name), results))

    @pytest.mark.slow
    def test_findings_have_pictures_and_refutations(
        self, results: AuditResults, tmp_path: Path
    ) -> None:
        text = write_findings(results, tmp_path / "audits.md").read_text(encoding="utf-8")
        answered = tell(audit(ALL_MODELS), results)
        assert text == findings_page(answered)
        assert text.count("What would refute it") >= 3
        for line in text.splitlines():
            if line.startswith("!["):
                assert (tmp_path / line.partition("(")[2].rstrip(")")).is_file()

    @pytest.mark.slow
    def test_kept_pages_are_those_of_their_results(self) -> None:
        """Pages under results/audits and docs/audits.md say what the packed results say."""
        kept = [name for name in NAMES if (PAGES / name / "README.md").is_file()]
        folders = [PAGES / name for name in kept if not audit(name).includes]
        for name in kept:
            one = audit(name)
            text = (PAGES / name / "README.md").read_text(encoding="utf-8")
            others = [PAGES / beside for beside, _ in one.beside if PAGES / beside in folders]
            results = AuditResults.open(*(folders if one.includes else [PAGES / name, *others]))
            shown = {
                line.partition("/")[2].removesuffix(".svg)"): line[2:].partition("]")[0]
                for line in text.splitlines()
                if line.startswith("![")
            }
            assert text == page(tell(one, results), shown)
        docs = PAGES.parents[1] / "docs" / "audits.md"
        assert docs.is_file() == bool(folders)
        if folders:
            results = AuditResults.open(*folders)
            assert docs.read_text(encoding="utf-8") == findings_page(
                tell(audit(ALL_MODELS), results)
            )


class TestBuilding:
    @pytest.mark.slow
    def test_the_strongest_grounding_that_keeps_accuracy(self, weights: Path, tiny: Scale) -> None:
        one = entry("minilm-tying-sentences")
        corpus = load_texts(one.texts, tiny)
        facts = build_model(one, 0, corpus, tiny, "cpu", weights).facts
        kept = [
            float(strength)
            for strength, accuracy in facts["strengths_tried"].items()
            if accuracy >= facts["ungrounded_accuracy"] - MARGIN
        ]
        assert facts["strength"] == max(kept, default=min(STRENGTHS["tying"]))
        assert facts["weights"]["sha256"] == "0" * 64

    @pytest.mark.slow
    def test_a_model_from_scratch_is_another_for_each_seed(
        self, weights: Path, tiny: Scale
    ) -> None:
        corpus = load_texts(SENTENCES, tiny)
        prints = {
            build_model(entry("scratch"), seed, corpus, tiny, "cpu", weights).model.fingerprint
            for seed in (0, 1)
        }
        assert len(prints) == 2

    def test_documents_drawn_again_are_the_same(self, tiny: Scale) -> None:
        corpus = load_texts(SENTENCES, tiny)
        once = drawn(corpus.train, 9)
        assert drawn(once, 9).texts == once.texts
        assert len(drawn(corpus.train, 9)) == 9


class TestRegistry:
    def test_ids_are_unique_and_known(self) -> None:
        ids = [one.id for a in audits() for one in a.entries]
        assert len(ids) == len(set(ids))
        for one in audits():
            for pair in one.contrasts:
                assert set(pair) <= set(ids)
        assert [e.id for e in entries_of(audit(ALL_MODELS))] == ids


class TestCommand:
    def test_lists(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["audit", "list"]) == 0
        listed = capsys.readouterr().out
        assert all(name in listed for name in NAMES)

    def test_missing_packages_are_named(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        monkeypatch.setattr("verax.audits.weights.find_spec", lambda name: None)
        out = ["--out", str(tmp_path / "out"), "--device", "cpu"]
        refused(["audit", "guard", *out], "package.missing", PACKAGES["guard"].requirement, "onnx")
        assert capsys.readouterr().err.count("\n") == 1

    def test_unknown_audits_are_refused(self) -> None:
        refused(["audit", "gaurd"], "option.unknown-value", "gaurd", "guard")

    @pytest.mark.slow
    def test_page_from_results(self, folder: Path, tmp_path: Path) -> None:
        out = tmp_path / "guard"
        assert main(["audit", "guard", "--from-results", str(folder), "--out", str(out)]) == 0
        assert (out / "README.md").is_file()
