"""A stranger's encoder, projection and importance are choices like those that are built in."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

import strangers
import verax
from support.errors import raises
from support.internals import entry_points_of
from verax.cli import main
from verax.importance import IMPORTANCES, influence, leave_one_out, register_importance
from verax.models import (
    ENCODERS,
    PROJECTIONS,
    AttentionClassifier,
    register_encoder,
    register_projection,
)
from verax.models.encoders import Convolution, Pointwise
from verax.models.options import DENSE
from verax.plugins import load_entry_points
from verax.studies import read_study
from verax.studies.running.outlook import estimate

TEXTS = ["w1 good0_3 w2 w3 .", "bad1_2 w5"]
SIZES = {"hidden_size": 12, "embedding_size": 12}


@pytest.fixture(scope="module", autouse=True)
def toys() -> Iterator[None]:
    with strangers.registered():
        yield


@pytest.fixture(scope="module")
def corpus() -> verax.Corpus:
    return verax.load_corpus("planted", documents=90, length=12)


@pytest.fixture(scope="module")
def model(corpus: verax.Corpus) -> AttentionClassifier:
    return verax.train(
        corpus, encoder="toy-packed", projection="toy-cold", lam=0.5, epochs=1, **SIZES
    )


def test_it_is_trained_saved_loaded_and_predicts(
    model: AttentionClassifier, tmp_path: Path
) -> None:
    assert isinstance(model.encoder, strangers.Packed)
    model.save(tmp_path / "toy")
    again = verax.load(tmp_path / "toy")
    assert torch.equal(again.logits(TEXTS), model.logits(TEXTS))
    assert list(again.predict(TEXTS)["label"]) == list(model.predict(TEXTS)["label"])


def test_its_projection_is_called_with_the_options_that_it_uses(model: AttentionClassifier) -> None:
    trace = model.trace(TEXTS)
    scores = (1.5 * trace.scores).masked_fill(~trace.mask, -torch.inf)
    torch.testing.assert_close(trace.weights, scores.softmax(-1))
    assert "toy-cold" in DENSE
    assert "sparsemax" not in DENSE


def test_its_importance_explains(model: AttentionClassifier) -> None:
    found = model.explain(TEXTS, by=["toy-last", "leave-one-out"])
    first = found[found["text"] == 0]
    assert first["toy-last"].tolist() == [1, 2, 3, 4, 5]


def test_exams_read_through_it(corpus: verax.Corpus, model: AttentionClassifier) -> None:
    verdict = verax.examine(
        model,
        corpus,
        ["erasure", "agreement", "dispersion"],
        inputs="toy-last",
        items="toy-last,gradient",
        entropy_of="toy-last",
    )
    table = verdict.tables["agreement"]
    assert set(table["second"]) == {"toy-last", "gradient"}
    assert set(verdict.tables["dispersion"]["of"]) >= {"toy-last"}
    assert verdict.tables["erasure_instances"]["id"].nunique() == len(corpus.test)


def test_leave_one_out_is_the_text_read_again(model: AttentionClassifier) -> None:
    """The general way, which no declaration of a class can make wrong."""
    words = TEXTS[0].split()
    trace = model.trace(TEXTS[:1])
    found = leave_one_out(model, trace, signed=True)[trace.batch.words]
    whole = trace.logits.double().sigmoid()
    shorter = model.logits([words[:i] + words[i + 1 :] for i in range(len(words))]).double()
    lost = (whole - shorter.sigmoid()).squeeze(-1)
    lost = lost if bool(trace.logits > 0) else -lost
    torch.testing.assert_close(found, lost, atol=1e-6, rtol=1e-4)
    assert influence(model, trace).matrix.shape == (1, 7, 7)


def test_a_forward_of_its_own_inherits_no_short_way(corpus: verax.Corpus) -> None:
    class Shifted(Convolution):
        """Looks four words back: what is true of its parent's reach is not true of it."""

        def forward(
            self, inputs: Tensor, mask: Tensor, lengths: Tensor, noise: object = None
        ) -> Tensor:
            states = super().forward(inputs, mask, lengths, noise)  # type: ignore[arg-type]
            return (states + states.roll(4, 1)) * mask.unsqueeze(-1)

    class Named(Pointwise):
        """Only called otherwise."""

    assert (Shifted.reach, Shifted.replayable) == (None, False)
    assert (Named.reach, Named.replayable) == (0, True)
    register_encoder("toy-shifted")(Shifted)
    try:
        model = verax.train(corpus, encoder="toy-shifted", epochs=1, **SIZES)
        trace = model.trace(TEXTS)
        assert not model.encoder.computes_as(Convolution)
        assert float(influence(model, trace).matrix[0, 5, 1]) > 0
    finally:
        ENCODERS.unregister("toy-shifted")


@pytest.mark.slow
@pytest.mark.usefixtures("alone")
def test_the_command_line_takes_it(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--encoder", "toy-packed", "--projection", "toy-cold", "--hidden-size", "8"]
    assert main(["train", "planted:documents=60", "--out", "toy", "--epochs", "1", *arguments]) == 0
    capsys.readouterr()
    assert main(["explain", "toy", "w1 w2 .", "--by", "toy-last"]) == 0
    assert "toy-last" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["train", "--help"])
    assert "toy-packed" in capsys.readouterr().out


def test_a_study_file_has_cells_of_it_and_an_estimate() -> None:
    source = {
        "corpora": {"planted": {"documents": 60}},
        "models": {
            "encoder": [{"toy-packed": {"layers": [1, 2], "hidden_size": [10, 20]}}, "none"],
            "projection": {"toy-cold": {"lam": [0, 0.5]}},
        },
        "exams": {"agreement": {"inputs": "toy-last"}},
    }
    with raises("option.conflict"):  # it uses none
        read_study(source)
    del source["models"]["encoder"][0]["toy-packed"]["layers"]
    study = read_study(source)
    toy = [cell for cell in study.cells if cell.model["encoder"] == "toy-packed"]
    assert {(c.model["hidden_size"], c.model["lam"]) for c in toy} == {
        (10, 0.0),
        (10, 0.5),
        (20, 0.0),
        (20, 0.5),
    }
    assert len(study.cells) == 6
    seconds = estimate(study, [(toy[0], 2.0)]).seconds
    assert seconds == pytest.approx(3 * 2.0 + 2 * 2.0 * 0.2 / 3.0)  # none costs 0.2, the toy 3


def test_a_name_is_taken_once_and_a_definition_may_be_run_again() -> None:
    with raises("plugin.name-taken", "conv"):
        register_encoder("conv")(strangers.Packed)
    with raises("plugin.invalid"):
        register_encoder("toy-function")(strangers.cold)  # type: ignore[type-var]
    with raises("plugin.invalid", "sentence_encoder"):
        register_encoder("same")(strangers.Packed)
    with raises("plugin.invalid"):
        register_projection("toy-hot", uses=("heat",))(strangers.cold)
    with raises("plugin.invalid"):
        register_importance("toy-first", levels=("words",))(strangers.last)
    with raises("plugin.invalid-name"):
        register_encoder("two words")(strangers.Packed)
    register_encoder("toy-packed")(strangers.Packed)
    assert ENCODERS["toy-packed"] is strangers.Packed
    with raises("option.unknown-value", "toy-packed"):
        ENCODERS["toy-pecked"]


def test_an_importance_of_the_wrong_shape_is_refused(model: AttentionClassifier) -> None:
    @register_importance("toy-wrong", levels=("inputs",))
    def wrong(model: object, trace: verax.Trace) -> Tensor:
        return trace.logits

    try:
        with raises("importance.wrong-scores", "toy-wrong"):
            model.explain(TEXTS, by="toy-wrong")
    finally:
        IMPORTANCES.unregister("toy-wrong")


def test_a_saved_model_of_an_absent_encoder_says_so(
    model: AttentionClassifier, tmp_path: Path
) -> None:
    model.save(tmp_path / "toy")
    ENCODERS.unregister("toy-packed")
    try:
        with raises("plugin.not-registered", "toy-packed"):
            verax.load(tmp_path / "toy")
    finally:
        register_encoder("toy-packed")(strangers.Packed)


INSTALLED = """
from verax.importance import register_importance
from verax.models.encoders import Pointwise, register_encoder
from verax.models.projections import register_projection, softmax

@register_encoder("installed-mlp")
class Mine(Pointwise):
    pass

@register_projection("installed-softmax", dense=True)
def mine(scores, mask=None):
    return softmax(scores, mask)

@register_importance("installed-length", "the same for all", levels=("inputs",))
def length(model, trace):
    return trace.batch.words.double()
"""
ENTRIES = """
[verax.encoders]
installed-mlp = installed_toys:Mine
broken = no_such_module_at_all
empty = json
conv = installed_toys

[verax.projections]
installed-softmax = installed_toys

[verax.importances]
installed-length = installed_toys:length
"""


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A distribution on the path, as pip leaves one."""
    about = tmp_path / "toys-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: toys\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(ENTRIES)
    (tmp_path / "installed_toys.py").write_text(INSTALLED)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{Path(verax.__file__).parents[1]}")
    entry_points_of.cache_clear()
    yield tmp_path
    entry_points_of.cache_clear()
    sys.modules.pop("installed_toys", None)
    for registry in (ENCODERS, PROJECTIONS, IMPORTANCES):
        for name in registry.registered:
            if name.startswith("installed-"):
                registry.unregister(name)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:encoder 'conv' of toys is not used")
def test_an_installed_package_is_found_and_imported_when_it_is_named(
    installed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "installed-mlp" in list(ENCODERS)
    with pytest.raises(SystemExit):
        main(["explain", "--help"])
    assert "installed-length (of an installed package)" in " ".join(capsys.readouterr().out.split())
    assert "installed_toys" not in sys.modules
    out = str(tmp_path / "model")
    arguments = ["--encoder", "installed-mlp", "--projection", "installed-softmax"]
    assert main(["train", "planted:documents=60", "--epochs", "1", "--out", out, *arguments]) == 0
    assert "installed_toys" in sys.modules
    assert main(["explain", out, "w1 w2", "--by", "installed-length"]) == 0
    assert "installed-length" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:encoder 'conv' of toys is not used")
def test_workers_of_a_study_find_it(installed: Path, tmp_path: Path) -> None:
    study = {
        "corpora": {"planted": {"documents": 60}},
        "models": {"encoder": "installed-mlp", "hidden_size": 8, "embedding_size": 8},
        "training": {"epochs": 1},
        "exams": ["replacement"],
    }
    found = verax.run_study(study, tmp_path / "store", workers=1)
    assert len(found.done) == 1


@pytest.mark.usefixtures("installed")
def test_a_package_that_does_not_import_is_named_in_a_line() -> None:
    with raises("plugin.import-failed", "broken"):
        ENCODERS["broken"]
    with raises("plugin.invalid"):
        ENCODERS["empty"]
    with pytest.warns(UserWarning, match="encoder 'conv' of toys is not used"):
        names = list(ENCODERS)
    assert names.count("conv") == 1
    with raises("plugin.import-failed"):
        load_entry_points("verax.encoders")
    assert set(load_entry_points("verax.projections")) == {"installed-softmax"}


def test_a_padded_batch_changes_nothing(model: AttentionClassifier) -> None:
    alone = [model.trace([text]).logits for text in TEXTS]
    together = model.trace(TEXTS).logits
    np.testing.assert_allclose(torch.cat(alone).numpy(), together.numpy(), atol=1e-6)
