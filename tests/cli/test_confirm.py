"""The question before something is destroyed or rewritten."""

from __future__ import annotations

import click
import pytest
from click.testing import CliRunner

from onefold.cli.confirm import confirm
from onefold.core.errors import Rejected


def interrupt(_: str = "") -> str:
    raise KeyboardInterrupt


@pytest.fixture(autouse=True)
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("onefold.cli.confirm.is_terminal", lambda: True)


@pytest.mark.parametrize("typed", ["n\n", "\n", "perhaps\nno\n", ""])
def test_any_answer_but_yes_is_an_error_that_says_that_nothing_was_changed(typed: str) -> None:
    with CliRunner().isolation(input=typed), pytest.raises(Rejected, match="the answer was no, so nothing was changed"):
        confirm(yes=False, act="rewrite shop.customer_base")


def test_yes_goes_on() -> None:
    with CliRunner().isolation(input="y\n") as (_, err, _):
        confirm(yes=False, act="rewrite shop.customer_base")
        assert b"This will rewrite shop.customer_base. Go on? [y/N]" in err.getvalue()


def test_the_option_asks_nothing() -> None:
    with CliRunner().isolation(input="n\n"):
        confirm(yes=True, act="rewrite shop.customer_base")


def test_ctrl_c_is_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("click.termui.visible_prompt_func", interrupt)
    with pytest.raises(click.Abort):
        confirm(yes=False, act="rewrite shop.customer_base")
