"""A variable with Onefold's prefix that is no setting is an error with the nearest name, unless Kubernetes has set it."""

from __future__ import annotations

from pathlib import Path

import pytest

from onefold.core.errors import InvalidSettings
from onefold.core.text import shown_list
from onefold.settings.environment import Settings, load_settings
from onefold.settings.variables import VARIABLES


@pytest.fixture(autouse=True)
def _empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("variable", "value", "hint"),
    [
        ("ONEFOLD_VIEWNAME", "x", " (did you mean ONEFOLD_VIEW_NAME?)"),
        ("ONEFOLD_TOPIC_SCHEMA_CHANGE", "x", " (did you mean ONEFOLD_TOPIC_SCHEMA_CHANGES?)"),
        ("ONEFOLD_X", "x", ""),
        ("ONEFOLD_SERVICE_HOST", "a name", ""),
        ("ONEFOLD_PORT", "x", ""),
    ],
)
def test_an_unknown_variable_is_an_error_with_the_nearest_known_name(variable: str, value: str, hint: str) -> None:
    with pytest.raises(InvalidSettings) as refused:
        load_settings({variable: value})
    advice = "correct the name, or unset it" if hint else f"known are {shown_list(VARIABLES)}"
    assert refused.value.problems == (f"{variable} is not a setting{hint}; {advice}",)


def test_the_variables_that_kubernetes_sets_for_a_service_of_this_name_are_ignored() -> None:
    """Those of a Service `onefold` with a named port, and of a Service `onefold-capture`, as the kubelet sets them."""
    ports = {"": "tcp://10.3.0.7:80", "_PROTO": "tcp", "_PORT": "80", "_ADDR": "10.3.0.7"}
    for service in ("ONEFOLD", "ONEFOLD_CAPTURE"):
        environ = {
            f"{service}_SERVICE_HOST": "10.3.0.7",
            f"{service}_SERVICE_PORT": "80",
            f"{service}_SERVICE_PORT_HTTP": "80",
            f"{service}_PORT": "tcp://10.3.0.7:80",
            **{f"{service}_PORT_80_TCP{part}": value for part, value in ports.items()},
            f"{service}_PORT_53_UDP_PROTO": "udp",
        }
        assert load_settings(environ) == Settings()
    assert load_settings({"ONEFOLD_SERVICE_HOST": "fd00::7", "ONEFOLD_PORT": "tcp://[fd00::7]:80"}) == Settings()
