"""The function `refresh_view` in a process of its own: refresh tables concurrently, and print the peak memory as JSON.

Run by `benchmarks.memory`, with a version and the tables that have it. Nothing is imported that the deployed function lacks.
"""

from __future__ import annotations

import base64
import json
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# Google's clients import these packages if they are installed; functions/requirements.txt does not have them.
for absent in ("pyarrow", "numpy"):
    sys.modules[absent] = None  # type: ignore[assignment]
sys.path.insert(0, str(ROOT))

import functions_framework  # noqa: E402


def main(version: str, tables: list[str]) -> None:
    source = str(ROOT / "functions" / "main.py")
    application = functions_framework.create_app(target="refresh_view", source=source)  # type: ignore[no-untyped-call]
    import onefold.adapters.connect
    from onefold.adapters.bigquery.warehouse import BigQueryWarehouse
    from onefold_lab.stand_ins.warehouse import emulator_client

    # Use the adapter of production: with the address of an emulator, `connect` would choose that of the emulator.
    onefold.adapters.connect.connect = lambda project: BigQueryWarehouse(emulator_client(project))

    def send(table: str, version: str) -> None:
        message = {"dataset": "shop", "table": {"name": table, "version": version}}
        data = base64.b64encode(json.dumps(message).encode()).decode()
        answer = application.test_client().post("/", json={"message": {"data": data, "messageId": table}})
        if answer.status_code != 204:
            raise SystemExit(f"expected the answer 204, got {answer.status_code}: {answer.text}")

    send("small", "abc")
    before = peak()
    with ThreadPoolExecutor(len(tables)) as pool:
        for _ in pool.map(lambda table: send(table, version), tables):
            pass
    print(json.dumps({"before": before, "after": peak()}))


def peak() -> float:
    """Return the peak resident memory in MB of 1,000,000 bytes."""
    found = re.search(r"VmHWM:\s*(\d+) kB", Path("/proc/self/status").read_text())
    if found is None:
        raise SystemExit("expected VmHWM in /proc/self/status, got none: run this on Linux")
    return int(found[1]) * 1024 / 1e6


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
