"""Accounts that lack a right to set policy tags."""

from __future__ import annotations

from onefold.adapters.bigquery.policy_tags import GET_TAXONOMY, SET_TAGS

LACKING = {
    "neither right": ({SET_TAGS, GET_TAXONOMY}, False),
    "no right on the table": ({SET_TAGS}, False),
    "no right on the taxonomy": ({GET_TAXONOMY}, False),
    "no right, although the test of permissions grants it": ({SET_TAGS}, True),
}
