PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# The tests start hundreds of processes: where an environment forbids bytecode, each would compile all modules again.
export PYTHONDONTWRITEBYTECODE =

.DEFAULT_GOAL := help
.PHONY: help install demo test test-fast test-long test-ids test-counts mutants lint docs format bench bench-quick dist settings package terraform image planned plan deploy undeploy lock images clean
IMAGES := python:3.12 python:3.12-bookworm python:3.12-slim google/cloud-sdk:slim hashicorp/terraform:1.11 gcr.io/cloud-builders/docker:latest
PINNED := cloudbuild.yaml cloudbuild.deploy.yaml cloudbuild.image.yaml cloudbuild.access.yaml capture.Dockerfile .github/workflows/ci.yml

help:  ## what can be made
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-10s %s\n", $$1, $$2}'

install: $(VENV)/.installed  ## the virtual environment, from the pinned lock file

# The lock file is complete. With dependencies, pip 23 would look for google-auth[pyopenssl] beside the locked google-auth, find the
# newest release, and stop because it has no hash of it.
$(VENV)/.installed: requirements.lock pyproject.toml onefold_lab/pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Onefold needs Python 3.11 or later; $$($(PYTHON) --version) was found. Name another with: make PYTHON=python3.12"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r requirements.lock
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable . --editable onefold_lab
	@$(BIN)/pip check --disable-pip-version-check
	@touch $@

demo: install  ## a message arrives and the view is refreshed, on this machine
	$(BIN)/onefold demo

# T=tests/merge runs a part: files, folders or tests, or else what an expression of pytest's -k chooses: T='purge and not view'.
# What failed last runs first. The shell quotes the expression, so that a single quote cannot be part of it.
PART = $(if $(T),$(if $(wildcard $(firstword $(subst ::, ,$(T)))),$(T),-k '$(T)'))
OPTIONS = --failed-first --durations=15 $(PART)
PYTEST := $(BIN)/pytest -n 3 --dist loadfile --no-loadscope-reorder
test: install  ## the tests, or a part of them (T=tests/merge): every module on its real server
	$(PYTEST) -m "not long" $(OPTIONS)

test-fast: install  ## the tests that start no server, no Spark and no other program, for the loop while one writes
	$(BIN)/pytest -n 2 --dist loadfile -m "not (emulator or mysql or postgres or browser or spark or judge or terraform or process or slow or long)" $(OPTIONS)

test-long: install  ## the long tests: kills, fuzzing, whole histories, property tests with more examples
	$(PYTEST) -m long $(OPTIONS)

test-ids: install  ## two collections of the tests: an id that differs is an error, or another number than tests/counts.toml has
	PYTHONPATH=tests $(BIN)/python -m support.stable_ids
	PYTHONPATH=tests $(BIN)/python -m support.counts --check

test-counts: install  ## tests/counts.toml, after tests were added or removed
	PYTHONPATH=tests $(BIN)/python -m support.counts

mutants: install  ## small errors in the code, which the fast tests have to notice: P=onefold/changelog, or all packages, for hours
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r tests/mutants/requirements.txt
	PYTHONPATH=tests $(BIN)/python -m support.mutants "$(P)" "$(SAMPLE)"

docs: install  ## the site of the documentation, in build/site: a broken link is an error
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

lint: install  ## ruff, mypy --strict and the layers of imports
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: install  ## what ruff can fix by itself
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# VALIDATION=venv/bin/python names an environment with Google's Data Validation Tool, whose dependencies differ from ours.
# delta-rs is a peer and no dependency; Delta on Spark's jars come from Maven Central when they are needed.
FIGURES := --page docs/benchmarks.md
bench: install  ## the benchmarks: all figures of docs/benchmarks.md anew, in about an hour on an idle machine
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r benchmarks/requirements.txt
	$(BIN)/python -m benchmarks.render $(FIGURES)
	$(BIN)/python -m benchmarks.inventory $(FIGURES)
	$(BIN)/python -m benchmarks.registry $(FIGURES)
	$(BIN)/python -m benchmarks.cold_start $(FIGURES)
	PYTHONPATH=tests $(BIN)/python -m benchmarks.memory $(FIGURES)
	$(BIN)/python -m benchmarks.reconcile $(FIGURES)
	$(BIN)/python -m benchmarks.shred $(FIGURES)
	$(BIN)/python -m benchmarks.fixed_cost $(FIGURES)
	$(BIN)/python -m benchmarks.bigquery_path $(FIGURES)
	PYTHONPATH=tests $(BIN)/python -m benchmarks.capture $(FIGURES)
	PYTHONPATH=tests $(BIN)/python -m benchmarks.capture_debezium $(FIGURES)
	PYTHONPATH=tests $(BIN)/python -m benchmarks.capture_start $(FIGURES)
	PYTHONPATH=tests $(BIN)/python -m benchmarks.sink $(FIGURES)
	PYTHONPATH=tests $(BIN)/python -m benchmarks.visible $(FIGURES)
	PYTHONPATH=tests $(BIN)/python -m benchmarks.loads $(FIGURES)
	PYTHONPATH=tests $(BIN)/python -m benchmarks.checks $(FIGURES) $(if $(VALIDATION),--validation $(VALIDATION))
	PYTHONPATH=tests $(BIN)/python -m benchmarks.quick $(FIGURES)

bench-quick: install  ## ratios of small benchmarks, compared with those of docs/benchmarks.md: a few minutes, also on a busy machine
	PYTHONPATH=tests $(BIN)/python -m benchmarks.quick

dist: install  ## wheels and sdists in dist/: the library, and the lab
	$(BIN)/python -m build --no-isolation --outdir dist .
	$(BIN)/python -m build --no-isolation --outdir dist onefold_lab

settings: install  ## whether onefold.yaml is valid, and onefold.checked.json is its checked form
	@ONEFOLD_CONFIG= $(BIN)/onefold settings check

package: install  ## build/functions.zip, the source of the functions, and the checked form of onefold.yaml
	@ONEFOLD_CONFIG= $(BIN)/onefold settings check --write
	$(BIN)/python -m infra.package

# PROJECT and REGION; DATASETS=a,b, PREFIX=eu- for a second deployment, VARS=file.tfvars for everything else.
STATE ?= $(PROJECT)-onefold-terraform
CAPTURE = $(PROJECT)-$(PREFIX)onefold-capture
REGISTRY = $(PROJECT)-$(PREFIX)onefold-registry
# Services whose agents have to be there before they are given rights, or build and push for us.
AGENTS := artifactregistry cloudbuild cloudfunctions cloudscheduler dataproc pubsub run
TERRAFORM := terraform -chdir=infra
comma := ,
VARIABLES = -var=project=$(PROJECT) -var=region=$(REGION) -var=prefix=$(PREFIX)
VARIABLES += $(if $(wildcard $(IMAGE)),-var-file='$(abspath $(IMAGE))')
VARIABLES += $(if $(DATASETS),-var='datasets=["$(subst $(comma),"$(comma)",$(DATASETS))"]') $(if $(VARS),-var-file='$(abspath $(VARS))')

terraform:  ## Terraform ready for PROJECT and REGION, its state in a bucket of the project
	@test -n "$(PROJECT)" && test -n "$(REGION)" || { echo "say where: make deploy PROJECT=my-project REGION=europe-west1 DATASETS=shop"; exit 1; }
	gcloud services enable cloudresourcemanager.googleapis.com iam.googleapis.com storage.googleapis.com $(AGENTS:%=%.googleapis.com) --project=$(PROJECT)
	@for service in $(AGENTS); do gcloud beta services identity create --service=$$service.googleapis.com --project=$(PROJECT) || exit 1; done
	gcloud storage service-agent --project=$(PROJECT)
	gcloud storage buckets describe gs://$(STATE) --project=$(PROJECT) >/dev/null 2>&1 || gcloud storage buckets create gs://$(STATE) --project=$(PROJECT) --location=$(REGION) --uniform-bucket-level-access --public-access-prevention
	@owner=$$(gcloud storage buckets describe gs://$(STATE) --raw --format='value(projectNumber)') && \
	number=$$(gcloud projects describe $(PROJECT) --format='value(projectNumber)') && \
	{ [ -n "$$owner" ] && [ "$$owner" = "$$number" ] || { echo "gs://$(STATE) belongs to project number $$owner, expected $$number of $(PROJECT): name a bucket of your own with STATE=..."; exit 1; }; }
	gcloud storage buckets update gs://$(STATE) --project=$(PROJECT) --versioning
	$(TERRAFORM) init -reconfigure -input=false -backend-config=bucket=$(STATE) -backend-config=prefix=$(PREFIX)onefold

planned: package terraform
	@mkdir -p build
	left() { gcloud storage buckets describe gs://$$1 --project=$(PROJECT) >/dev/null 2>&1 && echo true || echo false; }; \
	$(TERRAFORM) plan -input=false -out=onefold.tfplan $(VARIABLES) -var=adopt_capture_bucket=$$(left $(CAPTURE)) -var=adopt_registry_bucket=$$(left $(REGISTRY))
	$(TERRAFORM) show -json onefold.tfplan > build/plan.json

plan: planned  ## what make deploy would change, without changing it: PROJECT=... REGION=... [DATASETS=a,b]
	@$(BIN)/python -m infra.review build/plan.json --allow
	@echo "nothing was applied: make deploy plans again, and asks"

deploy: planned  ## everything into Google Cloud: PROJECT=... REGION=... [DATASETS=a,b]
	@$(BIN)/python -m infra.review build/plan.json --ask
	@printf "Apply this plan to $(PROJECT)? Only 'yes' goes on: "; read answer; [ "$$answer" = yes ] || { echo "nothing was applied"; exit 1; }
	$(TERRAFORM) apply -input=false onefold.tfplan
	$(TERRAFORM) state pull > build/state.json
	$(BIN)/python -m infra.grants build/state.json $(PROJECT) gs://$(STATE)/$(PREFIX)onefold/default.tfstate $(GRANTS)
	gcloud storage cp $(GRANTS) gs://$(STATE)/$(PREFIX)onefold/grants.json

# Into AWS: VARS=aws.tfvars names everything. The plan is applied as it was shown.
AWS := terraform -chdir=infra/aws
.PHONY: planned-aws plan-aws deploy-aws
planned-aws: package
	@test -n "$(VARS)" || { echo "say what: make deploy-aws VARS=aws.tfvars"; exit 1; }
	$(AWS) init -input=false
	$(AWS) plan -input=false -out=onefold.tfplan -var-file='$(abspath $(VARS))'
	$(AWS) show -json onefold.tfplan > build/aws_plan.json

plan-aws: planned-aws  ## what make deploy-aws would change, without changing it: VARS=aws.tfvars
	@$(BIN)/python -m infra.review build/aws_plan.json --allow
	@echo "nothing was applied: make deploy-aws plans again, and asks"

deploy-aws: planned-aws  ## the shredder and the loader of events into AWS: VARS=aws.tfvars
	@$(BIN)/python -m infra.review build/aws_plan.json --ask
	@printf "Apply this plan to the account of $(VARS)? Only 'yes' goes on: "; read answer; [ "$$answer" = yes ] || { echo "nothing was applied"; exit 1; }
	$(AWS) apply -input=false onefold.tfplan

# The deployment's own grants, for `onefold access`; beside the state for builds.
GRANTS = infra/$(PROJECT).$(PREFIX)grants.json

# The digest goes where the next `make deploy` of this deployment finds it; a file of variables that names another image wins.
IMAGE = infra/$(PROJECT).$(PREFIX)capture.tfvars
REPOSITORY = $(REGION)-docker.pkg.dev/$(PROJECT)/$(PREFIX)onefold-capture
TAG ?= $(shell git describe --always --dirty --abbrev=40)
image:  ## the image of capture, built by Cloud Build: PROJECT=... REGION=...
	@test -n "$(PROJECT)" && test -n "$(REGION)" || { echo "say where: make image PROJECT=my-project REGION=europe-west1"; exit 1; }
	gcloud builds submit --project=$(PROJECT) --region=$(REGION) --config=cloudbuild.image.yaml --substitutions=_REGION=$(REGION),_PREFIX=$(PREFIX),_TAG=$(TAG) \
	  --service-account=projects/$(PROJECT)/serviceAccounts/$(PREFIX)onefold-build@$(PROJECT).iam.gserviceaccount.com \
	  --gcs-source-staging-dir=gs://$(PROJECT)-$(PREFIX)onefold-artifacts/source .
	digest=$$(gcloud artifacts docker images describe $(REPOSITORY)/capture:$(TAG) --project=$(PROJECT) --format='value(image_summary.digest)') && \
	echo "capture_image = \"$(REPOSITORY)/capture@$$digest\"" > $(IMAGE)
	@cat $(IMAGE)

# The bucket of capture holds its checkpoint and rows that have not landed, that of the registry the schemas of all data; a key's
# rights may be those of another deployment.
KEPT := ^module\.buckets\.google_storage_bucket\.kept\[|^google_storage_bucket\.(capture|registry\[0\])$$|^google_kms_crypto_key_iam_member\.agent
undeploy: package terraform  ## everything out of it again, but for the datasets and the buckets of capture and of the registry
	@for kept in $$($(TERRAFORM) state list | grep -E '$(KEPT)'); do $(TERRAFORM) state rm "$$kept" || exit 1; done
	$(TERRAFORM) destroy $(VARIABLES)
	@echo "left: gs://$(CAPTURE), with capture's checkpoint and rows that have not landed. The next make deploy takes it over; gcloud storage rm --recursive gs://$(CAPTURE) deletes it."

lock:  ## the lock files again, from pyproject.toml (needs uv)
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-annotate --no-header --no-emit-package onefold --extra dev pyproject.toml onefold_lab/pyproject.toml -o requirements.lock
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-annotate --no-header --constraint requirements.lock pyproject.toml -o functions/requirements.txt
	uv pip compile --quiet --universal --python-version 3.12 --generate-hashes --no-emit-index-url --no-annotate --no-header --constraint requirements.lock --extra image pyproject.toml -o capture.requirements.txt

images:  ## the images of Cloud Build, GitHub and capture by their digests of today (needs docker)
	@for image in $(IMAGES); do \
	  digest=$$(docker buildx imagetools inspect "$$image" --format '{{.Manifest.Digest}}') || exit 1; \
	  sed -i.old -E "s#$$image(@sha256:[0-9a-f]+)?\$$#$$image@$$digest#" $(PINNED); done
	@rm -f $(PINNED:%=%.old)

clean:  ## the virtual environment and caches
	rm -rf $(VENV) build .pytest_cache .mypy_cache .ruff_cache
