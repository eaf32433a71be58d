"""``linkedbandits webhook``."""

from __future__ import annotations

import pytest

from linkedbandits.service.http.service import Settings
from linkedbandits.service.store import open_store
from tests.support.command_line import refusal, run, run_json
from tests.support.http_servers import serving
from tests.support.running_service import running_service
from tools.waiting import SECONDS

URL = "https://example.org/hook"


@pytest.fixture
def store(tmp_path):
    return str(tmp_path / "experiments.sqlite3")


def create(store, *more):
    return run("webhook", "create", "--url", URL, "--store", store, *more)


def test_a_webhook_s_secret_is_printed_once_and_it_is_listed_and_deleted(store):
    made = create(store, "--event", "paused", "--event", "verdict")
    assert made.returncode == 0
    secret = made.stdout.strip()
    opened = open_store(store)
    with opened.reading() as reading:
        (record,) = reading.webhooks()
    opened.close()
    assert (record.secret, record.events, record.url) == (secret, ("verdict", "paused"), URL)
    (listed,) = run_json("webhook", "list", "--store", store)
    assert (listed["id"], listed["events"], listed["experiment"]) == (record.id, ["verdict", "paused"], None)
    shown = run("webhook", "list", "--store", store).stdout
    assert secret not in shown
    assert "none" in shown
    assert run("webhook", "delete", record.id, "--store", store).returncode == 0
    assert "There are no webhooks." in run("webhook", "list", "--store", store).stdout


def test_it_hears_of_verdicts_and_alarms_unless_told_otherwise(store):
    made = run_json("webhook", "create", "--url", URL, "--store", store)
    assert made["events"] == ["verdict", "alarm"]
    assert made["secret"].startswith("whsec_")


def test_what_does_not_exist_is_refused(store):
    assert "'lunch' is no event" in refusal("webhook", "create", "--url", URL, "--event", "lunch", "--store", store)
    assert "no public address" in refusal("webhook", "create", "--url", "http://127.0.0.1/", "--store", store)
    assert "nobody" in refusal("webhook", "create", "--url", URL, "--experiment", "nobody", "--store", store)
    assert "'nobody'" in refusal("webhook", "delete", "nobody", "--store", store)
    assert "'nobody'" in refusal("webhook", "test", "nobody", "--store", store)


def test_a_trial_without_a_service_says_that_it_waits(store):
    made = run_json("webhook", "create", "--url", URL, "--store", store)
    tried = run("webhook", "test", made["id"], "--seconds", "0", "--store", store)
    assert tried.returncode == 1
    assert "Is one running?" in tried.stderr


def test_a_trial_says_whether_it_arrived(store):
    answers = [200]
    with (
        serving(lambda *_: answers.pop() if answers else 500) as receiver,
        running_service(store, Settings(webhooks_to_private=True)),
    ):
        address = ("--url", receiver.address, "--webhooks-to-private", "--store", store)
        made = run_json("webhook", "create", *address)
        patiently = ("--seconds", str(SECONDS))
        first, second = (run("webhook", "test", made["id"], *patiently, "--store", store) for _ in range(2))
    assert (first.returncode, first.stdout) == (0, "It has arrived: answered 200.\n")
    assert second.returncode == 1
    assert "It has not arrived: answered 500" in second.stderr
