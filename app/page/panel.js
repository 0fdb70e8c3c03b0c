// One algorithm on this round: its choice and parameters, the cell it serves, what it reached.

import { Cell } from "./cell.js";
import { copyable } from "./copy.js";
import { amount, digits, find, html, title } from "./dom.js";
import { parameterFields } from "./parameters.js";
import { errorOf, gammaOf, request, valueOf } from "./round.js";
import { insist, newest } from "./service.js";
import { verdict } from "./verdict.js";

const PATIENCE = 150;
/** Milliseconds for which the last answer stays; then the page says that it waits. */

/** The panel `name` ("first" or "second"); `hear` gets choices, moves and refusals of the key. */
export class Panel {
  answer = null;
  solver = null;
  algorithm = null;
  #element;
  #name;
  #cell;
  #hear;
  #latest = newest();
  #shown = "";
  #round = null;
  #verdict = null;
  #asked = 0;
  #clock = 0;
  #spectrum = null;

  constructor(name, hear) {
    this.#name = name;
    this.#hear = hear;
    this.#element = find("#panel").content.firstElementChild.cloneNode(true);
    this.#element.dataset.panel = name;
    find("#panels").append(this.#element);
    const select = find("select", this.#element);
    select.id = `algorithm-${name}`;
    find("label", this.#element).htmlFor = select.id;
    select.addEventListener("change", () => hear.chosen(name, select.value));
    find(".remove", this.#element).addEventListener("click", () => hear.removed(name));
    find(".remove", this.#element).hidden = name === "first";
    this.#cell = new Cell(find(".cell", this.#element), hear);
    this.#spectrum = find(".spectrum", this.#element);
    new ResizeObserver(() => this.#draw()).observe(this.#spectrum);
    for (const button of this.#element.querySelectorAll("[data-copy]")) {
      button.addEventListener("click", () => hear.copied(copyable[button.dataset.copy], this.request));
    }
    for (const button of this.#element.querySelectorAll("[data-save]")) {
      button.addEventListener("click", () => hear.saved(this.algorithm.name, button.dataset.save, find("svg", this.#element), () => this.#table()));
    }
  }

  remove() {
    this.#latest(() => {});
    this.#rest();
    this.#element.remove();
  }

  /** Offer these algorithms, those that cannot take the round with the reason, and show the parameters of the one chosen. */
  offer(algorithms, chosen, values, round) {
    const reasons = algorithms.map((each) => unsuited(each, round));
    const shown = JSON.stringify([chosen, values, reasons, algorithms.map(({ name }) => name)]);
    if (shown === this.#shown) return;
    this.#shown = shown;
    const select = find("select", this.#element);
    select.replaceChildren(
      ...algorithms.map(({ name }, k) => {
        const reason = reasons[k] && ` (${reasons[k]})`;
        return html("option", { value: name, selected: name === chosen, disabled: Boolean(reason) }, title(name) + reason);
      }),
    );
    const { summary, parameters } = algorithms.find(({ name }) => name === chosen);
    find(".summary", this.#element).textContent = summary;
    const form = find(".parameters", this.#element);
    if (form.contains(document.activeElement)) return;
    const prefix = `${this.#name}-${chosen}`;
    parameterFields(form, prefix, parameters, values, (parameter, value) =>
      this.#hear.adjusted(this.#name, parameter, value),
    );
  }

  /** Draw the round and ask for its schedule; an older question is cancelled. */
  async ask(round, algorithm) {
    this.request = request(round, algorithm);
    this.algorithm = algorithm;
    this.#round = round;
    this.#cell.place(round);
    this.#element.dataset.state = "asked";
    this.#asked = performance.now();
    this.#clock ||= setInterval(() => this.#wait(), PATIENCE);
    const { path, body } = this.request;
    const failing = (error) => this.#fail(round, error);
    await this.#latest(async (signal) => {
      try {
        const given = await insist(path, body, signal, failing);
        if (!signal.aborted) this.#show(round, given);
      } catch (error) {
        if (signal.aborted) return;
        failing(error);
        if (error.status === 401) this.#hear.refused(error);
      }
    });
  }

  /** Put what is not true any more away, and count the seconds. */
  #wait() {
    const seconds = ((performance.now() - this.#asked) / 1000).toFixed(1);
    find(".note", this.#element).textContent = `Solving for ${seconds} s …`;
    if (this.answer || this.#verdict) this.#clear(this.#round);
  }

  #rest() {
    clearInterval(this.#clock);
    this.#clock = 0;
  }

  #clear(round) {
    this.answer = this.#verdict = null;
    this.#draw();
    this.#cell.show(round, { states: [], receiver: null });
    for (const name of ["active", "error", "power", "solver"]) this.#read(name, "–");
    for (const name of ["of", "limit", "total", "bound"]) this.#read(name, "");
    find(".error", this.#element).hidden = true;
    this.#hear.answered(this.#name, round);
  }

  /** Say how far from the best this is: `proven` is the answer of an algorithm that proves it, or null. */
  bound(proven) {
    if (!this.answer) return this.#read("bound", "");
    const { fields, positions } = this.#round;
    const reached = valueOf(this.#round, this.answer.active);
    const everyone = valueOf(this.#round, positions.map((_, device) => device));
    const parts = fields.priorities ? [`in priorities ${amount(reached)} of ${amount(everyone)}`] : [];
    if (proven) {
      const { upper_bound: most, optimal } = proven;
      const count = parts.length ? "" : `${amount(reached)}, `;
      parts.push(
        !this.answer.feasible && reached ? `at most ${amount(most)} within the tolerance`
        : reached >= most * (1 - 1e-9) ? "proven: no receiver serves more"
        : optimal ? `proven: ${amount(most)} could be served`
        : `${count}at most ${amount(most)}, not proven`,
      );
    }
    const words = parts.join("; ");
    this.#read("bound", words && `${words[0].toUpperCase()}${words.slice(1)}.`);
  }

  mark(device) {
    this.#cell.mark(device);
  }

  words(device) {
    return this.#cell.words(device);
  }

  /** Say in one sentence what was reached. */
  get summary() {
    const name = title(this.request.body.algorithm.name);
    if (!this.answer) return `${name}: no answer`;
    const { active, computation_error: error } = this.answer;
    const reached = error === null ? "" : `, error ${digits(error)}`;
    return `${name}: ${active.length} devices active${reached}`;
  }

  #show(round, { answer, solver, total }) {
    this.#rest();
    [this.answer, this.solver, this.#verdict] = [answer, solver ?? total, verdict(round, answer)];
    this.#cell.show(round, this.#verdict);
    const { active, feasible, stopped } = answer;
    this.#read("active", active.length);
    this.#read("of", `of ${round.positions.length} devices`);
    this.#read("error", digits(answer.computation_error));
    this.#read("limit", `tolerated ${digits(errorOf(gammaOf(round.state), round))}`);
    this.#read("power", digits(answer.power_factor ?? (answer.power_factors && Math.min(...answer.power_factors))));
    this.#draw();
    this.#read("solver", solver === null ? "–" : `${digits(solver)} ms`);
    this.#read("total", `${digits(total)} ms in total`);
    const { required_missing: missing } = answer;
    const nobody = missing ? `At this tolerance not all required devices can be served: ${missing.join(", ")} cannot.` : "At this tolerance nobody can be served.";
    const missed = "Everyone transmits, but the error is above the tolerance.";
    const early = stopped === "deadline" ? `Stopped after ${this.request.body.deadline_ms / 1000} s with the best so far.` : "";
    find(".note", this.#element).textContent = feasible ? early : active.length ? missed : nobody;
    find(".error", this.#element).hidden = true;
    this.#element.dataset.state = "answered";
    this.#hear.answered(this.#name, round);
  }

  #fail(round, error) {
    this.#rest();
    this.#clear(round);
    const states = verdict(round, null);
    this.#cell.show(round, states);
    find(".note", this.#element).textContent = "";
    const box = find(".error", this.#element);
    box.hidden = false;
    const text = [html("strong", {}, error.title), html("span", {}, error.message)];
    if (box.textContent !== error.title + error.message) box.replaceChildren(...text);
    this.#element.dataset.state = "failed";
    this.#hear.answered(this.#name, round);
  }

  /** One row per device, for a file. */
  #table() {
    const { positions, fields, given } = this.#round;
    const head = ["device", "id", "x", "y", "weight", "priority", "state", "margin_db"];
    const rows = positions.map((at, device) => [
      device,
      fields.device_ids?.[device] ?? "",
      ...(given && !given.positions ? ["", ""] : at.map((value) => value * (given?.metres ?? 1))),
      fields.weights?.[device] ?? 1,
      fields.priorities?.[device] ?? "",
      this.#verdict?.states[device] ?? "",
      this.#verdict?.margins?.[device] ?? "",
    ]);
    return [head, ...rows];
  }

  /** Draw the error of every subcarrier of a band; a page without one does not load how. */
  async #draw() {
    const hidden = !this.#round?.band;
    find(".over-band", this.#element).hidden = hidden;
    if (!hidden) (await import("./spectrum.js")).draw(this.#spectrum, this.#round, this.answer);
  }

  #read(name, text) {
    find(`[data-reading=${name}]`, this.#element).textContent = text;
  }
}

/** Say why an algorithm cannot take a round; "" if it can. */
function unsuited({ max_devices: devices, max_elements: elements, takes_priorities: priorities }, round) {
  if (devices && round.positions.length > devices) return `at most ${devices} devices`;
  if (elements && round.surface?.elements > elements) return `at most ${elements} elements`;
  return round.fields.priorities && !priorities ? "takes no priorities" : "";
}
