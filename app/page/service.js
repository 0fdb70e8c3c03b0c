// The service: one call per question, the newest of its kind only, errors in its own words.

const KEY = "airsched-key";
/** Kept for the tab only. */

export const key = {
  get: () => sessionStorage.getItem(KEY) ?? "",
  set: (value) => sessionStorage.setItem(KEY, value),
};

/** An answer that is not the one asked for. */
export class ServiceError extends Error {
  /** `problem` is what the service said (RFC 9457); empty if it did not answer. */
  constructor(status, problem, retryAfter) {
    super(problem.detail ?? `The service answered with status ${status}.`);
    this.status = status;
    this.title = problem.title ?? "Unexpected answer";
    this.retryable = problem.retryable ?? false;
    this.retryAfter = retryAfter;
  }
}

/** No answer: the service is down, or out of reach. */
export class NoAnswerError extends Error {
  constructor() {
    super("The service does not answer. This page asks again until it does.");
    this.title = "No answer";
    this.status = 0;
    this.retryable = true;
    this.retryAfter = 1;
  }
}

export const address = (path) => new URL(path, document.baseURI).href.replace(/#.*/, "");

/** Ask, and return the answer with the milliseconds in the solver and until the answer was here. */
export async function ask(path, body, signal) {
  const headers = {};
  if (body) headers["Content-Type"] = "application/json";
  if (key.get()) headers.Authorization = `Bearer ${key.get()}`;
  const asked = performance.now();
  const method = body ? "POST" : "GET";
  let response;
  try {
    response = await fetch(address(path), {
      method,
      headers,
      signal,
      body: body && JSON.stringify(body),
    });
  } catch (error) {
    throw error.name === "AbortError" ? error : new NoAnswerError();
  }
  if (!response.ok) {
    const retryAfter = Number(response.headers.get("Retry-After")) || 1;
    throw new ServiceError(response.status, await response.json().catch(() => ({})), retryAfter);
  }
  const answer = await response.json();
  const solving = /solve;dur=([\d.]+)/.exec(response.headers.get("Server-Timing") ?? "");
  return { answer, solver: solving && Number(solving[1]), total: performance.now() - asked };
}

/** Return a function that runs a task and cancels the one before, if it still runs. */
export function newest() {
  let controller = new AbortController();
  return (task) => {
    controller.abort();
    controller = new AbortController();
    return task(controller.signal);
  };
}

/** Wait; stop waiting when cancelled. */
export function pause(milliseconds, signal) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, milliseconds);
    signal?.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(signal.reason);
    });
  });
}

/** Ask until there is an answer or an error that repeating cannot help; `failing` hears of those that it can.
 *
 * Not of the first 503: the request that was just cancelled may still be in progress. */
export async function insist(path, body, signal, failing) {
  for (let repeated = false; ; repeated = true) {
    try {
      return await ask(path, body, signal);
    } catch (error) {
      if (!error.retryable) throw error;
      if (repeated || error.status !== 503) failing(error);
      await pause(error.retryAfter * 1000, signal);
    }
  }
}
