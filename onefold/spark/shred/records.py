"""The records of a batch: lines of files of events, as text."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa


def texts_of(records: pa.Array) -> Iterator[str]:
    r"""Yield the records as text, without the carriage return of a line that ends with both; an empty line is no record.

    Bytes that are not UTF-8 become halves of surrogate pairs, which no event may have and a bad row keeps.

    Examples:
        >>> list(texts_of(pa.array([b"a\r", b"", b"\r", b"\xff"])))
        ['a', '', '', '\udcff']
    """
    try:
        found = records.cast(pa.string()).to_pylist()
    except pa.ArrowInvalid:
        found = [data.decode(errors="surrogateescape") for data in records.to_pylist()]
    return (text.removesuffix("\r") for text in found)
