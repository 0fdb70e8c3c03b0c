"""Mutants of the client library and its learning loop."""

from tests.mutation.mutant import mutants

_CLIENT = "clients/airsched_client"
_FEDERATED = "clients/airsched_client/federated"
_RETRY = "tests/client/test_retry.py"
_LOOP = "tests/client/federated/test_loop.py"
_AIR = "tests/client/federated/test_air.py"

MUTANTS = [
    *mutants(
        f"{_CLIENT}/_connection.py",
        "tests/client/test_connection.py",
        (
            "connecting may take as long as an answer",
            "connect=min(timeout, CONNECT_TIMEOUT)",
            "connect=timeout",
        ),
    ),
    *mutants(
        f"{_CLIENT}/errors.py",
        "tests/client/test_errors.py",
        ("403 is any other error", "    403: AuthenticationError,\n", ""),
        (
            "a date in the past is a negative wait",
            "return max((date - datetime.now(UTC)).total_seconds(), 0.0)",
            "return (date - datetime.now(UTC)).total_seconds()",
        ),
    ),
    *mutants(
        f"{_CLIENT}/_retry.py",
        _RETRY,
        (
            "a Retry-After at the limit is refused",
            "patient = (failure.retry_after or 0.0) <= MAX_WAIT",
            "patient = (failure.retry_after or 0.0) < MAX_WAIT",
        ),
        ("repeats once too often", "repeats < self.limit", "repeats <= self.limit"),
        ("a slow connection is final", "httpx.ConnectTimeout, httpx.R", "httpx.R"),
        (
            "waits for longer than it may",
            "seconds = min(backoff(failure, repeats), left)",
            "seconds = backoff(failure, repeats)",
            f"{_LOOP}::test_stops_when_the_service_stays_down_and_loses_nothing",
        ),
    ),
    *mutants(
        f"{_FEDERATED}/loop.py",
        _LOOP,
        (
            "round robin waits for a device out of reach",
            "start = sum(max(len(record.active), 1) for record in before)",
            "start = sum(len(record.active) for record in before)",
            f"{_LOOP}::test_round_robin_goes_on_after_a_round_without_anyone",
        ),
        (
            "the noise is the same in every round",
            "stream(self._seed, Purpose.AIR, number)",
            "stream(self._seed, Purpose.AIR)",
            f"{_LOOP}::test_fading_stays_for_the_coherence",
        ),
    ),
    *mutants(
        f"{_FEDERATED}/air.py",
        _AIR,
        (
            "each part has all of the noise",
            "np.sqrt(noise_variance / 2 / schedule.power_factor)",
            "np.sqrt(noise_variance / schedule.power_factor)",
            f"{_AIR}::test_measured_error_is_the_services",
        ),
        (
            "devices exceed their power",
            "largest = max(largest, power / symbols.size)",
            "largest = power / symbols.size",
            f"{_AIR}::test_power_of_what_is_sent_is_within_the_limit",
        ),
    ),
    *mutants(
        f"{_FEDERATED}/checkpoint.py",
        f"{_LOOP}::test_a_line_that_no_checkpoint_counts_is_done_again",
        (
            "unfinished rounds count",
            "lines.read_text().splitlines()[:count]",
            "lines.read_text().splitlines()",
        ),
    ),
]
