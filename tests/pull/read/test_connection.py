"""What to do about a source that cannot be read."""

from __future__ import annotations

import pymysql
import pytest
from pymysql.constants import CR

from onefold.pull.read.connection import options_remedy
from onefold.settings.sources import Source


@pytest.mark.parametrize(
    ("code", "text", "remedy"),
    [
        (CR.CR_SSL_CONNECTION_ERROR, "SSL is required but the server doesn't support it", "give --tls off"),
        (3159, "Connections using insecure transport are prohibited", "give --tls verify or --tls encrypt"),
        (CR.CR_CONN_HOST_ERROR, "Can't connect (CERTIFICATE_VERIFY_FAILED)", "--tls-ca, and its --host"),
        (1045, "Access denied for user 'u'@'h'", "correct --user or --password-from"),
        (1698, "Access denied for user 'u'@'h'", "correct --user or --password-from"),
        (1130, "Host 'h' is not allowed to connect", "correct --user or --password-from"),
        (CR.CR_CONN_HOST_ERROR, "Can't connect", "correct --host or --port, or start the server"),
    ],
)
def test_options_are_named_that_fit_the_reason(code: int, text: str, remedy: str) -> None:
    assert remedy in options_remedy(Source("fraud", "db"), pymysql.err.OperationalError(code, text))
