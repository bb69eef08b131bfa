"""Results and their page as commands leave them: a page that fails costs no result."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import verax
from verax.cli import main
from verax.cli.saving import write_page
from verax.results import Shown

pytestmark = pytest.mark.usefixtures("alone")

QUICK = ["--epochs", "1", "--device", "cpu"]
FEW = ["--influence", "none", "--entropy-of", "", "--inputs", "gradient", "--items", "gradient"]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    corpus = verax.load_corpus("planted", documents=60, length=12)
    for name, projection in (("soft", "softmax"), ("sparse", "sparsemax")):
        model = verax.train(
            corpus, encoder="none", embedding_size=8, projection=projection, epochs=1, device="cpu"
        )
        model.save(folder / name)
    return folder


@pytest.fixture
def models(alone: None, trained: Path) -> None:
    shutil.copytree(trained, ".", dirs_exist_ok=True)


COMMANDS = {
    "verdict": ["examine", "soft", "--exams", "replacement"],
    "comparison": ["compare", "soft", "sparse", "--exams", "replacement"],
    "adversaries": ["adversary", "soft", "--lams", "1", "--no-controls", *QUICK],
    "sweep": [
        *("sweep", "planted", "--documents", "60", "--length", "12", "--encoder", "none"),
        *("--lams", "0.5", *FEW, *QUICK),
    ],
}


@pytest.mark.slow
@pytest.mark.usefixtures("models")
@pytest.mark.parametrize("kind", COMMANDS)
def test_results_are_kept_where_the_page_cannot_be_made(
    kind: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refused(self: Shown, path: Path, title: str | None = None) -> None:
        assert (Path(path).parent / "manifest.json").is_file()  # the result comes first
        raise verax.VeraxError(f"cannot write {path}: no room\nleft")

    with monkeypatch.context() as context:
        context.setattr(Shown, "report", refused)
        assert main([*COMMANDS[kind], "--out", "a folder"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-2] == "saved in a folder"
    assert lines[-1] == (
        "no report: cannot write a folder/report.html: no room left; to try again: "
        "verax report 'a folder'"
    )
    found = verax.open("a folder")
    assert isinstance(found, verax.Result)
    assert found.kind == kind
    assert main(["report", "a folder", "-o", "a folder/report.html"]) == 0
    assert found.owns(Path("a folder"))


def test_what_has_nothing_to_show_is_no_page(capsys: pytest.CaptureFixture[str]) -> None:
    write_page(lambda: None, "nowhere")
    assert capsys.readouterr().out == ""
    assert not Path("nowhere").exists()
