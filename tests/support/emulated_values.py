"""Values of every type, as a sink lands them and as SQL literals for the evaluator; both engines are asked the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from support.bigquery_emulator import EmulatedDataset
from support.source_types import b64
from support.strategies import bytes_literal, text_literal
from support.zetasql_judge import Judge

from onefold.core.names import quote
from onefold_lab.stand_ins.warehouse import DEFAULT_PROJECT

_BYTES = (b"", b"abc", b"\\x41", b"\x00", b"\xff\xfe", "żółw 🐢".encode(), b"\xc3", b"'\"\\")
_TEXTS = ("", " ", "null", "0", "'\"`\\", "Zażółć", "日本語🐢", "line\nbreak", "1:2", '{"a": 1}')
_BIG = (
    "0", "1", "-1.5", "0.1", "1e-38", "-2e-38",
    "578960446186580977117854925043439539266.34992332820282019728792003956564819967",
    "-578960446186580977117854925043439539266.34992332820282019728792003956564819968",
    "123456789012345678901234567890.12345678901234567890123456789012345678", "9007199254740993",
)  # fmt: skip
_NUMERICS = (
    "0", "1", "-1.5", "0.000000001", "0.1", "9007199254740993", "99999999999999999999999999999.999999999",
    "-99999999999999999999999999999.999999999",
)  # fmt: skip
_FLOATS = (
    "0.0", "-0.0", "1.0", "0.1", "-1.5", "0.30000000000000004", "5e-324", "1.7976931348623157e308", "1e15", "1e16", "1e21",
    "9007199254740994.0", "nan", "inf", "-inf", "1e-7", "123456789.125",
)  # fmt: skip
_STAMPS = (
    "0001-01-01 00:00:00", "9999-12-31 23:59:59.999999", "1970-01-01 00:00:00.000001", "2020-02-29 00:00:00.1",
    "2020-02-29 12:30:00", "1969-12-31 23:59:59.999000",
)  # fmt: skip
_INTERVALS = ("0-0 0 0:0:0", "1-2 3 4:5:6.000007", "-1-2 -3 -4:5:6", "10000-0 0 0:0:0", "0-0 30 0:0:0", "0-0 0 0:0:0.5")

_NESTED = '{"b": [1.0], "a": 1}'

Landed = Sequence[tuple[Any, str]]
"""For each row, the value for `tabledata.insertAll`, and the literal."""


def _of(kind: str, texts: Sequence[str]) -> Landed:
    return [(text, f"CAST('{text}' AS {kind})") for text in texts]


VALUES: Mapping[str, Landed] = {
    "STRING": [(text, text_literal(text)) for text in _TEXTS],
    "BYTES": [(b64(data), bytes_literal(data)) for data in _BYTES],
    "BOOL": [(True, "TRUE"), (False, "FALSE")],
    "INT64": [(str(n), str(n)) for n in (0, 1, -1, 2**63 - 1, -(2**63), 2**53, 2**53 + 1)],
    "NUMERIC": _of("NUMERIC", _NUMERICS),
    "BIGNUMERIC": _of("BIGNUMERIC", _BIG),
    "FLOAT64": _of("FLOAT64", _FLOATS),
    "DATE": _of("DATE", ("0001-01-01", "9999-12-31", "1970-01-01", "2020-02-29")),
    "DATETIME": _of("DATETIME", _STAMPS),
    "TIMESTAMP": [(f"{text}+00:00", f"TIMESTAMP '{text}+00'") for text in _STAMPS],
    "TIME": _of("TIME", ("00:00:00", "23:59:59.999999", "12:00:00.5", "12:00:00.500001")),
    "INTERVAL": [(text, f"CAST('{text}' AS INTERVAL)") for text in _INTERVALS],
    "STRUCT<i INTERVAL>": [({"i": text}, f"STRUCT(CAST('{text}' AS INTERVAL))") for text in _INTERVALS],
    "JSON": [
        (text, f"PARSE_JSON({text_literal(text)}, wide_number_mode => 'round')")
        for text in (
            "null", "{}", "[]", "1", "1.5", '"1"', '""', "true", '{"b": {"c": [1, null, "ż"]}, "a": 1.0}', "1e2",
            "18446744073709551615", '{"a": null, "A": "\\u0001\\"\\n/"}', "-0.0", "1e300",
        )
    ],
    "STRUCT<`b` INT64, `a b` STRUCT<`end` NUMERIC, x BYTES>>": [
        ({"b": "1", "a b": {"end": "1.5", "x": b64(b"\xff")}}, "STRUCT(1, STRUCT(NUMERIC '1.5', b'\\xff'))"),
        ({"b": None, "a b": {"end": None, "x": None}}, "STRUCT(NULL, STRUCT(NULL, NULL))"),
        ({"b": "9007199254740993", "a b": None}, "STRUCT(9007199254740993, NULL)"),
    ],
    "STRUCT<n BIGNUMERIC, f FLOAT64, t TIMESTAMP, d DATETIME, j JSON, l ARRAY<FLOAT64>>": [
        (
            {"n": _BIG[6], "f": "nan", "t": f"{_STAMPS[3]}+00:00", "d": _STAMPS[0], "j": _NESTED, "l": ["-0.0", "1e16"]},
            f"STRUCT(BIGNUMERIC '{_BIG[6]}', CAST('nan' AS FLOAT64), TIMESTAMP '{_STAMPS[3]}+00', DATETIME '{_STAMPS[0]}', "
            f"JSON '{_NESTED}', [-0.0, 1e16])",
        ),
        (
            {"n": None, "f": None, "t": None, "d": None, "j": None, "l": []},
            "STRUCT(NULL, NULL, NULL, NULL, NULL, CAST([] AS ARRAY<FLOAT64>))",
        ),
    ],
    "ARRAY<STRING>": [([], "[]"), (["", "ż"], "['', 'ż']")],
    "ARRAY<BYTES>": [([b64(b"\xff"), b64(b"a")], "[b'\\xff', b'a']")],
    "ARRAY<BIGNUMERIC>": [(["1.50", _BIG[7]], f"[BIGNUMERIC '1.5', BIGNUMERIC '{_BIG[7]}']"), ([], "[]")],
    "ARRAY<TIMESTAMP>": [([f"{_STAMPS[0]}+00:00"], f"[TIMESTAMP '{_STAMPS[0]}+00']")],
    "ARRAY<STRUCT<element INT64, place ARRAY<STRUCT<o1 BIGNUMERIC>>>>": [
        (
            [{"element": "2", "place": [{"o1": "0.10"}]}, {"element": None, "place": []}],
            "[STRUCT(2, [STRUCT(BIGNUMERIC '0.1')]), STRUCT(NULL, CAST([] AS ARRAY<STRUCT<o1 BIGNUMERIC>>))]",
        ),
        ([], "[]"),
    ],
}  # fmt: skip


class BothEngines:
    """One table for each type, in the emulator's dataset and as literals for the evaluator."""

    def __init__(self, judge: Judge, dataset: EmulatedDataset) -> None:
        self._judge = judge
        self._dataset = dataset
        self._landed: dict[str, str] = {}

    def table(self, type_: str) -> str:
        """The name of the table with the columns `n`, a number, and `v`, of this type."""
        if type_ not in self._landed:
            name = f"a-b_v_{len(self._landed)}"
            self._dataset.land(name, {"n": "INT64", "v": type_})
            rows = [{"n": number, "v": value} for number, (value, _) in enumerate(self.values(type_))]
            assert self._dataset.client.insert_rows_json(f"{DEFAULT_PROJECT}.{self._dataset.name}.{name}", rows) == []
            self._landed[type_] = name
        return self._dataset.quoted(self._landed[type_])

    def values(self, type_: str) -> Landed:
        """What landed: NULL, too, but for an array, which is empty where nothing landed."""
        return VALUES[type_] if type_.startswith("ARRAY") else [*VALUES[type_], (None, "NULL")]

    def emulated(self, type_: str, expression: str) -> list[tuple[Any, ...]]:
        """The expression over `t.v`, for each value."""
        return self._dataset.run(f"SELECT {expression} AS x FROM {self.table(type_)} AS t ORDER BY t.n")

    def judged(self, type_: str, expression: str) -> list[tuple[Any, ...]]:
        """The same by the evaluator."""
        rows = "\nUNION ALL ".join(
            f"SELECT {number} AS n, CAST({literal} AS {type_}) AS v"
            for number, (_, literal) in enumerate(self.values(type_))
        )
        found = self._judge.rows(
            f"SELECT t.n, {expression} AS x FROM {quote('p.d.t')} AS t",
            {"p.d.t": [("n", "INT64"), ("v", type_)]},
            {"p.d.t": rows},
        )
        return [row[1:] for row in sorted(found, key=lambda row: int(row[0]))]
