"""`make image` and the deploying build: the image of capture by its digest."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from support.deploy import DIGEST, GIVEN, IMAGE, STEPS, WHERE, Recorder, make, substitutions
from support.terraform import ROOT


def copied(tmp_path: Path) -> Path:
    """A checkout as far as the image needs it."""
    (tmp_path / "checkout" / "infra").mkdir(parents=True)
    shutil.copy(ROOT / "Makefile", tmp_path / "checkout")
    return tmp_path / "checkout"


def written(checkout: Path, name: str = "capture.auto.tfvars") -> str | None:
    path = checkout / "infra" / name
    return path.read_text() if path.exists() else None


REPOSITORY = "europe-west1-docker.pkg.dev/my-project/onefold-capture"


def test_the_image_is_built_and_pushed_under_one_name(recorder: Recorder) -> None:
    (step,) = IMAGE["steps"]
    environ = {**GIVEN, **IMAGE["substitutions"], "_TAG": "abc", "_PREFIX": "eu-"}
    assert recorder.run(["sh", "-c", step["script"]], **environ).returncode == 0
    image = "europe-west1-docker.pkg.dev/my-project/eu-onefold-capture/capture:abc"
    assert recorder.calls == [f"docker build --file=capture.Dockerfile --tag={image} .", f"docker push {image}"]
    assert (IMAGE["substitutions"]["_TAG"], IMAGE["options"]["dynamicSubstitutions"]) == ("${COMMIT_SHA}", True)


def test_make_image_passes_the_digest_to_the_next_plan(recorder: Recorder, tmp_path: Path) -> None:
    checkout = copied(tmp_path)
    done = make(recorder, "image", *WHERE, "TAG=abc", f"--directory={checkout}", DIGEST=DIGEST)
    assert done.returncode == 0, done.stderr
    assert written(checkout, "my-project.capture.tfvars") == f'capture_image = "{REPOSITORY}/capture@{DIGEST}"\n'
    assert planned_with(recorder, checkout, *WHERE, "VARS=europe.tfvars") == ["my-project.capture.tfvars", "europe.tfvars"]
    built, asked = recorder.calls
    assert "--substitutions=_REGION=europe-west1,_PREFIX=,_TAG=abc" in built
    assert "/serviceAccounts/onefold-build@my-project.iam.gserviceaccount.com" in built
    assert f"describe {REPOSITORY}/capture:abc" in asked


def planned_with(recorder: Recorder, checkout: Path, *arguments: str) -> list[str]:
    """The files of variables of the next plan, the one that wins last."""
    done = make(recorder, "--dry-run", "deploy", *arguments, f"--directory={checkout}")
    (plan,) = (line for line in done.stdout.splitlines() if "-out=onefold.tfplan" in line)
    return [Path(name).name for name in re.findall(r"-var-file='([^']+)'", plan)]


@pytest.mark.parametrize("other", [("PREFIX=eu-",), ("PROJECT=other-project",)])
def test_a_deployment_uses_no_image_of_another_one(recorder: Recorder, tmp_path: Path, other: tuple[str, ...]) -> None:
    checkout = copied(tmp_path)
    make(recorder, "image", *WHERE, "TAG=abc", *other, f"--directory={checkout}", DIGEST=DIGEST)
    assert planned_with(recorder, checkout, *WHERE) == []
    assert len(planned_with(recorder, checkout, *WHERE, *other)) == 1


@pytest.mark.parametrize("fails", ["builds submit", "images describe"])
def test_without_an_image_no_digest_is_passed_on(recorder: Recorder, tmp_path: Path, fails: str) -> None:
    checkout = copied(tmp_path)
    done = make(recorder, "image", *WHERE, "TAG=abc", f"--directory={checkout}", fails=fails, DIGEST=DIGEST)
    assert (done.returncode, written(checkout, "my-project.capture.tfvars")) == (2, None)


def deployed(recorder: Recorder, checkout: Path, **answers: str) -> subprocess.CompletedProcess[str]:
    script = f"cd {checkout}\n{STEPS['image']['script']}"
    return recorder.run(["sh", "-c", script], **substitutions(_VARS="europe.tfvars", **answers))


def test_the_deploying_build_uses_the_image_of_its_commit_by_the_digest(recorder: Recorder, tmp_path: Path) -> None:
    checkout = copied(tmp_path)
    assert deployed(recorder, checkout, REPOSITORY="found", DIGEST=DIGEST).returncode == 0
    assert written(checkout) == f'capture_image = "{REPOSITORY}/capture@{DIGEST}"\n'
    assert recorder.calls[-1].endswith("--filter=tags:abc")


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        ({"REPOSITORY": "", "DIGEST": DIGEST}, "no repository of images yet"),
        ({"REPOSITORY": "found", "DIGEST": ""}, "no image of capture for abc"),
    ],
)
def test_without_an_image_of_the_commit_no_image_is_set(
    recorder: Recorder, tmp_path: Path, answers: dict[str, str], said: str
) -> None:
    checkout = copied(tmp_path)
    done = deployed(recorder, checkout, **answers)
    assert (done.returncode, said in done.stdout, written(checkout)) == (0, True, None)


@pytest.mark.parametrize("fails", ["repositories list", "images list"])
def test_a_registry_that_does_not_answer_ends_the_build(recorder: Recorder, tmp_path: Path, fails: str) -> None:
    script = f"cd {copied(tmp_path)}\n{STEPS['image']['script']}"
    done = recorder.run(["sh", "-c", script], fails, **substitutions(REPOSITORY="found", DIGEST=DIGEST))
    assert done.returncode != 0


def test_the_image_is_known_before_the_plan_and_a_file_of_variables_wins() -> None:
    assert list(STEPS).index("image") < list(STEPS).index("plan")
    assert "capture_image" not in STEPS["plan"]["script"], "an option of the command line could win over the file"
