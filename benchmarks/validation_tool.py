"""Starts Google's Data Validation Tool against the embedded BigQuery, which has no accounts and no Storage API with TLS.

It runs in the tool's own environment: nothing of Onefold is imported.
"""

from __future__ import annotations

import importlib
import sys

import google.auth
from google.auth.credentials import AnonymousCredentials
from google.cloud import bigquery

if __name__ == "__main__":
    google.auth.default = lambda *_, **__: (AnonymousCredentials(), "local")  # type: ignore[no-untyped-call]
    bigquery.Client._ensure_bqstorage_client = lambda *_, **__: None  # type: ignore[method-assign]
    sys.exit(importlib.import_module("data_validation.__main__").main())
