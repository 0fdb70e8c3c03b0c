// The paper's network (Bereyhi et al., 2022, "Network Setting"): Rician and correlated channels.
//
//   h_k = √PL(l_k) · ( √(κ/(1+κ)) a(θ_k) + √(1/(1+κ)) R_k^½ g_k ),   g_k ~ CN(0, I)
//   PL(l) = (l/l_0)^−α, and 1 below l_0;   [a(θ)]_n = exp(j2π d n sin θ)
//   R_k = D C D*,  D = diag a(θ_k),  [C]_{n,m} = exp(−2 [ς_k π d (n−m) cos θ_k]²)
//
// C is real, and so is its root. The links of a reflecting surface follow the same model with an
// exponent of their own. `airsched_client.federated.channels` is the same in Python; a test
// compares the two.

import { columnsTimes, filled, sum } from "./complex.js";
import { stream } from "./random.js";
import { symmetricRoot } from "./roots.js";

/** Table 1 of the paper, and the surface's exponent. Metres, wavelengths, degrees. */
export const PAPER = {
  innerRadius: 10,
  outerRadius: 100,
  ricianFactorDb: 3,
  spacing: 0.5,
  pathLossExponent: 3,
  surfaceExponent: 2.2,
  angularDeviation: [12, 15],
};

const DEGREE = Math.PI / 180;
const [PLACES, FADING, TO_SURFACE, FROM_SURFACE] = [1, 2, 3, 4];

/** Place devices uniformly by area in the ring: each has a stream of its own, so adding one moves none. */
export function place(count, seed, { innerRadius, outerRadius, angularDeviation } = PAPER) {
  const positions = [];
  const deviations = [];
  for (let device = 0; device < count; device++) {
    const { uniform } = stream(seed, PLACES, device);
    const area = uniform() * (outerRadius ** 2 - innerRadius ** 2);
    const distance = Math.sqrt(innerRadius ** 2 + area);
    const azimuth = (2 * uniform() - 1) * Math.PI;
    positions.push([distance * Math.cos(azimuth), distance * Math.sin(azimuth)]);
    const [least, most] = angularDeviation;
    deviations.push((least + uniform() * (most - least)) * DEGREE);
  }
  return { positions, deviations, reference: Math.min(...positions.map((at) => Math.hypot(...at))) };
}

/** Return the channels of devices at these positions to an array of `size` at the origin, size × K.
 *
 * `gaussians` are independent CN(0, 1) entries of the same shape. */
export function links(positions, deviations, size, exponent, reference, gaussians, paper = PAPER) {
  const columns = positions.map((at, device) => {
    const amplitude = Math.sqrt(pathLoss(Math.hypot(...at), reference, exponent));
    const own = Array.from({ length: size }, (_, n) => {
      const entry = n * gaussians.columns + device;
      return [gaussians.real[entry], gaussians.imag[entry]];
    });
    const end = arrayEnd(at, deviations[device], size, paper);
    const scattered = correlated(end, own);
    const [sight, rest] = rician(paper.ricianFactorDb);
    return scattered.map(([real, imag], n) => [
      amplitude * (sight * end.response[n][0] + rest * real),
      amplitude * (sight * end.response[n][1] + rest * imag),
    ]);
  });
  return filled(size, positions.length, (row, device) => columns[device][row]);
}

/** Return the channels from the surface at `place` to the server, antennas × elements. */
export function surfaceToServer(place, antennas, elements, reference, gaussians, paper = PAPER) {
  const spread = (DEGREE * (paper.angularDeviation[0] + paper.angularDeviation[1])) / 2;
  const server = arrayEnd(place, spread, antennas, paper);
  const surface = arrayEnd(place, spread, elements, paper);
  const amplitude = Math.sqrt(pathLoss(Math.hypot(...place), reference, paper.surfaceExponent));
  const [sight, rest] = rician(paper.ricianFactorDb);
  // R_N^½ W (R_M^½)ᵀ: first every column of W, then every row of the result.
  const byColumn = Array.from({ length: elements }, (_, m) =>
    correlated(
      server,
      Array.from({ length: antennas }, (_, n) => {
        const entry = n * elements + m;
        return [gaussians.real[entry], gaussians.imag[entry]];
      }),
    ),
  );
  const byRow = Array.from({ length: antennas }, (_, n) =>
    correlated(surface, byColumn.map((entries) => entries[n])),
  );
  return filled(antennas, elements, (n, m) => {
    const direct = times(server.response[n], surface.response[m]);
    return [0, 1].map((part) => amplitude * (sight * direct[part] + rest * byRow[n][m][part]));
  });
}

/** Draw the channels of one round: direct, and with a surface `irsToServer` and `devicesToIrs`. */
export function fade(network, antennas, seed, surface = null) {
  const { positions, deviations, reference } = network;
  const direct = links(
    positions,
    deviations,
    antennas,
    PAPER.pathLossExponent,
    reference,
    gaussians(antennas, positions.length, seed, FADING),
  );
  if (!surface) return { direct };
  const seen = positions.map(([x, y]) => [x - surface.place[0], y - surface.place[1]]);
  const devicesToIrs = links(
    seen,
    deviations,
    surface.elements,
    PAPER.surfaceExponent,
    reference,
    gaussians(surface.elements, positions.length, seed, TO_SURFACE),
  );
  const scattered = gaussians(antennas, surface.elements, seed, FROM_SURFACE);
  const { place: at, elements } = surface;
  const irsToServer = surfaceToServer(at, antennas, elements, reference, scattered);
  return { direct, irsToServer, devicesToIrs };
}

/** Draw one round over a band, a matrix per subcarrier: the line of sight comes first, the rest over the `taps`. */
export function fadeBand({ positions, deviations, reference }, antennas, seed, subcarriers, taps) {
  const drawn = Array.from({ length: taps }, (_, tap) =>
    gaussians(antennas, positions.length, seed, tap ? FROM_SURFACE + tap : FADING),
  );
  return bandOf(drawn, subcarriers).map((each) =>
    links(positions, deviations, antennas, PAPER.pathLossExponent, reference, each),
  );
}

/** Return Σ_l √p_l exp(−j2π f l / F) g_l for every subcarrier f: `airsched_client.federated.band`. */
export function bandOf(taps, subcarriers) {
  const powers = taps.map((_, tap) => Math.exp((-3 * tap) / taps.length));
  const total = powers.reduce((all, power) => all + power);
  const turned = (each, tap, f) => {
    const [angle, amplitude] = [(-2 * Math.PI * f * tap) / subcarriers, Math.sqrt(powers[tap] / total)];
    return columnsTimes(each, {
      real: new Float64Array(each.columns).fill(amplitude * Math.cos(angle)),
      imag: new Float64Array(each.columns).fill(amplitude * Math.sin(angle)),
    });
  };
  return Array.from({ length: subcarriers }, (_, f) => taps.map((each, tap) => turned(each, tap, f)).reduce(sum));
}

/** One stream per column: a further antenna or device changes none of the others. */
function gaussians(rows, columns, seed, purpose) {
  const streams = Array.from({ length: columns }, (_, column) => stream(seed, purpose, column));
  return filled(rows, columns, (_, column) => streams[column].gaussian());
}

export function pathLoss(distance, reference, exponent) {
  return Math.max(distance / reference, 1) ** -exponent;
}

/** Return [a(θ)]_n = exp(j2π d n sin θ) as pairs. */
export function response(azimuth, size, spacing = PAPER.spacing) {
  const phase = 2 * Math.PI * spacing * Math.sin(azimuth);
  return Array.from({ length: size }, (_, n) => [Math.cos(n * phase), Math.sin(n * phase)]);
}

/** Return an array's response towards a place, and the real root of its correlation. */
function arrayEnd([x, y], deviation, size, { spacing }) {
  const azimuth = Math.atan2(y, x);
  const spread = deviation * Math.PI * spacing * Math.cos(azimuth);
  return { response: response(azimuth, size, spacing), root: correlationRoot(spread, size) };
}

const ROOTS = new Map();

/** Return C^½; remembered, because dragging one device leaves all others where they are. */
function correlationRoot(spread, size) {
  const key = `${size} ${spread}`;
  let root = ROOTS.get(key);
  if (!root) {
    const entries = new Float64Array(size * size);
    for (let n = 0; n < size; n++) {
      for (let m = 0; m < size; m++) entries[n * size + m] = Math.exp(-2 * (spread * (n - m)) ** 2);
    }
    root = symmetricRoot(entries, size);
    if (ROOTS.size > 2000) ROOTS.clear();
    ROOTS.set(key, root);
  }
  return root;
}

/** Return R^½ g = D C^½ D* g. */
function correlated({ response: steering, root }, entries) {
  const size = entries.length;
  const turned = entries.map((entry, n) => times(entry, [steering[n][0], -steering[n][1]]));
  return steering.map((direction, n) => {
    let [real, imag] = [0, 0];
    for (let m = 0; m < size; m++) {
      real += root[n * size + m] * turned[m][0];
      imag += root[n * size + m] * turned[m][1];
    }
    return times(direction, [real, imag]);
  });
}

function rician(factorDb) {
  const factor = 10 ** (factorDb / 10);
  return [Math.sqrt(factor / (1 + factor)), Math.sqrt(1 / (1 + factor))];
}

const times = ([a, b], [c, d]) => [a * c - b * d, a * d + b * c];
