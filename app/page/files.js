// Channels from elsewhere: JSON as the service takes it, or a trace as NumPy writes it (.npy, .npz).

import { filled, matrix } from "./complex.js";
import { LIMITS } from "./state.js";

/** Read a dropped or chosen file. */
export async function fromFile(file) {
  if (!/\.np[yz]$/i.test(file.name)) return fromText(await file.text());
  const bytes = new DataView(await file.arrayBuffer());
  if (/y$/i.test(file.name)) return checked(rounds(npy(bytes)));
  const arrays = await npz(bytes);
  const channels = arrays.estimates ?? arrays.channels;
  if (!channels) throw new Error("The trace has no array “channels”.");
  const found = checked(rounds(channels));
  const places = arrays.positions;
  const [first] = found.rounds;
  if (places?.shape.length === 2 && places.shape[0] === first.columns) {
    const [count, axes] = places.shape;
    found.positions = Array.from({ length: count }, (_, k) => [0, 1].map((axis) => places.real[k * axes + axis]));
    // Far cells are drawn smaller.
    const farthest = Math.max(...found.positions.map(([x, y]) => Math.hypot(x, y)));
    const shrink = Math.min(1, 100 / farthest);
    found.positions = found.positions.map(([x, y]) => [x * shrink, y * shrink]);
  }
  return found;
}

/** Read pasted JSON: a matrix, or a request with its channels. */
export function fromText(text) {
  let given;
  try {
    given = JSON.parse(text);
  } catch (error) {
    throw new Error(`This is not JSON: ${error.message}`);
  }
  const body = given?.channels ?? given?.direct ?? given ?? {};
  const found = checked(rounds(body.data ? unpacked(body) : nested(body)));
  if (Number.isFinite(given.gamma_db)) found.gamma = given.gamma_db;
  if (given.gamma > 0) found.gamma = 10 * Math.log10(given.gamma);
  return found;
}

function checked(found) {
  const [{ rows, columns, real, imag }] = found;
  if (columns > LIMITS.devices[1]) throw new Error(`This page draws up to ${LIMITS.devices[1]} devices, not ${columns}.`);
  if (![...real, ...imag].every(Number.isFinite)) throw new Error("The channels must be finite numbers.");
  if (rows * columns === 0) throw new Error("The matrix is empty.");
  return { rounds: found };
}

function nested(body) {
  const real = body.real ?? body;
  const shape = [];
  for (let level = real; Array.isArray(level); level = level[0]) shape.push(level.length);
  const flat = real.flat?.(Infinity) ?? [];
  const imag = body.imag?.flat(Infinity) ?? flat.map(() => 0);
  if (shape.length < 2 || flat.length !== shape.reduce((a, b) => a * b) || imag.length !== flat.length) {
    throw new Error("Give the channels as {“real”: [[…]], “imag”: [[…]]}, one row per antenna and one column per device.");
  }
  return { shape, real: flat, imag };
}

function unpacked({ dtype, shape, data }) {
  const bytes = Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0));
  return numbers(new DataView(bytes.buffer), dtype === "complex64" ? "<c8" : "<c16", shape);
}

/** Split (rounds, N, K) into matrices; (N, K) is one round. */
function rounds({ shape, real, imag, fortran }) {
  if (shape.length < 2 || shape.length > 3) throw new Error(`The channels must be (rounds, N, K) or (N, K), not (${shape.join(", ")}).`);
  if (fortran) throw new Error("The array is in Fortran order: save it with np.ascontiguousarray.");
  const [rows, columns] = shape.slice(-2);
  const count = shape.length === 3 ? shape[0] : 1;
  return Array.from({ length: count }, (_, round) =>
    rows * columns === 0
      ? matrix(rows, columns)
      : filled(rows, columns, (row, column) => {
          const at = (round * rows + row) * columns + column;
          return [real[at], imag[at]];
        }),
  );
}

/** Read NumPy's own format. */
function npy(bytes) {
  const version = bytes.getUint8(6);
  const length = version > 1 ? bytes.getUint32(8, true) : bytes.getUint16(8, true);
  const start = version > 1 ? 12 : 10;
  const text = new TextDecoder().decode(view(bytes, start, length));
  const [, type] = /'descr': *'([^']+)'/.exec(text) ?? [];
  const [, sides] = /'shape': *\(([^)]*)\)/.exec(text) ?? [];
  if (!type) throw new Error("This is not a file of NumPy's.");
  const shape = sides.split(",").filter((side) => side.trim()).map(Number);
  const made = numbers(view(bytes, start + length), type, shape);
  return { ...made, fortran: /'fortran_order': *True/.test(text) && shape.length > 1 };
}

function numbers(bytes, type, shape) {
  const size = { "<c8": 4, "<c16": 8, "<f4": 4, "<f8": 8 }[type];
  if (!size) throw new Error(`Arrays of type ${type} are not read; save complex64 or complex128.`);
  const get = (at) => (size === 4 ? bytes.getFloat32(at, true) : bytes.getFloat64(at, true));
  const parts = type.includes("c") ? 2 : 1;
  const count = shape.reduce((a, b) => a * b, 1);
  if (bytes.byteLength < count * parts * size) throw new Error("The file ends too early.");
  const part = (offset) => Float64Array.from({ length: count }, (_, k) => get((k * parts + offset) * size));
  return { shape, real: part(0), imag: parts === 2 ? part(1) : new Float64Array(count) };
}

/** Read a zip archive of .npy files by its directory, which stands at the end. */
async function npz(bytes) {
  let end = bytes.byteLength - 22;
  while (end >= 0 && bytes.getUint32(end, true) !== 0x06054b50) end--;
  if (end < 0) throw new Error("This is not an .npz file.");
  const arrays = {};
  let at = bytes.getUint32(end + 16, true);
  for (let left = bytes.getUint16(end + 10, true); left; left--) {
    const [size, nameLength] = [bytes.getUint32(at + 20, true), bytes.getUint16(at + 28, true)];
    const name = new TextDecoder().decode(view(bytes, at + 46, nameLength));
    const local = bytes.getUint32(at + 42, true);
    const data = local + 30 + bytes.getUint16(local + 26, true) + bytes.getUint16(local + 28, true);
    if (/^(channels|estimates|positions)\.npy$/.test(name)) {
      const content = view(bytes, data, size);
      const deflated = bytes.getUint16(at + 10, true) === 8;
      arrays[name.slice(0, -4)] = npy(deflated ? await inflated(content) : content);
    }
    at += 46 + nameLength + bytes.getUint16(at + 30, true) + bytes.getUint16(at + 32, true);
  }
  return arrays;
}

async function inflated(content) {
  const out = new Blob([content]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return new DataView(await new Response(out).arrayBuffer());
}

const view = (bytes, start, length) => new DataView(bytes.buffer, bytes.byteOffset + start, length);
