// One algorithm on this round: its choice and parameters, the cell it serves, what it reached.

import { Cell } from "./cell.js";
import { copyable } from "./copy.js";
import { digits, find, html, title } from "./dom.js";
import { parameterFields } from "./parameters.js";
import { gammaOf, request } from "./round.js";
import { insist, newest } from "./service.js";
import { verdict } from "./verdict.js";

/** The panel `name` ("first" or "second"); `hear` gets choices, moves and refusals of the key. */
export class Panel {
  answer = null;
  #element;
  #name;
  #cell;
  #hear;
  #latest = newest();
  #shown = "";

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
    this.#cell = new Cell(find("svg", this.#element), hear);
    for (const button of this.#element.querySelectorAll("[data-copy]")) {
      button.addEventListener("click", () => hear.copied(copyable[button.dataset.copy], this.request));
    }
  }

  remove() {
    this.#latest(() => {});
    this.#element.remove();
  }

  /** Offer these algorithms and show the parameters of the one chosen. */
  offer(algorithms, chosen, values) {
    const shown = JSON.stringify([chosen, values, algorithms.map(({ name }) => name)]);
    if (shown === this.#shown) return;
    this.#shown = shown;
    const select = find("select", this.#element);
    select.replaceChildren(
      ...algorithms.map(({ name, max_devices: most }) => {
        const limit = most ? ` (up to ${most} devices)` : "";
        return html("option", { value: name, selected: name === chosen }, title(name) + limit);
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
    this.#cell.place(round);
    this.#element.dataset.state = "asked";
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
    this.answer = answer;
    this.#cell.show(round, verdict(round, answer));
    const { active, feasible } = answer;
    this.#read("active", active.length);
    this.#read("of", `of ${round.positions.length} devices`);
    this.#read("error", digits(answer.computation_error));
    this.#read("limit", `tolerated ${digits(gammaOf(round.state))}`);
    this.#read("power", digits(answer.power_factor));
    this.#read("solver", solver === null ? "–" : `${digits(solver)} ms`);
    this.#read("total", `${digits(total)} ms in total`);
    const nobody = "At this tolerance nobody can be served.";
    const missed = "Everyone transmits, but the error is above the tolerance.";
    const truth = feasible ? "" : active.length ? missed : nobody;
    find(".note", this.#element).textContent = truth;
    find(".error", this.#element).hidden = true;
    this.#element.dataset.state = "answered";
    this.#hear.answered(this.#name, round);
  }

  #fail(round, error) {
    this.answer = null;
    this.#cell.show(round, verdict(round, null));
    for (const name of ["active", "error", "power", "solver"]) this.#read(name, "–");
    for (const name of ["of", "limit", "total"]) this.#read(name, "");
    find(".note", this.#element).textContent = "";
    const box = find(".error", this.#element);
    box.hidden = false;
    const text = [html("strong", {}, error.title), html("span", {}, error.message)];
    if (box.textContent !== error.title + error.message) box.replaceChildren(...text);
    this.#element.dataset.state = "failed";
    this.#hear.answered(this.#name, round);
  }

  #read(name, text) {
    find(`[data-reading=${name}]`, this.#element).textContent = text;
  }
}
