// What an answer means for every device: active, waiting, or out of reach even alone.

import { column, columnsTimes, energies, gains, product, sum, vector } from "./complex.js";
import { heardAlone, through } from "./jammer.js";
import { needs } from "./round.js";

/** Judge every device of a round; without an answer nobody is active.
 *
 * `states`: "active", "waiting" or "never"; `margins`: |h_kᴴc|²/q_k in decibels, served from 0 on;
 * `bounced`: whether the surface carries more of a device's signal than the straight path. */
export function verdict(round, answer) {
  const { direct } = round.channels;
  const needed = needs(round);
  const phases = answer?.phases && vector(answer.phases);
  const used = Boolean(phases?.real.some((value, m) => value || phases.imag[m]));
  const channels = used ? tuned(round.channels, phases) : direct;
  const alone = round.surface && (used || !answer) ? bestAlone(round.channels) : heardAlone(direct, round.jammer);
  const active = new Set(answer?.active);
  const receiver = answer?.receiver ? vector(answer.receiver) : null;
  // Who is served on one subcarrier says little about a band, and the noise may come from some directions.
  if (round.band || round.given?.noise) return { states: alone.map((_, device) => (active.has(device) ? "active" : "waiting")), margins: null, bounced: null, receiver };
  const states = alone.map((energy, device) => {
    if (active.has(device)) return "active";
    return energy >= needed[device] ? "waiting" : "never";
  });
  if (!receiver) return { states, margins: null, bounced: null, receiver };
  const received = gains(channels, receiver);
  const noise = through(round.jammer, receiver);
  const straight = gains(direct, receiver);
  const reflected = used ? gains(reflections(round.channels, phases), receiver) : null;
  return {
    states,
    margins: received.map((gain, device) => 10 * Math.log10(gain / (noise * needed[device]))),
    bounced: straight.map((gain, device) => Boolean(reflected && reflected[device] > gain)),
    receiver,
  };
}

/** Return H + T diag(μ) G: the channels as an answer's phases make them. */
export function tuned(channels, phases) {
  return sum(channels.direct, reflections(channels, phases));
}

function reflections({ irsToServer, devicesToIrs }, phases) {
  return product(columnsTimes(irsToServer, phases), devicesToIrs);
}

const ALONE = new WeakMap();

/** Return the largest ‖h_k + T diag(g_k) μ‖² found for every device, with the surface to itself. */
function bestAlone(channels) {
  if (!ALONE.has(channels)) ALONE.set(channels, tunedForEach(channels));
  return ALONE.get(channels);
}

function tunedForEach({ direct, irsToServer, devicesToIrs }) {
  return Array.from({ length: direct.columns }, (_, device) => {
    const straight = column(direct, device);
    const paths = columnsTimes(irsToServer, column(devicesToIrs, device));
    let channel = straight;
    for (let turn = 0; turn < 12; turn++) {
      const phases = aligned(paths, straight, channel);
      channel = sum(straight, product(paths, phases));
    }
    return energies(channel)[0];
  });
}

/** Return the phases with which every path adds up with the direct one, as `receiver` hears them. */
function aligned(paths, straight, receiver) {
  const angle = (values, index) => {
    let [real, imag] = [0, 0];
    for (let n = 0; n < values.rows; n++) {
      const at = n * values.columns + index;
      real += values.real[at] * receiver.real[n] + values.imag[at] * receiver.imag[n];
      imag += values.imag[at] * receiver.real[n] - values.real[at] * receiver.imag[n];
    }
    return Math.atan2(imag, real);
  };
  const reference = angle(straight, 0);
  const turns = Array.from({ length: paths.columns }, (_, m) => reference - angle(paths, m));
  return {
    rows: paths.columns,
    columns: 1,
    real: Float64Array.from(turns, Math.cos),
    imag: Float64Array.from(turns, Math.sin),
  };
}
