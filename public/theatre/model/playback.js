// The playback position: it advances while playing and jumps on request. It does not know what is played. Events: "move", whose
// detail is 'play', 'step' or 'jump', and "state" when playing or speed changes.
import { reducedMotion } from '../../shared/dom.js';
import { countUpTo } from './time-scale.js';

export const SPEEDS = [0.25, 0.5, 1, 2, 4, 8, 16];

export class Playback extends EventTarget {
  position = 0; // milliseconds of display time
  length = 0;
  speed = 1;
  playing = false;
  /** @type {number[]} the display times of all moments, ascending */
  stops = [];
  #frame = 0;
  #previous = 0;
  #exact = 0; // with reduced motion the position jumps from stop to stop; this one advances continuously

  /** @param {number[]} stops @param {number} length */
  load(stops, length) {
    this.pause();
    this.stops = [...new Set(stops)].sort((a, b) => a - b);
    this.length = length;
    this.#move(0, 'jump');
  }

  /** The number of stops up to the position. */
  get count() {
    return countUpTo(this.stops, this.position);
  }

  /** @param {number} count of stops to be passed; 0 is the beginning @param {string} [how] */
  goTo(count, how = 'jump') {
    const valid = Math.min(Math.max(count, 0), this.stops.length);
    this.#move(valid === 0 ? 0 : this.stops[valid - 1], how);
  }

  /** @param {1 | -1} direction */
  step(direction) {
    this.pause();
    this.goTo(this.count + direction, direction > 0 ? 'step' : 'jump');
  }

  /** @param {number} positionMs */
  seek(positionMs) {
    this.#move(Math.min(Math.max(positionMs, 0), this.length), 'jump');
  }

  toggle() {
    if (this.playing) this.pause();
    else this.play();
  }

  play() {
    if (this.playing || this.stops.length === 0) return;
    if (this.count === this.stops.length) this.#move(0, 'jump');
    this.playing = true;
    this.#exact = this.position;
    this.#previous = performance.now();
    this.#frame = requestAnimationFrame((now) => this.#tick(now));
    this.#emit('state', '');
  }

  pause() {
    if (!this.playing) return;
    this.playing = false;
    cancelAnimationFrame(this.#frame);
    this.#emit('state', '');
  }

  /** @param {number} speed */
  setSpeed(speed) {
    this.speed = speed;
    this.#emit('state', '');
  }

  /** @param {number} now */
  #tick(now) {
    // The limit makes a page that was in the background continue where it was.
    const passed = Math.min(Math.max(now - this.#previous, 0), 250);
    this.#previous = now;
    this.#exact = Math.min(this.#exact + passed * this.speed, this.length);
    const count = countUpTo(this.stops, this.#exact);
    if (!reducedMotion.matches) this.#move(this.#exact, 'play');
    else if (count !== this.count) this.goTo(count, 'play');
    if (!this.playing) return; // a listener paused it
    if (count === this.stops.length) return this.pause();
    this.#frame = requestAnimationFrame((next) => this.#tick(next));
  }

  /** @param {number} position @param {string} how */
  #move(position, how) {
    this.position = position;
    if (how !== 'play') this.#exact = position;
    this.#emit('move', how);
  }

  /** @param {string} type @param {string} detail */
  #emit(type, detail) {
    this.dispatchEvent(new CustomEvent(type, { detail }));
  }
}
