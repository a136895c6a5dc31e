"""What Spark reads once, in files that only its table knows: the snapshot that every answer is about.

A persisted frame is no snapshot: Spark computes it again from its source when an executor is lost, when the
cache is cleared and when somebody writes to a table it came from. So codes are written as Parquet files,
whose pages carry checksums that every reading verifies, and before every query the files must still be
those that were written.
"""

from __future__ import annotations

import shutil
import tempfile
import weakref
from pathlib import Path
from typing import Any

from discreet.core.errors import InvalidParameter
from discreet.core.rng import SYSTEM

FOLDER = "spark.discreet.folder"
"""The Spark setting by which an owner names the folder that snapshots are kept in."""


class Touched(Exception):
    """The files of a snapshot are not those that were written."""


class Checkpoint:
    """A folder of one table's own, removed when the table is closed.

    Parameters
    ----------
    session
        The Spark session. Its setting `spark.discreet.folder` says where; a session on one machine that does
        not say gets a temporary folder that only this user can read.
    """

    def __init__(self, session: Any) -> None:
        self._session = session
        self._files: dict[str, list[tuple[str, int, int]]] = {}
        named = session.conf.get(FOLDER, None)
        self.private: str | None = None
        if named is None and not session.sparkContext.master.startswith("local"):
            raise InvalidParameter(
                name=FOLDER,
                rule="set in the session to a folder that executors can write and others cannot read",
                got="none",
                hint=f"session.conf.set({FOLDER!r}, 'hdfs:///private/discreet'): codes are kept there",
            )
        if named is None:
            self.private = tempfile.mkdtemp(prefix="discreet-")
            self._end = weakref.finalize(self, shutil.rmtree, self.private, ignore_errors=True)
            named = Path(self.private).as_uri()
            self._folder = named
        else:
            self._folder = f"{named.rstrip('/')}/discreet-{SYSTEM.random_bytes(8).hex()}"
            system, path = self._place("")
            system.mkdirs(path, self._hadoop.permission.FsPermission("700"))

    def write(self, name: str, frame: Any) -> Any:
        """Write a frame's rows, once, and return the frame that reads them."""
        folder = f"{self._folder}/{name}"
        frame.write.mode("errorifexists").option("parquet.page.write-checksum.enabled", "true").parquet(
            folder
        )
        self._files[name] = self._list_files(name)
        reader = self._session.read.schema(frame.schema)
        settings = {
            "parquet.page.verify-checksum.enabled": "true",
            "ignoreCorruptFiles": "false",
            "ignoreMissingFiles": "false",
            "mergeSchema": "false",
        }
        for setting, value in settings.items():
            reader = reader.option(setting, value)
        return reader.parquet(folder)

    def check(self) -> None:
        """Raise `Touched` unless names, sizes and times of all files are those of the files written."""
        if any(self._list_files(name) != files for name, files in self._files.items()):
            raise Touched

    def remove(self) -> None:
        """Remove the folder."""
        if self.private is not None:
            self._end()
        else:
            system, path = self._place("")
            system.delete(path, True)

    def _list_files(self, name: str) -> list[tuple[str, int, int]]:
        system, path = self._place(name)
        found = system.listStatus(path)
        return sorted((one.getPath().getName(), one.getLen(), one.getModificationTime()) for one in found)

    def _place(self, name: str) -> tuple[Any, Any]:
        """Return the file system of a place in the folder, and its path there."""
        path = self._hadoop.Path(f"{self._folder}/{name}")
        state = self._session._jsparkSession.sessionState()  # noqa: SLF001
        return path.getFileSystem(state.newHadoopConf()), path

    @property
    def _hadoop(self) -> Any:
        """Spark's own file systems, which PySpark does not show."""
        return self._session._jvm.org.apache.hadoop.fs  # noqa: SLF001
