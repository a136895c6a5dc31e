"""Spark: data frames of an existing session or of a local one, for data that outgrow one machine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, cast

from sqlglot import exp

from discreet.core.errors import InvalidParameter, MissingExtra
from discreet.core.rng import SYSTEM
from discreet.data.engines.base import EngineField, Source, decimals, relation, unknown_input
from discreet.data.engines.cells import bytes_text, spell, spell_bytes
from discreet.data.engines.failures import Reason, watch
from discreet.data.engines.readings import Family, RowReading
from discreet.data.engines.spark_files import Checkpoint, Touched
from discreet.data.engines.spark_patterns import match_in_order
from discreet.data.schema.columns import Column

try:
    from py4j.protocol import Py4JError, Py4JNetworkError  # type: ignore[import-untyped]  # it has no stubs
    from pyspark.errors import AnalysisException, PySparkException
    from pyspark.sql import SparkSession
    from pyspark.sql.classic.dataframe import DataFrame
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
_GROUP = ("spark.jobGroup.id", "spark.job.description", "spark.job.interruptOnCancel")


class Spark(Source):
    """Frames of one Spark session.

    Codes are computed once and written to files (see `Checkpoint`); nothing else is read from then on.
    Temporary views carry unguessable names, so that the session's other users are not disturbed.

    Parameters
    ----------
    inputs
        Which data frame to read under which name. All belong to one session.
    timeout
        Seconds after which the jobs of a query are cancelled.
    """

    dialect = "spark"

    def __init__(self, inputs: Mapping[str, Any], *, timeout: float) -> None:
        super().__init__(timeout=timeout)
        self._mark = SYSTEM.random_bytes(8).hex()
        self._inputs = dict(inputs)
        self._kept: dict[str, Any] = {}
        self._checkpoint: Checkpoint | None = None
        self._session = _session(self._inputs)
        self._try_opening(self._show_inputs)

    def _show_inputs(self) -> None:
        for name, frame in self._inputs.items():
            frame.createOrReplaceTempView(self._view(f"input_{name}"))

    def hash_row(self, key: str, unit: exp.Expr, columns: Sequence[tuple[exp.Expr, Column]]) -> exp.Expr:
        """Return Spark's own hash, which passes missing values over."""
        parts = [exp.Literal.string(key), unit, *(value for value, _ in columns)]
        return exp.Anonymous(this="XXHASH64", expressions=[part.copy() for part in parts])

    def columns(self, name: str) -> tuple[EngineField, ...]:
        """Return names and types of an input."""
        if name not in self._inputs:
            raise unknown_input(self._inputs, name)
        fields = self._try_opening(lambda: self._inputs[name].schema.fields)
        return tuple(_field(field.name, field.dataType.simpleString()) for field in fields)

    def raw(self, name: str) -> exp.Table:
        """Return what a query that reads an input selects from."""
        if name not in self._inputs:
            raise unknown_input(self._inputs, name)
        return relation(self._view(f"input_{name}"))

    def _give_back(self) -> None:
        """Drop views, persisted rows and files. The session stays open: it is not ours."""
        self._attempt(self._forget_all)  # a session that is gone has nothing left to drop
        if self._checkpoint is not None:
            self._attempt(self._checkpoint.remove)
        self._inputs, self._kept, self._checkpoint = {}, {}, None

    def _forget_all(self) -> None:
        for name in (*self._relations, *(f"input_{name}" for name in self._inputs)):
            self._session.catalog.dropTempView(self._view(name))
        for name, frame in self._kept.items():
            self._session.catalog.dropTempView(_by_user(name))
            frame.unpersist()

    def _view(self, name: str) -> str:
        return f"discreet_{self._mark}_{name}"

    def _keep(self, name: str, query: exp.Query) -> exp.Table:
        """Write what is read of an input."""
        frame = self._session.sql(self._sql(query))
        if self._checkpoint is None:
            self._checkpoint = Checkpoint(self._session)
        frame = self._checkpoint.write(name, frame)
        frame.createOrReplaceTempView(self._view(name))
        return relation(self._view(name))

    def _store(self, name: str, reading: RowReading) -> exp.Table:
        """Write rows; those of users are persisted too, each user's in one place: none is moved again.

        What is lost of them is read from the files again, which are looked at before every query.
        """
        table = super()._store(name, reading)
        if reading.users is not None:
            kept = self._session.table(table.name).repartition(reading.users.column).persist()
            kept.count()
            kept.createOrReplaceTempView(_by_user(table.name))
            self._kept[table.name] = kept
        return table

    def _find_rows(self, query: exp.Query) -> exp.Query:
        """Point a query that groups by users first at the rows that lie together by user.

        All others read files: they are columns there, of which only those are read that matter.
        """
        inner = [one for one in query.find_all(exp.Group, exp.Window) if one.parent_select is not query]
        if not inner:
            return query

        def point(node: exp.Expr) -> exp.Expr:
            if not isinstance(node, exp.Table) or node.name not in self._kept:
                return node
            return exp.Table(**{**node.args, "this": exp.to_identifier(_by_user(node.name))})

        return cast("exp.Query", query.transform(point))

    def _count_raw(self, name: str, query: exp.Select) -> list[tuple[object, ...]]:
        return [tuple(row) for row in self._session.sql(self._sql(query)).collect()]

    def _rows(self, query: exp.Query) -> Iterable[Iterable[object]]:
        with self._watch():
            return [tuple(row) for row in self._session.sql(self._sql(self._find_rows(query))).collect()]

    @contextmanager
    def _watch(self) -> Iterator[None]:
        """Look whether the files are as written; give the jobs of this thread a group, to be cancelled by."""
        context, group = self._session.sparkContext, f"discreet-{SYSTEM.random_bytes(8).hex()}"
        before = {name: context.getLocalProperty(name) for name in _GROUP}
        if self._checkpoint is not None:
            self._checkpoint.check()
        context.setJobGroup(group, "discreet", interruptOnCancel=True)
        try:
            with watch(self._limit, lambda: context.cancelJobGroup(group)):
                yield
        finally:
            for name, value in before.items():
                context.setLocalProperty(name, cast("str", value))  # None unsets it

    def _sql(self, query: exp.Expr) -> str:
        """Spell text with a backslash or a quote in digits: whether a backslash escapes is a setting."""

        def escape(node: exp.Expr) -> exp.Expr:
            if isinstance(node, exp.Literal) and node.is_string and {"\\", "'"} & set(node.this):
                return bytes_text(spell_bytes(spell(node.this), self.dialect), self.dialect)
            return node

        return super()._sql(query.transform(escape))

    def _resolve(self, query: exp.Query) -> exp.Query:
        """Point tables at loaded relations; patterns are matched in time that grows with the text."""
        return super()._resolve(match_in_order(query))

    def _seal(self) -> None:
        for name in self._inputs:
            self._session.catalog.dropTempView(self._view(f"input_{name}"))
        self._inputs = {}

    def _failures(self) -> tuple[type[BaseException], ...]:
        # A session that was stopped has None where its gateway was.
        return (PySparkException, Py4JError, AttributeError, OSError, Touched)

    def _reason(self, error: BaseException) -> Reason:
        if isinstance(error, AttributeError | Py4JNetworkError | OSError):
            return Reason.LOST
        return Reason.NOT_FOUND if isinstance(error, AnalysisException) else Reason.UNREADABLE


def _by_user(view: str) -> str:
    return f"{view}_by_user"


def _session(inputs: Mapping[str, Any]) -> SparkSession:
    """Return the one session of all frames."""
    for name, frame in inputs.items():
        if not isinstance(frame, DataFrame):
            rule = "a data frame of a classic Spark session"
            hint = "Frames of Spark Connect and of pandas on Spark are not read: their engine is out of reach"
            raise InvalidParameter(name=f"{name} data", rule=rule, got=type(frame).__module__, hint=hint)
    first, *others = (frame.sparkSession for frame in inputs.values())
    if any(other is not first for other in others):
        raise InvalidParameter(name="data", rule="frames of one Spark session", got="several sessions")
    return cast("SparkSession", first)


def local_session(*, threads: int = 2) -> SparkSession:
    """Return a Spark session on this machine alone, bound to the loopback address."""
    builder = SparkSession.builder.master(f"local[{threads}]").appName("discreet")
    settings = {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": str(threads),
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def read_parquet(path: str) -> DataFrame:
    """Return a Parquet file, or a folder of such files, as a frame of a local session that logs nothing."""
    session = local_session()
    session.sparkContext.setLogLevel("OFF")  # what Spark says of a row that it cannot read may quote it
    try:
        return cast("DataFrame", session.read.parquet(path))
    except AnalysisException:
        reason = Reason.NOT_FOUND
    except (PySparkException, Py4JError):
        reason = Reason.UNREADABLE
    raise reason.to_error()


def _field(name: str, kind: str) -> EngineField:
    # "string collate UTF8_LCASE" is text like any other: no collation survives the reading.
    short = kind.partition("(")[0].partition("<")[0].partition(" collate ")[0]
    return EngineField(name=name, type=short, family=_FAMILIES.get(short, "other"), scale=decimals(kind))
