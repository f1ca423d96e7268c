"""Generated policies, and what they decide, written a second time from docs/reference/policies.md.

The oracle compares patterns as sets of names: it lists every name that a test can ask about, and a pattern is more specific
than another if its names are among those of the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase

from hypothesis import strategies as st

from onefold.schema.column_policy import Action, PolicyRule
from onefold.schema.columns import Column
from onefold.schema.types import Array, Struct, Type

TABLE = "shop.customer"
_TABLES = (TABLE, "shop.order", "crm.customer", "crm.cart", "crm.custard", "shop.zq", "zq.zq", "zq.customer", "zq.cust")
TABLE_PATTERNS = ("customer", "Customer", "shop.customer", "shop.*", "*", "cust*", "*.c*", "order", "CRM.customer")
Rules = Sequence[PolicyRule]


def lower(name: str) -> str:
    """Lower-case the letters whose case BigQuery ignores: those of ASCII."""
    return "".join(chr(ord(c) + 32) if "A" <= c <= "Z" else c for c in name)


def element(type_: Type) -> Type:
    return type_.element if isinstance(type_, Array) else type_


def leaves(name: str, type_: Type) -> Iterator[tuple[str, ...]]:
    """The paths of values that hold no struct."""
    inner = element(type_)
    if not isinstance(inner, Struct):
        yield (name,)
        return
    for one in inner.fields:
        yield from ((name, *path) for path in leaves(one.name, one.type))


def nodes(columns: Iterable[Column]) -> set[str]:
    """All paths of columns: values and the structs around them."""
    paths = {path for column in columns for path in leaves(column.name, column.type)}
    return {".".join(path[:length]) for path in paths for length in range(1, len(path) + 1)}


@st.composite
def rules(draw: st.DrawFn, paths: Sequence[str], tables: Sequence[str] = TABLE_PATTERNS) -> list[PolicyRule]:
    """Rules about some paths, spelled in other ways and with stars in the place of parts."""
    return draw(
        st.lists(
            st.builds(PolicyRule, st.sampled_from(tables), _column_patterns(paths), st.sampled_from(list(Action))),
            max_size=6,
        )
    )


@st.composite
def _column_patterns(draw: st.DrawFn, paths: Sequence[str]) -> str:
    path = draw(st.sampled_from([*paths, "b.c", "*"]))
    if draw(st.booleans()):
        path = path.upper() if path.isascii() else path
    parts = path.split(".")
    at = draw(st.integers(0, len(parts)))
    if at < len(parts):
        parts[at] = draw(st.sampled_from(["*", f"{parts[at][0]}*", f"*{parts[at][-1]}", parts[at], parts[at]]))
    return ".".join(parts)


def decide(all_rules: Rules, path: str, names: Iterable[str], table: str = TABLE) -> Action | None:
    """The action for a path; None where no rule names it.

    Args:
        all_rules: the rules.
        path: the column or field.
        names: every path that may distinguish two patterns.
        table: the table.
    """
    universe = {(t, n.casefold()) for t in (*_TABLES, table) for n in (*names, path)}
    found = [
        (rule, _named(rule, universe))
        for rule in all_rules
        if _names(rule, table, path.casefold(), below=rule.action is not Action.CLEAR)
    ]
    best = [rule.action for rule, those in found if not any(other < those for _, other in found)]
    return max(best) if best else None


def _named(rule: PolicyRule, universe: Iterable[tuple[str, str]]) -> frozenset[tuple[str, str]]:
    """The tables and columns that a rule names, with the fields below."""
    return frozenset((table, name) for table, name in universe if _names(rule, table, name, below=True))


def _names(rule: PolicyRule, table: str, path: str, *, below: bool) -> bool:
    parts = path.split(".")
    above = [".".join(parts[:length]) for length in range(1, len(parts) + 1)]
    pattern = (rule.table if "." in rule.table else f"*.{rule.table}").casefold()
    asked = above if below else above[-1:]
    return fnmatchcase(table, pattern) and any(fnmatchcase(one, rule.column.casefold()) for one in asked)


def witnesses(all_rules: Rules, paths: Iterable[str]) -> set[str]:
    """Names that distinguish the patterns: each with its stars replaced in several ways, and what lies below."""
    found = {*paths}
    for rule in all_rules:
        for text in ("", "a", "zq", "zq.zq"):
            found.add(rule.column.replace("*", text))
    return {*found, *(f"{path}.zq" for path in found)}
