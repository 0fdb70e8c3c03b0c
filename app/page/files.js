// Channels from elsewhere: JSON as the service takes it, or a trace as NumPy writes it (.npy, .npz).

import { energies, filled, matrix } from "./complex.js";
import { npy, npz, numbers } from "./numpy.js";
import { errorOf } from "./round.js";
import { LIMITS } from "./state.js";

/** Read a dropped or chosen file. */
export async function fromFile(file) {
  if (!/\.np[yz]$/i.test(file.name)) return fromText(await file.text());
  const bytes = new DataView(await file.arrayBuffer());
  if (/y$/i.test(file.name)) return checked(withRounds(npy(bytes), { fields: {}, ignored: [] }));
  const arrays = await npz(bytes);
  const channels = arrays.estimates ?? arrays.channels;
  if (!channels) throw new Error("The trace has no array “channels”.");
  const known = ["channels", "estimates", "positions", "power", "noise_variance"];
  const ignored = Object.keys(arrays).filter((name) => !known.includes(name));
  const found = withRounds(channels, { fields: {}, ignored });
  if (arrays.estimates && arrays.channels) found.ignored.push("channels (the estimates are scheduled)");
  for (const name of ["power", "noise_variance"]) {
    const { real } = arrays[name] ?? {};
    if (real) found.fields[name] = real.length === 1 ? real[0] : [...real];
  }
  const places = arrays.positions;
  if (places?.shape.length === 2 && places.shape[0] === found.rounds[0].columns) {
    const [count, axes] = places.shape;
    found.positions = Array.from({ length: count }, (_, k) => [0, 1].map((axis) => places.real[k * axes + axis]));
    // The farthest device is drawn on the outermost ring.
    found.metres = Math.max(...found.positions.map(([x, y]) => Math.hypot(x, y))) / 100 || 1;
    found.positions = found.positions.map((at) => at.map((value) => value / found.metres));
  }
  return checked(found);
}

/** Read pasted text: a matrix, a request, or a command with a request in it, such as a copied curl. */
export function fromText(text) {
  const given = parsed(text);
  const { direct, irs_to_server: irsToServer, devices_to_irs: devicesToIrs, ...rest } = given ?? {};
  const surface = irsToServer && devicesToIrs;
  const body = given?.channels ?? direct ?? given ?? {};
  const found = { rounds: rounds(array(body)), fields: {}, ignored: [] };
  if (surface) {
    [found.irsToServer] = rounds(array(irsToServer));
    [found.devicesToIrs] = rounds(array(devicesToIrs));
  }
  return checked(body === given ? found : withFields(found, rest));
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch (error) {
    try {
      return JSON.parse(text.slice(text.indexOf("{"), text.lastIndexOf("}") + 1));
    } catch {
      throw new Error(`This is not JSON: ${error.message}`);
    }
  }
}

/** Sort the fields of a request: those that the page's controls show, those of other routes, and the rest. */
function withFields(found, fields) {
  const { channels, gamma, gamma_db: decibels, max_error: error, algorithm, polish, phase_bits: bits, bound, ...rest } = fields;
  const { min_devices, ...kept } = rest;
  found.band = "criterion" in kept;
  found.ignored = Object.keys(rest).filter((name) => !(name in kept));
  found.fields = kept;
  if (Number.isFinite(decibels)) found.gamma = decibels;
  if (gamma > 0) found.gamma = 10 * Math.log10(gamma);
  if (kept.noise_covariance) {
    const [{ rows, real }] = rounds(array(kept.noise_covariance));
    found.noise = Array.from({ length: rows }, (_, n) => real[n * (rows + 1)]).reduce((sum, each) => sum + each) / rows;
  }
  if (error > 0) found.gamma = 10 * Math.log10(error / errorOf(1, { fields: kept, given: found }));
  if (algorithm) found.algorithm = typeof algorithm === "string" ? { name: algorithm } : algorithm;
  if (polish !== undefined) found.polish = polish;
  found.bits = bits ?? 0;
  return found;
}

function checked(found) {
  const [{ rows, columns, real, imag }] = found.rounds;
  if (columns > LIMITS.devices[1]) throw new Error(`This page draws up to ${LIMITS.devices[1]} devices, not ${columns}.`);
  if (![...real, ...imag].every(Number.isFinite)) throw new Error("The channels must be finite numbers.");
  if (rows * columns === 0) throw new Error("The matrix is empty.");
  found.range = range(found);
  return found;
}

/** Return the tolerances of interest in dB: from where hardly anybody is served to where nearly everybody is. */
function range({ rounds: all, fields: { weights }, gamma, irsToServer }) {
  const needed = all.map((each) =>
    energies(each).map((energy, k) => 10 * Math.log10((weights?.[k] ?? 1) ** 2 / energy)).filter(Number.isFinite),
  );
  const usual = needed.filter((each) => each.length);
  if (!usual.length) return LIMITS.gamma;
  const sorted = (pick) => usual.map((each) => pick(...each)).sort((a, b) => a - b);
  const [firsts, lasts] = [sorted(Math.min), sorted(Math.max)];
  const rare = Math.floor(usual.length / 10);
  // Together they need more than alone; a surface lets them do with less.
  const ends = [firsts[rare] - (irsToServer ? 25 : 5), lasts.at(-1 - rare) + 20, gamma ?? firsts[rare]];
  return [5 * Math.floor(Math.min(...ends) / 5), 5 * Math.ceil(Math.max(...ends) / 5)];
}

const array = (body) => (body.data ? unpacked(body) : nested(body));

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

/** Add a trace's rounds; of (rounds, F, N, K) the first, whose subcarriers have one schedule. */
function withRounds(trace, found) {
  if (trace.shape.length !== 4) return { ...found, rounds: rounds(trace) };
  const [count, ...shape] = trace.shape;
  if (count > 1) found.ignored.push(`all rounds but the first of ${count}`);
  return { ...found, rounds: rounds({ ...trace, shape }), band: shape[0] > 1 };
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
