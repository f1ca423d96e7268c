"""Geometries: the bytes that MySQL and MariaDB store (the SRID, then WKB) as WKT."""

from __future__ import annotations

import struct

from onefold.mysql.unrepresentable import Unrepresentable

_NAMES = ("", "POINT", "LINESTRING", "POLYGON", "MULTIPOINT", "MULTILINESTRING", "MULTIPOLYGON", "GEOMETRYCOLLECTION")
_SRID = 4


def wkt(data: bytes) -> str | Unrepresentable:
    """The text, in the order of axes in which the source stores them. The SRID is no part of it.

    MariaDB stores no bytes at all where an ALTER made a column NOT NULL that held a NULL: there is no shape, as for its
    own ST_AsText.
    """
    if not data:
        return Unrepresentable(None, "geometry")
    text, _ = _geometry(data, _SRID, named=True)
    return text


def _geometry(data: bytes, at: int, named: bool) -> tuple[str, int]:
    order = "<" if data[at] else ">"
    (kind,) = struct.unpack_from(f"{order}I", data, at + 1)
    at += 5
    name = _NAMES[kind] if named else ""
    if kind == 1:
        text, at = _point(data, at, order)
        return f"{name}({text})", at
    (count,) = struct.unpack_from(f"{order}I", data, at)
    at += 4
    parts = []
    for _ in range(count):
        part, at = _part(kind, data, at, order)
        parts.append(part)
    return (f"{name}({', '.join(parts)})" if parts else f"{name} EMPTY"), at


def _part(kind: int, data: bytes, at: int, order: str) -> tuple[str, int]:
    if kind == 2:
        return _point(data, at, order)
    if kind == 3:
        return _ring(data, at, order)
    return _geometry(data, at, named=kind == 7)


def _ring(data: bytes, at: int, order: str) -> tuple[str, int]:
    (count,) = struct.unpack_from(f"{order}I", data, at)
    at += 4
    points = []
    for _ in range(count):
        point, at = _point(data, at, order)
        points.append(point)
    return f"({', '.join(points)})", at


def _point(data: bytes, at: int, order: str) -> tuple[str, int]:
    x, y = struct.unpack_from(f"{order}dd", data, at)
    return f"{_number(x)} {_number(y)}", at + 16


def _number(value: float) -> str:
    return repr(value).removesuffix(".0")
