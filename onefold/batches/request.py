"""The message that asks for a batch."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from onefold.batches.jobs import JOBS, Form, present_name
from onefold.batches.source_arguments import DatabasesArguments, names_databases
from onefold.batches.values import Uri
from onefold.core.errors import InvalidInput, InvalidMessage
from onefold.core.text import counted, shortened, shown_list
from onefold.messages.envelope import json_object, table_problems

_MAX_REQUEST = 50_000
"""The longest request for a batch, in bytes. Its content goes into logs and labels, so it is short."""
_FOR_TABLES = [name for name, job in JOBS.items() if job.of_table and job.of_dataset is None]
_FOR_FOLDERS = [name for name, job in JOBS.items() if job.of_folders]
_FOR_DATABASES = [name for name, job in JOBS.items() if job.of_databases]
_OPTIONS = [option for job in JOBS.values() for form in job.forms for option in form.options()]
_URI_LISTS = {option.name for option in _OPTIONS if option.type == tuple[Uri, ...]}
"""Each value is a word of its own, since a URI may have a comma."""


@dataclass(frozen=True)
class BatchRequest:
    """A request to run a Spark job, with the words of the job's command line.

    dataset: the dataset; None for a job on folders, and for one that names databases of a source.
    table: a table, or the base name of versioned ones; None for all tables of the dataset.
    """

    job: str
    dataset: str | None
    table: str | None = None
    words: tuple[str, ...] = ()

    @property
    def subject(self) -> str:
        """The table, the dataset or the output folder, in words for people."""
        if self.databases:
            return f"{counted(len(self.databases.databases), 'database')} of {self.databases.source}"
        if self.dataset is None:
            return f"output {self.output}"
        return f"{self.dataset}.{self.table}" if self.table else f"dataset {self.dataset}"

    @property
    def output(self) -> str | None:
        """The output folder of a job on folders; None for other jobs.

        Raises:
            InvalidInput: the arguments are wrong.
        """
        return getattr(self.form.parse(self.words), "output", None) if self.dataset is None else None

    @property
    def databases(self) -> DatabasesArguments | None:
        """The arguments of a job that names databases of a source; None for other jobs.

        Raises:
            InvalidInput: the arguments are wrong.
        """
        form = JOBS[present_name(self.job)].of_databases
        return form.parse(self.words) if form and names_databases(self.words) else None

    @property
    def form(self) -> Form:
        """The form of the job for a table, for a dataset, for folders or for databases.

        Raises:
            InvalidInput: the job does not work on that.
        """
        job = JOBS[present_name(self.job)]
        if job.of_databases and names_databases(self.words):
            if self.dataset or self.table:
                raise InvalidInput("--databases names several datasets: leave out the dataset and the table of the request")
            return job.of_databases
        if self.dataset is None or job.of_folders:
            return _form_of_folders(self)
        form = job.of_table if self.table else job.of_dataset
        if form is None:
            raise InvalidInput(f"the job {self.job} works on one table: name it")
        return form


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
    problems = [*_job_problems(content.get("job"))]
    words = _words(content.get("arguments", {}), problems)
    if content.get("job") in _FOR_FOLDERS or (content.get("job") in _FOR_DATABASES and names_databases(words)):
        problems += [f"the message has the unknown field {name!r}" for name in content.keys() - {"job", "arguments"}]
    else:
        problems += [*table_problems(content), *([] if "table" in content else _scope_problems(content))]
    if problems:
        raise InvalidMessage(problems)
    table = content["table"]["name"] if "table" in content else None
    return BatchRequest(content["job"], content.get("dataset"), table, words)


def batch_message(job: str, dataset: str | None, table: str | None, arguments: Mapping[str, Any]) -> bytes:
    """Return a message for `launch_batch`.

    Args:
        job: the name of the job, a key of `JOBS`.
        dataset: the dataset of the table; None for a job on folders.
        table: the table, or the base name of versioned ones; None for all tables of the dataset.
        arguments: the arguments of the job, without the dashes.
    """
    named = {"table": {"name": table}} if table is not None else {}
    of_dataset = {"dataset": dataset} if dataset is not None else {}
    body = {"job": job, **of_dataset, **named, "arguments": dict(arguments)}
    return json.dumps(body).encode()


def command_line(arguments: Mapping[str, Any]) -> list[str]:
    """Return the arguments of a message as words of a command line.

    Raises:
        InvalidInput: every value that is neither text, a number, a flag nor a list of texts.

    Examples:
        >>> command_line({"keys": ["a", "b"], "changes": ["x", "y"]})
        ['--keys=a,b', '--changes', 'x', 'y']
    """
    words: list[str] = []
    problems: list[str] = []
    for name, value in arguments.items():
        if isinstance(value, bool):  # a flag
            words += [f"--{name}"] if value and name.isprintable() else []
            continue
        items = value if isinstance(value, list) else [value]
        if not items or not all(isinstance(item, str | int | float) and not isinstance(item, bool) for item in items):
            problems.append(f"argument {name!r} must be text or a list of texts, and not empty")
            continue
        texts = [str(item) for item in items]
        if not all(text.isprintable() for text in [name, *texts]):
            problems.append(f"argument {name!r} holds characters that are no text")
        if name in _URI_LISTS and any(text.startswith("-") for text in texts):
            problems.append(f"argument {name!r}: no URI begins with '-'")
        # One word with "=", because argparse would take a text that begins with "-" for another option.
        words += [f"--{name}", *texts] if name in _URI_LISTS else [f"--{name}={','.join(texts)}"]
    if problems:
        raise InvalidInput(problems)
    return words


def _form_of_folders(request: BatchRequest) -> Form:
    """Return the form of a job on folders.

    Raises:
        InvalidInput: the job works on a dataset and the request names none, or the other way around.
    """
    form = JOBS[present_name(request.job)].of_folders
    if form is None:
        raise InvalidInput(f"the job {request.job} works on a dataset: name it with --dataset")
    if request.dataset is not None or request.table is not None:
        raise InvalidInput(f"the job {request.job} works on folders: leave out dataset and table")
    return form


def _job_problems(job: object) -> list[str]:
    known = isinstance(job, str) and present_name(job) in JOBS
    return [] if known else [f"`job` must be one of {', '.join(JOBS)}"]


def _scope_problems(content: Mapping[str, Any]) -> list[str]:
    """Return why a message without a `table` cannot mean all tables: its job, or a field that may be a misspelt `table`."""
    unknown = sorted({*content} - {"job", "dataset", "arguments"})
    problems = (
        [f"the message names no `table`, and has unknown fields: {shown_list(map(shortened, unknown))}"] if unknown else []
    )
    if content.get("job") in _FOR_TABLES:
        problems.append(f"the message names no `table`, and the job {content['job']} works on one table")
    return problems


def _words(arguments: object, problems: list[str]) -> tuple[str, ...]:
    if not isinstance(arguments, dict):
        problems.append("`arguments` is not an object")
        return ()
    try:
        return tuple(command_line(arguments))
    except InvalidInput as error:
        problems += error.problems
        return ()
