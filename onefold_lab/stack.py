"""The whole stack on one machine: BigQuery, Dataproc, topics, and the real functions behind the topics."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from onefold.adapters.bigquery.errors import EMULATOR
from onefold.core.names import check_names
from onefold.settings.config_file import default_config
from onefold.settings.environment import load_settings
from onefold.settings.variables import CONFIG
from onefold_lab.dataproc import dataproc_emulator
from onefold_lab.processes import bigquery_emulator, free_port, function_server
from onefold_lab.stand_ins.warehouse import DEFAULT_PROJECT, emulator_client
from onefold_lab.topics import PushTopic, topics_server

DATAPROC, PUBSUB = "DATAPROC_EMULATOR_HOST", "PUBSUB_EMULATOR_HOST"
PORTS = 3
"""BigQuery, Dataproc and topics, from the first port on."""
FUNCTIONS = {"table-created": "refresh_view", "change-records": "sink_records", "batch-requests": "launch_batch"}
"""The function of each topic."""
_OVER_REST = frozenset({"refresh_view"})
"""Functions that publish over REST, as jobs do."""
SHOWN = ("schema-changes", "dead-letter")
"""Topics without a function: their messages are shown."""
_PREFIX = "ONEFOLD_"
_OF_CAPTURE = frozenset({"ONEFOLD_SOURCE_PASSWORD", "ONEFOLD_HEARTBEAT", "ONEFOLD_METRICS_PORT"})
"""Settings that no function reads: a password least of all."""


@contextlib.contextmanager
def local_stack(
    port: int, datasets: Sequence[str], environ: Mapping[str, str], show: Callable[[str], None], state: Path | None = None
) -> Iterator[Mapping[str, str]]:
    """Run the stack. Yields the variables by which commands reach it.

    Args:
        port: the first of three ports.
        datasets: are created, empty.
        environ: the settings of the functions, and where their file is.
        show: is called with a line for people, perhaps in another thread.
        state: a folder for the logs and large rows of the functions, which go with the stack; by default the system's.

    Raises:
        InvalidSettings: settings in `environ` are wrong.
        Rejected: a server does not start.
    """
    check_names([("dataset", name) for name in datasets])
    hosts = {DATAPROC: f"127.0.0.1:{port + 1}", PUBSUB: f"127.0.0.1:{port + 2}"}
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=state)))
        settings = function_settings(environ, folder)
        hosts[EMULATOR] = stack.enter_context(bigquery_emulator(port=port))
        create_datasets(hosts[EMULATOR], datasets)
        rest_port = free_port()
        jobs = {EMULATOR: hosts[EMULATOR], PUBSUB: f"127.0.0.1:{rest_port}"}  # jobs publish over REST
        if CONFIG in settings:  # Dataproc copies the checked form to each job; here jobs read the file of the functions
            jobs[CONFIG] = settings[CONFIG]
        stack.enter_context(dataproc_emulator(jobs, port=port + 1))
        topics = {name: PushTopic(name) for name in SHOWN}
        for topic, target in FUNCTIONS.items():
            log = stack.enter_context((folder / f"{target}.log").open("w+b"))
            known = {**settings, **hosts, **({PUBSUB: jobs[PUBSUB]} if target in _OVER_REST else {})}
            url = stack.enter_context(function_server(target, known, log))
            topics[topic] = PushTopic(topic, url)
        stack.enter_context(topics_server(topics, port + 2, show, rest_port))
        show(f"The logs of the functions are in {folder}.")
        yield {name: hosts[name] for name in (EMULATOR, DATAPROC, PUBSUB)}


def function_settings(environ: Mapping[str, str], folder: Path) -> dict[str, str]:
    """Return the settings of the functions: those of the terminal, and what they need besides.

    Args:
        environ: the environment of the terminal.
        folder: for rows that are too large for a message, where no other folder is set.

    Raises:
        InvalidSettings: settings are wrong.
    """
    given = {name: value for name, value in environ.items() if name.startswith(_PREFIX) and name not in _OF_CAPTURE}
    config = given.get(CONFIG) or default_config()
    settings = {
        "ONEFOLD_LARGE_RECORDS": folder.resolve().as_uri(),
        "ONEFOLD_BATCH_REGION": "europe-west1",
        "ONEFOLD_BATCH_SERVICE_ACCOUNT": "batches@local.iam.gserviceaccount.com",
        "ONEFOLD_BATCH_CODE": "gs://code/onefold",
        **given,
        "ONEFOLD_PROJECT": DEFAULT_PROJECT,
        "ONEFOLD_TOPIC_TABLE_CREATED": "table-created",
        "ONEFOLD_TOPIC_SCHEMA_CHANGES": "schema-changes",
        "ONEFOLD_TOPIC_DEAD_LETTER": "dead-letter",
        **({CONFIG: str(Path(config).resolve())} if config else {}),
    }
    load_settings(settings)
    return settings


def create_datasets(host: str, datasets: Sequence[str]) -> None:
    """Create empty datasets in the emulator of BigQuery."""
    client = emulator_client(DEFAULT_PROJECT, host)
    for name in datasets:
        client.create_dataset(name)
