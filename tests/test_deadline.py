"""One value says when a request ends; everything that can take long asks it."""

import time

import pytest

from app.deadline import Deadline
from app.scheduling import DeadlineExceededError


def test_the_request_can_only_shorten_it():
    deadline = Deadline(10, "client")
    assert deadline.within(None) is deadline
    assert deadline.within(60_000) is deadline
    shorter = deadline.within(500)
    assert (shorter.arrived, shorter.seconds, shorter.client) == (deadline.arrived, 0.5, "client")
    # One flag for both: whoever looks at either sees it.
    shorter.stop_search()
    assert deadline.stop[0]


@pytest.mark.parametrize(("seconds", "early"), [(0.05, 0.01), (0.5, 0.1), (1, 0.2), (30, 0.2)])
def test_a_search_ends_early_enough_to_be_answered(seconds, early):
    deadline = Deadline(seconds, arrived=100.0)
    assert deadline.search_ends == pytest.approx(100 + seconds - early)


def test_after_the_end_an_answer_is_still_waited_for_a_little(monkeypatch):
    monkeypatch.setattr("app.deadline.time.monotonic", lambda: 101.0)
    deadline = Deadline(1, arrived=100.0)
    assert deadline.search_seconds == 0 < deadline.last_seconds < 0.2


def test_time_that_has_passed():
    deadline = Deadline(0.9, arrived=time.monotonic() - 1)
    assert deadline.search_seconds == deadline.last_seconds == 0
    with pytest.raises(DeadlineExceededError):
        deadline.require_time()
    Deadline(1).require_time()
