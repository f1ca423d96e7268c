"""The Lambda function `onefold-starter`: takes messages about new files of events, and has the shredder read them."""

from __future__ import annotations

import functools
import os
from typing import Any

from onefold.batches.new_files import NewFiles
from onefold.messages.queue_batch import answer_batch
from onefold.settings.emr import read_emr, read_words


@functools.cache
def starter() -> NewFiles:
    """Return what handles messages, one for each instance of the function.

    Raises:
        InvalidSettings: a variable is missing or not valid; the error lists all of them.
    """
    from onefold.adapters.emr_serverless import EmrServerless

    return NewFiles(EmrServerless(read_emr(os.environ)), read_words(os.environ))


def handler(event: dict[str, Any], _context: object) -> dict[str, Any]:
    """Return the messages of a batch that the queue has to deliver again."""
    return answer_batch(event, starter().failed)
