// The controls beside the cells: each shows a part of the state, and changes it.

import { find } from "./dom.js";

const SLIDERS = ["devices", "antennas", "gamma", "round"];
const SEEDS = { "new-places": "places", "new-fading": "fading" };

/** Connect every control; `state()` is what it changes through `change`. */
export function connectControls(state, change) {
  for (const name of SLIDERS) {
    find(`#${name}`).addEventListener("input", ({ target }) => change({ [name]: target.valueAsNumber }));
  }
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

/** Show the state; what has the focus is left alone while it is typed in. */
export function showControls(state, given) {
  for (const name of SLIDERS) show(name, state[name] ?? 0);
  show("places", state.places);
  show("fading", state.fading);
  show("elements", state.surface.elements);
  show("bits", state.surface.bits);
  find("#polish").checked = state.polish;
  find("#surface").checked = state.surface.on && !given;
  find("#surface-controls").hidden = !state.surface.on || Boolean(given);
  find("#put-back").hidden = state.moved.size === 0 || Boolean(given);
  find("#model").hidden = Boolean(given);
  find("#surface-section").hidden = Boolean(given);
  find("#given").hidden = !given;
  find("#round-field").hidden = !given || given.rounds.length === 1;
  if (given) {
    const [{ rows, columns }] = given.rounds;
    find("#given-size").textContent = `${columns} devices, ${rows} antennas`;
    find("#round").max = given.rounds.length - 1;
    find("#given-places").hidden = Boolean(given.positions);
  }
}

function show(name, value) {
  const field = find(`#${name}`);
  if (field !== document.activeElement || field.type === "range") field.value = value;
  const output = find(`output[for=${name}]`);
  if (output) output.value = name === "gamma" ? `${value} dB`.replace("-", "−") : value;
}
