"""Spark: data frames of an existing session or of a local one, for data that outgrow one machine."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sqlglot import exp

from discreet.core.errors import MissingExtra
from discreet.core.rng import SYSTEM
from discreet.data.sources.base import Family, Field, Source, decimals, unknown_input

try:
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]  # it has no stubs
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession
except ImportError:
    raise MissingExtra(package="pyspark", extra="spark") from None

_FAMILIES: dict[str, Family] = {
    **dict.fromkeys(("tinyint", "smallint", "int", "bigint"), "integer"),
    **dict.fromkeys(("float", "double"), "real"),
    "decimal": "decimal",
    "boolean": "boolean",
    "date": "date",
    "timestamp": "zoned",
    "timestamp_ntz": "timestamp",
    **dict.fromkeys(("string", "varchar", "char"), "text"),
}


class Spark(Source):
    """Frames of one Spark session.

    Codes are computed once and persisted by Spark. Temporary views carry unguessable names, so that the
    session's other users are not disturbed.

    Parameters
    ----------
    inputs
        Which data frame to read under which name. All belong to one session.
    """

    dialect = "spark"

    def __init__(self, inputs: Mapping[str, Any]) -> None:
        super().__init__()
        self._mark = SYSTEM.random_bytes(8).hex()
        self._inputs = dict(inputs)
        self._kept: dict[str, Any] = {}
        self._session = next(iter(self._inputs.values())).sparkSession
        for name, frame in self._inputs.items():
            frame.createOrReplaceTempView(self._view(f"input_{name}"))

    def columns(self, name: str) -> tuple[Field, ...]:
        """Return names and types of an input."""
        if name not in self._inputs:
            raise unknown_input(self._inputs, name)
        described = [
            (field.name, field.dataType.simpleString()) for field in self._inputs[name].schema.fields
        ]
        return tuple(_field(column, kind) for column, kind in described)

    def raw(self, name: str) -> exp.Table:
        """Return what a query that reads an input selects from."""
        if name not in self._inputs:
            raise unknown_input(self._inputs, name)
        return exp.to_table(self._view(f"input_{name}"))

    def close(self) -> None:
        """Drop views and persisted rows. The session stays open: it is not ours."""
        for name in (*self._kept, *(f"input_{name}" for name in self._inputs)):
            self._session.catalog.dropTempView(self._view(name))
        for frame in self._kept.values():
            frame.unpersist()
        self._inputs, self._kept = {}, {}

    def _view(self, name: str) -> str:
        return f"discreet_{self._mark}_{name}"

    def _keep(self, name: str, query: exp.Query) -> exp.Table:
        frame = self._session.sql(self._sql(query)).persist()
        frame.count()
        frame.createOrReplaceTempView(self._view(name))
        self._kept[name] = frame
        return exp.to_table(self._view(name))

    def _drop(self, table: exp.Table) -> None:
        self._session.catalog.dropTempView(table.name)
        self._kept.pop(table.name.removeprefix(self._view(""))).unpersist()

    def _rows(self, query: exp.Query) -> Iterable[Iterable[object]]:
        return [tuple(row) for row in self._session.sql(self._sql(query)).collect()]

    def _seal(self) -> None:
        for name in self._inputs:
            self._session.catalog.dropTempView(self._view(f"input_{name}"))
        self._inputs = {}

    def _failures(self) -> tuple[type[BaseException], ...]:
        return (PySparkException, Py4JError)


def local_session(*, threads: int = 2) -> SparkSession:
    """Return a Spark session on this machine alone, bound to the loopback address."""
    builder = SparkSession.builder.master(f"local[{threads}]").appName("discreet")
    settings = {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": str(threads),
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def _field(name: str, kind: str) -> Field:
    # "string collate UTF8_LCASE" is text like any other: no collation survives the reading.
    short = kind.partition("(")[0].partition("<")[0].partition(" collate ")[0]
    return Field(name=name, type=short, family=_FAMILIES.get(short, "other"), scale=decimals(kind))
