// Where the play stands: a position in shown time that goes forward while it plays, and jumps when asked to. It knows
// nothing of what is played. Every change is told by a "move" event whose detail says how it came about.
import { stillness } from './dom.js';
import { countShown } from './stretch.js';

export const SPEEDS = [0.25, 0.5, 1, 2, 4, 8, 16];

export class Player extends EventTarget {
  position = 0; // milliseconds of shown time
  length = 0;
  speed = 1;
  playing = false;
  /** @type {number[]} when something happens, ascending */
  stops = [];
  #frame = 0;
  #before = 0;
  #hidden = 0; // where a play that does not glide would be, between two stops

  /** @param {number[]} stops @param {number} length */
  load(stops, length) {
    this.pause();
    this.stops = [...new Set(stops)].sort((a, b) => a - b);
    this.length = length;
    this.#move(0, 'jump');
  }

  /** How many stops lie behind. */
  get count() {
    return countShown(this.stops, this.position);
  }

  /** To just after the stop with this number, 0 being the beginning. @param {number} count @param {string} [how] */
  goTo(count, how = 'jump') {
    const kept = Math.min(Math.max(count, 0), this.stops.length);
    this.#move(kept === 0 ? 0 : this.stops[kept - 1], how);
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
    this.#hidden = this.position;
    this.#before = performance.now();
    this.#frame = requestAnimationFrame((now) => this.#tick(now));
    this.#tell('state', '');
  }

  pause() {
    if (!this.playing) return;
    this.playing = false;
    cancelAnimationFrame(this.#frame);
    this.#tell('state', '');
  }

  /** @param {number} speed */
  setSpeed(speed) {
    this.speed = speed;
    this.#tell('state', '');
  }

  /** @param {number} now */
  #tick(now) {
    // A page that was in the background goes on from where it was.
    const passed = Math.min(Math.max(now - this.#before, 0), 250);
    this.#before = now;
    this.#hidden = Math.min(this.#hidden + passed * this.speed, this.length);
    const count = countShown(this.stops, this.#hidden);
    if (!stillness.matches) this.#move(this.#hidden, 'play');
    else if (count !== this.count) this.goTo(count, 'play');
    if (!this.playing) return; // a listener has stopped it
    if (count === this.stops.length) return this.pause();
    this.#frame = requestAnimationFrame((next) => this.#tick(next));
  }

  /** @param {number} position @param {string} how 'play', 'step' or 'jump' */
  #move(position, how) {
    this.position = position;
    if (how !== 'play') this.#hidden = position;
    this.#tell('move', how);
  }

  /** @param {string} type @param {string} detail */
  #tell(type, detail) {
    this.dispatchEvent(new CustomEvent(type, { detail }));
  }
}
