"""The metrics of a capture: its status as measurements."""

from __future__ import annotations

from collections.abc import Iterator

from onefold.capture.status import CaptureStatus
from onefold.ports.metrics import Metric


def metrics_of(status: CaptureStatus) -> Iterator[Metric]:
    """Yield the metrics of a capture. What is not known yet has no metric.

    Examples:
        >>> status = CaptureStatus("shop-db", None, 2, None, 10, 5, 0, 0, {}, ())
        >>> [(one.name, one.value) for one in metrics_of(status)][:1]
        [('onefold_capture_lag_seconds', 2)]
    """
    source = {"source": status.source}
    epoch, file, offset = status.position.order if status.position else (None, None, None)
    gauges = (
        ("lag_seconds", "By how many seconds the confirmed rows are behind the source.", status.lag_seconds),
        ("seconds_since_last_change", "The age of the last transaction that was read.", status.seconds_since_last_change),
        ("epoch", "The first section of all positions.", epoch),
        ("confirmed_file", "The number of the file of the confirmed position.", file),
        ("confirmed_offset_bytes", "The offset of the confirmed position in its file.", offset),
        ("tables_waiting", "Tables that wait for a copy.", status.tables_waiting),
        ("tables_copying", "Tables that are being copied.", status.tables_copying),
        ("tables_in_quarantine", "Tables whose rows are not published.", len(status.quarantine)),
    )
    for name, text, value in gauges:
        if value is not None:
            yield Metric(f"onefold_capture_{name}", text, "gauge", value, source)
    rows = "Rows that were handed to Pub/Sub since the start, from the log or from copies."
    yield Metric("onefold_capture_rows", rows, "counter", status.rows, {**source, "origin": "log"})
    yield Metric("onefold_capture_rows", rows, "counter", status.copied_rows, {**source, "origin": "copy"})
    lost = "Values that BigQuery cannot hold, and that landed as NULL, since the start."
    yield Metric("onefold_capture_lost_values", lost, "counter", sum(status.losses.values()), source)
