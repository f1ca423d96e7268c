"""The message of `onefold local send` is an object of JSON, or an error that names the line."""

from __future__ import annotations

import pytest

from onefold.core.errors import InvalidInput
from onefold_lab.commands import message_object


def test_an_object_is_a_message() -> None:
    assert message_object('{"dataset": "shop"}') == {"dataset": "shop"}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("shop", "MESSAGE is not JSON (line 1, column 1: "),
        ('{"dataset": "shop",\n "table": customer}', "MESSAGE is not JSON (line 2, column 11: "),
        ("[]", "MESSAGE is JSON, and no object (line 1)"),
    ],
)
def test_any_other_text_is_refused_with_its_line(text: str, told: str) -> None:
    with pytest.raises(InvalidInput) as raised:
        message_object(text)
    assert str(raised.value).startswith(told)
    assert "nothing was published; write it as" in str(raised.value)
