"""Google's own analyzer and evaluator (`zetasql`) as the judge of the SQL this project writes.

The package compiles its WebAssembly for about 15 seconds at every start and copies memory byte by byte; the two
overrides below keep the compiled module in wasmtime's cache and copy in one go. Its default time zone is not UTC,
which finds expressions that depend on a session's default.
"""

from __future__ import annotations

import contextlib
import ctypes
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import wasmtime
import zetasql.core.wasm_client as wasm_client
from google.protobuf import message
from zetasql.wasi import get_wasm_path
from zetasql.wasi._pb2.zetasql.local_service import local_service_pb2 as service
from zetasql.wasi._pb2.zetasql.proto import options_pb2
from zetasql.wasi._pb2.zetasql.public import type_pb2
from zetasql.wasi._pb2.zetasql.resolved_ast import resolved_node_kind_pb2 as node_kinds

Columns = Sequence[tuple[str, str]]
"""A table's columns: name and BigQuery type string."""

NO_TABLES: Mapping[str, Columns] = MappingProxyType({})
NO_CONTENT: Mapping[str, str] = MappingProxyType({})

PSEUDO_COLUMNS = ("_PARTITIONTIME", "_PARTITIONDATE")
"""Columns that `SELECT *` leaves out (Google Cloud, "Querying partitioned tables", ingestion-time partitions)."""

_SAME_NAME = (
    "INT64", "BOOL", "STRING", "BYTES", "DATE", "TIMESTAMP", "TIME", "DATETIME", "GEOGRAPHY", "NUMERIC", "BIGNUMERIC",
    "JSON", "INTERVAL",
)  # fmt: skip
KIND_NAMES = {type_pb2.TYPE_DOUBLE: "FLOAT64", **{getattr(type_pb2, f"TYPE_{name}"): name for name in _SAME_NAME}}


STATEMENTS = tuple(
    getattr(node_kinds, f"RESOLVED_{name}_STMT")
    for name in ("QUERY", "MERGE", "INSERT", "DELETE", "CREATE_TABLE", "CREATE_TABLE_AS_SELECT", "ALTER_TABLE")
)


class _CachedConfig(wasmtime.Config):
    def __init__(self) -> None:
        super().__init__()
        self.cache = True


class _FastClient(wasm_client.WasmClient):
    def _address(self, pointer: int) -> int:
        memory: Any = self.memory  # the package binds its store to it, which its types do not say
        return ctypes.addressof(memory.data_ptr().contents) + pointer

    def write_bytes(self, ptr: int, data: bytes) -> None:
        ctypes.memmove(self._address(ptr), data, len(data))

    def read_bytes(self, ptr: int, size: int) -> bytes:
        return ctypes.string_at(self._address(ptr), size)


class Judge:
    """One analyzer for a whole test session; errors of the SQL are raised as `ServerError`."""

    def __init__(self) -> None:
        with contextlib.ExitStack() as stack:
            package: Any = wasm_client
            stack.callback(setattr, package, "Config", package.Config)
            package.Config = _CachedConfig
            self._client = _FastClient(str(get_wasm_path()))
        self._types: dict[str, Any] = {}
        self._literals: dict[str, Any] = {}
        self._language = self._maximum_features()
        request = service.RegisterCatalogRequest(simple_catalog=self._catalog({}))
        self._no_tables = self._call("RegisterCatalog", request, service.RegisterResponse).registered_id

    def columns(self, sql: str, tables: Mapping[str, Columns] = NO_TABLES) -> list[tuple[str, str]]:
        """Name and type of each column that the query gives."""
        return [(c.name, type_name(c.column.type)) for c in self._output(sql, tables)]

    def rows(
        self, sql: str, tables: Mapping[str, Columns] = NO_TABLES, content: Mapping[str, str] = NO_CONTENT
    ) -> list[tuple[Any, ...]]:
        """The query's rows; `content` gives each table's rows as a query of literals."""
        request = self._request(service.EvaluateQueryRequest, tables, sql=sql)
        for table in tables:
            source = content.get(table)
            if source:
                request.table_content[table].CopyFrom(self._evaluate_literals(source))
            else:
                request.table_content[table].table_data.SetInParent()
        return _rows(self._call("EvaluateQuery", request, service.EvaluateQueryResponse))

    def accept(self, sql: str, tables: Mapping[str, Columns] = NO_TABLES) -> None:
        """Analyze a statement of any kind; what is wrong with it is raised."""
        self.resolve(sql, tables)

    def resolve(self, sql: str, tables: Mapping[str, Columns] = NO_TABLES) -> Any:
        """The tree of a statement of any kind, as the analyzer resolves it."""
        request = self._request(service.AnalyzeRequest, tables, sql_statement=sql)
        request.options.language_options.supported_statement_kinds.extend(STATEMENTS)
        return self._call("Analyze", request, service.AnalyzeResponse).resolved_statement

    def read_type(self, name: str) -> Any:
        """The analyzer's own reading of a type string."""
        if name not in self._types:
            self._types[name] = self._output(f"SELECT CAST(NULL AS {name}) AS c", {})[0].column.type
        return self._types[name]

    def _output(self, sql: str, tables: Mapping[str, Columns]) -> Any:
        return self.resolve(sql, tables).resolved_query_stmt_node.output_column_list

    def _evaluate_literals(self, sql: str) -> Any:
        if sql not in self._literals:
            request = self._request(service.EvaluateQueryRequest, {}, sql=sql)
            self._literals[sql] = self._call("EvaluateQuery", request, service.EvaluateQueryResponse).content
        return self._literals[sql]

    def _request(self, kind: Any, tables: Mapping[str, Columns], **sql: str) -> Any:
        """Making a catalog costs 20 ms: the one without tables is made once."""
        catalog = {"simple_catalog": self._catalog(tables)} if tables else {"registered_catalog_id": self._no_tables}
        request = kind(**sql, **catalog)
        request.options.language_options.CopyFrom(self._language)
        return request

    def _catalog(self, tables: Mapping[str, Columns]) -> Any:
        catalog = service.AnalyzeRequest().simple_catalog
        catalog.name = "catalog"
        catalog.builtin_function_options.language_options.CopyFrom(self._language)
        for name, columns in tables.items():
            table = catalog.table.add(name=name)
            for column, type_string in columns:
                added = table.column.add(name=column, is_pseudo_column=column in PSEUDO_COLUMNS)
                added.type.CopyFrom(self.read_type(type_string))
        return catalog

    def _maximum_features(self) -> Any:
        request = service.LanguageOptionsRequest(maximum_features=True)
        return self._call("GetLanguageOptions", request, options_pb2.LanguageOptionsProto)

    def _call(self, method: str, request: message.Message, response: type[message.Message]) -> Any:
        return self._client.call_grpc_func(f"ZetaSqlLocalService_{method}", request, response)


def type_name(proto: Any) -> str:
    """A type of the analyzer as BigQuery writes it."""
    if proto.type_kind == type_pb2.TYPE_ARRAY:
        return f"ARRAY<{type_name(proto.array_type.element_type)}>"
    if proto.type_kind == type_pb2.TYPE_RANGE:
        return f"RANGE<{type_name(proto.range_type.element_type)}>"
    if proto.type_kind == type_pb2.TYPE_STRUCT:
        fields = (f"{_field_name(field.field_name)} {type_name(field.field_type)}" for field in proto.struct_type.field)
        return f"STRUCT<{', '.join(fields)}>"
    return KIND_NAMES[proto.type_kind]


def _field_name(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) else f"`{name}`"


def _rows(response: Any) -> list[tuple[Any, ...]]:
    return [tuple(_value(cell) for cell in row.cell) for row in response.content.table_data.row]


def _value(value: Any) -> Any:
    """A Python value that is equal where the SQL values are the same: lists, tuples, text, numbers, bytes, None."""
    kind = value.WhichOneof("value")
    if kind is None:
        return None
    if kind == "array_value":
        return [_value(element) for element in value.array_value.element]
    if kind == "struct_value":
        return tuple(_value(field) for field in value.struct_value.field)
    inner = getattr(value, kind)
    if isinstance(inner, float) and math.isnan(inner):
        return math.nan  # always the same object, so that lists and tuples with it are equal
    return inner.SerializeToString() if isinstance(inner, message.Message) else inner


def literals(columns: Columns, rows: Iterable[Sequence[str]]) -> str:
    """A query that gives the rows, each cell an SQL expression."""
    selects = (
        "SELECT " + ", ".join(f"CAST({cell} AS {kind}) AS `{name}`" for cell, (name, kind) in zip(row, columns, strict=True))
        for row in rows
    )
    return "\nUNION ALL ".join(selects)
