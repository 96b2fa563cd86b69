"""The judgements of `make cluster`, without hosts: each promise that can be broken is reported."""

import pytest

from .verdict import (
    Attempt,
    Request,
    Restart,
    SentTask,
    Speed,
    efficiencies,
    judge_requests,
    judge_scheduler,
    longest_pause,
    table,
)


def request(*outcomes: str, at: float = 10.0, error: str = "") -> Request:
    attempts = tuple(Attempt(at + number, at + number + 0.5, outcome) for number, outcome in enumerate(outcomes))
    return Request("search", attempts, error)


def test_a_refused_request_that_is_answered_later_is_retried() -> None:
    figures = judge_requests([request("200"), request("ConnectError", "503", "200"), request("502", "404")], 0, 100)
    assert (figures.requests, figures.retried, figures.failed) == (3, 2, [])
    assert figures.slowest == 2.5
    assert figures.last_error == 11.5, "seconds since the start of the period"
    assert figures.outcomes == {"ConnectError": 1, "503": 1, "502": 1}


def test_requests_of_other_periods_do_not_count() -> None:
    assert judge_requests([request("200", at=5), request("200", at=20)], 10, 20).requests == 0


@pytest.mark.parametrize("outcome", ["500", "401", "400", "413"])
def test_any_other_error_is_a_failure_although_it_was_tried_again(outcome: str) -> None:
    figures = judge_requests([request(outcome, "200")], 0, 100)
    assert (figures.retried, len(figures.failed)) == (0, 1)
    assert outcome in figures.failed[0]


def test_a_request_that_a_client_gave_up_is_a_failure() -> None:
    figures = judge_requests([request("503", "503", error="RagsiteError 503")], 0, 100)
    assert figures.failed == ["search: 503 503 RagsiteError 503"]


def test_a_try_without_an_answer_is_counted_apart() -> None:
    assert judge_requests([request("ReadTimeout", "200")], 0, 100).unanswered == 1


def sent(*messages: tuple[float, str]) -> list[SentTask]:
    return [SentTask(moment, "purge", host) for moment, host in messages]


def test_two_active_schedulers_send_a_task_twice() -> None:
    messages = [*sent((0, "a"), (1, "b"), (10, "a"), (20, "a")), SentTask(15, "other", "b")]
    figures = judge_scheduler(messages, "purge", interval=10)
    assert figures.doubled == ["purge: a, after 1.0 s b"]
    assert (figures.sent, figures.longest_gap) == (4, 10)


def test_a_scheduler_that_continues_for_another_one_is_no_second_one() -> None:
    figures = judge_scheduler(sent((0, "a"), (10, "a"), (35, "b"), (45, "b")), "purge", interval=10)
    assert (figures.doubled, figures.changes, figures.longest_gap) == ([], 1, 25)


@pytest.mark.parametrize(
    ("not_ready_after", "refused_after", "is_good"),
    [(0.1, 6.5, True), (None, 6.5, False), (7.0, 6.5, False), (0.1, 2.0, False), (0.1, None, False)],
)
def test_a_server_drains_if_it_says_so_before_it_refuses_requests(
    not_ready_after: float | None, refused_after: float | None, is_good: bool
) -> None:
    assert Restart("web-1", not_ready_after, refused_after).is_good(6) == is_good


def test_the_longest_pause_includes_the_edges_of_the_period() -> None:
    assert longest_pause([3, 1, 2, 50], 0, 10) == 7
    assert longest_pause([], 0, 10) == 10


def test_the_efficiency_is_the_share_of_what_as_many_workers_should_do() -> None:
    speeds = [Speed(1, 100, 10.0), Speed(2, 200, 12.5)]
    assert efficiencies(speeds) == {1: 1.0, 2: 0.8}


def test_a_table_has_a_line_for_each_row() -> None:
    assert table(("fault", "seconds"), [("none", 1.26)]).splitlines()[-1] == "| none | 1.3 |"
