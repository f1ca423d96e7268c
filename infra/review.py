"""Review of a Terraform plan: list revoked rights, and resources that are destroyed or replaced.

`python -m infra.review plan.json [--ask | --allow]` exits with 0 if the plan removes nothing or the removal was confirmed,
and with 2 if it was not confirmed.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

_GRANTS = ("_iam_member", "google_bigquery_dataset_access")
# Every deployment replaces these resources, because of new content or a new digest. No data is lost with them.
_RENEWED = ("google_storage_bucket_object", "terraform_data")


def taken_away(plan: Mapping[str, Any]) -> list[str]:
    """Return a line for every right that is revoked, and every resource that is destroyed or replaced."""
    lines = []
    for change in plan.get("resource_changes", ()):
        actions, type_ = change["change"]["actions"], change["type"]
        if "delete" not in actions or type_ in _RENEWED:
            continue
        replaced = "create" in actions
        if type_.endswith(_GRANTS):
            lines += [] if replaced else [f"revokes {change['address']}{_whose(change['change'].get('before') or {})}"]
        else:
            lines.append(f"{'replaces' if replaced else 'destroys'} {change['address']}{_because(change['change'])}")
    return sorted(lines)


def _whose(before: Mapping[str, Any]) -> str:
    return f": {before['role']} of {before['member']}" if before.get("role") and before.get("member") else ""


def _because(change: Mapping[str, Any]) -> str:
    """Return the attributes that cannot be changed in place, as `name from "a" to "b"`."""
    before, after = change.get("before") or {}, change.get("after") or {}
    names = [path[0] for path in change.get("replace_paths", ()) if len(path) == 1]
    changes = [f"{name} from {json.dumps(before.get(name))} to {json.dumps(after.get(name))}" for name in names]
    return f" ({', '.join(changes)})" if changes else ""


def main(argv: Sequence[str]) -> int:
    """Run the command line and return the exit code.

    Args:
        argv: the path of the plan as JSON, and `--ask` or `--allow`.
    """
    lines = taken_away(json.loads(Path(argv[0]).read_text() or "{}"))
    if not lines:
        return 0
    sys.stdout.write("".join(f"  {line}\n" for line in ["this plan takes away:", *lines]))
    if "--allow" in argv:
        return 0
    if "--ask" in argv and input("Only 'yes' goes on: ") == "yes":
        return 0
    sys.stdout.write("nothing was applied: name every dataset and option that is to stay, or agree to the list above\n")
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
