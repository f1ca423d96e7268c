"""Evaluates the conditions of IAM by an implementation of the Common Expression Language.

Google extends the language. Of its extensions this honours `api.getAttribute`, for the attributes that are given; `extract`
and the functions of time are errors of the evaluator. `resource` has `type`, `name` and `service`, and nothing else.
https://cloud.google.com/iam/docs/conditions-attribute-reference
"""

from __future__ import annotations

from collections.abc import Mapping

import cel

TABLE = "bigquery.googleapis.com/Table"
BUCKET = "storage.googleapis.com/Bucket"
OBJECT = "storage.googleapis.com/Object"
FOLDER = "storage.googleapis.com/ManagedFolder"
LIST_PREFIX = "storage.googleapis.com/objectListPrefix"


def admits(expression: str, type_: str, name: str, attributes: Mapping[str, str] | None = None) -> bool:
    """Return whether the condition admits a request for the resource.

    Args:
        attributes: those of the request that `api.getAttribute` answers, by name.

    Raises:
        ValueError, RuntimeError: the expression is not one of the language, or asks for more than is honoured.
    """
    context = cel.Context()
    context.add_variable("resource", {"type": type_, "name": name, "service": type_.partition("/")[0]})
    context.add_variable("api", dict(attributes or {}))
    context.add_function("getAttribute", lambda given, attribute, default: given.get(attribute, default))
    return cel.evaluate(expression, context) is True
