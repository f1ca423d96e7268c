"""Cold import time of each function, and of a bare function with only the framework. Run: `python -m benchmarks.cold_start`.

The functions are imported from their archive, compiled as the build in the cloud compiles it. Each sample is a new process,
up to the last import; the programs alternate, so that a busy machine slows all. What the first message costs (clients and
credentials are made then) is shown in a line of its own.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.chart import Bar, Chart
from benchmarks.quiet import Rounds, described
from benchmarks.report import add_options, machine, markdown, publish, ratio, spread, versions
from infra.package import package

HEADING = "Cold start"
HEADER = ("", "ms", "ratio to a bare function")
SAMPLES = 9
BUILD = {"SOURCE_DATE_EPOCH": "315532800"}
"""The environment of the build, as in infra/functions.tf."""
IMAGE_TIME = 315_532_801
"""Seconds since 1970. All files of an image have this time (platform specification of buildpacks, "Build Reproducibility",
https://github.com/buildpacks/spec/blob/main/platform.md#build-reproducibility, 2026-11-27)."""

# The functions' environment (functions/requirements.txt) has none of these, which Google's clients import where they are.
ABSENT = "import sys; sys.modules.update(dict.fromkeys(['pyarrow', 'numpy', 'pandas', 'opentelemetry.instrumentation']))\n"
BARE = ABSENT + "import flask, functions_framework\n@functions_framework.http\ndef bare(request): return ''"
SERVED = "import flask; flask.Flask('{}').app_context().push(); import functions_framework, main; main.{}\n"
"""As the framework imports the function that it serves."""
FIRST = "from imports import uncollected\nwith uncollected(): import onefold.adapters.bigquery.warehouse, {}"
"""What the first message imports."""
END = "\nimport os; os._exit(0)"
"""A process that cleans up at its end would measure that as well."""


def built(folder: Path) -> Path:
    """Return the source of the functions as it is in their image: from the archive, compiled."""
    source = folder / "source"
    with zipfile.ZipFile(package(folder / "functions.zip")) as archive:
        archive.extractall(source)
    command = [sys.executable, "-m", "compileall", "-f", "-q", "."]
    subprocess.run(command, cwd=source, env={**os.environ, **BUILD}, check=True)
    for path in source.rglob("*"):
        os.utime(path, (IMAGE_TIME, IMAGE_TIME))
    return source


def programs(source: Path) -> dict[str, str]:
    """Return each program of the benchmark, by its name in the table."""
    found = ABSENT + f"sys.path.insert(0, {str(source)!r})\n"
    refresh, sink = (found + SERVED.format(name, name) for name in ("refresh_view", "sink_records"))
    return {
        "bare function": BARE,
        "refresh_view": refresh,
        "refresh_view, with its clients": refresh + FIRST.format("onefold.adapters.pubsub_rest, onefold.views.handler"),
        "sink_records, with its clients": sink
        + FIRST.format("onefold.adapters.bigquery.storage_write, onefold.adapters.pubsub"),
    }


def seconds(code: str) -> float:
    started = time.perf_counter()
    # A function logs which settings it lacks.
    subprocess.run([sys.executable, "-c", code + END], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - started


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Cold import time of the function and of a bare one.")
    add_options(parser)
    options = parser.parse_args(argv)
    rounds = Rounds[float](SAMPLES, again=bool(options.page))
    with tempfile.TemporaryDirectory(prefix="cold-start-") as folder:
        chosen = programs(built(Path(folder)))
        for _ in rounds:  # the one that warms up fills the disk's cache
            for name, code in chosen.items():
                rounds.note(name, seconds(code))
    samples, bare = rounds.figures, rounds.figures["bare function"]
    lines = [
        (name, spread([1000 * seconds for seconds in times]).text(0), ratio(times, bare).text() if times is not bare else "")
        for name, times in samples.items()
    ]
    sizes = f"a new process each time, {described([rounds])}"
    bars = [Bar(name, spread([1000 * one for one in times]), times is not bare) for name, times in samples.items()]
    named = versions(google_cloud_bigquery="google-cloud-bigquery", functions_framework="functions-framework")
    publish(options, HEADING, machine(sizes, named), markdown(HEADER, lines), (), [rounds], Chart("Milliseconds", bars, 0))


if __name__ == "__main__":
    main()
