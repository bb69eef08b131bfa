"""The list of public names is current, and every name is documented."""

from __future__ import annotations

from types import ModuleType

import pytest

from test_scripts import script


@pytest.fixture(scope="module")
def public_api() -> ModuleType:
    return script("public_api")


def test_both_files_are_current(public_api: ModuleType) -> None:
    for path, text in public_api.files().items():
        assert path.read_text(encoding="utf-8") == text, "run scripts/public_api.py, and review"


def test_every_public_name_has_a_docstring(public_api: ModuleType) -> None:
    names = public_api.public_names()
    assert len(names) == len(set(names)) > 200
    assert [name for name in names if not public_api.docstring(name)] == []


def test_a_generated_docstring_is_none(public_api: ModuleType) -> None:
    """Dataclasses without a docstring have their signature in its place; constants their type's."""
    assert public_api.docstring("verax.statistics.LEVEL").startswith("The confidence level")
    assert public_api.docstring("verax.models.ModelOptions").startswith("The architecture")
