"""Models side by side: differences by hand and by SciPy, of verdicts made up and of models."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from made_up import verdict_of
from scipy import stats
from sklearn.metrics import f1_score

import verax
from support.errors import raises
from support.internals import direction_of
from verax.exams.agreement.judging import ATTENTION_ITSELF, SAME, ZEROS
from verax.exams.authoring import Pair, wide
from verax.exams.erasure.judging import FEWER
from verax.exams.replacement.summary import replacements
from verax.statistics import holm
from verax.studies.comparison.differences import OTHER_ITEMS, judge

TAU = "agreement.inputs:attention:gradient.tau"
TINY: dict[str, Any] = {
    "embedding_size": 8,
    "hidden_size": 8,
    "epochs": 4,
    "lr": 0.05,
    "device": "cpu",
}
FEW: dict[str, Any] = {
    "inputs": "gradient",
    "items": "gradient,gradient-detached",
    "entropy_of": "gradient",
    "influence": "none",
    "clusters": 20,
    "max_words": 30,
}
SIGNED = ["difference", "low", "high"]


def row(table: pd.DataFrame, measure: str, group: str | None = None) -> pd.Series:
    own = table[table["measure"] == measure]
    own = own if group is None else own[own["group"] == group]
    assert len(own) == 1
    return own.iloc[0]


# -- statistics, by hand and by SciPy, of verdicts made up


def test_documents_that_both_have_are_paired() -> None:
    """Of four documents each lacks another: values are of a model's own three, pairs are two."""
    nan = math.nan
    found = verax.compare(
        {
            "plain": verdict_of([0.5] * 4, [0.1, 0.2, 0.3, nan], correct=[1, 1, 0, 0]),
            "other": verdict_of([0.5] * 4, [0.4, nan, 0.5, 0.9], correct=[1, 0, 1, 1]),
        }
    )
    assert (found.groups, found.reference) == (["plain", "other"], "plain")
    table = found.table()
    agreement = row(table, TAU)
    assert agreement[["reference_value", "value"]].tolist() == pytest.approx([0.2, 0.6])
    assert agreement["difference"] == pytest.approx((0.3 + 0.2) / 2)
    ends = stats.ttest_rel([0.4, 0.5], [0.1, 0.3]).confidence_interval(0.95)
    assert agreement[["low", "high"]].tolist() == pytest.approx([ends.low, ends.high])
    assert agreement["p"] == pytest.approx(stats.ttest_rel([0.4, 0.5], [0.1, 0.3]).pvalue)
    assert agreement[["n_reference", "n", "pairs"]].tolist() == [3, 3, 2]
    assert agreement[["group", "reference", "over"]].tolist() == ["other", "plain", "documents"]
    assert agreement[["exam", "unit", "better"]].tolist() == ["agreement", "number", "higher"]
    accuracy = row(table, "decisions.accuracy")  # in percent, as in a verdict's summary
    assert accuracy[["reference_value", "value", "difference"]].tolist() == [50, 75, 25]
    missing = found.excluded().set_index(["group", "measure"])
    assert missing.loc[("plain", TAU), ["reason", "documents"]].tolist() == ["second constant", 1]
    own = found.values().set_index(["group", "measure"])
    assert own.loc[("other", TAU), ["n", "excluded"]].tolist() == [3, 1]
    assert own.loc[("other", "decisions.accuracy"), ["value", "unit"]].tolist() == [75, "percent"]


def test_print_has_the_answer_and_a_line_a_measure() -> None:
    found = verax.compare(
        {
            "plain": verdict_of([0.5] * 4, [0.1, 0.2, 0.3, 0.2], correct=[1, 1, 0, 0]),
            "other": verdict_of([0.5] * 4, [0.7, 0.8, 0.95, 0.8], correct=[1, 0, 1, 1]),
        }
    )
    first, *lines, last = str(found).splitlines()
    assert first == "other against plain: 1 better, 0 worse, 1 unclear"
    shown = {line.split("  ")[1]: line.split() for line in lines}
    assert shown["Decisions, accuracy"][2:] == ["50.0%", "→", "75.0%", "+25.0", "(−127.3", "to",
        "+177.3)", "unclear"]  # fmt: skip
    assert len(lines) == found.table()["shown"].sum()
    assert "95% interval" in last
    assert repr(found) == f"Comparison(plain, other: {found.table()['measure'].nunique()} measures)"


def test_seeds_on_both_sides_are_welchs() -> None:
    a = [[0.1, 0.2], [0.2, 0.5], [0.4, 0.4]]
    b = [[0.7, 0.6], [0.9, 0.9]]
    found = verax.compare(
        {
            "a": [verdict_of([0.5, 0.5], taus) for taus in a],
            "b": [verdict_of([0.5, 0.5], taus) for taus in b],
        }
    )
    means = [np.mean(b, axis=1), np.mean(a, axis=1)]
    expected = stats.ttest_ind(*means, equal_var=False)
    ends = expected.confidence_interval(0.95)
    own = row(found.table(), TAU)
    assert own["difference"] == pytest.approx(means[0].mean() - means[1].mean())
    assert own["difference"] == pytest.approx(own["value"] - own["reference_value"])
    assert own[["low", "high", "p"]].tolist() == pytest.approx([*ends, expected.pvalue])
    assert own[["over", "n_reference", "n", "pairs"]].tolist() == ["seeds", 3, 2, 0]
    same = row(found.table(), "dispersion.entropy.gradient.mean")
    assert same["p"] == 1
    assert math.isnan(same["low"])
    assert same["note"].startswith("both the same with every seed")


def test_one_seed_against_several_is_over_documents() -> None:
    """A document's value is its mean over the seeds that have one."""
    nan = math.nan
    found = verax.compare(
        {
            "one": verdict_of([0.5] * 3, [0.1, 0.2, 0.3]),
            "two": [verdict_of([0.5] * 3, t) for t in ([0.2, 0.4, nan], [0.4, nan, nan])],
        }
    )
    own = row(found.table(), TAU)
    assert own["difference"] == pytest.approx(((0.3 - 0.1) + (0.4 - 0.2)) / 2)
    assert own["value"] == pytest.approx((0.3 + 0.4) / 2)  # of seeds, each alike
    assert own[["over", "n_reference", "n", "pairs"]].tolist() == ["documents", 3, 2, 2]


def test_holm_is_over_what_is_judged_between_two_groups() -> None:
    random = np.random.default_rng(0)

    def made(shift: float) -> verax.Verdict:
        taus = np.clip(random.normal(0.2 + shift, 0.1, 40), -1, 1)
        return verdict_of(
            list(random.random(40)), list(taus), correct=list(random.integers(0, 2, 40))
        )

    table = verax.compare({"a": made(0), "b": made(0.5), "c": made(0)}).table()
    for group in ("b", "c"):
        own = table[table["group"] == group]
        judged = own[own["better"] != ""]
        assert judged["holm"].tolist() == pytest.approx(holm(judged["p"]).tolist())
        assert own.loc[own["better"] == "", "holm"].isna().all()
        assert (own.loc[own["better"] == "", "judged"] == "").all()
    assert row(table, TAU, "b")["judged"] == "better"
    assert row(table, "decisions.accuracy", "b")["judged"] == "unclear"


def test_which_way_is_better() -> None:
    for measure, better in {
        "decisions.accuracy": "higher",
        "decisions.macro_f1": "higher",
        "erasure.fraction.attention.mean": "lower",
        "erasure.fraction.optimum.mean": "",
        "erasure.excess.attention.mean": "lower",
        "erasure.excess.attention.optimal": "",
        "erasure.excess.attention.optimal_in_part": "higher",
        "erasure.delta_js.attention.mean": "higher",
        "decisions.f1": "higher",
        "replacement.permuted.survival": "lower",
        "replacement.uniform.tvd": "higher",
        "replacement.uniform.delta_f1": "lower",
        "single_token.correct.mean_probability": "lower",
        "single_token.correct.agreeing": "lower",
        "single_token.correct.pooled_probability": "lower",
        "single_token.correct.confidence": "",
        "information.sampled.information": "",
        "information.sampled.retained": "higher",
        "dispersion.entropy.attention.mean": "",
        "dispersion.documents.support_share": "",
        "agreement.items:attention:leave-one-out.tau": "higher",
        "agreement.items:gradient:leave-one-out.tau": "",
        "agreement.inputs:attention:gradient-detached.tau": "higher",
    }.items():
        assert direction_of(measure).better == better, measure


@pytest.mark.parametrize(("better", "said"), [("higher", "better"), ("lower", "worse"), ("", "")])
def test_judged_below_five_percent_after_correction(better: str, said: str) -> None:
    unclear = "unclear" if better else ""
    assert judge(1.0, 0.049, better) == said
    assert judge(1.0, 0.051, better) == judge(1.0, math.nan, better) == unclear


def test_what_sparse_attention_need_not_erase_is_not_judged() -> None:
    for measure in ("fraction", "excess"):
        name = f"erasure.{measure}.attention.mean"
        assert (
            direction_of(name, Pair(dense=False)).better,
            direction_of(name, Pair(dense=False)).note,
        ) == ("", FEWER)
    optimal = direction_of("erasure.excess.attention.optimal_in_part", Pair(dense=False))
    assert optimal.better == "higher"


def test_what_holds_by_arithmetic_is_not_judged() -> None:
    detached = "agreement.items:attention:gradient-detached.tau"
    assert (direction_of(detached).better, direction_of(detached).note) == ("", ATTENTION_ITSELF)
    inputs = "agreement.inputs:attention:gradient-detached.tau"
    assert direction_of(inputs, Pair(encoders=["none", "conv"])).note == ATTENTION_ITSELF
    items, support = (
        f"{table}.items:attention:gradient.tau" for table in ("agreement", "agreement.on_support")
    )
    assert (direction_of(items).better, direction_of(support).note) == ("higher", SAME)
    assert (
        direction_of(items, Pair(dense=False)).note,
        direction_of(items, Pair(dense=False)).better,
    ) == (ZEROS, "")
    assert direction_of(support, Pair(dense=False)).better == "higher"
    assert (
        direction_of(TAU, Pair(dense=False)).better == "higher"
    )  # of words, which zeros do not decide
    # an mlp turns what reaches a word, each in its own way, but lets nothing through to another
    assert direction_of(inputs, Pair(encoders=["mlp"])).better == "higher"
    assert direction_of(TAU, Pair(dense=False, encoders=["mlp"])).note == ZEROS


# -- models


@pytest.fixture(scope="module")
def corpus() -> verax.Corpus:
    return verax.load_corpus("planted", documents=180, length=12, sentences=2, label_noise=0.2)


@pytest.fixture(scope="module")
def models(corpus: verax.Corpus) -> dict[str, list[verax.AttentionClassifier]]:
    return {
        grounding: [
            verax.train(corpus, encoder="conv", grounding=grounding, seed=seed, **TINY)
            for seed in (0, 1)
        ]
        for grounding in ("none", "residual")
    }


@pytest.fixture(scope="module")
def verdicts(
    corpus: verax.Corpus, models: dict[str, list[verax.AttentionClassifier]]
) -> dict[str, verax.Verdict]:
    """Of each pair's first seed, every exam."""
    return {name: verax.examine(seeds[0], corpus, **FEW) for name, seeds in models.items()}


@pytest.fixture(scope="module")
def compared(
    corpus: verax.Corpus, models: dict[str, list[verax.AttentionClassifier]]
) -> verax.Comparison:
    """The pair itself, examined by `compare`."""
    return verax.compare({name: seeds[0] for name, seeds in models.items()}, corpus, **FEW)


@pytest.mark.slow
def test_differences_are_those_of_the_tables(
    compared: verax.Comparison, verdicts: dict[str, verax.Verdict]
) -> None:
    a, b = verdicts.values()
    table = compared.table()

    def column(verdict: verax.Verdict, name: str, measure: str, **labels: Any) -> pd.Series:
        own = verdict.tables[name]
        for label, value in labels.items():
            own = own[own[label] == value]
        return wide(own.drop(columns=[*labels]))[measure]

    many = {"ranking": "attention", "draw": 0}
    expected = {
        "erasure.excess.attention.mean": ("erasure_many", "excess", many, 1),
        "erasure.fraction.attention.mean": ("erasure_many", "fraction", many, 1),
        "replacement.uniform.survival": ("replacement", "survived", {"attention": "uniform"}, 100),
        "replacement.uniform.tvd": ("replacement", "tvd", {"attention": "uniform"}, 1),
        "decisions.accuracy": ("erasure_instances", "correct", {}, 100),
        "dispersion.entropy.gradient.mean": ("dispersion", "entropy", {"of": "gradient"}, 1),
    }
    for measure, (name, own, labels, scale) in expected.items():
        labels = {**labels, "draw": 0} if name == "replacement" else labels
        left, right = (scale * column(v, name, own, **labels) for v in (a, b))
        there = left.notna() & right.notna()
        result = stats.ttest_rel(right[there], left[there])
        ends = result.confidence_interval(0.95)
        line = row(table, measure)
        assert line["difference"] == pytest.approx((right - left)[there].mean()), measure
        assert line[["low", "high"]].tolist() == pytest.approx([*ends]), measure
        assert line["p"] == pytest.approx(result.pvalue), measure
        assert line["reference_value"] == pytest.approx(left.mean())
    summaries = [v.value("erasure.excess.attention.optimal") for v in (a, b)]
    assert row(table, "erasure.excess.attention.optimal")[
        ["reference_value", "value"]
    ].tolist() == pytest.approx(summaries)


def test_f1_and_other_ratios_are_their_estimates(
    corpus: verax.Corpus,
    models: dict[str, list[verax.AttentionClassifier]],
    compared: verax.Comparison,
    verdicts: dict[str, verax.Verdict],
) -> None:
    table = compared.table()
    a, b = verdicts.values()
    scores = [replacements(verdict.tables) for verdict in (a, b)]
    labels = corpus.test.labels
    f1 = []
    for model, _ in models.values():
        said = [model.classes.index(x) for x in model.predict(corpus.test.texts)["label"]]
        f1.append(100 * f1_score(labels, said))
    line = row(table, "decisions.f1")
    assert line[["reference_value", "value"]].tolist() == pytest.approx(f1)
    difference = scores[1]["trained"].score - scores[0]["trained"].score
    assert line[SIGNED].tolist() == pytest.approx([100 * x for x in difference.interval])
    fall = [s["uniform"].score - s["trained"].score for s in scores]
    line = row(table, "replacement.uniform.delta_f1")
    assert line[SIGNED].tolist() == pytest.approx([100 * x for x in (fall[1] - fall[0]).interval])
    assert line["unit"] == "points"
    pooled = [v.value("single_token.correct.pooled_probability") for v in (a, b)]
    line = row(table, "single_token.correct.pooled_probability")
    assert line[["reference_value", "value"]].tolist() == pytest.approx(pooled)
    assert line["difference"] == pytest.approx(pooled[1] - pooled[0])
    kept = [v.value("information.frequent.retained") for v in (a, b)]
    line = row(table, "information.frequent.retained")
    assert line[["reference_value", "value", "difference"]].tolist() == pytest.approx(
        [*kept, kept[1] - kept[0]]
    )
    assert math.isnan(line["low"])
    assert line[["over", "judged"]].tolist() == ["", "unclear"]
    assert line["note"] == "an interval needs two seeds or more of each"


def test_information_over_seeds_has_an_interval(
    corpus: verax.Corpus, models: dict[str, list[verax.AttentionClassifier]]
) -> None:
    found = verax.compare(models, corpus, "information", clusters=20, max_words=30)
    own = found.values().query("measure == 'information.frequent.retained'")
    a, b = (own.loc[own["group"] == name, "value"] for name in models)
    ends = stats.ttest_ind(b, a, equal_var=False).confidence_interval(0.95)
    line = row(found.table(), "information.frequent.retained")
    assert line[["low", "high"]].tolist() == pytest.approx([*ends])
    assert line["over"] == "seeds"
    assert own["seed"].tolist() == [0, 1, 0, 1]
    assert found.instances.empty


@pytest.mark.slow
def test_a_model_against_itself_differs_in_nothing(
    corpus: verax.Corpus,
    models: dict[str, list[verax.AttentionClassifier]],
    verdicts: dict[str, verax.Verdict],
) -> None:
    first, second = models["none"]
    seeds = [verdicts["none"], verax.examine(second, corpus, **FEW)]
    for one, other in ((verdicts["none"], first), (seeds, seeds)):
        table = verax.compare({"a": one, "b": other}, corpus, **FEW).table()
        assert (table["difference"].dropna() == 0).all()
        assert set(table["judged"]) <= {"unclear", ""}
        assert (table["p"].dropna() == 1).all()


@pytest.mark.slow
def test_the_other_way_round_flips_signs_and_verdicts(
    compared: verax.Comparison, verdicts: dict[str, verax.Verdict]
) -> None:
    there = compared.table()
    back = verax.compare({n: verdicts[n] for n in ("residual", "none")}, **FEW).table()
    assert back["measure"].tolist() == there["measure"].tolist()
    assert back["difference"].tolist() == pytest.approx(
        (-there["difference"]).tolist(), nan_ok=True
    )
    assert back["low"].tolist() == pytest.approx((-there["high"]).tolist(), nan_ok=True)
    other = {"better": "worse", "worse": "better"}
    assert back["judged"].tolist() == [other.get(one, one) for one in there["judged"]]
    # two models this small differ in nothing after Holm's correction
    one, another = (
        [judge(row.difference, row.p, row.better) for row in table.itertuples()]
        for table in (there, back)
    )
    assert another == [other.get(said, said) for said in one]
    assert {"better", "worse"} & set(another)
    assert back["value"].tolist() == pytest.approx(there["reference_value"].tolist(), nan_ok=True)


@pytest.mark.slow
def test_folders_and_verdicts_are_as_good_as_models(
    models: dict[str, list[verax.AttentionClassifier]],
    compared: verax.Comparison,
    verdicts: dict[str, verax.Verdict],
    tmp_path: Path,
) -> None:
    expected = compared.table()
    for name, seeds in models.items():
        seeds[0].save(tmp_path / name)
    verdicts["none"].save(tmp_path / "none-verdict")
    seen = []
    for given in (
        [tmp_path / "none", str(tmp_path / "residual")],
        [tmp_path / "none-verdict", tmp_path / "residual"],
        [tmp_path / "none-verdict", verdicts["residual"]],
    ):
        found = verax.compare(
            given, done=lambda group, model, verdict: seen.append(group), device="cpu", **FEW
        )
        assert found.groups == ["grounding=none", "grounding=residual"]
        columns = [c for c in expected if c not in ("group", "reference")]
        pd.testing.assert_frame_equal(found.table()[columns], expected[columns])
    assert seen == found.groups * 3


@pytest.mark.slow
def test_other_vocabularies_and_sentences_can_be_compared(corpus: verax.Corpus) -> None:
    given = {
        "flat": verax.train(corpus, encoder="none", **TINY),
        "rare words": verax.train(corpus, encoder="none", min_df=3, **TINY),
        "sentences": verax.train(corpus, encoder="conv", hierarchical=True, **TINY),
        "sparse": verax.train(corpus, encoder="conv", projection="sparsemax", **TINY),
    }
    assert len(given["flat"].vocabulary) != len(given["rare words"].vocabulary)
    found = verax.compare(given, corpus, **FEW)
    table = found.table()
    attended = [models[0]["attended"] for models in found.manifest["groups"].values()]
    assert attended == ["words", "words", "sentences", "words"]
    assert row(table, "decisions.accuracy", "sentences")["pairs"] == len(corpus.test)
    assert row(table, "erasure.excess.attention.mean", "sentences")["note"] == OTHER_ITEMS
    own = table[table["group"] == "sentences"]
    assert set(own.loc[own["better"] != "", "exam"]) == {"decisions", "replacement", "information"}
    for group, note, on_support in (("rare words", "", SAME), ("sparse", ZEROS, "")):
        assert row(table, "agreement.items:attention:gradient.tau", group)["note"] == note
        line = row(table, "agreement.on_support.items:attention:gradient.tau", group)
        assert line["note"] == on_support
    # words are the items of a model without encoder: these two are attention itself
    model = {name: given[name] for name in ("flat", "rare words")}
    few = {"items": "gradient-detached", "inputs": "gradient-detached"}
    table = verax.compare(model, corpus, "agreement", **few).table()
    for on in ("items", "inputs"):
        line = row(table, f"agreement.{on}:attention:gradient-detached.tau")
        assert line[["reference_value", "value"]].tolist() == pytest.approx([1, 1])
        assert line[["judged", "note"]].tolist() == ["", ATTENTION_ITSELF]


# -- on the disk


@pytest.mark.slow
def test_a_comparison_is_written_as_a_whole(tmp_path: Path) -> None:
    nan = math.nan
    found = verax.compare(
        {"a": verdict_of([0.5, nan], [0.1, 0.2]), "b": verdict_of([0.4, 0.3], [0.4, 0.1])}
    )
    out = tmp_path / "deep" / "comparison"
    found.save(out)
    curves = pd.DataFrame({"p": [0.5]})
    found.save(out, curves, overwrite=True)  # over its own earlier result
    found.save(out, overwrite=True)
    names = ["excluded.parquet", "instances.parquet", "manifest.json", "table.parquet"]
    assert sorted(p.name for p in out.iterdir()) == [*names, "values.parquet"]
    for name in ("table", "values", "excluded"):
        kept = pd.read_parquet(out / f"{name}.parquet")
        pd.testing.assert_frame_equal(kept, getattr(found, name)(), check_dtype=False)
    manifest = json.loads((out / "manifest.json").read_text())
    sums = manifest.pop("files")
    assert sorted(sums) == sorted(path.name for path in out.glob("*.parquet"))
    assert manifest == {"kind": "comparison", **found.manifest}
    assert list(manifest["groups"]) == ["a", "b"]
    assert manifest["exams"] == ["agreement", "dispersion"]
    assert pd.read_parquet(out / "excluded.parquet")["reason"].tolist() == ["all zero"] * 2
    (out / "letter.txt").write_text("dear")
    with raises("output.occupied"):
        found.save(out)
    assert (out / "letter.txt").read_text() == "dear"
