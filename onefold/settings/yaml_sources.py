"""The key `sources` of onefold.yaml, checked strictly: all problems at once, each with its key."""

from __future__ import annotations

import re
import zoneinfo
from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from typing import Any

from onefold.settings.sources import Source, TableLoad, Tls, WatermarkColumn, dataset_of
from onefold.settings.unknown_keys import not_a_setting

_SOURCE_KEYS = frozenset({"host", "port", "user", "password", "tls", "time_zone", "databases", "tables", "exclude"})
_TABLE_KEYS = frozenset({"mode", "watermark", "pull_overlap", "drop", "reload_days"})
_TLS_KEYS = frozenset({"mode", "ca"})
_CLUSTER = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,62}")
_HOST = re.compile(r"[A-Za-z0-9._:-]{1,253}")
_SECRET = re.compile(r"projects/[a-z0-9.:-]+/secrets/[A-Za-z0-9_-]{1,255}(/versions/([0-9]+|latest))?")
SECRET_REFERENCE = re.compile(rf"env:[A-Za-z_][A-Za-z0-9_]*|file:.+|{_SECRET.pattern}")
"""Where a password or a key lies: Secret Manager, the environment or a file."""
SECRET_FORMS = "projects/P/secrets/S, env:NAME or file:PATH"  # noqa: S105 where a secret lies
_OVERLAP = re.compile(r"([0-9]{1,6})([smhd])")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
_LAST_PORT = 65535
_MOST_DAYS = 366


def read_sources(value: Any, problem: Callable[[str], None]) -> dict[str, Source]:
    """Return the sources by name.

    Args:
        value: the value of the key; None where it has none.
        problem: takes each problem.
    """
    if value is None:
        return {}
    if not isinstance(value, dict):
        problem("sources must be a mapping of names to sources")
        return {}
    found = {str(name): _Reader(f"sources.{name}", problem).source(name, body) for name, body in value.items()}
    for text in dataset_clashes(found):
        problem(text)
    return found


def dataset_clashes(sources: Mapping[str, Source]) -> Iterator[str]:
    """Yield a problem for each two databases whose tables would lie in one dataset.

    Args:
        sources: by name.

    Examples:
        >>> one, two = Source("a_b", "h", databases=("c",)), Source("a", "h", databases=("b_c",))
        >>> list(dataset_clashes({"a_b": one, "a": two}))[0].partition(":")[0]
        'sources.a_b database c and sources.a database b_c would both be the dataset a_b_c'
    """
    seen: dict[str, str] = {}
    for cluster, source in sources.items():
        for database in source.databases:
            name, dataset = f"sources.{cluster} database {database}", dataset_of(cluster, database)
            if dataset in seen:
                yield f"{seen[dataset]} and {name} would both be the dataset {dataset}: give one of the sources another name"
            seen.setdefault(dataset, name)


class _Reader:
    """Checks one source, and collects problems under its key."""

    def __init__(self, where: str, problem: Callable[[str], None]) -> None:
        self._where = where
        self._report = problem

    def source(self, name: Any, body: Any) -> Source:
        if not isinstance(name, str) or not _CLUSTER.fullmatch(name):
            self._problem("", "the name of a source begins with a letter; use letters, digits, _ and -")
        if not self._is_mapping("", body, _SOURCE_KEYS):
            return Source(str(name), "")
        for key in ("host", "user", "password", "databases"):
            if key not in body:
                self._problem(f".{key}", "is missing")
        return Source(
            str(name),
            self._text(body, "host", "", _HOST, "the name or the address of a server"),
            self._number(body, "port", 3306, _LAST_PORT),
            self._text(body, "user", "", re.compile(r".{1,128}"), "the name of a user"),
            self._text(body, "password", "", SECRET_REFERENCE, f"{SECRET_FORMS}, never the password"),
            self._tls(body.get("tls")),
            self._zone(body),
            self._names(body, ".databases", "databases"),
            self._tables(body.get("tables")),
            self._names(body, ".exclude", "exclude"),
        )

    def _tables(self, value: Any) -> dict[str, TableLoad]:
        if value is None or not self._is_mapping(".tables", value, None):
            return {}
        return {str(name): self._table(f".tables.{name}", name, body) for name, body in value.items()}

    def _table(self, key: str, name: Any, body: Any) -> TableLoad:
        if not isinstance(name, str):
            self._problem(key, "the pattern is not a text; put it in quotes")
        if not self._is_mapping(key, {} if body is None else body, _TABLE_KEYS):
            return TableLoad()
        body = body or {}
        mark = self._watermark(key, body.get("watermark"))
        mode = body.get("mode", "incremental" if mark else "full")
        if mode not in ("incremental", "full"):
            self._problem(f"{key}.mode", f"must be incremental or full, not {mode!r}")
        if mode == "incremental" and "watermark" not in body:
            self._problem(key, "an incremental table needs a `watermark`: name a column, or set `mode: full`")
        if mode == "full" and "watermark" in body:
            self._problem(key, "a full load has no `watermark`: remove it, or set `mode: incremental`")
        days = self._number(body, "reload_days", 1, _MOST_DAYS, key)
        return TableLoad(mode, mark, self._overlap(key, body), self._names(body, f"{key}.drop", "drop"), days)

    def _watermark(self, key: str, value: Any) -> WatermarkColumn | None:
        if value is None:
            return None
        if isinstance(value, str) and value:
            return WatermarkColumn(value)
        is_pair = isinstance(value, dict) and value.keys() == {"column", "from"} and isinstance(value["column"], str)
        if is_pair and value["from"] == "unix_seconds":
            return WatermarkColumn(value["column"], unix_seconds=True)
        self._problem(f"{key}.watermark", f"expected a column, or {{column: NAME, from: unix_seconds}}, got {value!r}")
        return None

    def _overlap(self, key: str, body: Mapping[str, Any]) -> timedelta | int | None:
        value = body.get("pull_overlap")
        if value is None or (isinstance(value, int) and not isinstance(value, bool) and value >= 0):
            return value
        match = _OVERLAP.fullmatch(value) if isinstance(value, str) else None
        if not match:
            self._problem(f"{key}.pull_overlap", f"expected a time, as 15m, or a number of keys, got {value!r}")
            return None
        return timedelta(**{_UNITS[match[2]]: int(match[1])})

    def _tls(self, value: Any) -> Tls:
        if value is None:
            return Tls()
        if not self._is_mapping(".tls", value, _TLS_KEYS):
            return Tls()
        mode, ca = value.get("mode", "verify"), value.get("ca")
        if mode not in ("verify", "encrypt", "off"):  # YAML reads `off` as false
            if mode is not False:
                self._problem(".tls.mode", f"must be verify, encrypt or off, not {mode!r}")
            mode = "off"
        if ca is not None and not isinstance(ca, str):
            self._problem(".tls.ca", "must be the path of a file")
        return Tls(mode, ca)

    def _zone(self, body: Mapping[str, Any]) -> str:
        value = body.get("time_zone", "UTC")
        if value != "UTC" and value not in zoneinfo.available_timezones():
            self._problem(".time_zone", f"{value!r} is unknown; write a tz database name, as Europe/Berlin")
            return "UTC"
        return str(value)

    def _names(self, body: Mapping[str, Any], where: str, key: str) -> tuple[str, ...]:
        value = body.get(key, [])
        if not isinstance(value, list) or not all(isinstance(one, str) and one for one in value):
            self._problem(where, "must be a list of names")
            return ()
        return tuple(dict.fromkeys(value))

    def _text(self, body: Mapping[str, Any], key: str, default: str, pattern: re.Pattern[str], expected: str) -> str:
        value = body.get(key, default)
        if key in body and not (isinstance(value, str) and pattern.fullmatch(value)):
            # A wrong password may be the password itself.
            shown = "" if key == "password" else f", got {value!r}"
            self._problem(f".{key}", f"expected {expected}{shown}")
            return default
        return str(value)

    def _number(self, body: Mapping[str, Any], key: str, default: int, most: int, where: str = "") -> int:
        value = body.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
            self._problem(f"{where}.{key}", f"must be a whole number from 1 to {most}, not {value!r}")
            return default
        return value

    def _is_mapping(self, where: str, value: Any, known: frozenset[str] | None) -> bool:
        if not isinstance(value, dict):
            self._problem(where, "must be a mapping")
            return False
        for key in value if known else ():
            if key not in (known or ()):
                self._problem(f"{where}.{key}", not_a_setting(key, known or ()))
        return True

    def _problem(self, where: str, text: str) -> None:
        self._report(f"{self._where}{where} {text}")
