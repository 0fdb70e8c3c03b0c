// What else the page asks about a round once its schedules are there: the proven bound, the frontier, and
// how many devices each algorithm serves at other tolerances. The quickest comes first.

import { asShown } from "./jammer.js";
import { frontier, request, sweep } from "./round.js";
import { ask, insist, newest, pause } from "./service.js";

const WAIT = 120;
/** Milliseconds without a change before anything is asked for. */

const PROOF = 1000;
/** Milliseconds that the search for the bound may take. */

const QUICK = 40;
/** Milliseconds in the solver up to which an algorithm is asked about all tolerances at once. */

const quietly = () => {};
/** While a question is repeated, the panels say why. */

/** Keeps what was found; `drawn(found)` hears of it: {bound, frontier, samples: Map of algorithm → Map of γ → schedule}. */
export class Tradeoff {
  #latest = newest();
  #drawn;
  #failed;
  #of = {};
  #found = {};

  constructor(drawn, failed) {
    this.#drawn = drawn;
    this.#failed = failed;
  }

  /** Ask about a round once its `panels`, {name: panel}, are `answered`; what holds for any γ is asked for once. */
  async ask(round, panels, answered) {
    const { fields, state, range } = round;
    const rest = JSON.stringify([fields, state.polish, state.surface.bits, range, Boolean(round.band)]);
    const channels = round.band ?? round.channels;
    if (channels !== this.#of.channels || rest !== this.#of.rest) {
      this.#of = { channels, rest };
      this.#found = { frontier: null, samples: new Map() };
    }
    const found = this.#found;
    found.bound = null;
    this.#drawn(found);
    await this.#latest(async (signal) => {
      this.#failed("");
      // After the schedules: a slow algorithm can fill the service's queue, and this would be refused.
      await Promise.all([pause(WAIT, signal).catch(quietly), answered]);
      const quickest = Object.values(panels)
        .filter(({ answer }) => answer)
        .sort((one, other) => one.solver - other.solver);
      const steps = [() => bound(round, found, quickest, signal), () => tradeoff(round, found, signal)];
      steps.push(...quickest.map((panel) => () => this.#sample(round, found, panel, signal)));
      for (const step of steps) {
        if (signal.aborted) return;
        try {
          await step();
        } catch (error) {
          if (!signal.aborted) this.#failed(error.message);
        }
        if (!signal.aborted) this.#drawn(found);
      }
    });
  }

  async #sample(round, found, { algorithm, solver }, signal) {
    const key = JSON.stringify(algorithm);
    const samples = found.samples.get(key) ?? new Map();
    found.samples.set(key, samples);
    // A batch scales the channels for each tolerance, but not the errors of their estimates.
    const atOnce = solver < QUICK && !round.surface && !round.band && !round.fields.csi_error;
    const missing = grid(round.range, atOnce ? 25 : 10).filter((gamma) => !samples.has(gamma));
    if (atOnce && missing.length > 1) {
      const { answer } = await insist("schedule/batch", sweep(round, algorithm, missing), signal, quietly);
      answer.schedules.forEach((schedule, k) => samples.set(missing[k], schedule));
      return;
    }
    for (const gamma of missing) {
      const { path, body } = request({ ...round, state: { ...round.state, gamma } }, algorithm);
      try {
        const { answer } = await insist(path, { ...body, deadline_ms: PROOF }, signal, quietly);
        samples.set(gamma, answer);
      } catch (error) {
        // Too slow at this tolerance; it may be quicker at the next.
        if (error.status !== 504) throw error;
      }
      if (signal.aborted) return;
      this.#drawn(found);
    }
  }
}

function grid([least, most], parts) {
  return Array.from({ length: parts + 1 }, (_, k) => Math.round(10 * (least + ((most - least) * k) / parts)) / 10);
}

/** Find how many devices, or with priorities what sum of them, any receiver can serve at most; that of a band counts devices, that of a surface those served alone. */
async function bound(round, found, panels, signal) {
  if (!panels.length) return;
  const proven = panels.map(({ answer }) => answer).find((answer) => answer.upper_bound !== undefined);
  if (proven) found.bound = proven;
  else if (round.band) {
    // Proven for every subcarrier by itself, which takes longer than the schedule.
    if (round.fields.priorities) return;
    const { path, body } = request(round, panels[0].algorithm);
    found.bound = (await ask(path, { ...body, bound: true, deadline_ms: PROOF }, signal)).answer;
  } else if (!round.surface) {
    const { path, body } = request(round, { name: "optimal" });
    found.bound = (await ask(path, { ...body, deadline_ms: PROOF }, signal)).answer;
  }
}

async function tradeoff(round, found, signal) {
  if (round.surface || round.band || found.frontier) return;
  const { answer } = await insist("schedule/frontier", frontier(round), signal, quietly);
  found.frontier = asShown(answer, round.jammer);
}
