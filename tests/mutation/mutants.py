"""The mutants: defects that a change could bring in, and that no other check would notice."""

from tests.mutation.mutant import mutants

_EXECUTION = "tests/test_execution.py"
_WORKERS = "tests/test_workers.py"
_LOOP = "tests/client/federated/test_loop.py"
_AIR = "tests/client/federated/test_air.py"

MUTANTS = [
    *mutants(
        "app/scheduling",
        "tests/scheduling",
        (
            "a factorisation always succeeds",
            "if not pivot > 0.0:",
            "if pivot == 0.0:",
            "test_kernels.py",
        ),
        (
            "any eigenvector will do",
            "if converged and is_principal:",
            "if converged:",
            "test_kernels.py",
        ),
        (
            "a Gram matrix is never rebuilt after cancellation",
            "if trace >= _CANCELLED * peak:",
            "if trace >= -1.0 * peak:",
            "test_kernels.py",
        ),
        (
            "devices may exceed their power",
            "<= math.sqrt(power) * (1.0 + SERVED_TOLERANCE)",
            "<= power * (1.0 + SERVED_TOLERANCE)",
            "test_schedule.py",
        ),
        (
            "a device may miss its tolerance by a little",
            "within_tolerance &= gain >= required[k] * (1.0 - SERVED_TOLERANCE)",
            "within_tolerance &= gain >= required[k] * (1.0 - 1e-3)",
            "test_schedule.py",
        ),
        (
            "mmse stops at the wrong device",
            "inverse >= limits[weakest_first[i + 1]]",
            "inverse <= limits[weakest_first[i + 1]]",
            "test_coordination.py",
        ),
        (
            "dual pursuit drops devices by their index",
            "scores[i] = multipliers[k] * math.sqrt(sizes[k])",
            "scores[i] = 1.0",
            "test_dual_steps.py",
        ),
        (
            "a tie goes to the highest index",
            "violation > largest + EQUAL_VIOLATIONS * required[k]",
            "violation >= largest - EQUAL_VIOLATIONS * required[k]",
            "test_matching_pursuit.py",
        ),
        (
            "devices come back again and again",
            "if bidirectional and served and not remaining[k] and not returned[k]:",
            "if bidirectional and served and not remaining[k]:",
            "test_matching_pursuit.py",
        ),
        (
            "the duality gap forgets the devices",
            "last = (antennas + 2 * devices) * barrier <= gap",
            "last = antennas * barrier <= gap",
            "test_lifted.py",
        ),
        (
            "a refused step of a phase is not undone",
            "turn(responses, m, -change)",
            "turn(responses, m, 0j)",
            "irs/test_phases.py",
        ),
        (
            "the phases of a surface turn the wrong way",
            "slopes[j] = -price * (",
            "slopes[j] = price * (",
            "irs/test_joint_dual.py",
        ),
        (
            "polishing may lose a served device",
            "kept = np.minimum(floors, magnitudes)",
            "kept = np.zeros_like(magnitudes)",
            "test_polishing.py",
        ),
        (
            "averages are multiplied",
            "gains = gains / averages",
            "gains = gains * averages",
            "test_ordered.py",
        ),
        (
            "feasible may be said wrongly",
            "if feasible != served or (keeps_tolerance and not served):",
            "if keeps_tolerance and not served:",
            "test_schedule.py",
        ),
    ),
    *mutants(
        "app",
        "",
        (
            "a batch counts as one solve",
            "len(problems) * each",
            "each",
            f"{_EXECUTION}::test_only_short_solves_run_on_the_loop",
        ),
        (
            "one more solve waits than may",
            "max(0, len(tasks) - idle) - self._queue_length",
            "max(0, len(tasks) - idle) - self._queue_length - 1",
            "tests/test_lanes.py",
        ),
        (
            "the deadline stops no search",
            "                deadline.stop_search()\n                await",
            "                await",
            _EXECUTION,
        ),
        (
            "a dead solver process is handed out",
            "if worker.answers():",
            "if worker:",
            f"{_WORKERS}::test_killed_while_idle_is_replaced_unseen",
        ),
        (
            "a solve that nobody waits for begins",
            "None if self._ended else worker",
            "worker",
            f"{_WORKERS}::test_a_job_ended_before_it_runs_needs_no_process",
        ),
        (
            "ready while it stops",
            "self._draining = True",
            "self._draining = False",
            "tests/test_sigterm.py",
        ),
        (
            "made-up paths make time series",
            'route = path if path in self._routes else "other"',
            "route = path",
            "tests/api/test_observer.py",
        ),
        (
            "only one of several keys is right",
            "if not any(matches):",
            "if not matches[0]:",
            "tests/api/test_errors.py",
        ),
        (
            "max_error ignores the power",
            "self.reference_power * max_error / self.reference_noise",
            "max_error / self.reference_noise",
            "tests/client/test_client.py",
        ),
    ),
    *mutants(
        "clients/airsched_client",
        "",
        (
            "a call is repeated once too often",
            "repeats < self.limit",
            "repeats <= self.limit",
            "tests/client/test_retry.py",
        ),
        (
            "round robin waits for a device out of reach",
            "start = sum(max(len(record.active), 1) for record in before)",
            "start = sum(len(record.active) for record in before)",
            _LOOP,
        ),
        (
            "the noise is the same in every round",
            "stream(self._seed, Purpose.AIR, number)",
            "stream(self._seed, Purpose.AIR)",
            _LOOP,
        ),
        (
            "each part of a symbol has all of the noise",
            "np.sqrt(noise_variance / 2 / schedule.power_factor)",
            "np.sqrt(noise_variance / schedule.power_factor)",
            _AIR,
        ),
        (
            "unfinished rounds count",
            "lines.read_text().splitlines()[:count]",
            "lines.read_text().splitlines()",
            "tests/client/federated/test_resuming.py",
        ),
    ),
    # The last: it compiles all kernels again, and removes the others.
    *mutants(
        "app/scheduling/kernels",
        "",
        (
            "a changed kernel keeps the cache of the old one",
            "digest.update(f",
            "str(f",
            "tests/test_warmup.py::test_a_kernel_is_compiled_again_when_one_that_it_calls_has_changed",
        ),
    ),
]
