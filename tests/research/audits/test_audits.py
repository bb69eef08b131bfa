"""Audits: from tiny models to pages, and what the answers are made of."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from safetensors.torch import save_file

from research.__main__ import main
from research.audits.answers import (
    FACTS,
    NO,
    NOTICED,
    OPEN,
    TABLES,
    UNJUDGED,
    YES,
    Answers,
    AuditResults,
    Estimate,
    answers_of,
    contrast,
    estimate,
    fewer,
    spans_by_score,
)
from research.audits.models import (
    ALL_MODELS,
    AUDITS,
    ENTRIES,
    INJECTED,
    INJECTIONS,
    MARGIN,
    PACKAGES,
    REVIEWS,
    SAFE,
    SCALES,
    SENTENCES,
    STRENGTHS,
    WEIGHTS_FOLDER,
    Scale,
    build_model,
)
from research.audits.report import findings_page, page, report_on, write_findings, write_page
from research.audits.run import configurations, examine_model, run_audit
from research.audits.texts import drawn, load_texts, make_injections
from support.errors import raises
from support.tiny_bert import make_bert, make_tokenizer

ROOT = Path(__file__).parents[3]
PAGES = ROOT / "results" / "audits"
TINY = "tiny"


@pytest.fixture(scope="session")
def environment() -> Iterator[pytest.MonkeyPatch]:
    with pytest.MonkeyPatch.context() as patch:
        yield patch


@pytest.fixture(scope="session", autouse=True)
def weights(tmp_path_factory: pytest.TempPathFactory, environment: pytest.MonkeyPatch) -> None:
    """Tiny models in the place of those of packages."""
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
    environment.setenv(WEIGHTS_FOLDER, str(folder))


@pytest.fixture(scope="session", autouse=True)
def tiny(environment: pytest.MonkeyPatch) -> Scale:
    """A scale of seconds."""
    smoke = SCALES["smoke"]
    few = {SENTENCES: 5, REVIEWS: 4, INJECTIONS: 4}
    pieces = {SENTENCES: 16, REVIEWS: 16, INJECTIONS: 100}
    scale = replace(
        smoke,
        corpora={SENTENCES: "planted:documents=60,length=8", REVIEWS: "planted:documents=40"},
        sample=few,
        seeds=(0,),
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
    environment.setitem(SCALES, TINY, scale)
    return scale


@pytest.fixture(scope="session")
def grids(tmp_path_factory: pytest.TempPathFactory, tiny: Scale) -> Path:
    """The grids of two audits, some models each."""
    folder = tmp_path_factory.mktemp("grids")
    for name, model in (("guard", "guard-0"), ("bilstm", "bilstm-0")):
        run_audit(AUDITS[name], TINY, folder / name, models=[model], engine="here", device="cpu")
    return folder


@pytest.fixture(scope="session")
def results(grids: Path) -> AuditResults:
    """Models of several audits; two more are one of them under other names."""
    import verax

    opened = [AuditResults.from_grid(verax.open_grid(folder)) for folder in sorted(grids.iterdir())]
    tuned = examine_model(configurations(AUDITS["minilm"], TINY)["minilm-tuned-sentences-0"], "cpu")
    named = {("minilm-tuned-sentences", 0): 1.0}
    named |= {("minilm-tuned-sentences", 1): 0.9, ("minilm-tying-sentences", 0): 0.9}
    facts: dict[str, Any] = {name: one for result in opened for name, one in result.facts.items()}
    parts = {name: [r.tables[name] for r in opened if name in r.tables] for name in TABLES}
    for (entry, seed), most in named.items():
        model = f"{entry}-{seed}"
        facts[model] = {**tuned["facts"], "model": model, "entry": entry, "seed": seed}
        for name in TABLES:
            if name in tuned:
                table = tuned[name].assign(model=model)
                if name == "values":
                    table = table.assign(value=table["value"].clip(upper=most))
                parts[name].append(table)
    tables = {name: pd.concat(some, ignore_index=True) for name, some in parts.items() if some}
    return AuditResults(json.loads(json.dumps(facts)), tables)


@pytest.fixture(scope="session")
def folder(results: AuditResults, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of these results."""
    folder = tmp_path_factory.mktemp("audit")
    results.write(folder)
    return folder


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
    def test_results_are_written_as_they_are(self, results: AuditResults, tmp_path: Path) -> None:
        results.write(tmp_path)
        again = AuditResults.open(tmp_path)
        assert again.facts == results.facts
        for name, table in results.tables.items():
            assert len(again.tables[name]) == len(table)
        model = results.models("minilm-tuned-sentences")[0]
        for measure in results.measures(model):
            np.testing.assert_equal(again.number(model, measure), results.number(model, measure))

    @pytest.mark.slow
    def test_writing_twice_gives_the_same_bytes(
        self, results: AuditResults, tmp_path: Path
    ) -> None:
        for name in ("one", "two"):
            results.write(tmp_path / name)
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
        one = answers_of(results, ENTRIES["minilm-tuned-sentences"])
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
        one = answers_of(results, ENTRIES["guard"])
        number = results.number("guard-0", "replacement.uniform.survival")
        assert one is not None
        assert number is not None
        assert one.uniform is not None
        assert one.uniform.value == pytest.approx(number[0])

    def test_models_without_results_have_none(self, results: AuditResults) -> None:
        assert answers_of(results, ENTRIES["smollm2"]) is None

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
        path = write_page(AUDITS[name], results, tmp_path)
        text = path.read_text(encoding="utf-8")
        head = text.split("\n## ")[0]
        assert "may be shown" in head
        assert "rollout" in head
        assert "trial" in head
        assert list((tmp_path / "charts").glob("*.svg"))
        again = AuditResults.open(tmp_path)
        assert page(report_on(AUDITS[name], again)) == page(report_on(AUDITS[name], results))

    @pytest.mark.slow
    def test_findings_have_pictures_and_refutations(
        self, results: AuditResults, tmp_path: Path
    ) -> None:
        text = write_findings(results, tmp_path / "audits.md").read_text(encoding="utf-8")
        assert text == findings_page(report_on(AUDITS[ALL_MODELS], results))
        assert text.count("What would refute it") >= 3
        for line in text.splitlines():
            if line.startswith("!["):
                assert (tmp_path / line.partition("(")[2].rstrip(")")).is_file()

    @pytest.mark.slow
    def test_kept_pages_are_those_of_their_results(self) -> None:
        """Pages under results/audits and docs/audits.md say what the packed results say."""
        folders = [PAGES / name for name in AUDITS[ALL_MODELS].includes]
        for name, audit in AUDITS.items():
            text = (PAGES / name / "README.md").read_text(encoding="utf-8")
            others = folders if audit.includes or audit.beside else ()
            report = report_on(
                audit, AuditResults.open(*([] if audit.includes else [PAGES / name]), *others)
            )
            charts = {
                line.partition("/")[2].removesuffix(".svg)"): line[2:].partition("]")[0]
                for line in text.splitlines()
                if line.startswith("![")
            }
            assert text == page(report, charts)
            if audit.includes:
                docs = (ROOT / "docs" / "audits.md").read_text(encoding="utf-8")
                assert docs == findings_page(report)


class TestModels:
    @pytest.mark.slow
    def test_the_strongest_grounding_that_keeps_accuracy(self, tiny: Scale) -> None:
        one = ENTRIES["minilm-tying-sentences"]
        _, facts = build_model(one, 0, load_texts(one.texts, tiny), tiny, "cpu")
        kept = [
            float(strength)
            for strength, accuracy in facts["strengths_tried"].items()
            if accuracy >= facts["ungrounded_accuracy"] - MARGIN
        ]
        assert facts["strength"] == max(kept, default=min(STRENGTHS["tying"]))
        assert facts["weights"]["sha256"] == "0" * 64

    @pytest.mark.slow
    def test_a_model_from_scratch_is_another_for_each_seed(self, tiny: Scale) -> None:
        corpus = load_texts(SENTENCES, tiny)
        models = [build_model(ENTRIES["scratch"], seed, corpus, tiny, "cpu")[0] for seed in (0, 1)]
        assert models[0].fingerprint != models[1].fingerprint

    def test_documents_drawn_again_are_the_same(self, tiny: Scale) -> None:
        corpus = load_texts(SENTENCES, tiny)
        once = drawn(corpus.train, 9)
        assert drawn(once, 9).texts == once.texts
        assert len(drawn(corpus.train, 9)) == 9

    def test_texts_of_the_guard_are_those_of_the_stored_results(self) -> None:
        facts = json.loads((PAGES / "guard" / FACTS).read_text(encoding="utf-8"))["guard-0"]
        corpus = load_texts(INJECTIONS, SCALES["full"])
        assert corpus.fingerprint == facts["texts_fingerprint"]
        assert {name: len(part) for name, part in corpus.splits.items()} == facts["split_sizes"]

    def test_every_stored_model_has_a_configuration(self) -> None:
        for name, audit in AUDITS.items():
            if not audit.includes:
                facts = json.loads((PAGES / name / FACTS).read_text(encoding="utf-8"))
                assert set(facts) == set(configurations(audit, "full"))

    def test_ids_are_unique_and_known(self) -> None:
        ids = [one.id for audit in AUDITS.values() for one in audit.entries]
        assert len(ids) == len(set(ids))
        assert {id for audit in AUDITS.values() for pair in audit.contrasts for id in pair} <= {
            *ids
        }
        assert [entry.id for entry in AUDITS[ALL_MODELS].shown] == ids


class TestRun:
    @pytest.mark.slow
    def test_a_finished_audit_is_not_run_again(
        self, grids: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("research.audits.run.build_model", None)
        again = run_audit(AUDITS["guard"], TINY, grids / "guard", engine="here", device="cpu")
        assert len(again.done) == 1

    def test_missing_packages_are_named(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.delenv(WEIGHTS_FOLDER)
        monkeypatch.setattr("research.audits.models.find_spec", lambda name: None)
        with raises("package.missing"):
            run_audit(AUDITS["guard"], TINY, tmp_path / "run")
        assert main(["audit", "guard", "--out", str(tmp_path)]) == 2
        said = capsys.readouterr().err
        assert PACKAGES["guard"].requirement in said
        assert said.count("\n") == 1

    def test_failures_are_reported(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("research.audits.run.build_model", None)
        how: dict[str, Any] = {"engine": "here", "device": "cpu"}
        with raises("result.unfinished"):
            run_audit(AUDITS["guard"], TINY, tmp_path, **how)
        with raises("option.unknown-value"):
            run_audit(AUDITS["guard"], TINY, tmp_path, models=["guard-9"], **how)

    @pytest.mark.slow
    def test_page_from_results(self, folder: Path, tmp_path: Path) -> None:
        out = tmp_path / "guard"
        assert main(["audit", "guard", "--from-results", str(folder), "--out", str(out)]) == 0
        assert (out / "README.md").is_file()
