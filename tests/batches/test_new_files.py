"""Messages about new files, over the real client of EMR Serverless: which of them start a run, and which find one."""

from __future__ import annotations

import time
from typing import Any

import pytest
from support.fake_emr_serverless import EmrServerless as Service

from onefold.adapters.emr_serverless import EmrServerless
from onefold.batches.new_files import SHREDDER, NewFiles
from onefold.core.errors import Rejected
from onefold.messages.queue_batch import answer_batch
from onefold.settings.emr import EmrSettings

ROLE = "arn:aws:iam::123456789012:role/onefold-shredder"
SETTINGS = EmrSettings("00abc", ROLE, "s3://acme-events/code/v1", "/onefold/shredder", 180)
WORDS = ("--events", "s3://acme/good")


@pytest.fixture
def service(emr_serverless: Service) -> Service:
    emr_serverless.held = True
    return emr_serverless


def deliver(*messages: str, sent: float | None = None, settings: EmrSettings = SETTINGS) -> list[str]:
    """Deliver messages, and return those that have to be delivered again."""
    at = {"SentTimestamp": str(int((sent or time.time()) * 1000))}
    records: list[dict[str, Any]] = [{"messageId": one, "body": "{}", "attributes": at} for one in messages]
    answer = answer_batch({"Records": records}, NewFiles(EmrServerless(settings), WORDS).failed)
    return [one["itemIdentifier"] for one in answer["batchItemFailures"]]


def test_many_messages_start_one_run_and_those_that_come_before_it_begins_start_none(service: Service) -> None:
    assert deliver(*(f"m{number}" for number in range(500))) == []
    assert deliver("later", sent=time.time() + 60) == []
    assert list(service.states.items()) == [("job0", "QUEUED")]
    call = service.calls["job0"]
    assert (call["name"], call["executionRoleArn"], call["executionTimeoutMinutes"]) == (SHREDDER, ROLE, 180)
    assert call["jobDriver"]["sparkSubmit"]["entryPointArguments"] == list(WORDS)


@pytest.mark.parametrize("state", ["SCHEDULED", "RUNNING", "SUCCESS"])
def test_a_run_that_may_have_begun_reads_what_was_there_before_it_was_created_and_nothing_later(
    service: Service, state: str
) -> None:
    assert deliver("first") == []
    service.states["job0"] = state
    assert deliver("earlier", sent=service.created["job0"] - 1) == []
    assert list(service.states) == ["job0"]
    service.created["job0"] -= 60
    assert deliver("later") == []
    assert service.states == {"job0": state, "job1": "QUEUED"}


@pytest.mark.parametrize("state", ["FAILED", "CANCELLING", "CANCELLED"])
def test_a_run_that_failed_reads_nothing(service: Service, state: str) -> None:
    assert deliver("first") == []
    service.states["job0"] = state
    assert deliver("first", sent=service.created["job0"] - 1) == []
    assert service.states == {"job0": state, "job1": "QUEUED"}


@pytest.mark.parametrize("wrong", [{}, {"attributes": {}}, {"attributes": {"SentTimestamp": "soon"}}, {"attributes": None}])
def test_a_message_that_does_not_say_when_it_was_sent_fails_alone(
    service: Service, wrong: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    sound = {"messageId": "m1", "body": "{}", "attributes": {"SentTimestamp": str(int(time.time() * 1000))}}
    starter = NewFiles(EmrServerless(SETTINGS), WORDS)
    answer = answer_batch({"Records": [{"messageId": "m0", "body": "{}", **wrong}, sound]}, starter.failed)
    assert answer == {"batchItemFailures": [{"itemIdentifier": "m0"}]}
    assert list(service.states) == ["job0"]
    assert '"message_id": "m0"' in capsys.readouterr().out
    alone = answer_batch({"Records": [{"messageId": "m0", "body": "{}", **wrong}]}, starter.failed)
    assert alone == {"batchItemFailures": [{"itemIdentifier": "m0"}]}
    assert list(service.states) == ["job0"]


def test_a_run_of_another_name_that_waits_reads_other_files(service: Service) -> None:
    EmrServerless(SETTINGS).start("onefold-retry", WORDS, "token")
    assert deliver("first") == []
    assert [call["name"] for call in service.calls.values()] == ["onefold-retry", SHREDDER]


def test_functions_that_see_the_same_jobs_start_one_together(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    for known in ([], ["job0"]):
        seen = [job for job in EmrServerless(SETTINGS).recent(SHREDDER) if job.id in known]
        with monkeypatch.context() as late:
            late.setattr(EmrServerless, "recent", lambda *_, seen=seen: seen)
            at = time.time()
            assert deliver("one", sent=at) == deliver("other", "third", sent=at) == []
        service.states = dict.fromkeys(service.states, "FAILED")
    assert list(service.states) == ["job0", "job1"]


def test_an_answer_with_a_run_that_began_before_is_no_run_for_the_files(
    service: Service, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    at = time.time()
    assert deliver("m", sent=at) == []
    service.states["job0"] = "RUNNING"
    service.created["job0"] -= 60
    with monkeypatch.context() as late:
        late.setattr(EmrServerless, "recent", lambda *_: [])
        assert deliver("m", sent=at) == ["m"]
    assert "job0 may have begun before the files were there" in capsys.readouterr().out
    assert deliver("m") == []
    assert list(service.states) == ["job0", "job1"]


def test_what_cannot_be_started_is_delivered_again_with_the_reason(
    emr_serverless: Service, capsys: pytest.CaptureFixture[str]
) -> None:
    assert emr_serverless.application != "00xyz"
    other = EmrSettings("00xyz", ROLE, "s3://acme-events/code/v1", "/onefold/shredder", 180)
    assert deliver("m1", "m2", settings=other) == ["m1", "m2"]
    printed = capsys.readouterr().out
    assert '"event": "job_not_started"' in printed
    assert "there is no application 00xyz: correct ONEFOLD_EMR_APPLICATION" in printed


def test_a_refusal_names_the_right_that_is_missing(service: Service) -> None:
    service.refused = "AccessDeniedException"
    with pytest.raises(Rejected, match=r"StartJobRun: .*grant emr-serverless:StartJobRun"):
        EmrServerless(SETTINGS).start(SHREDDER, WORDS, "token")
