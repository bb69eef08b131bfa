"""What the documentation shows, runs."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

import verax
from verax.cli import main
from verax.exams.registry import EXAMS
from verax.importance import IMPORTANCES
from verax.models.encoders import ENCODERS
from verax.models.projections import PROJECTIONS
from verax.plugins import Registry

ROOT = Path(__file__).parent.parent
REGISTRIES: tuple[Registry[Any], ...] = (ENCODERS, PROJECTIONS, IMPORTANCES, EXAMS)
FEW = 60
"""Documents of a split where a page names a limit: the code is tried, not what models learn."""
PAGES = ["README.md", *sorted(f"docs/{p.name}" for p in (ROOT / "docs").glob("*.md"))]


def blocks(page: str, language: str) -> list[str]:
    text = (ROOT / page).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)


@pytest.fixture
def registries() -> Iterator[None]:
    """What an example registers is taken out again."""
    before = {id(registry): set(registry.registered) for registry in REGISTRIES}
    yield
    for registry in REGISTRIES:
        for name in set(registry.registered) - before[id(registry)]:
            registry.unregister(name)


@pytest.mark.usefixtures("registries")
@pytest.mark.parametrize("page", [p for p in PAGES if blocks(p, "python")])
def test_python_examples_run(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    load = verax.load_corpus

    def fewer(name: str, **options: Any) -> verax.Corpus:
        return load(name, **options | ({"limit": FEW} if "limit" in options else {}))

    monkeypatch.setattr(verax, "load_corpus", fewer)
    names: dict[str, object] = {}
    for block in blocks(page, "python"):
        exec(compile(block, page, "exec"), names)


def test_readme_commands_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [f'"film {i} is {word}","{stars}"' for i in range(20) for word, stars in ("a1", "b5")]
    Path("reviews.csv").write_text("body,stars\n" + "\n".join(rows) + "\n")
    commands = [
        shlex.split(line[2:], comments=True)
        for block in blocks("README.md", "console")
        for line in block.splitlines()
    ]
    ours = [c[1:] for c in commands if c[0] == "verax" and "--help" not in c]
    assert len(ours) >= 4
    for command in ours:
        if command[:2] in (["train", "planted"], ["sweep", "planted"]):
            command += ["--documents", str(2 * FEW)]
        if "--limit" in command:
            command[command.index("--limit") + 1] = str(FEW)
        assert main(command) == 0, command


def test_the_config_file_of_the_docs_is_valid(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (config,) = blocks("docs/training.md", "yaml")
    Path("my.yaml").write_text(config)
    assert main(["train", "--config", "my.yaml", "--limit", str(FEW), "--epochs", "1"]) == 0
    assert Path("my-model/model.safetensors").is_file()


def test_the_study_of_the_docs_is_valid(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (study,) = blocks("docs/running.md", "yaml")
    Path("sparse.yaml").write_text(study)
    for line in blocks("docs/running.md", "console")[0].splitlines():
        command = shlex.split(line[2:], comments=True)
        assert main([*command[1:], *([] if "--dry-run" in command else ["--dry-run"])]) == 0
        seeds = 4 if "--seeds" in command else 3
        assert f"{4 * 2 * seeds} cells, {4 * 2 * seeds} to run" in capsys.readouterr().out


def test_the_sql_of_the_docs_finds_something(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    study = {
        "name": "sparse",
        "corpora": {"planted": {"documents": 60}},
        "models": {"encoder": "none", "projection": ["softmax", "sparsemax"]},
        "training": {"epochs": 1},
        "exams": ["replacement"],
    }
    verax.run_study(study, "sparse", workers=1)
    (text,) = blocks("docs/running.md", "sql")
    queries = [query for query in text.split(";") if query.strip()]
    assert len(queries) == 2
    for query in queries:
        found = duckdb.sql(query).df()
        assert sorted(found["projection"]) == ["softmax", "sparsemax"]
        assert found.iloc[:, -1].between(0, 1).all()


def test_links_lead_somewhere() -> None:
    for page in [*PAGES, "benchmarks/README.md"]:
        text = (ROOT / page).read_text(encoding="utf-8")
        for target in re.findall(r"\]\(([^)#:]+)\)", text):
            assert (ROOT / page).parent.joinpath(target).exists(), f"{page}: {target}"
