"""The labels by which tables of events are versions of one base: their names do not say it of recovery tables."""

from __future__ import annotations

import hashlib
import re

LABEL_BASE = "onefold_base"
"""The label with the base of a table, `com_acme_ad_click`: what all models and recovery tables of a schema share."""
LABEL_VERSION = "onefold_version"
"""The label with the version of a table: its model, `1`, or `1r` and the hash of a recovery table, `1r0f0b3ce0`."""
MAX_LABEL = 63
"""Characters of a label's value (BigQuery, "Creating and managing labels", requirements for labels, 2026-11)."""
_DIGEST = 8
_ALLOWED = re.compile(r"[a-z0-9_-]*")


def label_value(text: str) -> str:
    """Return a text as the value of a label: lower case letters, digits, _ and -, at most 63 characters.

    A text that is no such value is shortened, and ends with a digest of all of it: different texts stay different. A base
    that is shortened is the base of its unified view, too.

    Examples:
        >>> label_value("com_acme_ad_click")
        'com_acme_ad_click'
        >>> label_value("com_acme_" + 60 * "x")
        'com_acme_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx_b826f038'
    """
    if len(text) <= MAX_LABEL and _ALLOWED.fullmatch(text):
        return text
    digest = hashlib.sha256(text.encode()).hexdigest()[:_DIGEST]
    return f"{re.sub('[^a-z0-9_-]', '_', text.lower())[: MAX_LABEL - _DIGEST - 1]}_{digest}"
