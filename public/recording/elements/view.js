// The part of a recording that the lanes show: its interval of time, limited to the recording, and zooming and panning in it.

const LEAST_NS = 20; // zoomed in completely

export class View {
  from = 0;
  to = 1;
  #end = 1;

  /** @param {number} durationNs */
  reset(durationNs) {
    this.#end = durationNs * 1.01; // room after the last event
    this.showAll();
  }

  showAll() {
    this.from = 0;
    this.to = this.#end;
  }

  get length() {
    return this.to - this.from;
  }

  get complete() {
    return this.length >= this.#end * 0.9999;
  }

  /** @param {number} from @param {number} to */
  show(from, to) {
    const length = Math.min(Math.max(to - from, LEAST_NS), this.#end);
    const begin = Math.min(Math.max((from + to - length) / 2, 0), this.#end - length);
    this.from = begin;
    this.to = begin + length;
  }

  /** Shows `factor` times the interval; the time `around` stays where it is. @param {number} factor @param {number} around */
  zoom(factor, around) {
    const limited = Math.max(factor, LEAST_NS / this.length);
    this.show(around - (around - this.from) * limited, around + (this.to - around) * limited);
  }

  /** @param {number} ns */
  pan(ns) {
    this.show(this.from + ns, this.to + ns);
  }

  /** Makes a time visible. @param {number} at */
  reveal(at) {
    if (this.complete) return;
    const margin = this.length * 0.1;
    if (at < this.from + margin / 2 || at > this.to - margin / 2) this.show(at - this.length / 2, at + this.length / 2);
  }
}
