"""The batch for a message: its arguments, its identifier, its labels, and what an existing batch means for the message.

These are pure functions; `onefold.adapters.dataproc` sends what they return.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import replace
from typing import Literal

from onefold.batches.allow_list import AllowList
from onefold.batches.arguments import DatasetArguments
from onefold.batches.jobs import Arguments
from onefold.batches.request import BatchRequest
from onefold.batches.shred_arguments import ShredArguments
from onefold.batches.source_arguments import DatabasesArguments, SourceArguments
from onefold.core.errors import InvalidInput, InvalidMessage
from onefold.core.names import problems_of_name
from onefold.ports.batches import ACTIVE, Batch, BatchState, StoredBatch
from onefold.settings.batches import BatchSettings

MAX_ATTEMPTS = 9
"""How many batches are created for one message: a batch that failed so often will fail again."""

_LABEL = re.compile(r"[a-z]([a-z0-9_-]{0,61}[a-z0-9])?")
_DIGEST_LETTERS = 32
_EXIT_CODE = re.compile(r"\b(?:exit code|exited with|SystemExit:)(?: code)? ([0-9]+)\b", re.IGNORECASE)


def exit_code(batch: StoredBatch) -> int | None:
    """Return the exit code of a batch's job, from the batch's message because the API has no field for it; None for unknown.

    Examples:
        >>> exit_code(StoredBatch("b", BatchState.FAILED, "Driver exited with code 2"))
        2
    """
    if batch.state is BatchState.SUCCEEDED:
        return 0
    found = _EXIT_CODE.search(batch.message)
    return int(found[1]) if found else None


Meaning = Literal["attach", "again", "wait"]


def meaning(state: BatchState) -> Meaning:
    """Return what the state of an existing batch means for its message.

    `attach`: the message is done. `again`: it needs another batch. `wait`: it has to be delivered again later.
    """
    if state in (*ACTIVE, BatchState.SUCCEEDED):
        return "attach"
    return "again" if state.ended else "wait"


def plan_batch(request: BatchRequest, message_id: str, settings: BatchSettings, allowed: AllowList) -> Batch:
    """Return the batch for a request.

    Args:
        request: what the message asks for.
        message_id: the identifier of the message, the same in each delivery of it.
        settings: how batches run.
        allowed: what a job may read and write.

    Raises:
        InvalidMessage: everything that is wrong with the arguments, by the job's own parser and by the allow-list.
    """
    problems = problems_of_name("table", request.table) if request.table is not None else []
    if request.dataset is not None:
        problems = problems_of_name("dataset", request.dataset) + problems + allowed.problems_of_dataset(request.dataset)
    try:
        words = with_defaults(request)
        arguments = request.form.parse(words)
    except InvalidInput as error:
        raise InvalidMessage([*problems, *error.problems]) from error
    problems += _problems_of_arguments(arguments, request, allowed)
    if problems:
        raise InvalidMessage(dict.fromkeys(problems))
    labels = {**settings.labels, **labels_of(request, message_id)}
    return Batch(batch_id(request, message_id), request.job, words, labels, _settings_for(arguments, settings))


def _settings_for(arguments: Arguments, settings: BatchSettings) -> BatchSettings:
    """Return the settings of a batch: one that reads a source has the account and the staging bucket of that source."""
    if not isinstance(arguments, SourceArguments | DatabasesArguments):
        return settings
    account = settings.source_accounts.get(arguments.source, settings.service_account)
    bucket = settings.source_buckets.get(arguments.source, settings.bucket)
    return replace(settings, service_account=account, bucket=bucket)


def _problems_of_arguments(arguments: Arguments, request: BatchRequest, allowed: AllowList) -> list[str]:
    if isinstance(arguments, DatabasesArguments):
        return [problem for dataset in arguments.datasets for problem in allowed.problems_of_dataset(dataset)]
    if isinstance(arguments, DatasetArguments | SourceArguments):
        other = f"{arguments.dataset} is not {request.dataset}, the dataset of the request"
        text = f"--dataset {other}: leave it out"
        if isinstance(arguments, SourceArguments):
            text = f"--source {arguments.source} --database {arguments.database}: their dataset {other}: correct one of them"
        return [] if arguments.dataset == request.dataset else [text]
    if isinstance(arguments, ShredArguments):
        return allowed.problems_of_shred(arguments)
    return [problem for uri in arguments.uris for problem in allowed.problems_of(uri, written=uri is arguments.output)]


def with_defaults(request: BatchRequest) -> tuple[str, ...]:
    """Return the words of a request, with the defaults of the job for arguments that the request leaves out.

    Raises:
        InvalidInput: the request names no table, and the job works on one table only.

    Examples:
        >>> with_defaults(BatchRequest("reconcile", "shop"))
        ('--dataset=shop',)
    """
    return request.form.completed(request.words, request.dataset, request.table)


def batch_id(request: BatchRequest, message_id: str) -> str:
    """Return the identifier of the batch for a message, which is the same for each delivery of the message.

    It has letters, digits and hyphens, and fewer than the 63 characters that Dataproc allows.
    """
    digest = _digest(message_id, request.job, request.dataset or "", request.table or "")
    return f"onefold-{request.job}-{digest[:20]}"


def labels_of(request: BatchRequest, message_id: str) -> dict[str, str]:
    """Return the labels of the batch for a message."""
    return {
        "onefold_job": label(request.job),
        **subject_labels(request),
        "onefold_message": f"m-{_digest(message_id)[:_DIGEST_LETTERS]}",
    }


def subject_labels(request: BatchRequest) -> dict[str, str]:
    """Return the labels that all batches for one table, dataset, output, or set of databases have in common."""
    if asked := request.databases:
        return {"onefold_scope": "databases", "onefold_databases": label("\n".join((asked.source, *asked.databases)))}
    if request.dataset is None:
        return {"onefold_scope": "folders", "onefold_output": label(request.output or "")}
    # Each name of a table can be a label, so no value of `onefold_table` is free to mean all tables.
    which = {"onefold_table": label(request.table)} if request.table else {"onefold_scope": "dataset"}
    return {"onefold_dataset": label(request.dataset), **which}


def label(name: str) -> str:
    """Return a name as the value of a label: itself where it fits, else a digest, so that two names never share a value.

    Examples:
        >>> label("customer"), label("Customer")[:2]
        ('customer', 'h-')
    """
    return name if _LABEL.fullmatch(name) else f"h-{_digest(name)[:_DIGEST_LETTERS]}"


def batch_link(project: str, region: str, id_: str) -> str:
    """Return the address of the page about a batch in the Google Cloud console.

    Args:
        project: the project of the batch.
        region: the region of the batch.
        id_: the identifier of the batch.
    """
    return f"https://console.cloud.google.com/dataproc/batches/{region}/{id_}/monitoring?project={project}"


def _digest(*parts: str) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()
