"""Imports of a new instance, without a search for garbage among modules that stay."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uncollected() -> Iterator[None]:
    """Import without collecting garbage, and keep later collections from what was imported.

    Modules stay as long as the process, and Python would search all of them again and again while more are imported: a tenth
    of the time until the first message is handled (https://docs.python.org/3/library/gc.html#gc.freeze).
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
