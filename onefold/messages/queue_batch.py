"""What a function answers that a queue of SQS calls with a batch of messages: which of them have to be delivered again."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from onefold.core.log import log

Records = Sequence[Mapping[str, Any]]


def answer_batch(batch: Mapping[str, Any], failed: Callable[[Records], Iterable[str]]) -> dict[str, Any]:
    """Handle the messages of a batch, and return those that have to be delivered again.

    Args:
        batch: the event of a Lambda function that a queue calls: `Records` with `messageId`, `body` and `attributes`.
        failed: handles the messages, and returns the identifiers of those that have to be delivered again.

    Returns:
        `batchItemFailures`, as such a function returns it (AWS Lambda, "Handling errors for an SQS event source",
        https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-errorhandling.html, 2026-11).

    Raises:
        Exception: an error in Onefold; the queue delivers all messages again.
    """
    try:
        again = failed(batch["Records"])
    except Exception as error:
        reason, trace = f"{type(error).__name__}: {error}", "".join(traceback.format_exception(error))
        log("CRITICAL", f"failed: {reason}", event="failed", reason=reason, stack_trace=trace)
        raise
    return {"batchItemFailures": [{"itemIdentifier": one} for one in again]}
