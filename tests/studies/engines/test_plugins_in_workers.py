"""A job brings the loose files that its maker imported, so that any worker knows their exams."""

from __future__ import annotations

import pickle
import sys
from pathlib import Path

import pytest
from made_up_cells import cell
from running import failed, finished

import verax
from support.errors import raises
from support.internals import perform
from verax.exams import unregister
from verax.plugin_files import PluginFile, import_file, imported_plugins
from verax.studies import Job

EXAM = """
from verax.exams import authoring as exams

TABLE = exams.Table("loose", "documents", (exams.Measure("documents", "documents", unit="count"),))

@exams.register
class Loose(exams.Exam):
    name = "loose"
    question = "How many documents are there?"
    summary_tables = (TABLE,)
    tidy_tables = ("loose",)

    def see(self, model, trace):
        self.builder.add("loose", trace.ids, {"one": trace.weights.sum(-1)})

    @classmethod
    def summarise(cls, tables):
        n = len(tables["loose"])
        count = exams.count_cell("loose", "all", "documents", n, n)
        return exams.summary_frame(cls.name, [count])
"""


def forget() -> None:
    unregister("loose")
    del sys.modules["loose_in_workers"]


@pytest.mark.slow
def test_a_worker_imports_what_the_job_brings(small: verax.Corpus, tmp_path: Path) -> None:
    file = tmp_path / "loose_in_workers.py"
    file.write_text(EXAM)
    others = imported_plugins()  # of earlier tests
    import_file(str(file))
    job = Job(cell(small, exams=("loose",)))
    assert {plugin.path for plugin in job.plugins} - {p.path for p in others} == {str(file)}
    sent = pickle.dumps(job)
    forget()
    file.unlink()  # as on another machine
    assert str(file) not in {plugin.path for plugin in imported_plugins()}
    try:
        outcome = finished(perform(pickle.loads(sent), small, device="cpu"))  # noqa: S301
        assert "loose.parquet" in outcome.files
    finally:
        forget()


@pytest.mark.slow
def test_a_file_that_does_not_import_fails_the_cell(small: verax.Corpus) -> None:
    job = Job(cell(small), plugins=[PluginFile("/there/broken_in_workers.py", b"1 / 0")])
    outcome = failed(perform(job, small, device="cpu"))
    assert "broken_in_workers.py: ZeroDivisionError" in outcome.error
    assert "broken_in_workers" not in sys.modules


def test_a_name_that_is_taken_is_refused(tmp_path: Path) -> None:
    (tmp_path / "json.py").write_text("")
    with raises("plugin.import-failed"):
        import_file(str(tmp_path / "json.py"))
