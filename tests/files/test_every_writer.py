"""All that Verax writes goes through `verax.files`; every function that writes meets faults."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from writers import WRITERS

import verax

SOURCE = Path(verax.__file__).parent
HOME = {"files.py", "scratch.py"}
"""The two files that know how something is written."""
BY_HOME = {
    *("write_text", "write_bytes", "write_table", "write_files"),
    *("new_file", "replace_folder", "write_and_sync"),
}
"""Their functions that write."""
RAW = {
    *("write_text", "write_bytes", "touch", "mkdir", "makedirs", "rename", "replace", "unlink"),
    *("remove", "rmdir", "rmtree", "copy", "copytree", "copyfile", "move", "link", "symlink"),
    *("symlink_to", "hardlink_to", "save_file", "savefig", "to_csv", "to_parquet", "to_feather"),
    *("to_pickle", "dump", "tofile", "ParquetWriter", "mkdtemp", "mkstemp", "NamedTemporaryFile"),
    *("TemporaryDirectory", "TemporaryFile", "fdopen", "pipe_file", "write_table", "open"),
}
"""Names by which files are written past them."""
ALLOWED = {
    "cli.papers.table_of to_csv": "printed",
    "cli.predict to_csv": "into a file of `new_file`",
    "cli.predict to_parquet": "into a file of `new_file`",
    "last_resort._keep mkstemp": "of an error, in the folder for temporary files",
    "last_resort._keep fdopen": "of an error, in the folder for temporary files",
    "papers.checking.Checked.write to_csv": "text for `write_files`",
    "papers.describing.write_corpora to_csv": "text for `write_text`",
    "spreadsheets.to_csv to_csv": "into a string",
    "studies.store.folders.StorageFolder.write_bytes": "of other machines",
    "studies.store.folders.lock_file mkdir": "of locks, which are empty",
    "studies.store.folders.StorageFolder.remove_folder rmtree": "removes",
    "studies.store.cells.CellFolders._commit_by_rename mkdir": "a folder that has no name yet",
    "studies.store.cells.CellFolders._commit_by_rename rename": "tried with faults",
    "studies.store.cells.CellFolders.discard mkdir": "of what is damaged",
    "studies.store.cells.CellFolders.discard rename": "of what is damaged",
    "studies.store.packing._writer ParquetWriter": "into a file of `new_file`",
    "studies.store.packing._fill rmtree": "in a folder that has no name yet",
    "studies.store.tables.parquet_bytes write_table": "into memory",
    "studies.store.packing.Packing": "tables of `_writer`",
    "studies.store.packing._fill write_bytes": "of a store's folder, by StorageFolder",
    "studies.store.store.Store": "of a store's folder, by StorageFolder",
    "studies.store.cells.CellFolders._commit_by_manifest write_bytes": "by StorageFolder",
    "cli.output.with_guarded_output open": "nowhere, in place of a stream that is closed",
    "studies.store.results.StudyResults.model TemporaryDirectory": "read again at once",
    "studies.store.results.StudyResults.model write_bytes": "read again at once",
    "studies.engines.performing": "files of a worker, gone when it ends",
    "studies.engines.worker": "what a worker prints, gone when it ends",
    "studies.engines.mps": "sockets of a service, gone when it ends",
    "studies.sweeping.run_sweep TemporaryDirectory": "of a sweep that is not kept",
    "__main__._open_closed fdopen": "standard streams",
}
"""Function and name → why it may."""


def calls() -> Iterator[tuple[str, str, ast.Call]]:
    """Every call as the function that it is in, the name that is called, and itself."""
    for path in sorted(SOURCE.rglob("*.py")):
        name = str(path.relative_to(SOURCE))
        if name not in HOME:
            module = name.removesuffix(".py").replace("/", ".").removesuffix(".__init__")
            yield from _calls(ast.parse(path.read_text(encoding="utf-8")), module, False)


def _calls(node: ast.AST, where: str, inside: bool) -> Iterator[tuple[str, str, ast.Call]]:
    for child in ast.iter_child_nodes(node):
        place, within = where, inside
        if isinstance(child, ast.FunctionDef | ast.ClassDef) and not inside:
            place, within = f"{where}.{child.name}", isinstance(child, ast.FunctionDef)
        if isinstance(child, ast.Call):
            function = child.func
            name = function.attr if isinstance(function, ast.Attribute) else None
            name = function.id if isinstance(function, ast.Name) else name
            if name is not None:
                yield place, name, child
        yield from _calls(child, place, within)


def is_raw(name: str, call: ast.Call) -> bool:
    """Whether a call may write past `verax.files`."""
    if isinstance(call.func, ast.Name) and name in BY_HOME:
        return False
    if name == "open":
        values = [*call.args, *(k.value for k in call.keywords if k.arg == "mode")]
        text = [str(value.value) for value in values if isinstance(value, ast.Constant)]
        return any(set(one) <= set("rwaxbt+") and set(one) & set("wax+") for one in text)
    if name in ("rename", "replace", "remove", "copy", "move", "link"):
        # of a module, or of a path with one argument: text and tables have methods of these names
        of = call.func.value if isinstance(call.func, ast.Attribute) else None
        return isinstance(of, ast.Name) and of.id in ("os", "shutil")
    return name in RAW


def test_nothing_is_written_past_the_two_files_that_know_how() -> None:
    found = {f"{where} {name}" for where, name, call in calls() if is_raw(name, call)}
    reasons = {one: [entry for entry in ALLOWED if _covers(entry, one)] for one in found}
    unknown = sorted(one for one, entries in reasons.items() if not entries)
    assert not unknown, "write by verax.files, or say here why not"
    used = {entry for entries in reasons.values() for entry in entries}
    assert used == set(ALLOWED), "nothing needs this any more"


def _covers(entry: str, call: str) -> bool:
    return call == entry or call.startswith((f"{entry}.", f"{entry} "))


def test_every_function_that_writes_is_tried_with_faults() -> None:
    found = {
        where
        for where, name, call in calls()
        if name in BY_HOME and isinstance(call.func, ast.Name)
    }
    tried = {name.partition(" ")[0] for name in WRITERS}
    assert found == tried, "enter it in writers.py, or take it out there"
