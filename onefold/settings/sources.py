"""The sources of pulled tables in onefold.yaml: a server, its databases, and how each table is pulled."""

from __future__ import annotations

import glob
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from fnmatch import fnmatchcase
from itertools import takewhile
from typing import Literal
from unicodedata import normalize

from onefold.core.names import TableId, table_name

Mode = Literal["incremental", "full"]
DEFAULT_OVERLAP = timedelta(minutes=15)
"""The overlap of a time watermark: a commit may be later than the modification time of its rows by this much."""
DEFAULT_KEY_OVERLAP = 1_000
"""The overlap of a key watermark, in keys: a transaction may commit after one that took a greater key."""
_NOT_IN_DATASET = re.compile(r"[^A-Za-z0-9_]")
_PART = re.compile(r"\[!?\]?[^\]]*\]|.", re.DOTALL)


@dataclass(frozen=True)
class WatermarkColumn:
    """The column that a person named as the watermark of a table; its type at the source says how it is read.

    Attributes:
        column: the name at the source.
        unix_seconds: whether an integer column holds seconds since 1970; otherwise integers are keys.
    """

    column: str
    unix_seconds: bool = False


@dataclass(frozen=True)
class TableLoad:
    """How tables are pulled.

    Attributes:
        mode: `incremental` by a watermark, or `full` each time.
        watermark: the column; None where the file names none, or the mode is `full`.
        pull_overlap: what is read again below the watermark: a time, or a number of keys; None for the default.
        drop: columns that never leave the source, compared without case.
        reload_days: how many days before the present one each daily load replaces.
    """

    mode: Mode = "full"
    watermark: WatermarkColumn | None = None
    pull_overlap: timedelta | int | None = None
    drop: tuple[str, ...] = ()
    reload_days: int = 1


@dataclass(frozen=True)
class Tls:
    """The encryption of a connection: verified unless somebody says otherwise.

    Attributes:
        mode: `verify` checks the certificate and its name, `encrypt` checks neither, `off` sends plain text.
        ca: the file of the authority; None for the authorities of the machine.
    """

    mode: Literal["verify", "encrypt", "off"] = "verify"
    ca: str | None = None


@dataclass(frozen=True)
class Source:
    """A server whose tables are pulled.

    Attributes:
        cluster: its name in onefold.yaml, and in each landed row as `source_name`.
        host: the address.
        port: the port.
        user: the user that reads.
        password: a reference, never the password: `projects/P/secrets/S[/versions/V]`, `env:NAME` or `file:PATH`.
        tls: the encryption.
        time_zone: the zone of DATETIME and DATE columns that are watermarks, a tz database name.
        databases: the databases that may be pulled.
        tables: how tables are pulled, by pattern of `table` or `database.table`, in the order of the file.
        exclude: patterns of tables that are not pulled, whatever `tables` says.
    """

    cluster: str
    host: str
    port: int = 3306
    user: str = ""
    password: str = ""
    tls: Tls = Tls()
    time_zone: str = "UTC"
    databases: tuple[str, ...] = ()
    tables: Mapping[str, TableLoad] = field(default_factory=dict)
    exclude: tuple[str, ...] = ()

    def excludes(self, database: str, table: str) -> bool:
        """Return whether a pattern of `exclude` matches a table."""
        return any(_matches(pattern, database, table) for pattern in self.exclude)

    def load_of(self, database: str, table: str) -> TableLoad | None:
        """Return how a table is pulled: by the first pattern of the file that matches.

        None where no pattern matches, or where the table is excluded.

        Examples:
            >>> Source("fraud", "db", tables={"log_*": TableLoad("full")}).load_of("models", "log_1")
            TableLoad(mode='full', watermark=None, pull_overlap=None, drop=(), reload_days=1)
        """
        return None if self.excludes(database, table) else self.settings_of(database, table)

    def settings_of(self, database: str, table: str) -> TableLoad | None:
        """Return the settings of a table, also of an excluded one: its rows were pulled with them."""
        found = (load for pattern, load in self.tables.items() if _matches(pattern, database, table))
        return next(found, None)

    def other_case(self, database: str, table: str, seen: Collection[str]) -> str | None:
        """Return a pattern that matches no table, and that would match this one if case did not count; None for none.

        Only patterns are looked at that would decide: those of `exclude`, and those before the first one that matches.

        Args:
            database: the database of the table.
            table: its name.
            seen: the tables of the database.

        Examples:
            >>> source = Source("fraud", "db", tables={"Score": TableLoad(drop=("card",)), "*": TableLoad()})
            >>> source.other_case("models", "score", ["score"]), source.other_case("models", "score", ["score", "Score"])
            ('Score', None)
        """
        first = takewhile(lambda pattern: not _matches(pattern, database, table), self.tables)
        near = (one for one in (*self.exclude, *first) if matches_in_other_case(one, database, table))
        return next((one for one in near if not any(_matches(one, database, name) for name in seen)), None)

    def settings_of_base(self, database: str, base: str) -> TableLoad | None:
        """Return the settings of a table by its name in BigQuery, which has `_` for characters of the source's name.

        Examples:
            >>> Source("fraud", "db", tables={"order[[]1]": TableLoad("full")}).settings_of_base("models", "order_1_")
            TableLoad(mode='full', watermark=None, pull_overlap=None, drop=(), reload_days=1)
        """
        found = (load for pattern, load in self.tables.items() if _matches_base(pattern, database, base))
        return next(found, None)

    def names_one(self, database: str, table: str) -> bool:
        """Return whether the settings of a table are its own: the pattern that matches first has no wildcard.

        Examples:
            >>> Source("fraud", "db", tables={"score": TableLoad(), "*": TableLoad()}).names_one("models", "score")
            True
        """
        first = next((one for one in self.tables if _matches(one, database, table)), None)
        own = (table, glob.escape(table))
        return first is not None and normalize("NFC", first) in {
            normalize("NFC", one) for name in own for one in (name, f"{database}.{name}", f"{glob.escape(database)}.{name}")
        }


def matches_in_other_case(pattern: str, database: str, table: str) -> bool:
    """Return whether a pattern matches a table only if case does not count."""
    found = _matches(pattern.lower(), database.lower(), table.lower())
    return found and not _matches(pattern, database, table)


def _matches(pattern: str, database: str, table: str) -> bool:
    # A pattern in another form of Unicode would leave the table to a later pattern, without its `drop`.
    return fnmatchcase(normalize("NFC", f"{database}.{table}" if "." in pattern else table), normalize("NFC", pattern))


def _matches_base(pattern: str, database: str, base: str) -> bool:
    if _matches(pattern, database, base):
        return True
    written = "".join(_base_token(part) for part in _PART.findall(normalize("NFC", pattern)))
    name = table_name(f"{database}_{base}") if "." in pattern else base
    return fnmatchcase(normalize("NFC", name), written)


def _base_token(part: str) -> str:
    """Return a part of a pattern as it matches names in BigQuery."""
    if part in ("*", "?"):
        return part
    if len(part) == 1 or part == "[!]":
        return table_name(part)
    members = part[1:-1]
    if len(members) == 1:  # brackets escape it
        return table_name(members)
    return part if members[0] == "!" or table_name(members) == members else f"[{members}_]"


def dataset_of(cluster: str, database: str) -> str:
    """Return the dataset of the pulled tables of a database.

    Examples:
        >>> dataset_of("fraud", "card-models")
        'fraud_card_models'
    """
    return _NOT_IN_DATASET.sub("_", f"{cluster}_{database}")


def full_view(base: TableId) -> TableId:
    """Return the full view of a pulled table: the present rows, under the name of the table.

    Examples:
        >>> str(full_view(TableId("my-project", "fraud_models", "score")))
        'my-project.fraud_models__views_full.score'
    """
    return TableId(base.project, f"{base.dataset}__views_full", base.table)


def pull_of(sources: Iterable[Source], base: TableId) -> TableLoad | None:
    """Return how a table is pulled; None for a table of a dataset that no source is pulled into.

    Args:
        sources: all sources.
        base: the base name, in its dataset.

    Examples:
        >>> source = Source("fraud", "db", databases=("models",), tables={"log": TableLoad("full")})
        >>> [pull_of([source], TableId("p", *name)) for name in (("fraud_models", "log"), ("shop", "log"))]
        [TableLoad(mode='full', watermark=None, pull_overlap=None, drop=(), reload_days=1), None]
    """
    for source in sources:
        for database in source.databases:
            if dataset_of(source.cluster, database) == base.dataset:
                return source.settings_of_base(database, base.table) or TableLoad()
    return None
