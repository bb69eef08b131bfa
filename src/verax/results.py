"""One kind of result: saved as a folder, opened again, shown as a page and in a notebook.

A saved result is a Parquet file a table and `manifest.json`, which begins with the `kind` of the
result and the `format` it is written in.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Self, cast

import pandas as pd

from verax.errors import VeraxError
from verax.files import json_text, replace_folder, write_table, write_text
from verax.options import check_path
from verax.portable import portable
from verax.schema import (
    CHECKSUMS,
    Columns,
    Kind,
    SchemaError,
    check_sums,
    checksum_of,
    mapping,
    parse_json,
    plain,
    read_parquet,
    warn_unless,
)
from verax.scratch import recover

MANIFEST, REPORT = "manifest.json", "report.html"
FILES = "files"
"""Where a saved manifest has the checksums of its tables."""
_HEAD = ("kind", "format")

KINDS: dict[str, type[Result]] = {}
"""Kind → its class; a class is here once its module is imported."""


class InNotebook:
    """A result that a notebook shows."""

    def _repr_html_(self) -> str:
        from verax.report.notebook import html_of

        return html_of(self)


class Shown(InNotebook):
    """A result that has a page, and that a notebook shows."""

    def report(self, path: str | Path, title: str | None = None) -> None:
        """Write one HTML file that shows it all, needs no other and no network.

        Args:
            path: of the file.
            title: of the page; made of what is shown, unless given.

        See `verax.report.report`, which shows several verdicts side by side.
        """
        from verax.report.report import report

        report(cast(Any, self), path, title)


class Result(Shown):
    """A result that can be saved: tables, and a manifest of how they were made.

    A subclass names its `kind` and is from then on found by `open_result`. It says which tables it
    writes (`_tables`), which of them are always there (`always`) and sometimes (`sometimes`), and
    how it is made again of tables and manifest (`_restored`).
    """

    kind: ClassVar[str]
    format: ClassVar[int] = 1
    always: ClassVar[tuple[str, ...]] = ()
    sometimes: ClassVar[tuple[str, ...]] = ()
    remedy: ClassVar[str] = "make it again"
    """What to do about one in a format that is not read."""
    manifest: Mapping[str, Any]

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "kind" in vars(cls):
            KINDS[cls.kind] = cls

    def _tables(self) -> dict[str, pd.DataFrame]:
        """Name → table, of all that `save` writes."""
        raise NotImplementedError

    @classmethod
    def _restored(cls, tables: Mapping[str, pd.DataFrame], manifest: dict[str, Any]) -> Self:
        """The result that tables and manifest were saved of; a table is read when it is asked."""
        raise NotImplementedError

    @classmethod
    def _names(cls, manifest: Mapping[str, Any]) -> tuple[str, ...]:
        """The tables that a saved result with this manifest must have."""
        return cls.always

    @classmethod
    def _schema(cls) -> Kind:
        """The schema of its manifest."""
        return mapping(plain)

    @classmethod
    def _columns(cls, table: str) -> Columns:
        """The schema of a table."""
        return Columns({})

    def _described(self) -> dict[str, Any]:
        """The manifest as it is written."""
        return dict(self.manifest)

    def save(self, folder: str | Path, *, overwrite: bool = False) -> None:
        """Write a Parquet file a table and `manifest.json`, all at once.

        Files are named by their own names, without folders.

        Args:
            folder: a new or an empty one; any other is refused and left as it is.
            overwrite: replace an earlier result of this kind that the folder holds.
        """
        tables = self._tables()
        rest = {name: value for name, value in self._described().items() if name not in _HEAD}
        written = {"kind": self.kind, "format": self.format, **portable(rest)}
        warn_unless(self._schema(), written, MANIFEST)
        for name, table in tables.items():
            warn_unless(self._columns(name).check, table, f"{name}.parquet")

        def write(target: Path) -> None:
            sums: dict[str, Any] = {}
            for name, table in tables.items():
                file = target / f"{name}.parquet"
                write_table(file, table, index=False, compression="zstd")
                sums[file.name] = checksum_of(file.read_bytes())
            written[FILES] = sums
            text = json_text(written, indent=2, allow_nan=False)
            write_text(target / MANIFEST, text + "\n")

        replace_folder(folder, write, owned=self.owns, overwrite=overwrite)

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """The result that `save` wrote in `folder`."""
        path = Path(check_path(f"the folder of a {cls.kind}", folder))
        recover(path)
        try:
            manifest = _manifest_in(path)
            if manifest is None and (path / "model.safetensors").is_file():
                raise VeraxError(
                    f"{folder} is a saved model, not a {cls.kind}: examine it, as in verax examine "
                    f"{folder} --out DIR, and give that folder",
                    code="result.wrong-kind",
                )
            if manifest is None:
                raise VeraxError(
                    f"{folder} holds no saved {cls.kind}: expected a folder of one",
                    code="result.missing",
                )
            kind = manifest.pop("kind")
            if kind not in (cls.kind, None):
                raise VeraxError(
                    f"{folder} holds a saved {kind}, not a {cls.kind}: use verax.open",
                    code="result.wrong-kind",
                )
            version = manifest.get("format")
            if version != cls.format:
                raise VeraxError(
                    f"{folder} has format {version!r:.60}, this Verax reads {cls.format}: "
                    f"{cls.remedy}",
                    code="result.other-format",
                )
            if kind is None:
                raise ValueError(f"its {MANIFEST} is of no saved result")
            cls._schema()(manifest, MANIFEST)
            sums = manifest.pop(FILES)
            CHECKSUMS(sums, FILES)
            names = dict.fromkeys((*cls._names(manifest), *cls.sometimes))
            if others := sorted(set(sums) - {f"{name}.parquet" for name in names}):
                raise SchemaError(f"{MANIFEST} has a checksum of {others[0]!r:.60}, and no table")
            read = {name: _table(path, name, cls._columns(name), sums) for name in names}
            for name in cls._names(manifest):
                if read[name] is None:
                    raise KeyError(f"{name}.parquet")
            tables = {name: table for name, table in read.items() if table is not None}
            return cls._restored(tables, manifest)
        except VeraxError:
            raise
        except KeyError as error:
            raise VeraxError(
                f"cannot read {folder}: it has no {error.args[0]!r}", code="result.damaged"
            ) from error
        except (OSError, SchemaError) as error:
            raise VeraxError(
                f"cannot read {folder}: {error}; {cls.remedy}", code="result.damaged"
            ) from error
        except (ValueError, TypeError) as error:
            raise VeraxError(f"cannot read {folder}: {error}", code="result.damaged") from error

    @classmethod
    def owns(cls, folder: Path) -> bool:
        """Whether a folder holds a result of this kind, at most with its report, and no more.

        Then it may be replaced.
        """
        files = {path.name for path in folder.iterdir()}
        try:
            manifest = _manifest_in(folder)
            if manifest is None or manifest["kind"] != cls.kind:
                return False
            names = cls._names(manifest)
        except (OSError, ValueError, TypeError, KeyError):
            return False
        extra = {REPORT, *(f"{name}.parquet" for name in cls.sometimes)}
        whole = {MANIFEST, *(f"{name}.parquet" for name in names)}
        return files - extra == whole


def _table(
    folder: Path, name: str, columns: Columns, sums: Mapping[str, Mapping[str, Any]]
) -> pd.DataFrame | None:
    """A table of a folder, as it was written; None where there is none."""
    file = folder / f"{Path(name).name}.parquet"  # of this folder only
    if not file.is_file():
        return None
    data = file.read_bytes()
    check_sums({file.name: data}, sums)
    table = read_parquet(data, file.name)
    columns.check(table, file.name)
    return table


def open_result(folder: str | Path) -> Result:
    """The saved result in a folder, of whichever kind it is.

    Args:
        folder: what `save` wrote.
    """
    kind = saved_kind(folder)
    if kind is None:
        raise VeraxError(
            f"{folder} holds no saved result: expected a folder that save wrote",
            code="result.missing",
        )
    if kind not in KINDS:
        known = ", ".join(sorted(KINDS))
        raise VeraxError(
            f"{folder} holds a saved {kind!r}, and this Verax knows {known}: update it, or import "
            "the package that made it",
            code="result.wrong-kind",
        )
    return KINDS[kind].load(folder)


def saved_kind(folder: str | Path) -> str | None:
    """The kind of the result that is saved in a folder; None where there is none.

    A manifest that cannot be read is an error.
    """
    recover(folder)
    try:
        manifest = _manifest_in(Path(folder))
    except (OSError, ValueError) as error:
        raise VeraxError(f"cannot read {folder}: {error}", code="result.damaged") from error
    kind = None if manifest is None else manifest["kind"]
    return kind if isinstance(kind, str) else None


def _manifest_in(folder: Path) -> dict[str, Any] | None:
    """Return a folder's manifest, always with a `kind`; None if the folder has no manifest.

    The kind is None for a manifest that belongs to no saved result.
    """
    if not (folder / MANIFEST).is_file():
        return None
    try:
        manifest = parse_json((folder / MANIFEST).read_bytes())
    except SchemaError as error:
        raise SchemaError(f"{MANIFEST}: {error}") from None
    if not isinstance(manifest, dict):
        raise SchemaError(f"{MANIFEST} is no mapping")
    return {"kind": None, **manifest}
