"""The policies of a united table: the strictest of all of its tables, whatever their order."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from support.policies import TABLE_PATTERNS

from onefold.core.names import TableId
from onefold.schema.column_policy import Action, ColumnPolicies, PolicyRule, TablePolicies, UnitedPolicies

COLUMNS = ("id", "mail", "address.zip")
RULES = st.builds(
    PolicyRule,
    st.sampled_from(TABLE_PATTERNS),
    st.sampled_from(("*", "id", "*mail*", "address", "address.*", "address.zip")),
    st.sampled_from(Action),
)
POLICIES = st.builds(ColumnPolicies, st.lists(RULES, max_size=6).map(tuple))
TABLES = st.lists(st.sampled_from(("shop.customer", "crm.customer", "crm.cart")), min_size=1, unique=True)
HAS = st.sets(st.sampled_from(("id", "mail", "address"))).map(frozenset)


def of(policies: ColumnPolicies, table: str) -> TablePolicies:
    dataset, _, name = table.partition(".")
    return policies.of_table(TableId("p", dataset, name))


@given(POLICIES, TABLES, st.data())
def test_all_tables_together_show_no_more_of_a_column_than_each_of_them(
    policies: ColumnPolicies, tables: list[str], data: st.DataObject
) -> None:
    each = [(of(policies, table), data.draw(HAS)) for table in tables]
    united = UnitedPolicies((), tuple(each))
    for path in COLUMNS:
        found = united.decide(path)
        for one, columns in each:
            if path.partition(".")[0] in columns:
                assert found.action >= one.decide(path).action
            assert not one.decide(path).decided or found.action >= one.decide(path).action
            below, below_one = united.decide_below(path, open_=True), one.decide_below(path, open_=True)
            assert not below_one or (below and below.action >= below_one.action)
        assert UnitedPolicies((), tuple(reversed(each))).decide(path) == found


@given(POLICIES, st.data())
def test_tables_with_the_same_policies_are_one_table(policies: ColumnPolicies, data: st.DataObject) -> None:
    one = of(policies, "shop.customer")
    united = UnitedPolicies((), ((one, frozenset({"id", "mail", "address"})), (one, data.draw(HAS))))
    for path in COLUMNS:
        assert united.decide(path) == one.decide(path)
        assert united.decide_below(path, open_=True) == one.decide_below(path, open_=True)
        assert united.deciding(path) == tuple(dict.fromkeys(one.deciding(path)))


@given(POLICIES, POLICIES)
def test_own_policies_open_nothing_that_a_table_hides(of_tables: ColumnPolicies, own: ColumnPolicies) -> None:
    table = of(of_tables, "shop.customer")
    alone = UnitedPolicies((), ((table, frozenset({"id"})),))
    both = UnitedPolicies(of(own, "shop.customer").rules, ((table, frozenset({"id"})),))
    assert both.decide("id").action >= alone.decide("id").action


@given(POLICIES)
def test_own_policies_decide_alone_about_a_column_that_no_table_has(own: ColumnPolicies) -> None:
    rules = of(own, "shop.customer")
    assert UnitedPolicies(rules.rules, ((TablePolicies(), frozenset({"id"})),)).decide("mail") == rules.decide("mail")
