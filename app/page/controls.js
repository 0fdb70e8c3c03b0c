// The controls beside the cells: each shows a part of the state, and changes it.

import { find } from "./dom.js";
import { SHARES, limited } from "./state.js";

const SLIDERS = ["devices", "antennas", "subcarriers", "taps", "gamma", "round"];
const SEEDS = { "new-places": "places", "new-fading": "fading" };
const FIELDS = { weight: "weights", priority: "priorities", power: "power" };

/** Connect every control; `state()` is what it changes through `change`, `picked()` the device picked and its round. */
export function connectControls(state, change, picked) {
  for (const name of SLIDERS) {
    find(`#${name}`).addEventListener("input", ({ target: { valueAsNumber: value } }) =>
      change({ [name]: name === "gamma" ? Math.round(2 * value) / 2 : value }),
    );
  }
  for (const [field, name] of Object.entries(FIELDS)) {
    find(`#${field}`).addEventListener("input", ({ target: { valueAsNumber: value } }) => {
      if (!(value > 0)) return;
      const [device] = picked();
      change({ [name]: new Map(state()[name]).set(device, limited(name, value)) });
    });
  }
  find("#band").addEventListener("change", ({ target }) => change({ band: target.checked }));
  find("#equal").addEventListener("click", () => change({ weights: new Map(), priorities: new Map(), power: new Map() }));
  for (const name of ["places", "fading"]) {
    find(`#${name}`).addEventListener("input", ({ target }) => {
      if (target.checkValidity() && target.value !== "") change(reseeded(state(), name, target.valueAsNumber));
    });
  }
  for (const [button, name] of Object.entries(SEEDS)) {
    find(`#${button}`).addEventListener("click", () => change(reseeded(state(), name, state()[name] + 1)));
  }
  find("#polish").addEventListener("change", ({ target }) => change({ polish: target.checked }));
  find("#surface").addEventListener("change", ({ target }) => {
    change({ surface: { ...state().surface, on: target.checked } });
  });
  find("#jammer").addEventListener("change", ({ target }) => {
    change({ jammer: { ...state().jammer, on: target.checked } });
  });
  find("#strength").addEventListener("input", ({ target: { valueAsNumber: strength } }) => {
    change({ jammer: { ...state().jammer, strength } });
  });
  for (const name of ["elements", "bits"]) {
    find(`#${name}`).addEventListener("input", ({ target }) => {
      change({ surface: { ...state().surface, [name]: Number(target.value) } });
    });
  }
  find("#put-back").addEventListener("click", () => change({ moved: new Map() }));
}

/** Devices that were moved by hand go to their new places with all others. */
function reseeded(state, name, seed) {
  return { [name]: seed, ...(name === "places" && { moved: new Map() }) };
}

/** Show the device whose weight and priority can be set. */
export function showPicked(device, { fields }) {
  find("#picked").textContent = device;
  show("weight", fields.weights?.[device] ?? 1);
  show("priority", fields.priorities?.[device] ?? 1);
  show("power", fields.power?.[device] ?? fields.power ?? 1);
}

/** Show the state; what has the focus is left alone while it is typed in. */
export function showControls(state, { given, range, rings, band }) {
  [find("#gamma").min, find("#gamma").max] = range;
  for (const name of SLIDERS) show(name, state[name] ?? 0);
  show("places", state.places);
  show("fading", state.fading);
  show("elements", state.surface.elements);
  show("bits", state.surface.bits);
  find("#polish").checked = state.polish;
  find("#surface").checked = state.surface.on && !given;
  find("#surface-controls").hidden = !state.surface.on || Boolean(given);
  show("strength", state.jammer.strength);
  find("#jammer").checked = state.jammer.on && !given;
  find("#jammer-section").hidden = Boolean(given);
  find("#jammer-controls").hidden = !state.jammer.on || Boolean(given);
  find("#put-back").hidden = state.moved.size === 0 || Boolean(given);
  find("#model").hidden = Boolean(given);
  find("#surface-section").hidden = Boolean(given) || state.subcarriers > 1;
  find("#taps-field").hidden = state.subcarriers === 1;
  find("#given").hidden = !given;
  find("#key-beam").hidden = Boolean(given || band);
  find("#key-strength").hidden = !rings;
  find("#equal").hidden = Object.keys(SHARES).every((name) => state[name].size === 0);
  for (const name of ["round-field", "band-field"]) find(`#${name}`).hidden = !given || given.rounds.length === 1;
  find("#band").checked = Boolean(band);
  find("label[for=round]").textContent = band ? "Subcarrier" : "Round";
  find("#play").disabled = Boolean(given && band);
  if (given) {
    const [{ rows, columns }] = given.rounds;
    const surface = given.irsToServer ? `, a surface of ${given.irsToServer.columns} elements` : "";
    find("#given-size").textContent = `${columns} devices, ${rows} antennas${surface}`;
    find("#round").max = given.rounds.length - 1;
    const kept = Object.keys(given.fields);
    find("#given-kept").textContent = kept.length ? `Kept: ${kept.join(", ")}.` : "";
    find("#given-ignored").textContent = given.ignored.length ? `Ignored: ${given.ignored.join(", ")}.` : "";
  }
}

function show(name, value) {
  const field = find(`#${name}`);
  if (field !== document.activeElement || field.type === "range") field.value = value;
  const output = find(`output[for=${name}]`);
  if (output) output.value = ["gamma", "strength"].includes(name) ? `${value} dB`.replace("-", "−") : value;
}
