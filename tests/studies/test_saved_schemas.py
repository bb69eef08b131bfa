"""What every reader of saved studies and comparisons asks for must be in the file."""

from __future__ import annotations

from typing import Any

import pytest

from verax.schema import SchemaError
from verax.studies.comparison.comparison import MANIFEST


@pytest.mark.parametrize("name", ["encoder", "attended"])
def test_a_compared_model_has_its_encoder_and_what_it_attends(name: str) -> None:
    entry: dict[str, Any] = {"model": "a", "options": {}, "encoder": None, "attended": "words"}
    MANIFEST({"groups": {"a": [entry]}}, "manifest.json")
    del entry[name]
    with pytest.raises(SchemaError, match=name):
        MANIFEST({"groups": {"a": [entry]}}, "manifest.json")
