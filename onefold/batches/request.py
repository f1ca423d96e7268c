"""The message that asks for a batch."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from onefold.batches.arguments import PARSERS, command_line
from onefold.core.errors import InvalidInput, InvalidMessage
from onefold.messages.envelope import json_object, table_problems

_MAX_REQUEST = 50_000
"""The longest request for a batch, in bytes. Its content goes into logs and labels, so it is short."""


@dataclass(frozen=True)
class BatchRequest:
    """A request to run a Spark job for a table, with the words of the job's command line."""

    job: str
    dataset: str
    table: str
    words: tuple[str, ...] = ()


def parse_batch_request(data: bytes) -> BatchRequest:
    """Return the request in a message for `launch_batch`.

    Raises:
        InvalidMessage: everything that is wrong with the message.

    Examples:
        >>> parse_batch_request(batch_message("reconcile", "shop", "customer", {"keys": ["id"]}))
        BatchRequest(job='reconcile', dataset='shop', table='customer', words=('--keys=id',))
    """
    if len(data) > _MAX_REQUEST:
        raise InvalidMessage(f"a request for a batch of {len(data)} bytes is no request: it may have {_MAX_REQUEST}")
    content = json_object(data, "the message")
    problems = [*_job_problems(content.get("job")), *table_problems(content)]
    if "table" not in content:
        problems.append("the message names no `table`")
    words = _words(content.get("arguments", {}), problems)
    if problems:
        raise InvalidMessage(problems)
    return BatchRequest(content["job"], content["dataset"], content["table"]["name"], words)


def batch_message(job: str, dataset: str, table: str, arguments: Mapping[str, Any]) -> bytes:
    """Return a message for `launch_batch`.

    Args:
        job: the name of the job, a key of `PARSERS`.
        dataset: the dataset of the table.
        table: the table, or the base name of versioned ones.
        arguments: the arguments of the job, without the dashes.
    """
    body = {"job": job, "dataset": dataset, "table": {"name": table}, "arguments": dict(arguments)}
    return json.dumps(body).encode()


def _job_problems(job: object) -> list[str]:
    known = isinstance(job, str) and job in PARSERS
    return [] if known else [f"`job` must be one of {', '.join(PARSERS)}"]


def _words(arguments: object, problems: list[str]) -> tuple[str, ...]:
    if not isinstance(arguments, dict):
        problems.append("`arguments` is not an object")
        return ()
    try:
        return tuple(command_line(arguments))
    except InvalidInput as error:
        problems += error.problems
        return ()
