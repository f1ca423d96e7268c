"""The address of a folder of runs: one form for each folder, and no folder for what is none."""

from __future__ import annotations

import pytest

from onefold.core.errors import InvalidInput
from onefold.events.load.runs import runs_address


@pytest.mark.parametrize("text", ["/tmp/runs", "/tmp/runs/", "file:/tmp/runs", "file:///tmp/runs/", "/tmp/x/../runs"])
def test_a_folder_of_this_machine_has_one_address(text: str) -> None:
    assert runs_address(text) == "file:///tmp/runs"


@pytest.mark.parametrize("text", ["gs:/acme/runs", "gs://", "s3:///runs", "http://acme/runs", "file://acme/runs", "C:runs"])
def test_an_address_of_another_form_is_no_folder_without_runs(text: str) -> None:
    with pytest.raises(InvalidInput, match="expected gs://BUCKET/FOLDER"):
        runs_address(text)
