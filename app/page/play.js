// Round after round: of a trace, or of fresh fading. The mean number of devices, and what a model learns from them.

import { digits, find, html, set, svg, title } from "./dom.js";
import { Task } from "./learn.js";

const PACE = 250;
/** Milliseconds from an answer to the next round. */
const ROUNDS = 40;
/** Rounds of fading that are played. */
const PERFECT = "perfect";
const [TOP, RIGHT, BOTTOM, LEFT] = [8, 12, 36, 50];

/** Plays rounds: `advance()` goes to the next, `restart()` to the first, both return whether there is one; `stopped()` hears of the end. */
export class Player {
  playing = false;
  #advance;
  #restart;
  #stopped;
  #key = "";
  #history = {};
  #names = {};

  constructor(advance, restart, stopped) {
    this.#advance = advance;
    this.#restart = restart;
    this.#stopped = stopped;
    find("#play").addEventListener("click", () => (this.playing ? this.#stop() : this.#start()));
    new ResizeObserver(() => this.#draw()).observe(find("#learning"));
  }

  /** The curves as rows, for a file. */
  table() {
    const names = Object.keys(this.#history);
    const rows = this.#rounds().map((_, k) => [k + 1, ...names.flatMap((name) => [this.#history[name].counts[k], this.#history[name].accuracies[k]])]);
    return [["round", ...names.flatMap((name) => [`${this.#names[name]} devices`, `${this.#names[name]} accuracy`])], ...rows];
  }

  /** Hear of the answers to a round, {panel: panel}; they count only while it plays. */
  answered(round, panels) {
    const { state, given, fields, positions } = round;
    const rest = Object.values(panels).map(({ algorithm }) => algorithm);
    const { seed: _, ...kept } = fields;
    const key = JSON.stringify([rest, kept, state.gamma, state.polish, state.surface, state.places, state.devices, state.antennas, state.subcarriers, state.taps, [...state.moved], positions.length]);
    if (key !== this.#key || (given ?? null) !== this.given) {
      this.#key = key;
      this.given = given ?? null;
      this.#reset(positions.length, state.places);
    }
    find("#play").disabled = Boolean(given && (round.band || given.rounds.length < 2));
    if (!this.playing) return;
    if (Object.values(panels).some(({ answer }) => !answer)) return this.#stop();
    const seed = this.#rounds().length;
    const everyone = { active: positions.map((_, device) => device), computation_error: 0 };
    const answers = Object.entries(panels).map(([name, { answer, algorithm }]) => [name, title(algorithm.name), answer]);
    for (const [name, words, { active, computation_error: error }] of [...answers, [PERFECT, "Everyone, no noise", everyone]]) {
      this.#names[name] = words;
      const own = (this.#history[name] ??= { model: this.task.begin(), counts: [], accuracies: [] });
      own.model = this.task.learn(own.model, active, fields.weights, error ?? 0, seed);
      own.counts.push(active.length);
      own.accuracies.push(this.task.accuracy(own.model));
    }
    this.#draw();
    this.timer = setTimeout(() => this.#next(), PACE);
  }

  #next() {
    if (!this.playing) return;
    if ((!this.given && this.#rounds().length >= ROUNDS) || !this.#advance()) this.#stop();
  }

  #start() {
    if (!this.given && this.#rounds().length >= ROUNDS) this.#key = "";
    this.playing = true;
    find("#play").textContent = "Pause";
    // A trace is played from its first round on.
    if (this.given && !this.#rounds().length ? this.#restart() : this.#advance()) return;
    this.#key = "";
    if (!this.#restart()) this.#stop();
  }

  #stop() {
    clearTimeout(this.timer);
    this.playing = false;
    find("#play").textContent = "Play rounds";
    this.#stopped();
  }

  #reset(devices, seed) {
    this.task = new Task(devices, seed);
    this.#history = {};
    this.#draw();
  }

  #rounds() {
    return Object.values(this.#history)[0]?.counts ?? [];
  }

  #draw() {
    const played = this.#rounds().length;
    const means = Object.entries(this.#history).map(([name, { counts, accuracies }]) => {
      const mean = counts.reduce((sum, count) => sum + count, 0) / played;
      return [name, `${this.#names[name]}: ${digits(mean)} devices, ${Math.round(100 * accuracies.at(-1))} % right`];
    });
    const rounds = played ? `Mean over ${played} round${played > 1 ? "s" : ""}:` : "";
    find("#played").textContent = rounds;
    find("#means").replaceChildren(...means.map(([name, words]) => html("li", { class: name }, words)));
    const root = find("#learning");
    const { clientWidth: width, clientHeight: height } = root;
    if (!width) return;
    const most = Math.max(played, this.given ? Math.min(this.given.rounds.length, ROUNDS) : ROUNDS);
    const x = (round) => LEFT + (round / most) * (width - LEFT - RIGHT);
    const y = (share) => height - BOTTOM - share * (height - TOP - BOTTOM);
    const drawn = [0, 0.5, 1].flatMap((share) => [
      svg("path", { class: "grid", d: `M${LEFT} ${y(share)}H${width - RIGHT}` }),
      svg("text", { class: "tick", x: LEFT - 6, y: y(share) + 4, "text-anchor": "end" }, `${100 * share} %`),
    ]);
    for (const round of [0, Math.round(most / 2), most]) {
      drawn.push(svg("text", { class: "tick", x: x(round), y: height - BOTTOM + 16, "text-anchor": "middle" }, String(round)));
    }
    drawn.push(svg("text", { class: "tick", x: x(most / 2), y: height - 3, "text-anchor": "middle" }, "points classified right, against rounds"));
    for (const [name, { accuracies }] of Object.entries(this.#history).reverse()) {
      const path = accuracies.map((share, k) => `${x(k + 1).toFixed(1)} ${y(share).toFixed(1)}`).join("L");
      drawn.push(svg("path", { class: `curve ${name}`, d: `M${x(0)} ${y(1 / 8)}L${path}` }));
    }
    set(root, { viewBox: `0 0 ${width} ${height}`, "aria-label": ["What a model learns.", rounds, ...means.map(([, words]) => `${words}.`)].join(" ") });
    root.replaceChildren(...drawn);
  }
}
