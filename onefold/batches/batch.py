"""A batch for a message: its arguments, its identifier, its labels, and what one that is there already means.

Pure: what comes out of here is sent by `onefold.adapters.dataproc`.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from typing import Literal

from onefold.batches.allow_list import AllowList
from onefold.batches.arguments import PARSERS, uris_of
from onefold.batches.request import BatchRequest
from onefold.core.errors import InvalidInput, InvalidMessage
from onefold.core.names import problems_of_name
from onefold.ports.batches import ACTIVE, Batch, BatchState, StoredBatch
from onefold.settings.batches import BatchSettings

MAX_ATTEMPTS = 9
"""Batches for one message. What failed so often fails again."""

_LABEL = re.compile(r"[a-z]([a-z0-9_-]{0,61}[a-z0-9])?")
_DIGEST_LETTERS = 32
_EXIT_CODE = re.compile(r"\b(?:exit code|exited with|SystemExit:)(?: code)? ([0-9]+)\b", re.IGNORECASE)


def exit_code(batch: StoredBatch) -> int | None:
    """The job's own, as far as the batch's message tells it: the API has none."""
    if batch.state is BatchState.SUCCEEDED:
        return 0
    told = _EXIT_CODE.search(batch.message)
    return int(told[1]) if told else None


Meaning = Literal["attach", "again", "wait"]


def meaning(state: BatchState) -> Meaning:
    """What a message's batch that is there already means for the message: it is done with, needs another one, or waits."""
    if state in (*ACTIVE, BatchState.SUCCEEDED):
        return "attach"
    return "again" if state.ended else "wait"


def plan_batch(request: BatchRequest, message_id: str, settings: BatchSettings, places: AllowList) -> Batch:
    """The batch for a request.

    Raises:
        InvalidMessage: every fault of its arguments, by the job's own parser and by what may be read and written.
    """
    words = with_defaults(request)
    problems = problems_of_name("dataset", request.dataset) + problems_of_name("table", request.table)
    problems += places.problems_of_dataset(request.dataset)
    try:
        arguments = PARSERS[request.job](words)
    except InvalidInput as error:
        raise InvalidMessage([*problems, *error.problems]) from error
    problems += [
        problem for uri in uris_of(arguments) for problem in places.problems_of(uri, written=uri is arguments.output)
    ]
    if problems:
        raise InvalidMessage(dict.fromkeys(problems))
    labels = {**settings.labels, **labels_of(request, message_id)}
    return Batch(batch_id(request, message_id), request.job, words, labels, settings)


def with_defaults(request: BatchRequest) -> tuple[str, ...]:
    """The words of the request, and the table's own names for what they leave out."""
    table = f"bigquery:{request.dataset}.{request.table}"
    if request.job == "compare":
        return (*request.words, *_unless(request.words, ("left",), f"--left={table}_current"))
    changes = _unless(request.words, ("changes",), f"--changes={table}")
    return (*request.words, *changes, *_unless(request.words, ("base", "output"), f"--base={table}_base"))


def _unless(words: Sequence[str], names: Sequence[str], default: str) -> list[str]:
    named = {word.partition("=")[0] for word in words}
    return [] if named & {f"--{name}" for name in names} else [default]


def batch_id(request: BatchRequest, message_id: str) -> str:
    """The same for each delivery of a message: letters, digits and hyphens, well below the 63 that Dataproc takes."""
    digest = _digest(message_id, request.job, request.dataset, request.table)
    return f"onefold-{request.job}-{digest[:20]}"


def labels_of(request: BatchRequest, message_id: str) -> dict[str, str]:
    return {
        "onefold_job": label(request.job),
        **table_labels(request),
        "onefold_message": f"m-{_digest(message_id)[:_DIGEST_LETTERS]}",
    }


def table_labels(request: BatchRequest) -> dict[str, str]:
    """What all batches for one table have in common."""
    return {"onefold_dataset": label(request.dataset), "onefold_table": label(request.table)}


def label(name: str) -> str:
    """A name as a label's value: itself where it fits, else a digest, so that two names never share one."""
    return name if _LABEL.fullmatch(name) else f"h-{_digest(name)[:_DIGEST_LETTERS]}"


def batch_link(project: str, region: str, id_: str) -> str:
    """Where a person sees the batch."""
    return f"https://console.cloud.google.com/dataproc/batches/{region}/{id_}/monitoring?project={project}"


def _digest(*parts: str) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()
