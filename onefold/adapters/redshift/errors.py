"""Errors of the Data API and of Redshift: which of them may pass, and what helps against the others."""

from __future__ import annotations

import re
from typing import Any

from onefold.core.errors import Rejected, TryAgain

# Amazon Redshift Data API Reference, "Errors" of each operation, and "Common error types", 2026-11.
_PASSING = frozenset(
    {
        "ActiveSessionsExceededException", "ActiveStatementsExceededException", "ActiveWaitingRequestsExceededException",
        "BatchExecuteStatementException", "DatabaseConnectionException", "ExecuteStatementException",
        "InternalServerException", "QueryTimeoutException", "ThrottlingException", "Throttling",
        "TooManyRequestsException", "RequestLimitExceeded", "ServiceUnavailable", "ServiceUnavailableException",
        "InternalFailure", "ExpiredToken", "ExpiredTokenException", "500", "502", "503", "504",
    }
)  # fmt: skip
_REMEDIES = {
    "AccessDeniedException": "grant redshift-data to the caller, and redshift-serverless:GetCredentials or the secret",
    "ResourceNotFoundException": "check the workgroup or the cluster, and the region",
    "ValidationException": "check the workgroup or the cluster, the database, the secret and the region",
    "UnrecognizedClientException": "check the credentials of AWS",
}
# "Serializable isolation violation" is error 1023 of Redshift; a retry is what its documentation asks for.
_TRANSIENT = re.compile(
    r"serializable isolation|could not serialize|conflict with concurrent|concurrent transaction|deadlock|"
    r"the statement is ABORTED|cancell?ed on user's request|cancell?ed by WLM|system requested abort|"
    r"connection (?:was )?(?:closed|reset|refused|terminated)|terminating connection|server (?:is )?(?:shutting|starting)|"
    r"(?:communication|connection) (?:link )?failure|statement timeout|S3 .*(?:SlowDown|InternalError|ServiceUnavailable)",
    re.IGNORECASE,
)


def is_transient(error: str) -> bool:
    """Return whether an error of a statement may be gone when the statement is repeated.

    Examples:
        >>> is_transient("ERROR: 1023 DETAIL: Serializable isolation violation on table - 100")
        True
        >>> is_transient('ERROR: relation "t" does not exist')
        False
    """
    return _TRANSIENT.search(error) is not None


def api_error(operation: str, error: Any) -> TryAgain:
    """Return the error of a call that may succeed when it is repeated.

    Args:
        operation: the operation that was called.
        error: the exception of botocore.

    Raises:
        Rejected: the API refuses the call for good.
    """
    from botocore.exceptions import ClientError, NoCredentialsError

    if isinstance(error, NoCredentialsError):
        raise Rejected(f"Redshift, {operation}: there are no credentials of AWS; run: aws configure") from error
    if not isinstance(error, ClientError):
        return TryAgain(f"Redshift, {operation}: the Data API does not answer: {error}")
    code = str(error.response.get("Error", {}).get("Code", ""))
    if code in _PASSING:
        return TryAgain(f"Redshift, {operation}: {error}")
    raise Rejected(f"Redshift, {operation}: {error}; {_REMEDIES.get(code, 'check the arguments')}") from error
