"""The key `sources` of onefold.yaml: the servers whose tables are pulled."""

from __future__ import annotations

import zoneinfo
from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any

from onefold.core.problems import Path, Problem
from onefold.settings.sources import Source, TableLoad, Tls, WatermarkColumn, dataset_of

_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


def source_problems(sources: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield the problems of the value of the key that the schema cannot tell."""
    for name, source in sources.items():
        zone = source.get("time_zone", "UTC")
        if zone != "UTC" and zone not in zoneinfo.available_timezones():
            yield Problem(f"{zone!r} is unknown; write a tz database name, as Europe/Berlin", ("sources", name, "time_zone"))
        for pattern, pull in (source.get("tables") or {}).items():
            yield from _pull_problems(pull or {}, ("sources", name, "tables", pattern))
    yield from _dataset_clashes(sources)


def read_sources(sources: Mapping[str, Any]) -> dict[str, Source]:
    """Return the sources by name, from a checked mapping."""
    return {name: _source(name, source) for name, source in sources.items()}


def _pull_problems(pull: Mapping[str, Any], at: Path) -> Iterator[Problem]:
    mode = pull.get("mode")
    if "watermark" in pull and not pull["watermark"] and mode is None:
        yield Problem("`watermark` is empty: name a column, or set `mode: full` and leave it out", (*at, "watermark"))
    if mode == "incremental" and not pull.get("watermark"):
        yield Problem("an incremental table needs a `watermark`: name a column, or set `mode: full`", at)
    if mode == "full" and "watermark" in pull:
        yield Problem("a full load has no `watermark`: remove it, or set `mode: incremental`", at)


def _dataset_clashes(sources: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield a problem for each two databases whose tables would lie in one dataset."""
    seen: dict[str, str] = {}
    for name, source in sources.items():
        for database in dict.fromkeys(source.get("databases", ())):
            described, dataset = f"sources.{name} database {database}", dataset_of(name, database)
            if dataset in seen:
                words = f"{seen[dataset]} and {described} would both be the dataset {dataset}"
                yield Problem(f"{words}: give one of the sources another name", ("sources", name, "databases"))
            seen.setdefault(dataset, described)


def _source(name: str, source: Mapping[str, Any]) -> Source:
    tls = source.get("tls") or {}
    return Source(
        name,
        source["host"],
        source.get("port", Source.port),
        source["user"],
        source["password"],
        Tls(tls.get("mode", Tls.mode) or "off", tls.get("ca")),  # YAML reads `off` as false
        source.get("time_zone", Source.time_zone),
        _names(source, "databases"),
        {pattern: _pull(pull or {}) for pattern, pull in (source.get("tables") or {}).items()},
        _names(source, "exclude"),
    )


def _pull(pull: Mapping[str, Any]) -> TableLoad:
    mark = pull.get("watermark")
    if mark is not None:
        mark = WatermarkColumn(mark) if isinstance(mark, str) else WatermarkColumn(mark["column"], unix_seconds=True)
    mode = pull.get("mode", "incremental" if mark else "full")
    days = pull.get("reload_days", TableLoad.reload_days)
    return TableLoad(mode, mark, _overlap(pull.get("pull_overlap")), _names(pull, "drop"), days)


def _overlap(value: Any) -> timedelta | int | None:
    if isinstance(value, str):
        return timedelta(**{_UNITS[value[-1]]: int(value[:-1])})
    number: int | None = value
    return number


def _names(body: Mapping[str, Any], key: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(body.get(key, ())))
