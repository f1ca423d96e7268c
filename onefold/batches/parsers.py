"""The options of the Spark jobs, for `argparse`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import NoReturn, Protocol

from onefold.core.errors import InvalidInput


class _Parser(argparse.ArgumentParser):
    """A parser that raises an error where argparse ends the process: the function has to answer its message."""

    def error(self, message: str) -> NoReturn:
        """Report wrong usage.

        Raises:
            InvalidInput: always.
        """
        raise InvalidInput(message)


def reconcile_parser() -> argparse.ArgumentParser:
    """Return the options of `spark_jobs/reconcile.py`."""
    parser = _Parser(
        prog="reconcile.py",
        description="Fold a change log into the latest state of each key, in a base table of BigQuery or in a new folder.",
        epilog="A URI is bigquery:dataset.table (or the base name of versioned tables), or a folder of Parquet or JSON "
        "lines: gs://bucket/folder, file:/folder or a path.",
        allow_abbrev=False,
    )
    parser.add_argument("--changes", nargs="+", required=True, metavar="URI", help="change tables, or folders of changes")
    parser.add_argument("--base", metavar="URI", help="what they are merged into; one that is not there is an empty one")
    parser.add_argument("--output", metavar="URI", help="a new folder for the new base; not with a base in BigQuery")
    parser.add_argument("--keys", metavar="A,B", help="the columns that identify a row; tables of BigQuery may tell them")
    parser.add_argument("--from", dest="start", metavar="PLACE", help="a window's start: a time of landing or a sequence")
    parser.add_argument("--to", dest="end", metavar="PLACE", help="its end, which is not part of it")
    parser.add_argument(
        "--format",
        choices=("datastream", "debezium", "modify_time"),
        default="datastream",
        help="how changes are written (default: datastream)",
    )
    parser.add_argument("--mode", choices=("merge", "rebuild"), default="merge", help="rebuild: from the changes alone")
    parser.add_argument("--position", metavar="COLUMN", help="what orders rows of periodic pulls (format modify_time)")
    parser.add_argument(
        "--unavailable-value",
        dest="unavailable",
        metavar="TEXT",
        help="Debezium's unavailable.value.placeholder, where that is set (format debezium)",
    )
    return parser


def reconcile_dataset_parser(parallel: int) -> argparse.ArgumentParser:
    """Return the options of `spark_jobs/reconcile.py` for all tables of a dataset.

    Args:
        parallel: how many tables are merged at the same time by default.
    """
    parser = _Parser(
        prog="reconcile.py",
        description="Merge every table of a dataset of BigQuery that has rows newer than its last merge.",
        allow_abbrev=False,
    )
    parser.add_argument("--dataset", required=True, metavar="D", help="the dataset")
    parser.add_argument("--match", metavar="PATTERN", help="only tables whose base name matches, as order_* (default: all)")
    parser.add_argument(
        "--parallel", type=int, default=parallel, metavar="N", help=f"tables at the same time (default: {parallel})"
    )
    return parser


def extract_parser(windows: Sequence[str], parallel: int) -> argparse.ArgumentParser:
    """Return the options of `spark_jobs/extract.py`.

    Args:
        windows: the windows that a request may name.
        parallel: how many tables are pulled at the same time by default.
    """
    parser = _Parser(
        prog="extract.py",
        description="Pull the tables of a database of a source in onefold.yaml into files, and load these.",
        allow_abbrev=False,
    )
    parser.add_argument("--source", required=True, metavar="S", help="a source of onefold.yaml")
    parser.add_argument("--database", required=True, metavar="D", help="one of its databases")
    parser.add_argument("--window", required=True, choices=windows, help="from the watermark, prior days, or whole tables")
    parser.add_argument("--tables", nargs="+", default=[], metavar="PATTERN", help="only these tables (default: all)")
    parser.add_argument("--at", metavar="TIME", help="the time of the request; an older one does nothing (default: now)")
    parser.add_argument(
        "--parallel", type=int, default=parallel, metavar="N", help=f"tables at the same time (default: {parallel})"
    )
    parser.add_argument("--compress", choices=("gzip",), help="compress the files")
    return parser


class CheckDefaults(Protocol):
    """The values of options that a check leaves out."""

    @property
    def rows(self) -> int: ...

    @property
    def padding_minutes(self) -> int: ...

    @property
    def settle_seconds(self) -> int: ...

    @property
    def parallel(self) -> int: ...


def check_parser(defaults: CheckDefaults) -> argparse.ArgumentParser:
    """Return the options of `spark_jobs/check.py`.

    Args:
        defaults: the values of options that are left out.
    """
    parser = _Parser(
        prog="check.py",
        description="Compare the tables of a database of a source in onefold.yaml with their views: the numbers of rows, "
        "and every value of the next chunk of each table.",
        allow_abbrev=False,
    )
    parser.add_argument("--source", required=True, metavar="S", help="a source of onefold.yaml")
    parser.add_argument("--database", required=True, metavar="D", help="one of its databases")
    parser.add_argument("--tables", nargs="+", default=[], metavar="PATTERN", help="only these tables (default: all)")
    parser.add_argument("--captured", metavar="DATASET", help="the dataset into which capture writes the database")
    parser.add_argument("--tenant", metavar="NAME", help="the source_name of captured rows (default: the source)")
    numbers = {
        "rows": ("N", "about the rows of a chunk"),
        "padding_minutes": ("N", "the age from which rows of pulled tables are compared"),
        "settle_seconds": ("N", "how long a difference of a captured table has to last"),
        "parallel": ("N", "tables at the same time"),
    }
    for name, (metavar, text) in numbers.items():
        value = getattr(defaults, name)
        option = f"--{name.replace('_', '-')}"
        parser.add_argument(option, type=int, default=value, metavar=metavar, help=f"{text} (default: {value})")
    parser.add_argument("--whole", action="store_true", help="all chunks, from the first to the last")
    parser.add_argument("--fix", action="store_true", help="pull the rows of findings again, and delete what is gone")
    return parser


def compare_parser() -> argparse.ArgumentParser:
    """Return the options of `spark_jobs/compare.py`."""
    parser = _Parser(prog="compare.py", description="Compare two sets of rows, row by row.", allow_abbrev=False)
    parser.add_argument("--left", required=True, metavar="URI", help="one side: a table, a view or a folder")
    parser.add_argument("--right", required=True, metavar="URI", help="the other side")
    parser.add_argument("--keys", required=True, metavar="A,B", help="the columns that identify a row")
    parser.add_argument("--output", metavar="URI", help="a new folder or table for every difference")
    parser.add_argument("--except", dest="without", metavar="A,B", help="columns that are not compared")
    return parser


def shred_parser(formats: Sequence[str], inputs: Sequence[str]) -> argparse.ArgumentParser:
    """Return the options of `spark_jobs/shred.py`.

    Args:
        formats: the formats of rows.
        inputs: the forms of events.
    """
    parser = _Parser(
        prog="shred.py",
        description="Turn files of events that no run has taken yet into rows of tables, by the schemas of a registry.",
        allow_abbrev=False,
    )
    parser.add_argument(
        "--events", nargs="+", required=True, metavar="URI", help="files or folders of events; * and ? match"
    )
    parser.add_argument("--registry", required=True, metavar="URI", help="the registry: a folder, a bucket or a server")
    parser.add_argument("--output", required=True, metavar="URI", help="the folder of the runs")
    parser.add_argument("--format", required=True, choices=formats, help="csv for Redshift, parquet for BigQuery")
    parser.add_argument("--input", required=True, choices=inputs, help="the form of the events")
    parser.add_argument("--dry-run", action="store_true", help="count rows and bad rows, and write nothing")
    return parser
