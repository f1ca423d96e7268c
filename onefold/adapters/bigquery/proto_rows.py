"""Rows as protocol buffers: the descriptor of a table's rows, and each row as bytes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto, FieldOptions, FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from onefold.adapters.bigquery.row_values import RowValues, field_name
from onefold.schema.columns import Column
from onefold.schema.types import Array, Field, Range, Scalar, Struct, Type

# The types that are not written as text: BigQuery, "Supported protocol buffer data types",
# https://cloud.google.com/bigquery/docs/supported-data-types, 2025-11.
_KINDS = {
    "BOOL": FieldDescriptorProto.TYPE_BOOL,
    "BYTES": FieldDescriptorProto.TYPE_BYTES,
    "DATE": FieldDescriptorProto.TYPE_INT32,
    "FLOAT64": FieldDescriptorProto.TYPE_DOUBLE,
    "INT64": FieldDescriptorProto.TYPE_INT64,
    "TIMESTAMP": FieldDescriptorProto.TYPE_INT64,
}
# google/cloud/bigquery/storage/v1/annotations.proto: the option of a field that names a column.
_COLUMN_NAME = 454943157


class ProtoRows:
    """Serializes rows of one table, as proto2, which BigQuery reads: a field that is not set is NULL."""

    def __init__(self, columns: Iterable[Column]) -> None:
        fields = [Field(column.name, column.type) for column in columns]
        self.descriptor = _describe("Row", fields)
        self._message = _message_class(self.descriptor)
        self._values = RowValues({field.name: field.type for field in fields})

    def serialize(self, row: Mapping[str, Any]) -> bytes:
        """Return the bytes of a row.

        Raises:
            InvalidRecord: every column that does not fit.
        """
        # The method of the class, because a column may be called SerializeToString and hide that of the instance.
        data: bytes = self._message.SerializeToString(self._message(**self._values.convert(row)))
        return data


def _describe(name: str, fields: Iterable[Field]) -> DescriptorProto:
    message = DescriptorProto(name=name)
    for number, field in enumerate(fields, 1):
        if not isinstance(field.type, Range):  # no row has a value for it
            _add_field(message, number, field)
    return message


def _add_field(message: DescriptorProto, number: int, field: Field) -> None:
    repeated = isinstance(field.type, Array)
    element: Type = field.type.element if isinstance(field.type, Array) else field.type
    name = field_name(field.name)
    added = message.field.add(
        name=name,
        json_name=name,  # by default `a_b` and `aB` would share one, which protobuf refuses
        number=number,
        label=FieldDescriptorProto.LABEL_REPEATED if repeated else FieldDescriptorProto.LABEL_OPTIONAL,
    )
    if isinstance(element, Struct):
        nested = _describe(f"struct_{number}_of_{message.name}", element.fields)
        message.nested_type.append(nested)
        added.type, added.type_name = FieldDescriptorProto.TYPE_MESSAGE, nested.name
    elif isinstance(element, Scalar):
        added.type = _KINDS.get(element.name, FieldDescriptorProto.TYPE_STRING)
    if added.name != field.name:
        added.options.CopyFrom(_column_name_option(field.name))


def _column_name_option(column: str) -> FieldOptions:
    """Return the field option with the name of a column that cannot be the name of a field.

    The option is an extension that the protobuf library does not know, so it is serialized as a message with one field of
    its number, and parsed as FieldOptions.
    """
    options = DescriptorProto(name="Options")
    options.field.add(
        name="column_name",
        number=_COLUMN_NAME,
        label=FieldDescriptorProto.LABEL_OPTIONAL,
        type=FieldDescriptorProto.TYPE_STRING,
    )
    return FieldOptions.FromString(_message_class(options)(column_name=column).SerializeToString())


def _message_class(descriptor: DescriptorProto) -> type[Message]:
    file = FileDescriptorProto(name="row.proto", syntax="proto2", message_type=[descriptor])
    pool = DescriptorPool()
    pool.Add(file)
    return GetMessageClass(pool.FindMessageTypeByName(descriptor.name))
