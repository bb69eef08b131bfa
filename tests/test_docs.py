"""What the documentation shows, runs."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import duckdb
import pytest

import verax
from support.internals import MAKE_ENGINE, Registry
from verax.cli import main
from verax.exams import EXAMS
from verax.importance import IMPORTANCES
from verax.models import ENCODERS, PROJECTIONS
from verax.studies import Hardware, HereEngine

ROOT = Path(__file__).parent.parent
REGISTRIES: tuple[Registry[Any], ...] = (ENCODERS, PROJECTIONS, IMPORTANCES, EXAMS)
FEW = 30
"""Documents of a split where a page names a limit: the code is tried, not what models learn."""
MOST = {"limit": FEW, "documents": 2 * FEW, "epochs": 1, "sample": 10}
FIRST = {"lams": 2, "seeds": 2, "retrain": 1}
"""Values of a list that are taken."""
PAGES = [
    "README.md",
    "research/papers.md",
    *sorted(f"docs/{p.name}" for p in (ROOT / "docs").glob("*.md")),
]


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


@pytest.fixture
def in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cells of studies start no process: those have tests of their own."""

    def here(hardware: Hardware) -> HereEngine:
        return HereEngine(hardware.device)

    monkeypatch.setattr(MAKE_ENGINE, here)


def less(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options, with `MOST` at most and the `FIRST` of lists, those within a study too."""
    return {
        name: less(value)
        if isinstance(value, dict)
        else min(value, MOST[name])
        if name in MOST
        else value[: FIRST[name]]
        if name in FIRST and isinstance(value, list)
        else value
        for name, value in options.items()
    }


def smaller(call: Callable[..., Any]) -> Callable[..., Any]:
    """The call itself, for fewer documents and epochs where it names a number of them."""

    def called(*given: Any, **options: Any) -> Any:
        return call(*(less(g) if isinstance(g, dict) else g for g in given), **less(options))

    return called


@pytest.mark.slow
@pytest.mark.usefixtures("registries", "in_this_process")
@pytest.mark.parametrize("page", [p for p in PAGES if blocks(p, "python")])
def test_python_examples_run(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("load_corpus", "train", "sweep", "adversaries", "run_study"):
        monkeypatch.setattr(verax, name, smaller(getattr(verax, name)))
    names: dict[str, object] = {}
    for block in blocks(page, "python"):
        if file := re.match(r"# (\w+\.py)\n", block):  # shown as a file of that name
            Path(file[1]).write_text(block)
        exec(compile(block, page, "exec"), names)


@pytest.mark.slow
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
        for flag, number in (("--limit", FEW), ("--epochs", 1)):
            if flag in command:
                command[command.index(flag) + 1] = str(number)
        assert main(command) == 0, command


@pytest.mark.slow
def test_the_config_file_of_the_docs_is_valid(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (config,) = blocks("docs/training.md", "yaml")
    Path("my.yaml").write_text(config)
    assert main(["train", "--config", "my.yaml", "--limit", str(FEW), "--epochs", "1"]) == 0
    assert Path("my-model/model.safetensors").is_file()


@pytest.mark.slow
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


@pytest.mark.slow
@pytest.mark.usefixtures("in_this_process")
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
    others = ["benchmarks/README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"]
    for page in [*PAGES, *others]:
        text = (ROOT / page).read_text(encoding="utf-8")
        for target in re.findall(r"\]\(([^)#:]+)\)", text):
            assert (ROOT / page).parent.joinpath(target).exists(), f"{page}: {target}"
