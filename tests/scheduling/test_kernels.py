"""The eigenvector kernel against LAPACK."""

import numpy as np
import pytest

from app.scheduling.kernels.linalg.eigen import principal_eigenvector, work_space
from app.scheduling.kernels.linalg.factor import factor_below, solve_factored
from app.scheduling.kernels.linalg.gram import aligned_sum, reweigh, reweigh_nearer
from app.scheduling.kernels.linalg.refine import principal_near, refine
from lab.channels import iid_channels, random_unitary


def principal(matrix, start):
    vector = np.array(start, complex) / np.linalg.norm(start)
    size = len(vector)
    # Only the lower triangle may be read.
    lower_only = np.tril(matrix) + np.triu(np.full((size, size), 1e9), 1)
    principal_eigenvector(lower_only.astype(complex), vector, work_space(size))
    return vector


@pytest.mark.parametrize("size", [1, 2, 3, 6, 16, 33, 64])
@pytest.mark.parametrize("scale", [1e-40, 1.0, 1e40])
def test_agrees_with_lapack(size, scale):
    rng = np.random.default_rng(size)
    for _ in range(20):
        columns = iid_channels(rng, size, int(rng.integers(1, 2 * size + 2)))
        matrix = columns @ columns.conj().T * scale
        vector = principal(matrix, iid_channels(rng, size, 1)[:, 0])
        values, vectors = np.linalg.eigh(matrix)
        assert np.linalg.norm(vector) == pytest.approx(1, rel=1e-12)
        assert abs(np.vdot(vectors[:, -1], vector)) == pytest.approx(1, abs=1e-9)
        assert np.vdot(vector, matrix @ vector).real == pytest.approx(values[-1], rel=1e-12)


@pytest.mark.parametrize("largest", [2.0, 1.01, 1 + 1e-4, 1 + 1e-5])
def test_leaves_an_eigenvector_that_is_not_the_principal_one(largest):
    # The start is exact for eigenvalue 1 and has no part in the principal eigenvector at all.
    vector = principal(np.diag([1.0, largest, 0.5]), [1, 0, 0])
    np.testing.assert_allclose(np.abs(vector), [0, 1, 0], atol=1e-9)


@pytest.mark.parametrize("gap", [1e-3, 1e-5, 1e-7])
def test_resolves_a_small_gap(gap):
    rng = np.random.default_rng(8)
    basis = random_unitary(rng, 5)
    matrix = basis @ np.diag([1, 1 - gap, 0.5, 0.2, 0]) @ basis.conj().T
    vector = principal(matrix, iid_channels(rng, 5, 1)[:, 0])
    assert abs(np.vdot(basis[:, 0], vector)) == pytest.approx(1, abs=1e-8)


def test_repeated_eigenvalue_gives_the_closest_principal_vector():
    rng = np.random.default_rng(9)
    basis = random_unitary(rng, 5)
    matrix = basis @ np.diag([2, 2, 2, 1, 0.1]) @ basis.conj().T
    start = iid_channels(rng, 5, 1)[:, 0]
    expected = basis[:, :3] @ (basis[:, :3].conj().T @ start)
    vector = principal(matrix, start)
    assert abs(np.vdot(expected, vector)) == pytest.approx(np.linalg.norm(expected), rel=1e-9)


def unit(vector):
    return np.array(vector, complex) / np.linalg.norm(vector)


@pytest.mark.parametrize("size", [1, 2, 9, 16, 33, 64])
@pytest.mark.parametrize("scale", [1e-40, 1.0, 1e40])
def test_refines_a_vector_that_is_close(size, scale):
    rng = np.random.default_rng(size)
    for distance in (0.0, 1e-9, 1e-3, 0.1):
        columns = iid_channels(rng, size, 2 * size) * np.linspace(0.5, 2, 2 * size)
        matrix = columns @ columns.conj().T * scale
        expected = np.linalg.eigh(matrix)[1][:, -1]
        vector = unit(expected + distance * unit(iid_channels(rng, size, 1)[:, 0]))
        assert refine(np.tril(matrix), vector, work_space(size))
        assert abs(np.vdot(expected, vector)) == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("largest", [2.0, 1.01, 1 + 1e-5, 1.0, 1 - 1e-7])
def test_does_not_refine_an_eigenvector_that_is_not_the_only_principal_one(largest):
    rng = np.random.default_rng(12)
    basis = random_unitary(rng, 12)
    matrix = basis @ np.diag([1.0, largest, *np.linspace(0, 0.5, 10)]) @ basis.conj().T
    for other in (0.0, 1e-6, 1e-3):
        vector = unit(basis[:, 0] + other * basis[:, 1])
        assert not refine(matrix, vector, work_space(12))


@pytest.mark.parametrize("size", [6, 20])
def test_a_guess_does_not_change_the_result(size):
    rng = np.random.default_rng(13)
    basis = random_unitary(rng, size)
    for values in ([2, 2, 2], [2, 1.9, 1.9], [2, 1.7, 0.5]):
        rest = np.linspace(0, 0.5, size - 3)
        matrix = basis @ np.diag([*values, *rest]) @ basis.conj().T
        start = unit(iid_channels(rng, size, 1)[:, 0])
        expected = principal(matrix, start)
        for guess in (basis[:, 0], basis[:, 1], unit(basis[:, 0] + 0.01 * start), start):
            vector, guess = start.copy(), np.array(guess)
            principal_near(matrix, vector, guess, work_space(size))
            np.testing.assert_allclose(vector, expected, atol=1e-8)
            np.testing.assert_array_equal(guess, start)


@pytest.mark.parametrize("size", [1, 3, 16, 17, 21, 40])
def test_factor_solves_and_tells_whether_it_is_definite(size):
    rng = np.random.default_rng(14)
    columns = iid_channels(rng, size, 2 * size)
    matrix = columns @ columns.conj().T
    values = np.linalg.eigvalsh(matrix)
    shift = values[-1] * 1.1
    factor = np.full((size, size), np.nan, complex)
    assert factor_below(np.tril(matrix), shift, factor)
    vector = iid_channels(rng, size, 1)[:, 0]
    solution = vector.copy()
    solve_factored(factor, solution)
    np.testing.assert_allclose(shift * solution - matrix @ solution, vector, atol=1e-10)
    for low in (values[-1] * (1 - 1e-9), values[0] * (1 - 1e-9), -1.0):
        assert not factor_below(np.tril(matrix), low, factor)


def test_zero_matrix_keeps_the_start():
    np.testing.assert_array_equal(principal(np.zeros((3, 3)), [0, 1, 0]), [0, 1, 0])


def test_aligned_channels_never_cancel_and_their_phases_do_not_matter():
    rng = np.random.default_rng(11)
    for _ in range(20):
        rows = iid_channels(rng, 7, 3)
        total = np.zeros(3, complex)
        for row in rows:
            overlap = np.vdot(row, total)
            total = total + row * (overlap / abs(overlap) if overlap else 1)
        assert np.linalg.norm(total) ** 2 >= (np.abs(rows) ** 2).sum()
        turned = rows * np.exp(2j * np.pi * rng.uniform(size=(7, 1)))
        for given in (rows, turned):
            found = aligned_sum(given)
            assert np.linalg.norm(found) == pytest.approx(1)
            overlap = abs(np.vdot(found, total)) / np.linalg.norm(total)
            assert overlap == pytest.approx(1, abs=1e-9)
    np.testing.assert_array_equal(aligned_sum(np.zeros((2, 3), complex)), [1, 0, 0])


def test_reweighed_gram_is_the_weighted_sum_even_after_cancellation():
    rng = np.random.default_rng(10)
    rows = iid_channels(rng, 12, 4) * 10.0 ** np.arange(0, 12)[:, None]
    gram, weights = np.zeros((4, 4), complex), np.zeros(12)
    peak = 0.0
    for _ in range(200):
        new = rng.choice([0.0, 0.3, 1.0], 12)
        new[rng.integers(12) :] = 0  # now and then all the strong ones go
        peak = reweigh(gram, rows, weights, new, peak)
        expected = np.tril((rows.T * new) @ rows.conj())
        np.testing.assert_allclose(gram, expected, rtol=0, atol=1e-10 * np.abs(expected).max())


def test_of_two_grams_the_one_that_is_nearer_gets_the_new_weights():
    rng = np.random.default_rng(11)
    rows = iid_channels(rng, 30, 4)
    grams, weights, peaks = np.zeros((2, 4, 4), complex), np.zeros((2, 30)), np.zeros(2)
    last, turns = 0, []
    swinging = rng.choice([0.3, 1.0], (2, 30))
    for step in range(40):
        new = swinging[step % 2].copy() if step < 20 else rng.choice([0.0, 0.3, 1.0], 30)
        new[: rng.integers(4)] = 0.0
        former = weights.copy()
        before, last = last, reweigh_nearer(grams, rows, weights, new, peaks, last)
        turns.append(last != before)
        expected = np.tril((rows.T * new) @ rows.conj())
        np.testing.assert_allclose(grams[last], expected, rtol=0, atol=1e-12 * 30)
        if not turns[-1]:
            continue
        # The other matrix keeps the last weights.
        np.testing.assert_array_equal(weights[1 - last], former[before])
    # Weights that swing find each its own matrix.
    assert all(turns[1:20])
