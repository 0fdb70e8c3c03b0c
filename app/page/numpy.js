// NumPy's files: one array (.npy), or several in a zip archive (.npz).

const READ = /^(channels|estimates|positions|power|noise_variance)\.npy$/;

/** Read NumPy's own format. */
export function npy(bytes) {
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

export function numbers(bytes, type, shape) {
  const size = { "<c8": 4, "<c16": 8, "<f4": 4, "<f8": 8, "<i8": 8 }[type];
  if (!size) throw new Error(`Arrays of type ${type} are not read; save complex64 or complex128.`);
  const method = type === "<i8" ? "getBigInt64" : size === 4 ? "getFloat32" : "getFloat64";
  const get = (at) => Number(bytes[method](at, true));
  const parts = type.includes("c") ? 2 : 1;
  const count = shape.reduce((a, b) => a * b, 1);
  if (bytes.byteLength < count * parts * size) throw new Error("The file ends too early.");
  const part = (offset) => Float64Array.from({ length: count }, (_, k) => get((k * parts + offset) * size));
  return { shape, real: part(0), imag: parts === 2 ? part(1) : new Float64Array(count) };
}

/** Read a zip archive of .npy files by its directory, which stands at the end. */
export async function npz(bytes) {
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
    const content = view(bytes, data, size);
    const deflated = bytes.getUint16(at + 10, true) === 8;
    // What is not read is only named.
    arrays[name.replace(/\.npy$/, "")] = READ.test(name) && npy(deflated ? await inflated(content) : content);
    at += 46 + nameLength + bytes.getUint16(at + 30, true) + bytes.getUint16(at + 32, true);
  }
  return arrays;
}

async function inflated(content) {
  const out = new Blob([content]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return new DataView(await new Response(out).arrayBuffer());
}

const view = (bytes, start, length) => new DataView(bytes.buffer, bytes.byteOffset + start, length);
