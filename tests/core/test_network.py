"""Why a request got no answer: the cause that the system gives, and whether a server is there at all."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest
import requests

from onefold.core.network import network_reason, refusal


@pytest.fixture
def silent_port() -> Iterator[int]:
    """The port of a server that takes connections and answers nothing, as one that is busy."""
    with socket.create_server(("127.0.0.1", 0), backlog=1) as server:
        yield server.getsockname()[1]


def reason_of(url: str) -> str:
    session = requests.Session()
    session.trust_env = False
    with session, pytest.raises(requests.exceptions.RequestException) as caught:
        session.get(url, timeout=0.2)
    return network_reason(caught.value)


def test_a_port_without_a_server_refuses_and_a_name_without_a_host_is_an_error() -> None:
    assert reason_of("http://127.0.0.1:9/") == refusal("127.0.0.1:9") == "Connection refused"
    assert refusal("http://127.0.0.1:9") == "Connection refused"
    for host in ("nowhere.invalid:1", "127.0.0.1:99999", "a:b:c"):
        assert refusal(host)


def test_a_server_that_is_busy_is_there(silent_port: int) -> None:
    assert reason_of(f"http://127.0.0.1:{silent_port}/") == "no answer in time"
    assert refusal(f"127.0.0.1:{silent_port}") is None


def test_a_server_whose_queue_of_connections_is_full_is_there_too(silent_port: int) -> None:
    waiting = [socket.socket() for _ in range(8)]
    for one in waiting:
        one.setblocking(False)
        one.connect_ex(("127.0.0.1", silent_port))
    assert refusal(f"127.0.0.1:{silent_port}", seconds=0.2) is None
    for one in waiting:
        one.close()


def test_a_reason_is_one_short_line_without_the_objects_of_a_client() -> None:
    error = requests.exceptions.ConnectionError("<urllib3.connection.HTTPConnection object at 0x7f00>: broken\npipe " * 100)
    reason = network_reason(error)
    assert reason.startswith("broken, pipe")
    assert "0x7f" not in reason
    assert len(reason) < 210
    assert network_reason(ValueError()) == "ValueError"


def test_errors_that_are_causes_of_each_other_have_an_end() -> None:
    error, cause = ConnectionError("lost"), ConnectionError("reset")
    error.__cause__, cause.__cause__ = cause, error
    assert network_reason(error) == "reset"
