"""Cold import time of each function, and of a bare function with only the framework. Run: `python -m benchmarks.cold_start`.

Each sample is a new process; the two alternate, so that a busy machine slows both. What the first message costs
(clients and credentials are made then) is shown in a line of its own.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.chart import Bar, Chart
from benchmarks.quiet import Rounds, described
from benchmarks.report import add_options, machine, markdown, publish, ratio, spread, versions

HEADING = "Cold start"
HEADER = ("", "ms", "ratio to a bare function")
FUNCTIONS = Path(__file__).resolve().parents[1] / "functions"
SAMPLES = 9

# The functions' environment (functions/requirements.txt) has none of these, which Google's client imports where they are.
ABSENT = "import sys; sys.modules.update(dict.fromkeys(['pyarrow', 'numpy', 'pandas']))\n"
BARE = ABSENT + "import flask, functions_framework\n@functions_framework.http\ndef bare(request): return ''"
SERVED = "import flask; flask.Flask('refresh_view').app_context().push(); "
"""As the framework imports the function that it serves."""
OURS = ABSENT + SERVED + f"sys.path.insert(0, {str(FUNCTIONS)!r}); import functions_framework, main; main.refresh_view"
FIRST_MESSAGE = OURS + "; import onefold.adapters.bigquery.warehouse, onefold.adapters.pubsub_rest, onefold.views.handler"
FIRST_ROWS = (
    OURS.replace("refresh_view", "sink_records")
    + "; import onefold.adapters.bigquery.warehouse, onefold.adapters.bigquery.storage_write, onefold.adapters.pubsub"
)


def seconds(code: str) -> float:
    started = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True)
    return time.perf_counter() - started


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Cold import time of the function and of a bare one.")
    add_options(parser)
    options = parser.parse_args(argv)
    programs = {
        "bare function": BARE,
        "refresh_view": OURS,
        "refresh_view, with its clients": FIRST_MESSAGE,
        "sink_records, with its clients": FIRST_ROWS,
    }
    rounds = Rounds[float](SAMPLES, again=bool(options.page))
    for _ in rounds:  # the one that warms up fills the disk's cache
        for name, code in programs.items():
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
