"""Evaluates the conditions of IAM by an implementation of the Common Expression Language.

Google extends the language. Of its extensions this honours none: `api.getAttribute`, `extract` and the functions of time are
errors of the evaluator. `resource` has `type`, `name` and `service`, and nothing else.
https://cloud.google.com/iam/docs/conditions-attribute-reference
"""

from __future__ import annotations

import cel

TABLE = "bigquery.googleapis.com/Table"
BUCKET = "storage.googleapis.com/Bucket"
OBJECT = "storage.googleapis.com/Object"
FOLDER = "storage.googleapis.com/ManagedFolder"


def admits(expression: str, type_: str, name: str) -> bool:
    """Return whether the condition admits a request for the resource.

    Raises:
        ValueError, RuntimeError: the expression is not one of the language, or asks for more than is honoured.
    """
    context = cel.Context()
    context.add_variable("resource", {"type": type_, "name": name, "service": type_.partition("/")[0]})
    return cel.evaluate(expression, context) is True
