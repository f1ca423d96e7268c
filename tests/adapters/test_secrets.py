"""Passwords of sources: from the environment, from files and from Secret Manager, over HTTP as Secret Manager answers."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import requests
from support.rest import Answer, HttpRequest, serving

from onefold.adapters.secrets import _secret, read_password
from onefold.core.errors import Rejected, TryAgain

NAME = "projects/p/secrets/db/versions/latest"


@contextmanager
def secret_manager(status: int, content: bytes = b"") -> Iterator[tuple[str, list[str]]]:
    """A server that answers each request with a status and, for 200, with a secret. Yields its address and the paths."""
    paths: list[str] = []

    def answer(request: HttpRequest) -> Answer:
        paths.append(request.path)
        return status, {"name": NAME, "payload": {"data": base64.b64encode(content).decode()}}

    with serving(answer) as address:
        yield f"{address}/v1/", paths


def test_a_password_of_the_environment_and_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "password"
    file.write_text("pä ss\r\n", encoding="utf-8")
    assert read_password("env:DB", {"DB": "x y"}) == "x y"
    assert read_password(f"file:{file}", {}) == "pä ss"


@pytest.mark.parametrize("typed", ["hunter2", "projects/p", "projects/p/secrets/a/../b", "env"])
def test_what_may_be_the_password_itself_is_refused_and_not_repeated(typed: str) -> None:
    with pytest.raises(Rejected, match="write env:NAME, file:PATH or projects/P/secrets/S") as raised:
        read_password(typed, {})
    assert typed not in str(raised.value).partition(":")[0]


@pytest.mark.parametrize(
    ("reference", "text"), [("env:DB", "DB, which is not set"), ("file:/no/such", "/no/such, which cannot")]
)
def test_a_password_that_is_missing_is_an_error_that_names_its_place(reference: str, text: str) -> None:
    with pytest.raises(Rejected, match=text):
        read_password(reference, {})


def test_a_secret_is_decoded() -> None:
    with secret_manager(200, "pä ss".encode()) as (address, paths):
        assert _secret(NAME, requests.Session(), address) == "pä ss"
    assert paths == [f"/v1/{NAME}:access"]


@pytest.mark.parametrize(("status", "error"), [(403, Rejected), (404, Rejected), (429, TryAgain), (503, TryAgain)])
def test_an_answer_that_may_pass_is_tried_again(status: int, error: type[Exception]) -> None:
    with secret_manager(status) as (address, _), pytest.raises(error, match=rf"{NAME} cannot be read: .* {status}"):
        _secret(NAME, requests.Session(), address)


def test_a_service_that_does_not_answer_is_tried_again() -> None:
    with secret_manager(200) as (address, _):
        gone = address
    with pytest.raises(TryAgain, match="cannot be read"):
        _secret(NAME, requests.Session(), gone)
