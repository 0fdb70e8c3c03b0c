// The cell seen from above: the array in the middle, devices, the surface, the receiver's reach.

import { digits, set, svg } from "./dom.js";
import { gammaOf, reach } from "./round.js";
import { EDGE } from "./state.js";

const GLYPHS = {
  active: "M-3.6 0a3.6 3.6 0 1 1 7.2 0a3.6 3.6 0 1 1-7.2 0z",
  waiting: "M0-4.2L4.2 0L0 4.2L-4.2 0z",
  never: "M-2.8-2.8L2.8 2.8M-2.8 2.8L2.8-2.8",
  asked: "M-2 0a2 2 0 1 1 4 0a2 2 0 1 1-4 0z",
};
const WORDS = { active: "active", waiting: "waiting", never: "out of reach even alone", asked: "waiting for an answer" };
const STEP = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };

/** Draws into an <svg>; `moved(device, [x, y])`, `restored(device)`, `surfaceMoved([x, y])` and `jammerMoved([x, y])` hear of changes. */
export class Cell {
  #root;
  #hear;
  #devices = [];
  #current = 0;
  #layers = {};
  #round = null;
  #rings = "";
  #verdict = null;

  constructor(root, hear) {
    this.#root = root;
    this.#hear = hear;
    const [rings, beam, rays, surface, jammer, array, devices] = Array.from({ length: 7 }, () => svg("g"));
    this.#layers = { rings, beam, rays, surface, jammer, array, devices };
    root.append(rings, beam, rays, array, surface, jammer, devices);
    set(beam, { "clip-path": "url(#edge)" });
    beam.append(svg("path", { class: "beam" }));
    rays.append(svg("path", { class: "ray" }), svg("path", { class: "ray bounce" }));
    surface.append(
      svg("circle", { class: "hit", r: 12 }),
      svg("circle", { class: "focus", r: 11 }),
      svg("rect", { class: "panel", x: -2, y: -9, width: 4, height: 18, rx: 1 }),
      svg("path", { class: "cells", d: "M-2-4.5H2M-2 0H2M-2 4.5H2" }),
      svg("text", { class: "name", x: 0, y: 16 }, "surface"),
    );
    set(surface, { class: "surface", role: "button", tabindex: 0, hidden: true });
    this.#draggable(surface, () => this.#surfaceAt(), (at) => hear.surfaceMoved(at));
    jammer.append(
      svg("circle", { class: "hit", r: 12 }),
      svg("circle", { class: "focus", r: 11 }),
      svg("path", { class: "bolt", d: "M1.5-8L-4.5 1H-.5L-1.5 8L4.5-1.5H.5z" }),
      svg("text", { class: "name", x: 0, y: 16 }, "jammer"),
    );
    set(jammer, { class: "jammer", role: "button", tabindex: 0, hidden: true });
    this.#draggable(jammer, () => this.#round.jammer.place, (at) => hear.jammerMoved(at));
  }

  /** Draw where everything is. */
  place(round) {
    this.#round = round;
    this.#drawArray(round.channels.direct.rows);
    this.#drawRings(round);
    this.#resize(round.positions.length);
    const sizes = sizesOf(round.fields.priorities ?? round.fields.weights, round.positions.length);
    round.positions.forEach(([x, y], device) => {
      const each = this.#devices[device];
      set(each, { transform: `translate(${x.toFixed(2)} ${(-y).toFixed(2)})` });
      set(each.lastChild, { transform: `scale(${sizes[device]})` });
      set(each.children[1], { r: Math.max(6.5, 3 + 3.6 * sizes[device]) });
    });
    this.#root.classList.toggle("fixed", Boolean(round.given));
    this.#put(this.#layers.surface, "Reflecting surface", round.surface?.place);
    this.#put(this.#layers.jammer, "Jammer", round.jammer?.place);
    if (this.#verdict) this.#describe();
  }

  /** Draw what can be dragged beside the devices, or hide it where it has no place. */
  #put(layer, name, at) {
    set(layer, { hidden: !at, tabindex: at ? 0 : -1 });
    if (at) set(layer, { transform: `translate(${at[0]} ${-at[1]})`, "aria-label": `${name}, ${polar(at)}. Arrow keys move it.` });
  }

  /** Draw who is served and why. */
  show(round, verdict) {
    this.#verdict = verdict;
    const { beam, rays } = this.#layers;
    // Only the model says what the receiver hears from where.
    set(beam.firstChild, { d: verdict.receiver && !round.given ? outline(round, verdict.receiver) : "" });
    const [straight, bounce] = [[], []];
    verdict.states.forEach((state, device) => {
      if (state !== "active" || !round.positions[device]) return;
      const [x, y] = round.positions[device];
      if (verdict.bounced?.[device] && round.surface?.place) {
        const [left, up] = round.surface.place;
        if (!bounce.length) bounce.push(`M${left} ${-up}L0 0`);
        bounce.push(`M${x} ${-y}L${left} ${-up}`);
      } else straight.push(`M${x} ${-y}L0 0`);
    });
    set(rays.children[0], { d: straight.join("") });
    set(rays.children[1], { d: bounce.join("") });
    this.#describe();
  }

  /** Mark a device, in this cell as in the other. */
  mark(device) {
    this.#devices.forEach((each, index) => each.classList.toggle("marked", index === device));
  }

  /** Say in words how a device fares. */
  words(device) {
    const state = this.#verdict?.states[device];
    const margin = this.#verdict?.margins?.[device];
    const { device_ids: ids, weights, priorities, power } = this.#round.fields;
    const facts = [`Device ${device}${ids?.[device] ? ` (${ids[device]})` : ""}`];
    if (!this.#round.given) facts.push(polar(this.#round.positions[device]));
    if (weights) facts.push(`weight ${digits(weights[device])}`);
    if (priorities) facts.push(`priority ${digits(priorities[device])}`);
    if (power?.length) facts.push(`power limit ${digits(power[device])}`);
    const served = margin === undefined ? "" : `, ${decibels(margin)}`;
    return `${facts.join(", ")}: ${WORDS[state ?? "asked"]}${served}`;
  }

  #describe() {
    this.#devices.forEach((each, device) => {
      const state = this.#verdict.states[device] ?? "asked";
      if (each.dataset.state !== state) {
        each.dataset.state = state;
        set(each.lastChild, { d: GLYPHS[state] });
      }
      set(each, { "aria-label": this.words(device) });
    });
  }

  #drawArray(antennas) {
    const { array } = this.#layers;
    if (array.childElementCount === antennas) return;
    const apart = Math.min(3.4, 40 / antennas);
    array.replaceChildren(
      ...Array.from({ length: antennas }, (_, n) =>
        svg("circle", { class: "antenna", cy: (n - (antennas - 1) / 2) * apart, r: Math.min(1.3, apart / 2.4) }),
      ),
    );
  }

  /** Rings in metres, or in decibels where there are no places. */
  #drawRings({ rings, given }) {
    const metres = given?.metres ?? 1;
    const labels = rings?.labels ?? [25, 50, 75, 100].map((radius) => [radius, `${digits(radius * metres)} m`]);
    const drawn = JSON.stringify(labels);
    if (drawn === this.#rings) return;
    this.#rings = drawn;
    this.#layers.rings.replaceChildren(
      ...labels.map(([radius]) => svg("circle", { class: "ring", r: radius })),
      ...labels.filter((_, k) => k % 2).map(([radius, text]) => svg("text", { class: "scale", x: 1.5, y: radius - 2 }, text)),
    );
  }

  #resize(count) {
    while (this.#devices.length > count) this.#devices.pop().remove();
    while (this.#devices.length < count) this.#add(this.#devices.length);
    this.#current = Math.min(this.#current, count - 1);
    this.#rove(this.#current);
  }

  #add(device) {
    const made = svg(
      "g",
      { class: "device", role: "button", tabindex: -1, "data-device": device },
      svg("circle", { class: "hit", r: 8 }),
      svg("circle", { class: "focus", r: 6.5 }),
      svg("path", { class: "glyph", d: GLYPHS.waiting }),
    );
    this.#draggable(made, () => this.#round.positions[device], (at) => this.#hear.moved(device, at));
    made.addEventListener("keydown", (event) => this.#choose(event, device));
    made.addEventListener("focus", () => {
      this.#rove(device);
      this.#hear.picked(device);
    });
    made.addEventListener("pointerenter", () => this.#hear.marked(device));
    this.#devices.push(made);
    this.#layers.devices.append(made);
  }

  /** One device at a time is a stop of the Tab key. */
  #rove(device) {
    set(this.#devices[this.#current], { tabindex: -1 });
    this.#current = device;
    set(this.#devices[device], { tabindex: 0 });
  }

  #choose(event, device) {
    const last = this.#devices.length - 1;
    const wanted = {
      PageDown: device === last ? 0 : device + 1,
      PageUp: device === 0 ? last : device - 1,
      Home: 0,
      End: last,
    }[event.key];
    if (wanted !== undefined) {
      event.preventDefault();
      this.#devices[wanted].focus();
    } else if (["Backspace", "Delete"].includes(event.key)) {
      event.preventDefault();
      this.#hear.restored(device);
    }
  }

  #surfaceAt() {
    return this.#round.surface.place;
  }

  /** Let an element be dragged, and moved with the arrow keys. */
  #draggable(element, where, moved) {
    let grip = null;
    element.addEventListener("pointerdown", (event) => {
      if (event.button !== 0 || this.#round.given) return;
      const [[x, y], [left, up]] = [this.#metres(event), where()];
      grip = [left - x, up - y];
      element.setPointerCapture(event.pointerId);
      element.classList.add("held");
    });
    element.addEventListener("pointermove", (event) => {
      if (!grip) return;
      const [x, y] = this.#metres(event);
      moved([x + grip[0], y + grip[1]]);
    });
    for (const end of ["pointerup", "pointercancel"]) {
      element.addEventListener(end, () => {
        grip = null;
        element.classList.remove("held");
      });
    }
    element.addEventListener("keydown", (event) => {
      const step = STEP[event.key];
      if (!step || this.#round.given) return;
      event.preventDefault();
      const size = event.shiftKey ? 10 : 2;
      const [x, y] = where();
      moved([x + size * step[0], y + size * step[1]]);
    });
  }

  #metres(event) {
    const at = new DOMPoint(event.clientX, event.clientY);
    const { x, y } = at.matrixTransform(this.#root.getScreenCTM().inverse());
    return [x, -y];
  }
}

/** Return how large to draw each device: by area, within reason. */
function sizesOf(values, count) {
  if (!values) return Array(count).fill(1);
  const mean = values.reduce((sum, value) => sum + value, 0) / count;
  return values.map((value) => Math.min(Math.max(Math.sqrt(value / mean), 0.5), 2).toFixed(2));
}

/** The places where a device in plain view would just be served. */
function outline(round, receiver) {
  const points = [];
  const gamma = gammaOf(round.state);
  for (let degrees = 0; degrees < 360; degrees += 1) {
    const azimuth = (degrees * Math.PI) / 180;
    const radius = Math.min(reach(azimuth, receiver, gamma, round), 4 * EDGE);
    points.push(`${(radius * Math.cos(azimuth)).toFixed(1)} ${(-radius * Math.sin(azimuth)).toFixed(1)}`);
  }
  return `M${points.join("L")}Z`;
}

function polar([x, y]) {
  const degrees = Math.round((Math.atan2(y, x) * 180) / Math.PI);
  return `${Math.round(Math.hypot(x, y))} m at ${degrees}°`.replace("-", "−");
}

function decibels(margin) {
  const size = Math.abs(margin).toFixed(1);
  return margin >= -1e-6 ? `${size} dB more than it needs` : `${size} dB short`;
}
