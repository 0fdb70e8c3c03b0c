// How many devices an algorithm serves at each tolerance: asked of the service, newest question only.

import { request, sweep } from "./round.js";
import { insist, newest, pause } from "./service.js";
import { LIMITS } from "./state.js";

const [LEAST, MOST] = LIMITS.gamma;
const grid = (step) => Array.from({ length: (MOST - LEAST) / step + 1 }, (_, k) => LEAST + step * k);
const WAIT = 120;
/** Milliseconds without a change before the curve is asked for. */

const quietly = () => {};
/** While a question is repeated, the panels say why. */

/** Keeps the curves of both panels; `drawn(points)` hears of {panel: [[γ in dB, devices], …]}. */
export class Curves {
  #latest = newest();
  #drawn;
  #failed;

  constructor(drawn, failed) {
    this.#drawn = drawn;
    this.#failed = failed;
  }

  /** Ask anew for the curves of `choices`, {panel: {algorithm, endpoints}}, once the panels are `answered`.
   *
   * A slow algorithm's curve takes every place in the service's queue: beside the schedules it would be refused. */
  async ask(round, choices, answered) {
    await this.#latest(async (signal) => {
      const points = {};
      this.#failed("");
      await Promise.all([pause(WAIT, signal).catch(() => {}), answered]);
      for (const [panel, { algorithm, endpoints }] of Object.entries(choices)) {
        if (signal.aborted) return;
        try {
          for await (const found of curve(round, algorithm, endpoints, signal)) {
            if (signal.aborted) return;
            points[panel] = found;
            this.#drawn(points);
          }
        } catch (error) {
          if (signal.aborted) return;
          this.#drawn(points);
          this.#failed(error.message, panel);
        }
      }
    });
  }
}

async function* curve(round, algorithm, endpoints, signal) {
  if (round.surface) {
    // There is no batch with a surface: one by one, drawn as they come.
    const points = [];
    for (const gamma of grid(5)) {
      const { path, body } = request({ ...round, state: { ...round.state, gamma } }, algorithm);
      const { answer } = await insist(path, body, signal, quietly);
      points.push([gamma, answer.active.length]);
      yield points;
    }
  } else if (endpoints.includes("/schedule/frontier")) {
    // It takes no tolerance, and polishes always.
    const { gamma_db: _, polish: __, ...body } = request(round, algorithm).body;
    const { answer } = await insist("schedule/frontier", body, signal, quietly);
    yield staircase(answer.points.map((point) => [10 * Math.log10(point.gamma), point.active.length]));
  } else {
    const gammas = grid(2);
    const { answer } = await insist("schedule/batch", sweep(round, algorithm, gammas), signal, quietly);
    yield answer.schedules.map(({ active }, k) => [gammas[k], active.length]);
  }
}

/** Draw points of the frontier as steps: so many devices from this tolerance on. */
function staircase(points) {
  const steps = [[LEAST, 0]];
  for (const [gamma, count] of points) {
    const at = Math.min(Math.max(gamma, LEAST), MOST);
    steps.push([at, steps.at(-1)[1]], [at, count]);
  }
  return [...steps, [MOST, steps.at(-1)[1]]];
}
