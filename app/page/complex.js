// Complex matrices: row-major, real and imaginary parts apart.

export function matrix(rows, columns) {
  const size = rows * columns;
  return { rows, columns, real: new Float64Array(size), imag: new Float64Array(size) };
}

/** Fill a matrix from (row, column) → [real, imaginary]. */
export function filled(rows, columns, entry) {
  const made = matrix(rows, columns);
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      const at = row * columns + column;
      [made.real[at], made.imag[at]] = entry(row, column);
    }
  }
  return made;
}

export function product(left, right) {
  const made = matrix(left.rows, right.columns);
  for (let row = 0; row < left.rows; row++) {
    for (let inner = 0; inner < left.columns; inner++) {
      const real = left.real[row * left.columns + inner];
      const imag = left.imag[row * left.columns + inner];
      for (let column = 0; column < right.columns; column++) {
        const at = row * right.columns + column;
        const from = inner * right.columns + column;
        made.real[at] += real * right.real[from] - imag * right.imag[from];
        made.imag[at] += real * right.imag[from] + imag * right.real[from];
      }
    }
  }
  return made;
}

export function sum(left, right) {
  const made = matrix(left.rows, left.columns);
  for (let at = 0; at < made.real.length; at++) {
    made.real[at] = left.real[at] + right.real[at];
    made.imag[at] = left.imag[at] + right.imag[at];
  }
  return made;
}

/** Multiply every column by its own factor: left · diag(factors), factors a single row or column. */
export function columnsTimes(left, factors) {
  return filled(left.rows, left.columns, (row, column) => {
    const at = row * left.columns + column;
    const [a, b, c, d] = [left.real[at], left.imag[at], factors.real[column], factors.imag[column]];
    return [a * c - b * d, a * d + b * c];
  });
}

export function scaled(values, factor) {
  return {
    ...values,
    real: values.real.map((value) => value * factor),
    imag: values.imag.map((value) => value * factor),
  };
}

/** Return one column as a matrix of its own. */
export function column(values, index) {
  return filled(values.rows, 1, (row) => {
    const at = row * values.columns + index;
    return [values.real[at], values.imag[at]];
  });
}

/** Return |h_kᴴ c|² for every column h_k. */
export function gains(channels, receiver) {
  return Array.from({ length: channels.columns }, (_, index) => {
    let [real, imag] = [0, 0];
    for (let row = 0; row < channels.rows; row++) {
      const at = row * channels.columns + index;
      real += channels.real[at] * receiver.real[row] + channels.imag[at] * receiver.imag[row];
      imag += channels.real[at] * receiver.imag[row] - channels.imag[at] * receiver.real[row];
    }
    return real * real + imag * imag;
  });
}

/** Return ‖h_k‖² for every column h_k. */
export function energies(channels) {
  const found = new Array(channels.columns).fill(0);
  channels.real.forEach((real, at) => {
    found[at % channels.columns] += real * real + channels.imag[at] * channels.imag[at];
  });
  return found;
}

/** Read the nested vector of an answer, {"real": […], "imag": […]}. */
export function vector(nested) {
  return {
    rows: nested.real.length,
    columns: 1,
    real: Float64Array.from(nested.real),
    imag: Float64Array.from(nested.imag),
  };
}

/** Pack matrices of one shape as the service reads them: complex128, little-endian, base64. */
export function packed(...matrices) {
  const [{ rows, columns }] = matrices;
  const bytes = new DataView(new ArrayBuffer(16 * rows * columns * matrices.length));
  let at = 0;
  for (const { real, imag } of matrices) {
    real.forEach((value, index) => {
      bytes.setFloat64(at, value, true);
      bytes.setFloat64(at + 8, imag[index], true);
      at += 16;
    });
  }
  const shape = matrices.length > 1 ? [matrices.length, rows, columns] : [rows, columns];
  return { dtype: "complex128", shape, data: base64(new Uint8Array(bytes.buffer)) };
}

function base64(bytes) {
  let text = "";
  // In pieces: a function takes only so many arguments.
  for (let at = 0; at < bytes.length; at += 8192) {
    text += String.fromCharCode(...bytes.subarray(at, at + 8192));
  }
  return btoa(text);
}
