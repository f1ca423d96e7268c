"""Write the rights on datasets that Terraform has granted to a file, for `onefold access`, with the number of the state.

    python -m infra.grants STATE.json PROJECT gs://BUCKET/PATH/default.tfstate FILE

STATE.json is the output of `terraform state pull`. Only the standard library is used.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

OUTPUT = "dataset_grants"


def grants_of(state: Mapping[str, Any], project: str, address: str) -> dict[str, Any]:
    """Return the content of the file.

    Args:
        state: Terraform's state.
        project: the project of the datasets.
        address: the address of the state in its bucket.

    Raises:
        ValueError: the state is not that of a deployment.
    """
    if OUTPUT not in state.get("outputs", {}):
        raise ValueError(f"the state has no output {OUTPUT}: it is not that of a deployment that was applied")
    found = state["outputs"][OUTPUT]["value"]
    return {"project": project, "state": address, "lineage": state["lineage"], "serial": state["serial"], **found}


def main(arguments: list[str]) -> int:
    """Write the file at once, so that a reader finds the former one or the new one."""
    path, project, address, target = arguments
    content = grants_of(json.loads(Path(path).read_text("utf-8")), project, address)
    written = Path(f"{target}.new")
    written.write_text(json.dumps(content, indent=1, sort_keys=True) + "\n", "utf-8")
    written.replace(target)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
