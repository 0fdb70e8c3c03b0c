// Square roots of symmetric positive semidefinite matrices, by Jacobi's eigenvalue method.

const SWEEPS = 40;
const NEGLIGIBLE = 1e-17;
/** Beside a diagonal of ones. */

/** Return the symmetric root of a correlation matrix, symmetric with a diagonal of ones; eigenvalues that rounding left negative count as 0. */
export function symmetricRoot(matrix, size) {
  const { values, vectors } = eigen(Float64Array.from(matrix), size);
  const root = new Float64Array(size * size);
  for (let index = 0; index < size; index++) {
    const scale = Math.sqrt(Math.max(values[index], 0));
    for (let row = 0; row < size; row++) {
      const left = scale * vectors[row * size + index];
      for (let column = 0; column < size; column++) {
        root[row * size + column] += left * vectors[column * size + index];
      }
    }
  }
  return root;
}

/** Diagonalise in place: eigenvalues, and eigenvectors as columns. */
function eigen(a, size) {
  const vectors = new Float64Array(size * size);
  for (let index = 0; index < size; index++) vectors[index * size + index] = 1;
  for (let sweep = 0; sweep < SWEEPS && largestOffDiagonal(a, size) >= NEGLIGIBLE; sweep++) {
    for (let p = 0; p < size - 1; p++) {
      for (let q = p + 1; q < size; q++) rotate(a, vectors, size, p, q);
    }
  }
  return { values: Float64Array.from({ length: size }, (_, k) => a[k * size + k]), vectors };
}

function largestOffDiagonal(a, size) {
  let largest = 0;
  for (let row = 1; row < size; row++) {
    for (let column = 0; column < row; column++) {
      largest = Math.max(largest, Math.abs(a[row * size + column]));
    }
  }
  return largest;
}

/** Annihilate the entry (p, q) by a rotation of both. */
function rotate(a, vectors, size, p, q) {
  const entry = a[p * size + q];
  if (Math.abs(entry) < NEGLIGIBLE) return;
  const theta = (a[q * size + q] - a[p * size + p]) / (2 * entry);
  const tangent = (theta < 0 ? -1 : 1) / (Math.abs(theta) + Math.sqrt(theta * theta + 1));
  const cosine = 1 / Math.sqrt(tangent * tangent + 1);
  const sine = tangent * cosine;
  for (let k = 0; k < size; k++) turn(a, k * size + p, k * size + q, cosine, sine);
  for (let k = 0; k < size; k++) turn(a, p * size + k, q * size + k, cosine, sine);
  for (let k = 0; k < size; k++) turn(vectors, k * size + p, k * size + q, cosine, sine);
}

function turn(values, first, second, cosine, sine) {
  const x = values[first];
  const y = values[second];
  values[first] = cosine * x - sine * y;
  values[second] = sine * x + cosine * y;
}
