"""Prints a folder's only DAG as JSON: run by the Python of an environment that has Airflow.

The errors of the import, and for each task its operator, what follows it, its query and its messages, with the templates
filled in for a run that has begun at the time given as the second argument.
"""

from __future__ import annotations

import json
import sys
from datetime import datetime
from types import SimpleNamespace
from typing import Any


def main(folder: str, begun: str) -> None:
    from airflow.dag_processing.dagbag import DagBag

    bag = DagBag(folder)
    context = {"dag_run": SimpleNamespace(start_date=datetime.fromisoformat(begun))}
    tasks = {task.task_id: described(task, context) for dag in bag.dags.values() for task in dag.tasks}
    print(json.dumps({"errors": bag.import_errors, "dags": [*bag.dags], "tasks": tasks}))


def described(task: Any, context: dict[str, Any]) -> dict[str, Any]:
    task.render_template_fields(context)
    messages = [message["data"].decode() for message in getattr(task, "messages", ())]
    return {
        "operator": type(task).__name__, "then": sorted(task.downstream_task_ids), "sql": getattr(task, "sql", None),
        "messages": messages,
    }  # fmt: skip


if __name__ == "__main__":
    main(*sys.argv[1:])
