"""Rows as protocol buffers: the message that describes a table's rows, and each row in its form."""

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

# The types that are not written as text: "Supported protocol buffer data types" of BigQuery's documentation.
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
    """Rows of one table. Each message is of proto2, as BigQuery reads them: a field that is not set is NULL."""

    def __init__(self, columns: Iterable[Column]) -> None:
        fields = [Field(column.name, column.type) for column in columns]
        self.descriptor = _describe("Row", fields)
        self._message = _message_class(self.descriptor)
        self._values = RowValues({field.name: field.type for field in fields})

    def serialize(self, row: Mapping[str, Any]) -> bytes:
        """Raises InvalidRecord with every column that does not fit."""
        # By the class: a column may be called SerializeToString.
        data: bytes = self._message.SerializeToString(self._message(**self._values.convert(row)))
        return data


def _describe(name: str, fields: Iterable[Field]) -> DescriptorProto:
    message = DescriptorProto(name=name)
    for number, field in enumerate(fields, 1):
        if not isinstance(field.type, Range):  # none is ever written
            _add_field(message, number, field)
    return message


def _add_field(message: DescriptorProto, number: int, field: Field) -> None:
    repeated = isinstance(field.type, Array)
    element: Type = field.type.element if isinstance(field.type, Array) else field.type
    name = field_name(field.name)
    added = message.field.add(
        name=name,
        json_name=name,  # by default `a_b` and `aB` would share one, which is refused
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
        added.options.CopyFrom(_named(field.name))


def _named(column: str) -> FieldOptions:
    """The option that names a column whose name cannot be that of a field; the library knows no name for it."""
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
