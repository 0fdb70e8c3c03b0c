"""Mutants of the service: where solves run, their processes, and the HTTP edge."""

from tests.mutation.mutant import mutants

_EXECUTION = "tests/test_execution.py"
_WORKERS = "tests/test_workers.py"
_OVER_HTTP = "tests/test_workers_over_http.py"
_LIMITS = "tests/api/test_limits.py"
_OBSERVER = "tests/api/test_observer.py"

MUTANTS = [
    *mutants(
        "app/execution/executor.py",
        _EXECUTION,
        (
            "polishing runs on the loop",
            "and not spec.polish and not spec.bound",
            "and not spec.bound",
            f"{_EXECUTION}::test_only_short_solves_run_on_the_loop",
        ),
        (
            "a batch counts as one solve",
            "len(problems) * each",
            "each",
            f"{_EXECUTION}::test_only_short_solves_run_on_the_loop",
        ),
        (
            "a late answer is given all the same",
            "            deadline.require_time()\n            return schedules",
            "            return schedules",
            f"{_EXECUTION}::test_late_inline_answers_are_refused",
        ),
        (
            "a small batch is not shared out",
            "size = -(-len(problems) // self._parts)",
            "size = len(problems) // self._parts + 1",
            f"{_EXECUTION}::test_a_batch_is_shared_out_among_the_threads",
        ),
        (
            "solves are as urgent as the loop",
            "workers, queue_length, lower_thread_priority)",
            "workers, queue_length)",
            f"{_EXECUTION}::test_threads_give_way_to_the_loop",
        ),
    ),
    *mutants(
        "app/protocol.py",
        "tests/faults/test_attacks.py::test_a_request_that_would_cost_too_much",
        (
            "a trailer may be endless",
            "if self._reading is not _Reading.NOTHING:",
            "if self._reading is _Reading.HEAD:",
        ),
    ),
    *mutants(
        "app/execution/lane.py",
        "tests/test_lanes.py",
        (
            "one more waits than may",
            "max(0, len(tasks) - idle) - self._queue_length",
            "max(0, len(tasks) - idle) - self._queue_length - 1",
        ),
        (
            "everybody makes room for anybody",
            "if loads.get(busiest, 0) <= load:",
            "if loads.get(busiest, 0) < load:",
        ),
        (
            "the busiest goes first",
            "client = min(ready, key=self._running.__getitem__)",
            "client = max(ready, key=self._load)",
        ),
        (
            "the deadline interrupts nobody",
            "                deadline.stop_search()\n                await",
            "                await",
            f"{_EXECUTION}::test_an_anytime_search_answers_at_the_deadline_with_what_it_has",
        ),
    ),
    *mutants(
        "app/execution/processes.py",
        _WORKERS,
        (
            "losses are not counted",
            "worker.end()\n        self._on_loss()",
            "worker.end()",
            f"{_OVER_HTTP}::test_each_lost_solver_is_counted",
        ),
        (
            "Ctrl-C ends a solver",
            "signal.signal(signal.SIGINT, signal.SIG_IGN)",
            "signal.signal(signal.SIGINT, signal.SIG_DFL)",
            f"{_WORKERS}::test_ctrl_c_in_a_terminal_does_not_end_a_solver",
        ),
        (
            "a solver outlives the service",
            "when_parent_ends(lambda: os._exit(1))",
            "pass",
            f"{_OVER_HTTP}::test_no_process_outlives_a_service_that_was_killed",
        ),
        (
            "a dead process is handed out",
            "if worker.answers():",
            "if worker:",
            f"{_WORKERS}::test_killed_while_idle_is_replaced_unseen",
        ),
        (
            "a deadline looks like a crash",
            "            if self._ended:\n                raise DeadlineExceededError from None\n",
            "",
            f"{_OVER_HTTP}::test_deadline_is_504",
        ),
        (
            "a closed pool takes processes back",
            "if not self._closed:",
            "if True:",
            f"{_WORKERS}::test_a_process_given_back_after_the_end_is_ended",
        ),
    ),
    *mutants(
        "app/service.py",
        "tests/test_sigterm.py",
        ("SIGTERM is kept", "        self._restore_sigterm()\n", ""),
        ("ready while it stops", "self._draining = True", "self._draining = False"),
    ),
    *mutants(
        "app/admission.py",
        f"{_OBSERVER}::test_too_many_requests_at_once_are_refused_and_counted",
        (
            "one request more than may be",
            "if self._total + amount > self._limit:",
            "if self._total + amount > self._limit + 1:",
        ),
    ),
    *mutants(
        "app/api/wire.py",
        _LIMITS,
        (
            "an array at the limit is refused",
            "if length > limits.get(axis, length):",
            "if length >= limits.get(axis, length + 1):",
        ),
    ),
    *mutants(
        "app/api/bodies.py",
        f"{_LIMITS}::test_bytes_of_a_body",
        (
            "a body at the limit is refused",
            "if len(body) + len(part) > limit:",
            "if len(body) + len(part) >= limit:",
        ),
    ),
    *mutants(
        "app/api/errors.py",
        f"{_LIMITS}::test_a_body_that_nobody_wants_is_not_waited_for",
        (
            "415 keeps the connection",
            'headers={"Accept": "application/json, application/msgpack", **_CLOSE}',
            'headers={"Accept": "application/json, application/msgpack"}',
        ),
    ),
    *mutants(
        "app/api/observer.py",
        f"{_OBSERVER}::test_unknown_methods_and_paths_are_counted_together",
        (
            "made-up methods make time series",
            'method if method in _METHODS else "other"',
            "method",
        ),
        (
            "made-up paths make time series",
            'route = path if path in self._routes else "other"',
            "route = path",
        ),
        (
            "long request ids are taken",
            "{1,64}",
            "{1,65}",
            f"{_OBSERVER}::test_what_is_no_request_id_is_replaced",
        ),
    ),
    *mutants(
        "app/api/security.py",
        "tests/api/test_errors.py::test_keys",
        ("only one of several keys is right", "if not any(matches):", "if not matches[0]:"),
    ),
    *mutants(
        "app/api/requests.py",
        "tests/api/test_schedule.py",
        (
            "max_error ignores the power",
            "self.power * max_error / self.noise_variance",
            "max_error / self.noise_variance",
            "tests/client/test_client.py::test_every_option_reaches_the_core",
        ),
    ),
]
