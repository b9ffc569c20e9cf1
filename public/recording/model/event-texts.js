// The texts of all events as one string: the arguments of an event, its result and its payload, one after the other. A worker can
// send one string in no time, but not a million.

/** @typedef {import('./types.js').Recording} Recording */

const SEPARATOR = '\n'; // so that a search does not match across two of them

export class Texts {
  /** @type {string[]} */ #parts = [];
  /** @type {number[]} */ #ends = [];
  #length = 0;
  #start;
  #event = 0;

  /** @param {number} count of events */
  constructor(count) {
    this.#start = new Int32Array(count + 1);
  }

  /** The texts of the next event. @param {string[]} args @param {string} result @param {string} payload */
  add(args, result, payload) {
    for (const arg of args) this.#push(arg);
    this.#push(result);
    this.#push(payload);
    this.#start[++this.#event] = this.#parts.length;
  }

  /** @param {string} text */
  #push(text) {
    this.#parts.push(text);
    this.#length += text.length + 1;
    this.#ends.push(this.#length);
  }

  /** What a Recording contains of it. */
  columns() {
    const text = this.#parts.join(SEPARATOR) + SEPARATOR;
    return { text, textEnds: Float64Array.from(this.#ends), textStart: this.#start };
  }
}

/** @param {Recording} recording @param {number} part */
const partOf = ({ text, textEnds }, part) => text.slice(part === 0 ? 0 : textEnds[part - 1], textEnds[part] - 1);

/** @param {Recording} recording @param {number} event @returns {string[]} */
export function argsOf(recording, event) {
  const { textStart } = recording;
  const count = textStart[event + 1] - textStart[event] - 2;
  return Array.from({ length: count }, (_, i) => partOf(recording, textStart[event] + i));
}

/** @param {Recording} recording @param {number} event */
export const resultOf = (recording, event) => partOf(recording, recording.textStart[event + 1] - 2);

/** @param {Recording} recording @param {number} event */
export const payloadOf = (recording, event) => partOf(recording, recording.textStart[event + 1] - 1);

/** All texts of an event, to search in. @param {Recording} recording @param {number} event */
export function searchable({ text, textStart, textEnds }, event) {
  const first = textStart[event];
  return text.slice(first === 0 ? 0 : textEnds[first - 1], textEnds[textStart[event + 1] - 1]);
}
