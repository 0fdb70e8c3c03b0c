// One round: where the devices are, their channels, and the request that asks for its schedule.

import { PAPER, fade, place, response } from "./channels.js";
import { column, energies, packed, scaled } from "./complex.js";

/** Return the round that a state describes; `given` are channels from a file, in place of the model's. */
export function round(state, given) {
  return { state, ...(given ? fromFile(state, given) : modelled(state)) };
}

let last = { key: "" };

/** Remembers the last one: most changes, such as of γ, leave the channels as they are. */
function modelled({ devices, antennas, places, fading, moved, surface: { on, x, y, elements } }) {
  const key = JSON.stringify([devices, antennas, places, fading, [...moved], on && [x, y, elements]]);
  if (key !== last.key) {
    const network = place(devices, places);
    const positions = network.positions.map((at, device) => moved.get(device) ?? at);
    const surface = on ? { place: [x, y], elements } : null;
    const channels = fade({ ...network, positions }, antennas, fading, surface);
    last = { key, round: { positions, channels, surface, reference: network.reference, strength: 1 } };
  }
  return last.round;
}

function fromFile(state, given) {
  const direct = given.rounds[Math.min(state.round ?? 0, given.rounds.length - 1)];
  const levels = energies(direct).map((energy) => energy / direct.rows);
  const strength = Math.max(...levels) || 1;
  // The weakest at the edge, and the strongest not too close.
  const { innerRadius, outerRadius, pathLossExponent } = PAPER;
  const nearest = outerRadius * (Math.min(...levels) / strength) ** (1 / pathLossExponent);
  const reference = Math.min(Math.max(nearest, innerRadius), 0.6 * outerRadius);
  const positions = given.positions ?? apparent(direct, strength, reference);
  return { positions, channels: { direct }, surface: null, reference, strength, given };
}

/** Return where devices with these channels would be in the paper's cell: direction and strength. */
function apparent(channels, strength, reference) {
  return energies(channels).map((energy, device) => {
    const own = column(channels, device);
    let [best, azimuth] = [-1, 0];
    for (let degrees = -90; degrees <= 90; degrees += 1) {
      const level = towards((degrees * Math.PI) / 180, own);
      if (level > best) [best, azimuth] = [level, (degrees * Math.PI) / 180];
    }
    const loss = energy / channels.rows / strength;
    const distance = Math.min(reference * loss ** (-1 / PAPER.pathLossExponent), PAPER.outerRadius);
    return [distance * Math.cos(azimuth), distance * Math.sin(azimuth)];
  });
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

/** Return how far a device in plain view is served towards an azimuth: γ PL(l) |a(θ)ᴴc|² = 1. */
export function reach(azimuth, receiver, gamma, { reference, strength }) {
  const level = gamma * strength * towards(azimuth, receiver);
  return reference * level ** (1 / PAPER.pathLossExponent);
}

export const gammaOf = (state) => 10 ** (state.gamma / 10);

/** Return the path and body of the request for an algorithm, `{name, …parameters}`. */
export function request({ state, channels, surface }, algorithm) {
  const shared = {
    gamma_db: state.gamma,
    algorithm,
    seed: state.fading,
    ...(state.polish && { polish: true }),
  };
  if (!surface) return { path: "schedule", body: { channels: packed(channels.direct), ...shared } };
  const body = {
    direct: packed(channels.direct),
    irs_to_server: packed(channels.irsToServer),
    devices_to_irs: packed(channels.devicesToIrs),
    ...shared,
    ...(state.surface.bits && { phase_bits: state.surface.bits }),
  };
  return { path: "schedule/irs", body };
}

/** Return a batch of the same round at many tolerances: channels times s have the schedule of γ s². */
export function sweep({ state, channels }, algorithm, gammas) {
  const rounds = gammas.map((gamma) => scaled(channels.direct, 10 ** (gamma / 20)));
  const polish = state.polish && { polish: true };
  return { channels: packed(...rounds), gamma_db: 0, algorithm, seed: state.fading, ...polish };
}
