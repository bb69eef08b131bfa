"""The dispersion exam: by hand where a model is looked up, against SciPy where it is not."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from summaries import numbers

import verax
from support.documents import corpus_of, counts_of, per_document
from support.errors import raises
from support.internals import DISPERSION_REASONS as REASONS
from support.internals import DispersionExam, DispersionOptions, spread
from support.models import look_up_model
from verax.exams.authoring import wide
from verax.importance import influence, score
from verax.models import AttentionClassifier

Make = Callable[..., AttentionClassifier]
SLOTS = [
    {"encoder": "bilstm"},
    {"encoder": "conv", "projection": "sparsemax"},
    {"encoder": "transformer"},
    {"hierarchical": True, "projection": "sparsemax"},
]
ON_OUTPUT = "gradient"
ON_MAGNITUDE = "influence@norm"
ON_ITEM = "influence@frobenius"


def _names(slot: dict[str, object]) -> str:
    return "-".join(str(value) for value in slot.values())


@pytest.fixture
def make(make_model: Make) -> Make:
    """A small model; norms after a transformer's layers scale each feature by its own factor.

    As they come, a state's magnitude is the same for all, and what moves it is rounding.
    """

    def made(**options: object) -> AttentionClassifier:
        model = make_model(**options)
        random = torch.Generator().manual_seed(0)
        with torch.no_grad():
            for module in model.modules():
                if isinstance(module, torch.nn.LayerNorm):
                    module.weight.uniform_(0.5, 1.5, generator=random)
        return model

    return made


def of(verdict: verax.Verdict, name: str) -> pd.DataFrame:
    """A row per document: entropy, reason, boundaries of one importance."""
    table = verdict.tables["dispersion"]
    return wide(table[table["of"] == name].drop(columns="of"))


def on_items(verdict: verax.Verdict, kind: str = "norm") -> pd.DataFrame:
    """A row per document: entropy, entropy_square, positions, zero."""
    table = verdict.tables["dispersion_influence"]
    return wide(table[table["kind"] == kind].drop(columns="kind"))


def entropy(scores: np.ndarray) -> float:
    """H / log n by SciPy, which makes the scores sum to one."""
    return float(stats.entropy(scores) / math.log(len(scores)))


# -- by hand


def test_entropies_by_hand() -> None:
    """With softmax and no encoder the gradient's norm is α_i √(1 + (ℓ_i − z)² / 3).

    "a b c"  α = 4, 2, 1 sevenths, ℓ = −2, −5, 6 and z = −12/7. A word moves its own item alone.
    "k l"    α = ½, ½ and ℓ = 1, 3: both words are as far from z = 2.
    "a"      one word has no entropy.
    "o n"    nobody says anything: the gradient is α = ⅘, ⅕, deletion is zero throughout.
    """
    words = {"a": (math.log(4), -2.0), "b": (math.log(2), -5.0), "c": (0.0, 6.0)}
    words |= {"k": (0.0, 1.0), "l": (0.0, 3.0), "o": (math.log(4), 0.0), "n": (0.0, 0.0)}
    corpus = corpus_of(["a b c", "k l", "a", "o n"], labels=[0, 1, 1, 0])
    verdict = verax.examine(look_up_model(words), corpus, "dispersion")
    nan = math.nan
    alpha, say = np.array([4, 2, 1]) / 7, np.array([-2, -5, 6])
    first = entropy(alpha * np.sqrt(1 + (say + 12 / 7) ** 2 / 3))
    last = entropy(np.array([0.8, 0.2]))
    gradient, deletion, attention = (
        of(verdict, n) for n in ("gradient", "leave-one-out", "attention")
    )
    assert gradient["entropy"].tolist() == pytest.approx([first, 1, nan, last], nan_ok=True)
    assert gradient["reason"].tolist() == [0, 0, 1, 0]
    expected = [entropy(alpha), 1, nan, last]
    assert attention["entropy"].tolist() == pytest.approx(expected, nan_ok=True)
    assert deletion["reason"].tolist() == [0, 0, 1, 2]
    assert [REASONS[code] for code in (1, 2)] == ["one position", "all zero"]
    # without a, b and c the others' mean is −4/3, −2/5 and −3
    left = 1 / (1 + np.exp([4 / 3, 2 / 5, 3]))
    lost = np.abs(1 / (1 + math.exp(12 / 7)) - left)
    assert deletion["entropy"].iloc[0] == pytest.approx(entropy(lost), rel=1e-5)
    found = on_items(verdict)
    assert found["entropy"].tolist() == pytest.approx([0, 0, nan, 0], nan_ok=True)
    # n's vector is zero: its magnitude has no slope
    assert found["positions"].tolist() == [3, 2, 0, 1]
    assert found["zero"].tolist() == [0, 0, 0, 1]
    summary = numbers(verdict, "dispersion.entropy")
    assert summary.loc[ON_OUTPUT, "mean"] == pytest.approx((first + 1 + last) / 3)
    assert summary.loc[ON_OUTPUT, ["documents", "out_one_position"]].tolist() == [3, 1]
    row = "leave-one-out"
    assert summary.loc[row, ["documents", "out_one_position", "out_all_zero"]].tolist() == [
        2,
        1,
        1,
    ]
    assert verdict.value("dispersion.documents.accuracy") == 75


@pytest.fixture
def deaf(make_model: Make) -> AttentionClassifier:
    """A model whose head hears nothing: the bias decides, whatever is attended."""
    model = make_model()
    with torch.no_grad():
        model.head.linear.weight.zero_()
    return model


def test_a_head_that_hears_nothing_leaves_no_gradient_to_spread(
    deaf: AttentionClassifier, few: verax.Corpus
) -> None:
    verdict = verax.examine(deaf, few, "dispersion")
    gradient = of(verdict, "gradient")
    assert gradient[["entropy", "boundaries"]].isna().all(axis=None)
    assert (gradient["reason"] == 2).all()
    found = numbers(verdict, "dispersion.entropy").loc[ON_OUTPUT]
    assert found[["documents", "out_all_zero"]].tolist() == [0, len(few.test)]
    assert math.isnan(found["mean"])
    assert of(verdict, "attention")["entropy"].notna().all()
    assert on_items(verdict)["entropy"].notna().all()  # items do not pass through the head


def test_a_head_that_hears_nothing_leaves_no_deletion_to_spread(
    deaf: AttentionClassifier, few: verax.Corpus
) -> None:
    """Rounding has an entropy too, and it is high: none of it may pass for influence."""
    verdict = verax.examine(deaf, few, "dispersion", influence="none")
    assert of(verdict, "leave-one-out")["entropy"].isna().all()
    assert (of(verdict, "leave-one-out")["reason"] == 2).all()


# -- against SciPy


@pytest.mark.slow
@pytest.mark.parametrize("slot", SLOTS, ids=_names)
def test_entropies_are_scipys(make: Make, few: verax.Corpus, slot: dict[str, object]) -> None:
    model = make(**slot)
    names = ("gradient", "gradient-input-detached", "leave-one-out", "random")
    verdict = verax.examine(model, few, "dispersion", entropy_of=",".join(names), seed=3)
    assert list(verdict.tables["dispersion"]["of"].cat.categories) == ["attention", *names]
    found = {name: of(verdict, name)["entropy"] for name in ("attention", *names)}
    for trace in model.traces(few.test):
        scores = {name: score(name, model, trace, seed=3) for name in names}
        for row, identity in enumerate(trace.ids):
            for name in names:
                own = scores[name][row][trace.batch.words[row]].numpy()
                assert found[name][identity] == pytest.approx(entropy(own))
            weights = trace.weights[row][trace.mask[row]].double().numpy()
            assert found["attention"][identity] == pytest.approx(entropy(weights), abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("slot", SLOTS, ids=_names)
def test_influence_is_averaged_over_items_then_documents(
    make: Make, few: verax.Corpus, slot: dict[str, object]
) -> None:
    """The pooled sd is over every item of every document, as if no document held it."""
    model = make(**slot)
    corpus = replace(few, test=few.test.take(np.arange(3)))
    options = {"entropy_of": "", "influence": "both", "max_tokens": 1500}
    verdict = verax.examine(model, corpus, "dispersion", **options)  # type: ignore[arg-type]
    summary = numbers(verdict, "dispersion.entropy")
    for kind, row in (("norm", ON_MAGNITUDE), ("frobenius", ON_ITEM)):
        means: dict[int, float] = {}
        pooled: list[float] = []
        for trace in model.traces(corpus.test, max_tokens=1500):
            matrix = influence(model, trace, kind=kind, max_tokens=1500).matrix.double().numpy()
            for place, identity in enumerate(trace.ids):
                words, items = trace.batch.words[place].numpy(), trace.mask[place].numpy()
                own = [entropy(scores[words]) for scores in matrix[place][items]]
                means[int(identity)] = float(np.mean(own))
                pooled += own
        found = on_items(verdict, kind)
        expected = [means[identity] for identity in found.index]
        assert found["entropy"].tolist() == pytest.approx(expected, rel=1e-4, abs=1e-5)
        assert found["positions"].sum() == len(pooled)
        assert (found["zero"] == 0).all()
        cells = summary.loc[row]
        assert cells["mean"] == pytest.approx(np.mean(expected), rel=1e-4)
        assert cells["sd"] == pytest.approx(np.std(expected, ddof=1), rel=1e-3, abs=1e-5)
        assert cells["median"] == pytest.approx(np.median(expected), rel=1e-4)
        assert cells["pooled_sd"] == pytest.approx(np.std(pooled, ddof=1), rel=1e-3, abs=1e-5)
        assert cells[["documents", "items_out_all_zero"]].tolist() == [3, 0]
    everything = verdict.summary()
    own = everything[(everything["row"] == ON_MAGNITUDE) & (everything["column"] == "pooled_sd")]
    assert own["n"].tolist() == [len(pooled)]


@pytest.mark.parametrize("encoder", ["bilstm", "transformer"])
def test_the_share_of_boundaries_is_the_gradients(
    make_model: Make, few: verax.Corpus, encoder: str
) -> None:
    """SOS is the first token that is read and EOS the last; autograd tells what they hold."""
    model = make_model(encoder=encoder)
    verdict = verax.examine(model, few, "dispersion", influence="none")
    found = of(verdict, "gradient")["boundaries"]
    expected = {}
    for trace in model.traces(few.test):
        embedded = trace.embedded.clone().requires_grad_()
        model.run(trace.batch, embedded).logits.sigmoid().sum().backward()
        assert embedded.grad is not None
        norms = embedded.grad.double().norm(dim=-1)
        for row, length in enumerate(trace.batch.lengths.tolist()):
            own = norms[row, :length]
            expected[int(trace.ids[row])] = float((own[0] + own[-1]) / own.sum())
    model.zero_grad(set_to_none=True)
    assert found.to_dict() == pytest.approx(expected, rel=1e-4)
    assert 0 < found.mean() < 1
    shown = numbers(verdict, "dispersion.entropy")["boundaries"]
    assert shown[ON_OUTPUT] == pytest.approx(100 * found.mean())
    assert shown.drop(ON_OUTPUT).isna().all()
    assert of(verdict, "leave-one-out")["boundaries"].isna().all()


def test_without_boundaries_none_of_it_is_there(make_model: Make, few: verax.Corpus) -> None:
    verdict = verax.examine(make_model(boundaries=False), few, "dispersion", influence="none")
    assert (of(verdict, "gradient")["boundaries"] == 0).all()


@pytest.mark.slow
@given(
    st.lists(st.floats(0, 1e6, allow_subnormal=False), min_size=2, max_size=12),
    st.floats(1e-3, 1e3),
)
def test_spread_is_scipys_whatever_the_scale(scores: list[float], scale: float) -> None:
    row = torch.tensor([[*scores, 7.0]], dtype=torch.float64)
    mask = torch.tensor([[True] * len(scores) + [False]])
    (found,), (reason,) = spread(row, mask)
    if sum(scores) == 0:
        assert (REASONS[reason], math.isnan(found)) == ("all zero", True)
        return
    assert reason == 0
    assert found.item() == pytest.approx(entropy(np.array(scores)), abs=1e-9)
    assert -1e-12 <= found.item() <= 1 + 1e-12
    assert spread(row * scale, mask)[0].item() == pytest.approx(found.item(), abs=1e-9)


def test_what_has_no_entropy_and_why() -> None:
    nan, inf = math.nan, math.inf
    rows = [[1.0, 1], [0, 0], [1, nan], [1, inf], [nan, 1], [1, 1], [1, 1]]
    mask = torch.tensor([[True] * 2] * 5 + [[True, False], [False] * 2])
    found, reasons = spread(torch.tensor(rows), mask)
    assert [REASONS[code] for code in reasons] == [
        "defined",
        "all zero",
        "not a number",
        "not a number",
        "not a number",
        "one position",
        "one position",
    ]
    assert found.isnan().tolist() == [False] + [True] * 6


# -- options


def test_influence_of_neither_one_or_both_kinds(make_model: Make, few: verax.Corpus) -> None:
    model = make_model(encoder="conv")
    both = verax.examine(model, few, "dispersion", entropy_of="", influence="both")
    for kind, row in (("norm", ON_MAGNITUDE), ("frobenius", ON_ITEM)):
        alone = verax.examine(model, few, "dispersion", entropy_of="", influence=kind)
        pd.testing.assert_frame_equal(on_items(alone, kind), on_items(both, kind))
        assert numbers(alone, "dispersion.entropy").index.tolist() == ["attention", row]
    assert numbers(both, "dispersion.entropy").index.tolist()[1:] == [ON_MAGNITUDE, ON_ITEM]
    none = verax.examine(model, few, "dispersion", entropy_of="attention", influence="none")
    assert list(none.tables) == ["dispersion_instances", "dispersion"]
    assert numbers(none, "dispersion.entropy").index.tolist() == ["attention"]


@pytest.mark.slow
@pytest.mark.parametrize("slot", SLOTS[:1] + SLOTS[3:], ids=_names)
def test_some_items_drawn_by_the_seed(
    make_model: Make, few: verax.Corpus, slot: dict[str, object]
) -> None:
    model = make_model(**slot)
    drawn, again, others = (
        on_items(verax.examine(model, few, "dispersion", entropy_of="", positions=2, seed=s))
        for s in (5, 5, 6)
    )
    pd.testing.assert_frame_equal(drawn, again)
    assert not drawn["entropy"].equals(others["entropy"])
    assert (drawn["positions"] == 2).all()
    for trace in model.traces(few.test):
        some = influence(model, trace, positions=2, seed=5)
        for row, identity in enumerate(trace.ids):
            words = trace.batch.words[row]
            own = [entropy(scores[words].double().numpy()) for scores in some.matrix[row]]
            assert drawn["entropy"][identity] == pytest.approx(np.mean(own), rel=1e-4)
    whole = on_items(verax.examine(model, few, "dispersion", entropy_of="", positions=10**6))
    same = on_items(verax.examine(model, few, "dispersion", entropy_of=""))
    pd.testing.assert_frame_equal(whole, same)


def test_the_support_is_what_has_weight(make_model: Make, few: verax.Corpus) -> None:
    model = make_model(projection="sparsegen", lam=0.95)
    verdict = verax.examine(model, few, "dispersion", influence="none")
    found = per_document(verdict, "dispersion_instances")
    for trace in model.traces(few.test):
        for row, identity in enumerate(trace.ids):
            weights = trace.weights[row].tolist()
            items = int(trace.mask[row].sum())
            support = sum(weight > 0 for weight in weights)
            assert found.loc[identity, ["words", "items", "support"]].tolist() == [
                items,
                items,
                support,
            ]
            assert found.loc[identity, "support_share"] == support / items
            assert found.loc[identity, "correct"] == (
                (trace.logits[row, 0] > 0).item() == few.test.labels[identity]
            )
    assert 0 < found["support_share"].min() < found["support_share"].max() < 1
    documents = numbers(verdict, "dispersion.documents")["value"]
    assert documents["documents"] == len(few.test)
    assert documents["support"] == pytest.approx(found["support"].mean())
    assert documents["support_share"] == pytest.approx(found["support_share"].mean())
    assert documents["accuracy"] == pytest.approx(100 * found["correct"].mean())


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (
            {"entropy_of": "gradeint"},
            ("option.unknown-value", "gradeint", "gradient"),
        ),
        ({"entropy_of": "attention-gradient"}, ("option.unknown-value", "attention-gradient")),
        (
            {"influence": "frobenious"},
            ("option.unknown-value", "influence", "frobenious", "frobenius"),
        ),
        ({"positions": 0}, ("option.out-of-range", "positions")),
        ({"sample": 0}, ("option.out-of-range", "sample")),
        ({"sample": 1.5}, ("option.wrong-type", "sample", "1.5")),
    ],
)
def test_bad_options_are_one_line(
    make_model: Make, few: verax.Corpus, options: dict[str, object], expected: tuple[str, ...]
) -> None:
    with raises(*expected) as error:
        verax.examine(make_model(), few, "dispersion", **options)  # type: ignore[arg-type]
    assert "\n" not in str(error.value)


# -- what is left out


def test_every_document_is_counted_or_its_absence_explained(make_model: Make) -> None:
    """One-word documents have no entropy of inputs, whatever these act on."""
    model = make_model()
    corpus = corpus_of(["w1 w2 w3", "w4", "w5", "w6 w7"], model=model)
    verdict = verax.examine(model, corpus, "dispersion", influence="both")
    summary = verdict.summary()
    for row in (ON_OUTPUT, "attention", ON_MAGNITUDE, ON_ITEM):
        cells = summary[(summary["table"] == "dispersion.entropy") & (summary["row"] == row)]
        cells = cells.set_index("column")["value"]
        assert cells["documents"] == 2
        assert cells.get("out_one_position") == 2, row
        assert cells[cells.index.str.startswith("out_")].sum() == 2


def test_a_word_alone_is_not_one_that_nothing_moves(make_model: Make) -> None:
    model = make_model()
    corpus = corpus_of(["w1 w2 w3", "w4"], model=model)
    verdict = verax.examine(model, corpus, "dispersion")
    found = on_items(verdict)
    assert found["positions"].tolist() == [3, 0]
    assert found["zero"].tolist() == [0, 0]
    assert found["entropy"].isna().tolist() == [False, True]
    assert numbers(verdict, "dispersion.entropy").loc[ON_MAGNITUDE, "items_out_all_zero"] == 0


def test_items_that_nothing_moves_are_counted(make_model: Make, few: verax.Corpus) -> None:
    """A convolution whose filters are all below zero has no state that any word moves."""
    model = make_model(encoder="conv")
    with torch.no_grad():
        for name, parameter in model.encoder.named_parameters():
            parameter.fill_(-1.0 if name.endswith("bias") else 0.0)
    verdict = verax.examine(model, few, "dispersion", influence="both")
    words = counts_of(few.test)
    for kind, row in (("norm", ON_MAGNITUDE), ("frobenius", ON_ITEM)):
        found = on_items(verdict, kind)
        assert found["zero"].tolist() == words.tolist()
        assert (found["positions"] == 0).all()
        assert found[["entropy", "entropy_square"]].isna().all(axis=None)
        cells = numbers(verdict, "dispersion.entropy").loc[row]
        assert cells["documents"] == 0
        assert cells["items_out_all_zero"] == words.sum()


# -- what must not matter


@pytest.mark.slow
@pytest.mark.parametrize("slot", SLOTS, ids=_names)
def test_the_token_budget_changes_no_number(
    make: Make, few: verax.Corpus, slot: dict[str, object]
) -> None:
    model = make(**slot)
    corpus = replace(few, test=few.test.take(np.arange(6)))  # one batch, or three
    whole, cut = (
        verax.examine(model, corpus, "dispersion", positions=4, max_tokens=n) for n in (10**5, 60)
    )
    for name, table in whole.tables.items():
        other = cut.tables[name]
        assert table.drop(columns="value").equals(other.drop(columns="value"))
        np.testing.assert_allclose(table["value"], other["value"], atol=1e-4)


def test_importances_of_ones_own_have_no_entropy_but_their_names_are_checked() -> None:
    with raises("importance.name-taken", "gradient"):
        DispersionExam(DispersionOptions(), 0, {"gradient": lambda m, t: t.weights})


def test_no_labels_means_no_accuracy(make_model: Make) -> None:
    model = make_model()
    exam = DispersionExam(DispersionOptions(), 0, {})
    exam.see(model, model.trace(["w1 w2 w3", "w4 w5"]))
    assert wide(exam.tables()["dispersion_instances"])["correct"].isna().all()


# -- a sample of the split


def test_a_sample_is_drawn_by_the_seed(make_model: Make, few: verax.Corpus) -> None:
    model = make_model(encoder="none")
    one, two, other = (
        verax.examine(model, few, "dispersion", sample=7, seed=s, influence="none")
        for s in (0, 0, 1)
    )
    for name, table in one.tables.items():
        pd.testing.assert_frame_equal(table, two.tables[name])
    ids = [v.tables["dispersion_instances"]["id"].unique().tolist() for v in (one, other)]
    assert ids[0] != ids[1]
    for drawn in ids:
        assert len(drawn) == 7
        assert set(drawn) < set(few.test.ids)
    assert one.manifest["documents"] == 7
    assert one.manifest["sampled_from"] == len(few.test)
    whole = verax.examine(model, few, "dispersion", influence="none")
    table = whole.tables["dispersion"]
    part = table[table["id"].isin(ids[0])].reset_index(drop=True)
    pd.testing.assert_frame_equal(one.tables["dispersion"], part, atol=1e-5)


def test_a_sample_of_all_is_all(make_model: Make, few: verax.Corpus) -> None:
    model = make_model(encoder="none")
    whole, all_of_it, more = (
        verax.examine(model, few, "dispersion", sample=n, influence="none")
        for n in (None, len(few.test), 10**6)
    )
    for verdict in (all_of_it, more):
        pd.testing.assert_frame_equal(verdict.summary(), whole.summary())
        assert verdict.manifest["documents"] == verdict.manifest["sampled_from"] == len(few.test)
