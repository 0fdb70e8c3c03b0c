// A jammer in plain view of the array: noise that comes from one direction, and how the service is told of it.
//
//   R = I + s a(θ)a(θ)ᴴ,   s = 10^(strength/10) · PL(l):   its power over a device's, at its distance
//
// γ stays that of the noise alone, σ² = 1, so that the tolerated error is the same with and without it.

import { PAPER, pathLoss, response } from "./channels.js";
import { energies, filled, gains, packed } from "./complex.js";

/** Return the jammer that a state describes: its place, its strength s at an antenna, and a(θ); null if it is off. */
export function jammerOf({ on, x, y, strength }, antennas, reference) {
  if (!on) return null;
  const power = 10 ** (strength / 10) * pathLoss(Math.hypot(x, y), reference, PAPER.pathLossExponent);
  const steering = response(Math.atan2(y, x), antennas);
  return { place: [x, y], power, steering: filled(antennas, 1, (row) => steering[row]) };
}

/** Return R as the service reads it. */
export function covariance({ power, steering: { rows, real, imag } }) {
  return packed(
    filled(rows, rows, (n, m) => [
      (n === m ? 1 : 0) + power * (real[n] * real[m] + imag[n] * imag[m]),
      power * (imag[n] * real[m] - real[n] * imag[m]),
    ]),
  );
}

/** Return γ in decibels as the service takes it: it refers to the mean noise of the antennas, 1 + s. */
export const asAsked = (gamma, jammer) => (jammer ? gamma - 10 * Math.log10(1 + jammer.power) : gamma);

/** Return a frontier with its points' γ as the page means it. */
export function asShown(frontier, jammer) {
  const points = frontier.points.map((point) => ({ ...point, gamma: point.gamma * (1 + (jammer?.power ?? 0)) }));
  return { ...frontier, points };
}

/** Return cᴴRc of a unit receiver: 1 without a jammer. */
export const through = (jammer, receiver) => (jammer ? 1 + jammer.power * gains(jammer.steering, receiver)[0] : 1);

/** Return h_kᴴR⁻¹h_k: what each device could be heard with alone, in units of the noise. */
export function heardAlone(channels, jammer) {
  const alone = energies(channels);
  if (!jammer) return alone;
  const { power, steering } = jammer;
  const lost = gains(channels, steering);
  return alone.map((energy, device) => energy - (power * lost[device]) / (1 + power * steering.rows));
}
