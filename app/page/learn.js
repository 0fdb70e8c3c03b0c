// Why scheduling matters: a small model that learns from the devices of the cell, in the browser.
//
// Points in the plane belong to eight classes; every device has points of two of them. Each round the
// devices train the shared softmax regression on their own points, and the server receives
//
//   Σ_S φ_k Δ_k / Φ_S  plus noise of variance s² E / (2 Φ_S²) per entry, s the largest root mean square of the Δ_k,
//
// as `airsched_client.federated.air` has it: half of the error, because the entries are real.

import { stream } from "./random.js";

const [CLASSES, FEATURES] = [8, 3];
const [POINTS, TEST_POINTS, SPREAD] = [40, 800, 0.55];
const [STEPS, RATE] = [5, 0.5];
const [DATA, NOISE] = [5, 6];

/** The devices' points, the same for every schedule. */
export class Task {
  #devices;
  #test;

  constructor(devices, seed) {
    this.#devices = Array.from({ length: devices }, (_, device) => {
      const own = [device % CLASSES, (3 * device + 1) % CLASSES];
      return points(stream(seed, DATA, device), POINTS, (k) => own[k % 2]);
    });
    this.#test = points(stream(seed, DATA, 1e6), TEST_POINTS, (k) => k % CLASSES);
  }

  begin() {
    return new Float64Array(CLASSES * FEATURES);
  }

  /** Return the model after a round with these devices; the error is 0 without noise. */
  learn(model, active, weights, error, seed) {
    if (!active.length) return model;
    const updates = active.map((device) => trained(model, this.#devices[device]).map((value, at) => value - model[at]));
    const scale = Math.max(...updates.map((update) => Math.hypot(...update) / Math.sqrt(update.length)));
    const sum = active.reduce((total, device) => total + (weights?.[device] ?? 1), 0);
    const { gaussian } = stream(seed, NOISE);
    // A CN(0, 1) sample has real parts of variance a half.
    return model.map((value, at) => {
      const received = active.reduce((total, device, k) => total + (weights?.[device] ?? 1) * updates[k][at], 0);
      return value + (received + scale * Math.sqrt(error) * gaussian()[0]) / sum;
    });
  }

  /** Return the share of other points whose class it gets right. */
  accuracy(model) {
    const right = this.#test.filter(({ at, label }) => {
      const scores = scored(model, at);
      return scores[label] === Math.max(...scores);
    });
    return right.length / this.#test.length;
  }
}

function points({ gaussian }, count, labelled) {
  return Array.from({ length: count }, (_, k) => {
    const label = labelled(k);
    const [right, up] = gaussian();
    const angle = (2 * Math.PI * label) / CLASSES;
    return { label, at: [2 * Math.cos(angle) + SPREAD * right, 2 * Math.sin(angle) + SPREAD * up, 1] };
  });
}

function scored(model, at) {
  return Array.from({ length: CLASSES }, (_, label) => at.reduce((sum, value, k) => sum + model[label * FEATURES + k] * value, 0));
}

/** Gradient descent on the cross entropy of a device's own points. */
function trained(model, own) {
  const made = model.slice();
  for (let step = 0; step < STEPS; step++) {
    const slope = new Float64Array(made.length);
    for (const { at, label } of own) {
      const scores = scored(made, at);
      const most = Math.max(...scores);
      const powers = scores.map((score) => Math.exp(score - most));
      const total = powers.reduce((sum, power) => sum + power, 0);
      powers.forEach((power, each) => {
        const wrong = power / total - (each === label ? 1 : 0);
        at.forEach((value, k) => (slope[each * FEATURES + k] += wrong * value));
      });
    }
    slope.forEach((value, at) => (made[at] -= (RATE * value) / own.length));
  }
  return made;
}
