"""Cold import time of the function beside a bare one that only knows its framework. Run: `make bench`.

Each sample is a new process; the two alternate, so that a busy machine slows both. What the first message costs
(clients and credentials are made then) is shown in a line of its own.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from pathlib import Path

FUNCTIONS = Path(__file__).resolve().parents[1] / "functions"
SAMPLES = 9

BARE = "import flask, functions_framework\n@functions_framework.http\ndef bare(request): return ''"
OURS = f"import sys; sys.path.insert(0, {str(FUNCTIONS)!r}); import main"
FIRST_MESSAGE = OURS + "; import onefold.bigquery, onefold.pubsub"
FIRST_ROWS = OURS + "; import onefold.bigquery, onefold.storage_write, onefold.pubsub"


def seconds(code: str) -> float:
    started = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True)
    return time.perf_counter() - started


def main() -> None:
    programs = {
        "bare function": BARE,
        "refresh_view": OURS,
        "refresh_view, with its clients": FIRST_MESSAGE,
        "sink_records, with its clients": FIRST_ROWS,
    }
    for code in programs.values():
        seconds(code)  # once, to fill the disk's cache
    samples = {name: [0.0] * SAMPLES for name in programs}
    for sample in range(SAMPLES):
        for name, code in programs.items():
            samples[name][sample] = seconds(code)
    bare = statistics.median(samples["bare function"])
    for name, times in samples.items():
        median = statistics.median(times)
        print(f"{name:32} {median * 1000:6.0f} ms   {median / bare:.2f} of a bare function")


if __name__ == "__main__":
    main()
