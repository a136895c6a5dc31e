"""The ledger: what was promised, reserved and spent, and the books that keep it.

A `Ledger` is the budget of one data set. The ledgers of one owner live in a `Book`: one sequence of events,
from which all sums follow. A book is in memory, in a SQLite file or in PostgreSQL.
"""
