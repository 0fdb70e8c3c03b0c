"""Mutants of the compiled loops."""

from tests.mutation.mutant import mutants

_FOLDER = "app/scheduling/kernels"
_EIGEN = "tests/scheduling/test_kernels.py"
_NORM = "tests/scheduling/test_least_norm.py"
_PHASES = "tests/scheduling/irs/test_phases.py"
_JOINT = "tests/scheduling/irs/test_joint_dual.py"
_PURSUIT = "tests/scheduling/test_matching_pursuit.py"
_LIFTED = "tests/scheduling/test_lifted.py"
_DUAL = "tests/scheduling/test_dual_steps.py"

MUTANTS = [
    *mutants(
        f"{_FOLDER}/factor.py",
        _EIGEN,
        ("a factorisation always succeeds", "if not pivot > 0.0:", "if pivot == 0.0:"),
    ),
    *mutants(
        f"{_FOLDER}/eigen.py",
        _EIGEN,
        (
            "any eigenvector will do",
            "if converged and is_principal:",
            "if converged:",
        ),
        (
            "the last resort is the least eigenvector",
            "projection[:] = vectors[:, size - 1]",
            "projection[:] = vectors[:, 0]",
        ),
    ),
    *mutants(
        f"{_FOLDER}/refine.py",
        _EIGEN,
        (
            "refines to any eigenvector",
            "if not factor_below(lower, shift, lower):",
            "if not factor_below(lower, shift + trace, lower):",
        ),
        (
            "the guess decides among principal vectors",
            "        principal_eigenvector(matrix, vector, work)\n        guess[:] = vector",
            "        vector[:] = guess\n        principal_eigenvector(matrix, vector, work)",
        ),
    ),
    *mutants(
        f"{_FOLDER}/gram.py",
        _EIGEN,
        ("never rebuilt", "if trace >= _CANCELLED * peak:", "if trace >= -1.0 * peak:"),
        (
            "channels are rotated the wrong way",
            "phase = scaled(overlap, 1.0 / math.sqrt(size))",
            "phase = scaled(overlap.conjugate(), 1.0 / math.sqrt(size))",
        ),
    ),
    *mutants(
        f"{_FOLDER}/formulas.py",
        "tests/scheduling/test_schedule.py",
        (
            "NaN in an imaginary part passes",
            "if math.isnan(channels[n, k].real) or math.isnan(channels[n, k].imag):",
            "if math.isnan(channels[n, k].real):",
            "tests/scheduling/test_problem.py",
        ),
        (
            "the power limit is not a root",
            "<= math.sqrt(power) * (1.0 + SERVED_TOLERANCE)",
            "<= power * (1.0 + SERVED_TOLERANCE)",
        ),
        ("one device may disturb", "if transmitting != 0:", "if transmitting > 1:"),
        (
            "a device may miss its tolerance by a little",
            "within_tolerance &= gain >= required[k] * (1.0 - SERVED_TOLERANCE)",
            "within_tolerance &= gain >= required[k] * (1.0 - 1e-3)",
        ),
        (
            "mmse stops at the wrong device",
            "inverse >= limits[weakest_first[i + 1]]",
            "inverse <= limits[weakest_first[i + 1]]",
            "tests/scheduling/test_coordination.py::test_mmse_is_the_least_error",
        ),
    ),
    *mutants(
        f"{_FOLDER}/least_norm.py",
        _NORM,
        (
            "forgets the level of its start",
            "best = smallest / norm_of(start)",
            "best = 0.0",
        ),
        (
            "counts too few visits",
            "visits += 2 * count + (sweeps - 1) * held",
            "visits += count",
        ),
        (
            "does not look at the stop flag",
            "while visits < limit and best < target and not stop[0]:",
            "while visits < limit and best < target:",
        ),
        (
            "returns the last receiver, not the best",
            "if level > best:\n            best = level\n            start[:] = current",
            "best = max(best, level)\n        start[:] = current",
        ),
    ),
    *mutants(
        f"{_FOLDER}/sweeps.py",
        "tests/scheduling/test_polishing.py::test_sweeps_solve_the_convex_problem",
        (
            "multipliers turn negative",
            "(1.0 / size), -multiplier)",
            "(1.0 / size), -1e9)",
        ),
    ),
    *mutants(
        f"{_FOLDER}/descent.py",
        _DUAL,
        (
            "a descent does not look at the stop flag",
            "while count > 0 and not stop[0]:",
            "while count > 0:",
            f"{_DUAL}::test_stop_ends_a_descent_in_the_middle",
        ),
        (
            "drops devices by their index",
            "scores[i] = multipliers[k] * math.sqrt(sizes[k])",
            "scores[i] = 1.0",
        ),
    ),
    *mutants(
        f"{_FOLDER}/dual.py",
        _DUAL,
        (
            "a kick adds nobody",
            "size = min(misses, 1 + int(uniform(random) * MOST_ADDED))",
            "size = 0",
        ),
    ),
    *mutants(
        f"{_FOLDER}/interior_point.py",
        _LIFTED,
        (
            "the gap forgets the devices",
            "last = (antennas + 2 * devices) * barrier <= gap",
            "last = antennas * barrier <= gap",
        ),
        (
            "the last point is not centred",
            "_CENTRED_LAST = 1e-12",
            "_CENTRED_LAST = 0.2",
            "tests/scheduling/test_baselines.py::test_lifted_problem_agrees_with_a_general_solver",
        ),
    ),
    *mutants(
        f"{_FOLDER}/joint_level.py",
        f"{_PHASES}::test_responses_after_a_climb_are_those_of_its_phases",
        ("a refused step is not undone", "turn(responses, m, -change)", "turn(responses, m, 0j)"),
        (
            "half of a refused step is not undone",
            "            responses.imag[:] = imag\n            length",
            "            length",
        ),
        (
            "keeps a lower level",
            "if gain > 0.0:",
            "if gain > -math.inf:",
            f"{_PHASES}::test_rise_never_lowers_the_level",
        ),
        (
            "weights of another exponent",
            "weights[k] = power * ratio",
            "weights[k] = power",
            f"{_PHASES}::test_the_bound_and_its_weights_are_those_of_the_formula",
        ),
    ),
    *mutants(
        f"{_FOLDER}/joint_round.py",
        f"{_JOINT}::test_rows_say_how_receiver_and_angles_change_the_responses",
        ("angles turn the wrong way", "slopes[j] = -price * (", "slopes[j] = price * ("),
        (
            "phases drift off the circle",
            "joint.phases[m] = allowed_phase(turned, 0)",
            "joint.phases[m] = 1.0001 * turned",
            f"{_JOINT}::test_never_fewer_than_at_the_start_and_always_unit_moduli",
        ),
    ),
    *mutants(
        f"{_FOLDER}/joint_dual.py",
        f"{_JOINT}::test_two_starts_find_what_growing_finds_from_fifty",
        ("never keeps what it finds", "if found > best:", "if found < best:"),
        ("kicks add nobody", "for _ in range(min(misses, size)):", "for _ in range(0):"),
    ),
    *mutants(
        f"{_FOLDER}/surface.py",
        _PHASES,
        (
            "an element counts its own term",
            "value = slope(responses, m, weights) - own * phases[m]",
            "value = slope(responses, m, weights)",
            f"{_PHASES}::test_bcd_takes_the_best_phase_of_each_element",
        ),
        (
            "phases are rounded down",
            "angle = step * round(math.atan2(value.imag, value.real) / step)",
            "angle = step * math.floor(math.atan2(value.imag, value.real) / step)",
            f"{_PHASES}::test_grid",
        ),
    ),
    *mutants(
        f"{_FOLDER}/pursuit.py",
        _PURSUIT,
        (
            "a matrix is taken for the other one",
            "weights[turn], peaks[turn] = weights[last], peaks[last]",
            "peaks[turn] = peaks[last]",
        ),
        (
            "a tie goes to the highest index",
            "violation > largest + EQUAL_VIOLATIONS * required[k]",
            "violation >= largest - EQUAL_VIOLATIONS * required[k]",
            f"{_PURSUIT}::test_tie_is_decided_for_the_lowest_index",
        ),
        (
            "devices come back again and again",
            "if bidirectional and served and not remaining[k] and not returned[k]:",
            "if bidirectional and served and not remaining[k]:",
            f"{_PURSUIT}::test_bidirectional_ends_where_the_naive_rule_cycles",
        ),
    ),
]
