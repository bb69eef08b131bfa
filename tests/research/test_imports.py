"""Research is a consumer of Verax: it uses what any user can use."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PUBLIC = set((ROOT / "public_api.txt").read_text(encoding="utf-8").split())
MODULES = {name.rpartition(".")[0] for name in PUBLIC}
FILES = sorted((ROOT / "research").rglob("*.py"))


def private_names(tree: ast.AST) -> Iterator[str]:
    """Yield what a module takes from Verax that is not public."""
    for node in ast.walk(tree):
        match node:
            case ast.ImportFrom(module=str(module)) if module.split(".")[0] == "verax":
                names = (f"{module}.{alias.name}" for alias in node.names)
                yield from (name for name in names if name not in PUBLIC | MODULES)
            case ast.Import():
                names = (alias.name for alias in node.names)
                yield from (n for n in names if n.split(".")[0] == "verax" and n not in MODULES)
            case ast.Attribute(value=ast.Name(id="verax"), attr=name):
                if (full := ".".join(("verax", name))) not in PUBLIC | MODULES:
                    yield full
            case ast.Attribute(attr=name) if name.startswith("_") and not name.endswith("__"):
                if not (isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")):
                    yield name


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_research_imports_public_names_only(file: Path) -> None:
    assert list(private_names(ast.parse(file.read_text(encoding="utf-8")))) == []


@pytest.mark.parametrize(
    "code",
    [
        "from VERAX.studies.store.cells import MODEL",
        "import VERAX.studies.store.cells",
        "import VERAX\nVERAX.opening",
        "model._encoder",
    ],
)
def test_private_names_are_found(code: str) -> None:
    assert list(private_names(ast.parse(code.replace("VERAX", "verax"))))
