// What the page shows, and how the address says it: a link shows the same picture.

export const LIMITS = {
  devices: [1, 100],
  antennas: [1, 32],
  gamma: [-10, 40],
  elements: [2, 32],
  strength: [0, 40],
  bits: [0, 6],
  subcarriers: [1, 32],
  taps: [1, 16],
  round: [0, 1e6],
};
/** What a device may weigh, what it may be worth, and its power limit. */
export const SHARES = { weights: [0.01, 100], priorities: [0.01, 100], power: [0.01, 100] };
export const EDGE = 110;
/** How far from the server anything may be, in metres. */

const DEFAULTS = {
  devices: 20,
  antennas: 6,
  gamma: 10,
  places: 3,
  fading: 1,
  subcarriers: 1,
  taps: 4,
  polish: false,
  first: "matching_pursuit",
  second: "dual_pursuit",
};
const SURFACE = { x: 45, y: 45, elements: 16, bits: 0 };
const JAMMER = { x: -60, y: 25, strength: 25 };

/** Read the state from the part of an address after #; what is not understood is left out. */
export function read(hash) {
  const given = new URLSearchParams(hash.replace(/^#/, ""));
  const state = { ...DEFAULTS, moved: new Map(), parameters: { first: {}, second: {} } };
  for (const name of ["devices", "antennas", "gamma", "places", "fading", "subcarriers", "taps"]) {
    const value = Number(given.get(name));
    if (given.has(name) && Number.isFinite(value)) state[name] = value;
  }
  state.polish = given.get("polish") === "1";
  for (const name of ["first", "second"]) {
    if (/^\w*$/.test(given.get(name) ?? "-")) state[name] = given.get(name);
    for (const [key, value] of given) {
      if (key.startsWith(`${name}.`)) state.parameters[name][key.slice(name.length + 1)] = parsed(value);
    }
  }
  state.surface = { ...SURFACE, on: given.has("surface") };
  const [x, y, elements, bits] = (given.get("surface") ?? "").split(",").map(Number);
  if ([x, y, elements, bits].every(Number.isFinite)) {
    Object.assign(state.surface, { x, y, elements, bits });
  }
  state.jammer = { ...JAMMER, on: given.has("jammer") };
  const [east, north, strength] = (given.get("jammer") ?? "").split(",").map(Number);
  if ([east, north, strength].every(Number.isFinite)) Object.assign(state.jammer, { x: east, y: north, strength });
  for (const name of Object.keys(SHARES)) {
    state[name] = new Map();
    for (const each of (given.get(name) ?? "").split(";")) {
      const [device, value] = each.split(",").map(Number);
      if (value > 0) state[name].set(device, limited(name, value));
    }
  }
  for (const each of (given.get("moved") ?? "").split(";")) {
    const [device, ...at] = each.split(",").map(Number);
    if (at.length === 2 && at.every(Number.isFinite)) state.moved.set(device, within(at));
  }
  return checked(state);
}

function checked(state) {
  for (const name of ["devices", "antennas", "subcarriers", "taps"]) {
    state[name] = Math.round(limited(name, state[name]));
  }
  state.gamma = limited("gamma", state.gamma);
  state.places = Math.abs(Math.trunc(state.places)) % 2 ** 31;
  state.fading = Math.abs(Math.trunc(state.fading)) % 2 ** 31;
  state.surface.elements = Math.round(limited("elements", state.surface.elements));
  state.surface.bits = Math.round(limited("bits", state.surface.bits));
  [state.surface.x, state.surface.y] = within([state.surface.x, state.surface.y]);
  state.jammer.strength = limited("strength", state.jammer.strength);
  [state.jammer.x, state.jammer.y] = within([state.jammer.x, state.jammer.y]);
  state.first ||= DEFAULTS.first;
  return state;
}

/** Write the state as `read` reads it; what is as at first is left out. */
export function written(state) {
  const said = new URLSearchParams();
  for (const [name, usual] of Object.entries(DEFAULTS)) {
    if (state[name] !== usual) said.set(name, state[name] === true ? "1" : state[name]);
  }
  for (const name of ["first", "second"]) {
    for (const [key, value] of Object.entries(state.parameters[name])) {
      said.set(`${name}.${key}`, typeof value === "string" ? value : JSON.stringify(value));
    }
  }
  const { on, x, y, elements, bits } = state.surface;
  if (on) said.set("surface", [short(x), short(y), elements, bits].join(","));
  const { jammer } = state;
  if (jammer.on) said.set("jammer", [short(jammer.x), short(jammer.y), jammer.strength].join(","));
  const moved = [...state.moved].map(([device, at]) => [device, ...at.map(short)].join(","));
  if (moved.length) said.set("moved", moved.join(";"));
  for (const name of Object.keys(SHARES)) {
    if (state[name].size) said.set(name, [...state[name]].map((each) => each.join(",")).join(";"));
  }
  // Commas and semicolons may stand in an address as they are.
  return said.toString().replaceAll("%2C", ",").replaceAll("%3B", ";");
}

/** Return the nearest place that is not beyond the edge. */
export function within([x, y]) {
  const shrink = Math.min(1, EDGE / Math.hypot(x, y) || 1);
  return [x * shrink, y * shrink];
}

export function limited(name, value) {
  const [least, most] = LIMITS[name] ?? SHARES[name];
  return Math.min(Math.max(value, least), most);
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

const short = (value) => Math.round(value * 10) / 10;
