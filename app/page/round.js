// One round: where the devices are, their channels, and the request that asks for its schedule.

import { PAPER, fade, fadeBand, place, response } from "./channels.js";
import { energies, packed, scaled } from "./complex.js";
import { asAsked, covariance, jammerOf, through } from "./jammer.js";
import { LIMITS, SHARES } from "./state.js";

/** Milliseconds that an answer may take: the page would rather say that it is slow. */
const DEADLINE = 2000;

/** Return the round that a state describes; `given` are channels from elsewhere, in place of the model's.
 *
 * `fields` are the other fields of its requests, `range` the tolerances of interest. */
export function round(state, given) {
  const made = { state, given, ...(given ? stated(state, given) : modelled(state)) };
  // The subcarriers of a band have one schedule; what is drawn is the one chosen, or the first.
  if (given) made.band = state.band ? given.rounds : null;
  made.fields = { seed: state.fading, ...given?.fields };
  for (const name of Object.keys(SHARES)) {
    const values = shares(state[name], given?.fields[name], made.positions.length);
    if (values) made.fields[name] = values;
  }
  made.jammer = given ? null : jammerOf(state.jammer, made.channels.direct.rows, made.reference);
  if (made.jammer) made.fields.noise_covariance = covariance(made.jammer);
  made.range = given?.range ?? LIMITS.gamma;
  return made;
}

/** Return the weights, priorities or powers of all devices, as stated and then changed by hand; null if none was. */
function shares(changed, stated, count) {
  if (![...changed.keys()].some((device) => device < count)) return stated ?? null;
  return Array.from({ length: count }, (_, device) => changed.get(device) ?? stated?.[device] ?? (stated?.length ? 1 : stated ?? 1));
}

let last = { key: "" };

/** Remembers the last one: most changes, such as of γ, leave the channels as they are. */
function modelled({ devices, antennas, places, fading, moved, subcarriers, taps, surface: { on, x, y, elements } }) {
  const wide = subcarriers > 1;
  const more = wide ? [subcarriers, taps] : on && [x, y, elements];
  const key = JSON.stringify([devices, antennas, places, fading, [...moved], wide, more]);
  if (key !== last.key) {
    const network = place(devices, places);
    const positions = network.positions.map((at, device) => moved.get(device) ?? at);
    const surface = on && !wide ? { place: [x, y], elements } : null;
    const cell = { ...network, positions };
    const band = wide ? fadeBand(cell, antennas, fading, subcarriers, taps) : null;
    const channels = band ? { direct: band[0] } : fade(cell, antennas, fading, surface);
    last = { key, round: { positions, channels, band, surface, reference: network.reference } };
  }
  return last.round;
}

const STATED = new WeakMap();

function stated(state, given) {
  const direct = given.rounds[Math.min(state.round ?? 0, given.rounds.length - 1)];
  if (!STATED.has(direct)) {
    const { irsToServer, devicesToIrs } = given;
    const surface = irsToServer ? { place: null, elements: irsToServer.columns } : null;
    const levels = energies(direct).map((energy) => 10 * Math.log10(energy));
    const rings = given.positions ? null : ringsOf(levels);
    const positions = given.positions ?? levels.map((level, device) => around(device, levels.length, rings.radius(level)));
    STATED.set(direct, { positions, channels: { direct, irsToServer, devicesToIrs }, surface, rings });
  }
  return STATED.get(direct);
}

/** Devices without places are drawn by strength: the strongest inside, rings in steps of decibels. */
function ringsOf(levels) {
  const heard = levels.filter(Number.isFinite);
  const strongest = Math.max(...heard, -1e3);
  const spread = strongest - Math.min(...heard, strongest);
  const step = [1, 2, 5, 10, 20].find((each) => spread <= 4 * each) ?? Math.ceil(spread / 4);
  const radius = (level) => Math.min(20 + (20 * (strongest - level)) / step, 105);
  return { radius, labels: [1, 2, 3, 4].map((ring) => [20 + 20 * ring, `−${ring * step} dB`]) };
}

function around(device, count, radius) {
  const azimuth = Math.PI / 2 - (2 * Math.PI * device) / count;
  return [radius * Math.cos(azimuth), radius * Math.sin(azimuth)];
}

/** Return |a(θ)ᴴ c|², the receiver's gain towards an azimuth. */
export function towards(azimuth, receiver) {
  let [real, imag] = [0, 0];
  response(azimuth, receiver.rows).forEach(([cosine, sine], n) => {
    real += cosine * receiver.real[n] + sine * receiver.imag[n];
    imag += cosine * receiver.imag[n] - sine * receiver.real[n];
  });
  return real * real + imag * imag;
}

/** Return how far a device in plain view is served towards an azimuth: γ PL(l) |a(θ)ᴴc|² = cᴴRc. */
export function reach(azimuth, receiver, gamma, { reference, jammer }) {
  const heard = (gamma * towards(azimuth, receiver)) / through(jammer, receiver);
  return reference * heard ** (1 / PAPER.pathLossExponent);
}

export const gammaOf = (state) => 10 ** (state.gamma / 10);

/** Return ε = γσ²/P: γ refers to the largest power limit, and to the mean noise of the antennas. */
export function errorOf(gamma, { fields: { power = 1, noise_variance: noise = 1 }, given }) {
  return (gamma * (given?.noise ?? noise)) / Math.max(...[power].flat());
}
/** Return an error as the tolerance that it would need, γ = PE/σ². */
export const toleranceOf = (error, round) => error / errorOf(1, round);

/** Return what every device must be heard with at full power, q_k = (φ_k/√γ + its CSI error)². */
export function needs({ state, positions, fields: { weights, power = 1, csi_error: wrong = 0 } }) {
  const scale = Math.sqrt(gammaOf(state));
  const most = Math.max(...[power].flat());
  return positions.map((_, device) => {
    const needed = ((weights?.[device] ?? 1) / scale + (wrong[device] ?? wrong)) ** 2;
    return (needed * most) / (power[device] ?? power);
  });
}

/** Return what is maximised, of these devices: how many they are, or the sum of their priorities. */
export function valueOf({ fields: { priorities } }, devices) {
  return priorities ? devices.reduce((sum, device) => sum + priorities[device], 0) : devices.length;
}

/** Return the endpoint that schedules a round. */
export const endpoint = ({ band, surface }) => (band ? "/schedule/wideband" : surface ? "/schedule/irs" : "/schedule");

/** Return the path and body of the request for an algorithm, `{name, …parameters}`. */
export function request({ state, channels, surface, band, jammer, fields: { participation: _, criterion, ...fields } }, algorithm) {
  if (band && criterion) fields.criterion = criterion;
  const shared = {
    gamma_db: asAsked(state.gamma, jammer),
    algorithm,
    ...(state.polish && { polish: true }),
    deadline_ms: DEADLINE,
    ...fields,
  };
  if (band) return { path: "schedule/wideband", body: { channels: packed(...band), ...shared } };
  if (!surface) return { path: "schedule", body: { channels: packed(channels.direct), ...shared } };
  const body = {
    direct: packed(channels.direct),
    irs_to_server: packed(channels.irsToServer),
    devices_to_irs: packed(channels.devicesToIrs),
    ...shared,
    ...(state.surface.bits && { phase_bits: state.surface.bits }),
    bound: true,
  };
  return { path: "schedule/irs", body };
}

/** Return the request for the frontier; it takes no tolerance, polishes always, and is found by one algorithm. */
export function frontier(round) {
  const { participation, ...fields } = round.fields;
  delete fields.bound_ms;
  const { gamma_db: _, algorithm: __, polish: ___, ...body } = request({ ...round, fields }, null).body;
  return { ...body, ...(participation !== undefined && { participation }) };
}

/** Return a batch of the same round at many tolerances: channels times s have the schedule of γ s². */
export function sweep(round, algorithm, gammas) {
  const { body } = request(round, algorithm);
  const rounds = gammas.map((gamma) => scaled(round.channels.direct, 10 ** (gamma / 20)));
  return { ...body, channels: packed(...rounds), gamma_db: asAsked(0, round.jammer) };
}
