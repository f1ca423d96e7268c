"""Two examples of each command, at the end of its help."""

from __future__ import annotations

EXAMPLES = {
    "init": (
        "onefold init",
        "onefold init --project my-project --region europe-west1 --rows-from capture --dataset shop --dry-run",
    ),
    "demo": ("onefold demo --fast", "onefold demo --source mysql://reader@127.0.0.1:3306/shop"),
    "local start": ("onefold local start --dataset shop", "onefold local start --detach --port 9150"),
    "local status": ("onefold local status", "onefold local status --json"),
    "local query": (
        'onefold local query "SELECT 1 AS one"',
        'onefold local query "CREATE TABLE shop.customer_v_abc AS SELECT 1 AS id" --allow-write',
    ),
    "local send": (
        "onefold local send schema-changes '{}'",
        """onefold local send table-created '{"dataset": "shop", "table": {"name": "customer", "version": "abc"}}'""",
    ),
    "local load": ("onefold local load work shop account", "onefold local load work more account --json"),
    "local datastream": ("onefold local datastream landed shop", "onefold local datastream landed shop --json"),
    "local stop": ("onefold local stop", "onefold local stop --json"),
    "tables": ("onefold tables 'shop.*'", "onefold tables shop.customer --json"),
    "cost": ("onefold cost shop", "onefold cost --plan plan.yaml --budget 500"),
    "discover": ("onefold discover shop", "onefold discover 'shop.order_*' --output onefold.yaml"),
    "audit": ("onefold audit shop", "onefold audit shop --source mysql://onefold@db/shop"),
    "plan": ("onefold plan shop.customer", "onefold plan --dataset shop --fail-on critical"),
    "refresh": ("onefold refresh shop.customer", "onefold refresh --dataset shop --all --dry-run"),
    "current": ("onefold current shop.customer --keys id", "onefold current shop.customer 'crm.*' --dry-run"),
    "merge": ("onefold merge shop.customer", "onefold merge 'shop.order_*' --purge-tombstones-after 30 --yes"),
    "changes page": (
        "onefold changes page shop --page pages",
        "onefold changes page shop crm --page gs://b/pages --dry-run",
    ),
    "changes list": ("onefold changes list shop.customer", "onefold changes list --since 7d --json"),
    "changes accept": (
        "onefold changes accept 3f0c9a5e1d7b24680f1e2d3c4b5a6978",
        "onefold changes accept 3f0c9a5e1d7b24680f1e2d3c4b5a6978 shop.customer --column email",
    ),
    "changes reject": (
        "onefold changes reject 3f0c9a5e1d7b24680f1e2d3c4b5a6978",
        "onefold changes reject 3f0c9a5e1d7b24680f1e2d3c4b5a6978 shop.customer --column email --dry-run",
    ),
    "changes create": ("onefold changes create", "onefold changes create --dry-run"),
    "changes notify": ("onefold changes notify --dry-run", "onefold changes notify --json"),
    "changes readers": ("onefold changes readers shop.customer", "onefold changes readers --collect --json"),
    "query": ('onefold query "SELECT 1 AS one"', 'onefold query "SELECT * FROM shop.customer_unified" --limit 5 --csv'),
    "render": ("onefold render shop.customer --columns -", "onefold render customer --columns - --dataset shop --ddl"),
    "publish": ("onefold publish shop.customer abc", "onefold publish shop.customer abc --function http://localhost:8080"),
    "compare": (
        "onefold compare bigquery:shop.customer_base truth.jsonl --keys id",
        "onefold compare a.csv b.csv --keys id",
    ),
    "check": ("onefold check --source fraud models.scores", "onefold check --source fraud models --whole"),
    "workload": (
        "onefold workload --out work --operations 5000 --format parquet",
        "onefold workload --source mysql://root@127.0.0.1:3306/shop --rate 200 --out work",
    ),
    "batch": ("onefold batch reconcile --dataset shop --table customer", "onefold batch reconcile --dataset shop --wait"),
    "capture": (
        "onefold capture --host db --user reader --source shop --dataset shop --checkpoint gs://b/shop --check",
        "onefold capture --host db --user reader --source shop --dataset shop --checkpoint gs://b/shop",
    ),
    "capture status": (
        "onefold capture status --checkpoint gs://b/shop",
        "onefold capture status --checkpoint gs://b/shop --max-lag 60",
    ),
    "settings check": ("onefold settings check", "onefold settings check --write"),
    "sources init": (
        "onefold sources init fraud --host db --user reader --password-from env:DB_PASSWORD --database models",
        "onefold sources init fraud --host db --user reader --password-from file:p --database a --database b",
    ),
    "sources check": ("onefold sources check", "onefold sources check fraud --json"),
    "bad-rows summary": (
        "onefold bad-rows summary --runs gs://b/shredded",
        "onefold bad-rows summary --runs gs://b/shredded --run 2026-11-23-08-00-00 --json",
    ),
    "bad-rows from-table": (
        "onefold bad-rows from-table --runs gs://b/shredded --registry gs://schemas --dataset events --dry-run",
        "onefold bad-rows from-table --runs s3://b/runs --registry s3://schemas --target redshift --database dev "
        "--schema atomic --role default --workgroup events",
    ),
    "bad-rows retry": (
        "onefold bad-rows retry --runs gs://b/runs --registry gs://reg --warehouse bigquery --input enriched-tsv --dry-run",
        "onefold bad-rows retry --runs s3://b/runs --registry s3://schemas --warehouse redshift --input enriched-tsv --wait",
    ),
    "external-tables": (
        "onefold external-tables --runs s3://b/shredded --catalog events --external-schema spectrum --view-schema events "
        "--database dev --schema atomic --workgroup w --role default",
        "onefold external-tables --runs s3://b/shredded --catalog events --external-schema spectrum --view-schema events "
        "--database dev --schema atomic --workgroup w --role default --dry-run",
    ),
    "load-shredded": (
        "onefold load-shredded --runs gs://b/shredded --dataset events",
        "onefold load-shredded --runs gs://b/shredded --dataset events --dry-run",
    ),
    "doctor": ("onefold doctor", "onefold doctor --dataset shop --json"),
    "access import": ("onefold access import shop", "onefold access import shop crm --group analysts@example.com"),
    "access plan": ("onefold access plan", "onefold access plan --file access.yaml --json"),
    "access apply": ("onefold access apply", "onefold access apply --yes"),
    "schema lint": ("onefold schema lint .", "onefold schema lint . --sequential"),
    "schema ddl": (
        "onefold schema ddl com.acme/click/jsonschema/1 --target bigquery",
        "onefold schema ddl com.acme/click/jsonschema/1 --registry r --target redshift",
    ),
    "schema migrations": (
        "onefold schema migrations com.acme/click/jsonschema/1 --from 1-0-0 --to 1-0-1",
        "onefold schema migrations com.acme/click/jsonschema/1 --from 1-0-0 --to 1-0-1 --target redshift",
    ),
    "schema diff": (
        "onefold schema diff com.acme/click/jsonschema/1 --from 1-0-0 --to 1-0-1",
        "onefold schema diff com.acme/click/jsonschema/1 --from 1-0-0 --to 1-0-1 --json",
    ),
    "schema add": ("onefold schema add click.json", "onefold schema add schemas --registry gs://b/registry"),
    "schema list": ("onefold schema list", "onefold schema list com.acme/click"),
    "schema show": (
        "onefold schema show com.acme/click/jsonschema/1-0-0",
        "onefold schema show com.acme/click/jsonschema/1-0-0 --registry r",
    ),
    "schema export": ("onefold schema export --into backup", "onefold schema export com.acme --into backup"),
    "schema import": (
        "onefold schema import iglu-central --registry gs://b/registry",
        "onefold schema import http://iglucentral.com --uris used.txt --dry-run",
    ),
    "schema adopt": (
        "onefold schema adopt com.acme/click/jsonschema/1 --table events.click",
        "onefold schema adopt com.acme/click/jsonschema/1 --table events.click --json",
    ),
    "schema serve": ("onefold schema serve", "onefold schema serve --port 8081"),
    "schema key create": (
        "onefold schema key create --name ci --vendor com.acme",
        "onefold schema key create --name ci --vendor com.acme --access write",
    ),
    "export dbt": ("onefold export dbt shop --output analytics", "onefold export dbt shop crm --output analytics --dry-run"),
    "policies init": ("onefold policies init shop.customer", "onefold policies init --dataset shop --no-samples"),
    "policies check": ("onefold policies check shop.customer --verbose", "onefold policies check --dataset shop"),
    "policies key": ("onefold policies key shop", "onefold policies key shop --rotate --yes"),
    "policies authorize": ("onefold policies authorize shop", "onefold policies authorize shop --json"),
}
"""By command, with the groups that it is in."""


def epilog(name: str) -> str | None:
    """Return the end of the help of a command; None where there is no example."""
    lines = (f"  {line}" for line in EXAMPLES.get(name, ()))
    return "\n".join(["\b", "Examples:", *lines]) if name in EXAMPLES else None
