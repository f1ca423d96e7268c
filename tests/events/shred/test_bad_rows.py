"""Bad rows are input again."""

from __future__ import annotations

import json

import pytest
from support.shred_scene import (
    CLICK,
    contexts,
    enriched,
    entity,
    plan,
    shred,
)

from onefold.core.shred_options import INPUT_FORMS, InputForm
from onefold.events.shred.bad_rows import BadRow, original_of


@pytest.mark.parametrize("form", INPUT_FORMS)
def test_a_bad_row_is_read_by_its_original_whatever_the_form(form: InputForm) -> None:
    good = (
        json.dumps(entity(CLICK, id=1))
        if form == "self-describing"
        else enriched(form, contexts=contexts(entity(CLICK, id=1)))
    )
    text = BadRow("newer_version", ("it was newer",), BadRow("invalid", ("no",), good).to_json()).to_json()
    assert "\n" not in text
    assert shred(plan(CLICK, form=form), text) == shred(plan(CLICK, form=form), good)
    assert shred(plan(CLICK, form=form), text).bad is None


@pytest.mark.parametrize("original", ["", "\ud800 half", "é\t\n\"'\\ 😀 \u2028\0", "{}"])
def test_a_bad_row_keeps_its_original(original: str) -> None:
    text = BadRow("unreadable", ("é",), original).to_json()
    text.encode()
    assert "\n" not in text
    assert original_of(text) == original


@pytest.mark.parametrize("record", ['{"kind":', '{"kind":"x","reasons":[],"original":5}', '{"kind":"x","original":"a"}'])
def test_what_only_resembles_a_bad_row_is_a_record(record: str) -> None:
    assert original_of(record) == record
