"""A private table: the owner's data on some engine, behind a declared schema."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NoReturn

from discreet.accounting.deltas import read_delta
from discreet.accounting.units import PrivacyUnit
from discreet.core import checks
from discreet.core.errors import DiscreetError, InvalidParameter, TableHeld
from discreet.core.guarantee import Guarantee
from discreet.core.neighbours import Neighbours
from discreet.core.rng import SYSTEM, Rng
from discreet.core.sensitive import Sensitive
from discreet.data.ask import ask, plan_question, read_vector
from discreet.data.engines import Source, open_source
from discreet.data.engines.bounding import bound_rows
from discreet.data.engines.encode import encode_rows
from discreet.data.engines.failures import TIMEOUT
from discreet.data.engines.histogram import choose_columns, count
from discreet.data.plan.nodes import Policy
from discreet.data.plan.tables import PlanTables
from discreet.data.pricing.answer import Answer
from discreet.data.pricing.question_plan import QuestionPlan, require_priced
from discreet.data.pricing.usefulness import require_useful
from discreet.data.pricing.wanted_errors import BETA, OneOrMore, QuestionsPlan, make_fits, plan_questions
from discreet.data.schema.columns import Column
from discreet.data.schema.schema import Dimension, Schema, User
from discreet.data.schema.toml_file import read_schema
from discreet.queries.histogram import Histogram
from discreet.queries.universe import Universe

if TYPE_CHECKING:
    from discreet.streams.planning import CounterPlan

Declared = Schema | str | os.PathLike[str]


class Table:
    """A private table and the public tables it may be joined with.

    Opening reads the declared columns once and keeps them as codes (see `schema.columns`); later
    changes of the data are not seen. Nothing of the data is ever printed, pickled or copied.

    Parameters
    ----------
    data
        A path of a .parquet, .csv or .csv.gz file; a pandas, polars, Arrow or Spark frame;
        ``(DuckDB connection or .duckdb path, table)``; or ``(PostgreSQL connection string, table)``.
    schema
        A `Schema`, or the path of a TOML file that holds one.
    dimensions
        The data of each public table the schema declares.
    joined
        Other private tables, as (data, schema), that may be joined on the privacy unit. They must protect
        the same unit.
    timeout
        Seconds the engine may work on one question; it then fails as engines fail. Opening takes as long as
        it takes, except that PostgreSQL waits no longer than that for another session's lock.

    Attributes
    ----------
    schema, schemas
        The schema of this table, and of it and all joined ones.
    """

    __slots__ = ("__weakref__", "_engine", "schema", "schemas")

    def __init__(
        self,
        data: object,
        *,
        schema: Declared,
        dimensions: Mapping[str, object] | None = None,
        joined: Sequence[tuple[object, Declared]] = (),
        timeout: float = TIMEOUT,
    ) -> None:
        self.schema = _schema(schema)
        others = [(one, _schema(other)) for one, other in joined]
        self.schemas: tuple[Schema, ...] = (self.schema, *(other for _, other in others))
        _check_units(self.schemas)
        public = _public(self.schemas)
        inputs = {self.schema.name: data} | {other.name: one for one, other in others}
        _check_names(inputs, public, dimensions or {})
        inputs |= {name: (dimensions or {})[name] for name in public}
        seconds = float(checks.positive(timeout=timeout))
        self._engine: Source | _HandedOver = open_source(inputs, timeout=seconds)
        read: dict[str, tuple[tuple[Column, ...], str | None]]
        read = {one.name: (one.columns, one.unit.column) for one in self.schemas}
        read |= {name: (dimension.columns, None) for name, dimension in public.items()}
        try:
            readings = {
                name: encode_rows(self._source, name, kinds, unit=unit)
                for name, (kinds, unit) in read.items()
            }
            key = draw_key()
            for one in self.schemas:
                if isinstance(one.unit, User):
                    readings[one.name] = bound_rows(
                        self._source, readings[one.name], one, key=key, joined=len(self.schemas) > 1
                    )
            self._source.load(readings, unique={name: dimension.key for name, dimension in public.items()})
        except BaseException:
            self._source.close()
            raise

    def plan(
        self, query: str, *, epsilon: checks.Number, delta: checks.Number, large_delta: bool = False
    ) -> QuestionPlan:
        """Say what a question would cost and how well it would be answered. No row is read.

        Parameters
        ----------
        query
            One SELECT; see `sql`.
        epsilon, delta
            The most it may cost. The query's own OPTIONS clause may ask for less.
        large_delta
            Whether a delta above a thousandth is meant.
        """
        policy = _policy(epsilon, read_delta(delta, large=large_delta))
        return plan_question(query, schemas=self.schemas, policy=policy)

    def plan_within(
        self,
        questions: Iterable[str],
        *,
        within: OneOrMore,
        of: OneOrMore | None = None,
        beta: checks.Number = BETA,
        epsilon: checks.Number,
        delta: checks.Number,
        large_delta: bool = False,
    ) -> QuestionsPlan:
        """Split a budget over several questions so that all meet their wanted errors. No row is read.

        Parameters
        ----------
        questions
            SELECTs; see `sql`.
        within, of
            The wanted errors, one for all or one for each; in parts of a public size where `of` says one:
            within=0.02, of=60_000 is 1,200 rows.
        beta
            With what probability any number of any answer may be further off.
        epsilon, delta
            The budget. Where that is too small, the plan says which would do.
        large_delta
            Whether a delta above a thousandth is meant.
        """
        tables = PlanTables.of(self.schemas)
        fits = make_fits(epsilon=epsilon, delta=delta, neighbours=self.neighbours)
        mass = read_delta(delta, large=large_delta)
        return plan_questions(
            questions, tables=tables, within=within, of=of, beta=beta, delta=mass, fits=fits
        )

    def plan_counts(self, *, epsilon: checks.Number, delta: checks.Number) -> CounterPlan:
        """Say how near the rows so far can be counted, every day of the time column. No row is read."""
        from discreet.data.pricing.day_counts import plan_day_counts  # noqa: PLC0415  who asks no counter

        return plan_day_counts(self.schema, epsilon=epsilon, delta=delta)

    def sql(
        self,
        query: str,
        *,
        epsilon: checks.Number,
        delta: checks.Number,
        rng: Rng = SYSTEM,
        insist: bool = False,
        large_delta: bool = False,
    ) -> Answer:
        """Answer a question with noise. It costs `Answer.guarantee`, whatever comes out.

        Parameters
        ----------
        query
            One SELECT, plain or with BigQuery's WITH DIFFERENTIAL_PRIVACY clause.
        epsilon, delta
            The most it may cost. The query's own OPTIONS clause may ask for less.
        rng
            Where the noise comes from.
        insist
            Whether to answer even where an interval would span most of what is possible.
        large_delta
            Whether a delta above a thousandth is meant.

        Raises
        ------
        Refused
            For anything outside the language, and for what would say nothing: as far as the schema says how
            many rows there are. Nothing was read.
        EngineFailed
            Where the engine gave up; its words are kept back.
        TableClosed
            Where the table was closed before.
        """
        plan = self.plan(query, epsilon=epsilon, delta=delta, large_delta=large_delta)
        if not checks.instance(bool, insist=insist):
            require_useful(plan.budget)
        return self.answer(plan, rng=rng)

    def answer(self, plan: QuestionPlan, *, rng: Rng = SYSTEM) -> Answer:
        """Answer a question that was planned for the schemas of this table; see `plan` and `sql`.

        Nothing is kept of earlier questions, so whether it is answered, and how long that takes, does not
        depend on them.
        """
        require_priced(plan, PlanTables.of(self.schemas))
        return ask(plan, source=self._source, rng=rng)

    def read_vector(self, plan: QuestionPlan) -> Sensitive[tuple[int, ...]]:
        """Read the exact numbers of a planned question that measures one number for each declared group.

        Private, for mechanisms alone, as `histogram` is.
        """
        require_priced(plan, PlanTables.of(self.schemas))
        return read_vector(plan, source=self._source)

    @property
    def neighbours(self) -> Neighbours:
        """Which change of the table is hidden: that of one unit."""
        return self.schema.neighbours

    @property
    def rows_per_unit(self) -> int:
        """How many rows of one unit count, in histograms too."""
        return self.schema.unit.max_rows

    def universe(self, columns: Iterable[str] | None = None) -> Universe:
        """Return every combination of the declared values of some columns. Public; no row is read.

        Parameters
        ----------
        columns
            Their names, in order; all that have declared values where left out.
        """
        return Universe.from_columns(choose_columns(self.schema, columns))

    def histogram(self, columns: Iterable[str] | None = None, *, sparse: bool | None = None) -> Histogram:
        """Count the rows of every cell of a universe: private, for mechanisms alone.

        At most `rows_per_unit` rows of a user count, the same ones in every histogram of this table. What a
        mechanism that was built for rows promises to one unit, `per_unit` says.

        Parameters
        ----------
        columns
            As in `universe`.
        sparse
            Whether to keep only the cells that occur. Left out: where an array over the universe would be
            too large.
        """
        return count(self._source, self.schema, choose_columns(self.schema, columns), sparse=sparse)

    def marginals(self, sets: Iterable[Iterable[str]]) -> Iterator[Histogram]:
        """Count the rows of many small universes, one GROUP BY after the other: private, as `histogram` is.

        For tables whose whole universe is beyond any histogram. A unit's rows are the same in all of them.

        Parameters
        ----------
        sets
            The names of the columns of each.
        """
        listed = [choose_columns(self.schema, names) for names in sets]
        return (count(self._source, self.schema, one, sparse=None) for one in listed)

    def per_unit(self, guarantee: Guarantee) -> Guarantee:
        """Say what a guarantee about one row of a histogram means for one unit of the table.

        A unit adds or removes up to `rows_per_unit` rows; one that is replaced does both. So it is a group of
        that many rows, and the loss is that towards such a group.

        Parameters
        ----------
        guarantee
            Of a release made from `histogram` or `marginals`, about rows.

        Raises
        ------
        NeighboursMismatch
            Where it is about something else than rows, or takes their number for public and it is not.
        """
        return PrivacyUnit.of(self).per_unit(guarantee)

    def hand_over(self) -> Table:
        """Return a table with the engine of this one, through which nothing is read any more.

        For whoever holds a table on a budget: what was kept of the old one is of no use around it. Public
        facts, plans, `close` and `reopen` stay as they were.

        Raises
        ------
        TableHeld
            Where it was handed over before.
        """
        with _HANDING:
            other = object.__new__(Table)
            other.schema, other.schemas = self.schema, self.schemas
            other._engine = self._source
            self._engine = _HandedOver(self._source)
        return other

    def require_open(self) -> None:
        """Raise where nothing is read any more: for whoever is about to charge for reading.

        Raises
        ------
        TableClosed, TableHeld
            Where its owner closed it, or somebody else holds it.
        """
        self._source.require_open()

    @property
    def _source(self) -> Source:
        if isinstance(self._engine, _HandedOver):
            raise TableHeld
        return self._engine

    def reopen(self) -> None:
        """Read the data again, as they are now: for the owner, after a connection to PostgreSQL was lost.

        It never happens by itself, since answers are about another moment from then on. What was paid for
        stays paid.

        Raises
        ------
        OpenFailed
            Where the server cannot be read. Questions then go on failing.
        """
        self._engine.reopen()

    def close(self) -> None:
        """Give the engine back. The table cannot be read any more."""
        self._engine.close()

    def __enter__(self) -> Table:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Table({self.schema.name!r}, {len(self.schema.columns)} columns, {self._engine.dialect})"

    def __reduce__(self) -> NoReturn:
        raise DiscreetError("a private table cannot be pickled or copied")


class _HandedOver:
    """Where the engine of a table was that somebody else holds: its owner gives it back or reopens it."""

    def __init__(self, source: Source) -> None:
        self.close, self.reopen, self.dialect = source.close, source.reopen, source.dialect


_HANDING = threading.Lock()


def draw_key() -> str:
    """Draw the secret that decides which rows of a user count: afresh for each opening."""
    return SYSTEM.random_bytes(16).hex()


def _policy(epsilon: checks.Number, delta: checks.Number) -> Policy:
    return Policy(epsilon=checks.exact(epsilon=epsilon), delta=checks.exact(delta=delta))


def _schema(declared: Declared) -> Schema:
    if isinstance(declared, Schema):
        return declared
    if isinstance(declared, str | os.PathLike):
        return read_schema(declared)
    raise InvalidParameter(name="schema", rule="a Schema or the path of a TOML file", value=declared)


def _check_units(schemas: tuple[Schema, ...]) -> None:
    first, *others = schemas
    for other in others:
        if other.unit.column is None or other.neighbours != first.neighbours:
            rule = f"protecting the same unit as {first.name} ({first.neighbours})"
            raise InvalidParameter(name=f"{other.name}.neighbours", rule=rule, value=str(other.neighbours))


def _public(schemas: tuple[Schema, ...]) -> dict[str, Dimension]:
    public: dict[str, Dimension] = {}
    for dimension in (dimension for schema in schemas for dimension in schema.dimensions):
        if public.setdefault(dimension.name, dimension) != dimension:
            rule = "declared alike wherever it is declared"
            raise InvalidParameter(name="dimensions", rule=rule, value=dimension.name)
    return public


def _check_names(inputs: Mapping[str, object], public: Mapping[str, object], given: Iterable[str]) -> None:
    names = [name.lower() for name in (*inputs, *public)]
    if len(set(names)) < len(names):
        raise InvalidParameter(name="tables", rule="named differently", value=sorted(names))
    if set(given) != set(public):
        rule = f"data for exactly the declared public tables ({', '.join(sorted(public)) or 'none'})"
        hint = f'Pass dimensions={{"{min(public)}": "{min(public)}.csv"}}, say' if public else ""
        raise InvalidParameter(name="dimensions", rule=rule, value=sorted(given), hint=hint)
