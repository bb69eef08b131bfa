"""What is said of a combination goes by the options that the error names, not by its words."""

from __future__ import annotations

import pickle
from pathlib import Path

from study_files import refused

from support.errors import raises
from verax.errors import VeraxError
from verax.models import ModelOptions

STUDY = """\
corpora: SMALL
models:
  encoder: transformer
  hidden_size: 30
  heads: [4, {}]
"""


def test_an_error_carries_its_options_through_a_process() -> None:
    with raises("option.conflict") as caught:
        ModelOptions(encoder="transformer", hidden_size=30, heads=4).resolved(2)
    assert caught.value.options == ("hidden_size", "heads")
    again = pickle.loads(pickle.dumps(caught.value))  # noqa: S301
    assert (str(again), again.options) == (str(caught.value), caught.value.options)
    assert VeraxError("anything").options == ()


def test_nothing_is_said_of_an_option_that_was_refused_already(tmp_path: Path) -> None:
    (combination,) = refused(tmp_path, STUDY.format(3))
    assert combination.code == "option.conflict"
    (value,) = refused(tmp_path, STUDY.format("many"))
    assert value.code == "option.wrong-type"
