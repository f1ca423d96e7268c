"""What a page has of the ledger where the account may not read it: a warning, and no error."""

from __future__ import annotations

from typing import Any

import pytest

from onefold.core.errors import AccessDenied, NotFound, OnefoldError, Rejected, TryAgain
from onefold.inventory.page_source import NOTHING_ELSE, read_kept
from onefold.settings.environment import Settings


class Refusing:
    """A warehouse whose queries are refused."""

    project = "my-project"

    def __init__(self, error: OnefoldError) -> None:
        self.error = error

    def fetch(self, sql: str) -> list[dict[str, Any]]:
        assert "onefold_changes" in sql
        raise self.error


LEDGER = Settings(changes_dataset="onefold_changes")


@pytest.mark.parametrize("error", [AccessDenied("no right to read"), NotFound("no such view"), Rejected("refused")])
def test_a_page_lacks_a_ledger_that_cannot_be_read_and_says_so(error: OnefoldError) -> None:
    kept = read_kept(Refusing(error), "shop", LEDGER)
    (warning,) = kept.warnings
    assert warning.startswith("the page lacks what the ledger and readers tell: ")
    assert str(error) in warning
    assert dict(kept.entries) == {}


def test_an_error_that_may_pass_is_no_reason_for_a_page_without_it() -> None:
    with pytest.raises(TryAgain):
        read_kept(Refusing(TryAgain("the service is unavailable")), "shop", LEDGER)


def test_without_a_ledger_nothing_is_asked() -> None:
    assert read_kept(Refusing(Rejected("no query may be sent")), "shop", Settings()) == NOTHING_ELSE
