// The parameters of an algorithm as a form, built from their JSON Schemas in GET /algorithms.

import { html } from "./dom.js";

/** Fill `form` with a field per parameter; `changed(name, value)` hears of values, undefined for the default. */
export function parameterFields(form, prefix, parameters, values, changed) {
  form.replaceChildren(
    ...parameters.map(({ name, default: usual, json_schema: schema }) => {
      const id = `${prefix}-${name}`;
      const field = control(schema, values[name] ?? usual);
      field.id = id;
      field.addEventListener("change", () => {
        const value = reading(field, schema);
        changed(name, same(value, usual) ? undefined : value);
      });
      return html("div", { class: "field" }, html("label", { for: id }, name.replaceAll("_", " ")), field);
    }),
  );
}

function control(schema, value) {
  if (schema.enum) {
    const options = schema.enum.map((each) =>
      html("option", { value: each, selected: each === value }, String(each).replaceAll("_", " ")),
    );
    return html("select", {}, ...options);
  }
  if (schema.type === "boolean") return html("input", { type: "checkbox", checked: value });
  if (["integer", "number"].includes(schema.type)) {
    // The bounds guide the arrows; whatever is typed goes to the service, which says what is wrong.
    const made = html("input", { type: "number", step: schema.type === "integer" ? 1 : "any", value });
    const least = schema.minimum ?? schema.exclusiveMinimum;
    const most = schema.maximum ?? schema.exclusiveMaximum;
    if (least !== undefined) made.min = least;
    if (most !== undefined) made.max = most;
    return made;
  }
  const text = value === null ? "" : JSON.stringify(value);
  return html("input", { type: "text", placeholder: "left out, or JSON", value: text });
}

function reading(field, schema) {
  if (field.type === "checkbox") return field.checked;
  if (field.value === "") return undefined;
  if (field.type === "number") return field.valueAsNumber;
  if (schema.enum) return schema.enum.find((each) => String(each) === field.value);
  try {
    return JSON.parse(field.value);
  } catch {
    return field.value;
  }
}

const same = (left, right) => JSON.stringify(left) === JSON.stringify(right);
