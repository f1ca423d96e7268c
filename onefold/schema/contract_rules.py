"""Contracts of onefold.yaml: what views do about changes of the source, by patterns of tables or of event schemas.

The most specific pattern decides each key; of patterns of equal rank, the stricter value does. `*` in a pattern stands for
any characters. A pattern with a slash, as `acme.com/*`, is about the schemas of a registry, any other one about tables.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Literal, get_args

from onefold.core.names import TableId, at_and_above, fold_case, fold_hidden
from onefold.schema.patterns import full_table, most_specific

NewColumns = Literal["show", "review", "hide", "refuse"]
Types = Literal["widen", "review", "keep", "refuse"]
Dropped = Literal["keep", "warn"]
Verdict = Literal["accept", "reject"]
DecisionKey = tuple[str, str]
"""What a decision is about: the identifier of a change, and the path of a column; an empty path is the whole change."""
_STRICTNESS: Mapping[str, tuple[str, ...]] = {
    "new_columns": get_args(NewColumns), "types": get_args(Types), "dropped": get_args(Dropped),
}  # fmt: skip
"""The values of each key; a later one is stricter."""


@dataclass(frozen=True)
class Verdicts:
    """What people decided about changes.

    Attributes:
        by_change: `accept` or `reject` by the identifier of a change and the path of a column; an empty path is the whole
            change.
        times: when a command decided it; by the same keys. A decision of a file has no time.
        names: further identifiers of changes, by the first one: what was decided under them counts, too.
    """

    by_change: Mapping[DecisionKey, Verdict] = field(default_factory=dict, hash=False)
    # What follows is of a warehouse and not of a file: the digest of a view's settings is of the text without it.
    times: Mapping[DecisionKey, datetime] = field(default_factory=dict, hash=False, repr=False)
    names: Mapping[str, str] = field(default_factory=dict, hash=False, repr=False)

    def about(self, change: str, path: str) -> Verdict | None:
        """Return what was decided about a column or field of a change; None where nothing was.

        Examples:
            >>> verdicts = Verdicts({("c1", ""): "accept", ("c1", "address"): "reject"})
            >>> verdicts.about("c1", "zip"), verdicts.about("c1", "Address.zip"), verdicts.about("c2", "zip")
            ('accept', 'reject', None)
        """
        found = self.deciding(change, path)
        return self.by_change[found] if found else None

    def deciding(self, change: str, path: str) -> DecisionKey | None:
        """Return the key of the decision that counts for a column or field of a change; None where there is none.

        A decision about a column is about its fields, too, and one about the whole change about all columns without their
        own.
        """
        paths = [*at_and_above(path), ""]
        changes = [change, *([self.names[change]] if change in self.names else [])]
        return next((key for one in changes for name in paths if (key := (one, name)) in self.by_change), None)

    def is_of_struct(self, change: str, path: str) -> bool:
        """Return whether all that was decided about a field is that a command accepted a struct that holds it.

        A command accepts a struct with the fields that it has by then: one that it comes to have later was not accepted. A
        line of a file is about all fields.

        Examples:
            >>> at, accept = datetime(2026, 1, 1), Verdicts({("c1", "at"): "accept"})
            >>> by_command = replace(accept, times={("c1", "at"): at})
            >>> [by_command.is_of_struct("c1", path) for path in ("at", "at.zip")], accept.is_of_struct("c1", "at.zip")
            ([False, True], False)
        """
        found = self.deciding(change, path)
        if not found or found not in self.times:
            return False
        return self.by_change[found] == "accept" and found[1] not in (fold_case(path), "")

    def of_new(self, change: str, by_name: str, path: str, *, in_place: bool) -> Verdict | None:
        """Return what was decided about a new column or field: of two decisions, about the narrower path.

        What was accepted of a struct is not a field of it that was rejected, in whichever version. A line of onefold.yaml
        about a whole change comes before a command.

        Args:
            change: the identifier of the change.
            by_name: that of all new columns of the table, under which commands reject them.
            path: the column or field.
            in_place: whether the table gains columns in place, so that a column is decided about by its name.

        Examples:
            >>> new = Verdicts({("c1", ""): "accept", ("new", "zip"): "reject"}, {("new", "zip"): datetime(2026, 1, 1)})
            >>> new.of_new("c1", "new", "zip", in_place=False), new.of_new("c2", "new", "zip", in_place=True)
            ('accept', 'reject')
        """
        found, named = self.deciding(change, path), self.deciding(by_name, path)
        if named is None or self.by_change[named] != "reject" or self._is_overruled(named, found):
            return self.by_change[found] if found else None
        if found:
            return "reject" if len(named[1]) > len(found[1]) else self.by_change[found]
        return "reject" if "." in path or in_place else None

    def _is_overruled(self, one: DecisionKey, other: DecisionKey | None) -> bool:
        return one in self.times and other is not None and not other[1] and other not in self.times

    def over(self, others: Verdicts) -> Verdicts:
        """Return these decisions, and others about what these say nothing of.

        A decision here about a whole change comes before one there about a column of it.
        """
        whole = {change for change, path in self.by_change if not path}
        left = {key: verdict for key, verdict in others.by_change.items() if key[0] not in whole}
        times = {key: time for key, time in others.times.items() if key not in self.by_change}
        return Verdicts({**left, **self.by_change}, {**times, **self.times}, {**others.names, **self.names})


@dataclass(frozen=True)
class Contract:
    """What the views of a table do about changes of the source. The default is to show everything.

    Attributes:
        new_columns: `show` a column or field that the view does not have, `hide` it, or hide it until it is accepted
            (`review`). `refuse` is of a registry only.
        types: `widen` the type of a column, `keep` the type that the view has, or keep it until the new one is accepted.
        dropped: whether a column that the newest version lacks is warned of; the view keeps it.
        verdicts: what was decided about single changes.
    """

    new_columns: NewColumns = "show"
    types: Types = "widen"
    dropped: Dropped = "keep"
    verdicts: Verdicts = field(default_factory=Verdicts)

    @property
    def holds(self) -> bool:
        """Whether the contract can keep anything from being shown."""
        return self.new_columns != "show" or self.types != "widen"


SHOW_ALL = Contract()


@dataclass(frozen=True)
class ContractRule:
    """What one pattern says about one key of a contract.

    Attributes:
        pattern: the pattern of tables, as `order*` or `shop.order`, or of event schemas, as `acme.com/order*`.
        key: `new_columns`, `types` or `dropped`.
        value: its value.
    """

    pattern: str
    key: str
    value: str

    @property
    def full_pattern(self) -> str:
        """The pattern as it is compared: of tables with a dataset, without case."""
        return fold_hidden(self.pattern if "/" in self.pattern else full_table(self.pattern))

    @property
    def strictness(self) -> int:
        """The place of the value among those of its key; a greater one is stricter."""
        return _STRICTNESS[self.key].index(self.value)


@dataclass(frozen=True)
class Contracts:
    """The contracts of an installation, and all decisions of onefold.yaml: identifiers are of one change each."""

    rules: tuple[ContractRule, ...] = ()
    verdicts: Verdicts = field(default_factory=Verdicts)

    def of_table(self, table: TableId) -> Contract:
        """Return the contract of a table, given the dataset and the base name.

        Examples:
            >>> rules = (ContractRule("*", "types", "keep"), ContractRule("shop.order*", "types", "review"))
            >>> contracts = Contracts(rules)
            >>> contracts.of_table(TableId("p", "shop", "orders")).types, contracts.of_table(TableId("p", "a", "b")).types
            ('review', 'keep')
        """
        return self._of(f"{table.dataset or ''}.{table.table}", is_schema=False)

    def of_schema(self, vendor: str, name: str) -> Contract:
        """Return the contract of a schema of a registry, given its vendor and its name."""
        return self._of(f"{vendor}/{name}", is_schema=True)

    def deciding(self, name: str, key: str, *, is_schema: bool) -> ContractRule | None:
        """Return the rule that decides a key; None where none names the table or the schema.

        Args:
            name: `dataset.table`, or `vendor/name`.
            key: the key of the contract.
            is_schema: whether it is a schema of a registry.
        """
        rules = [rule for rule in self.rules if rule.key == key and ("/" in rule.pattern) == is_schema]
        closest = most_specific([rule.full_pattern for rule in rules], fold_hidden(name))
        return max((one for one in rules if one.full_pattern in closest), key=lambda rule: rule.strictness, default=None)

    def undecided(self) -> Contracts:
        """Return contracts by which all that is held waits for a decision, and nothing was decided."""
        holding = {"new_columns": "hide", "types": "keep"}
        rules = (replace(one, value="review") if holding.get(one.key) == one.value else one for one in self.rules)
        return Contracts(tuple(rules))

    def _of(self, name: str, *, is_schema: bool) -> Contract:
        found = {key: rule.value for key in _STRICTNESS if (rule := self.deciding(name, key, is_schema=is_schema))}
        contract = Contract(**found)  # type: ignore[arg-type]  # the schema of the file has checked the values
        return replace(contract, verdicts=self.verdicts) if contract.holds else contract


NO_CONTRACTS = Contracts()
