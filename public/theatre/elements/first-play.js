// <first-play>: one message travels through a pipe and then through a ring, slowly, on a large stage, with three sentences.
// Events: "end" when the last moment is shown for the first time, "leave" when the user wants to continue.
import './crossing-tally.js';
import './trace-stage.js';
import { announce } from '../../shared/announce.js';
import { h, reducedMotion, setText } from '../../shared/dom.js';
import { markOf } from '../../shared/mechanisms.js';
import { firstPlay } from '../model/first-play.js';
import { caption } from '../model/text.js';

/** @typedef {import('../model/types.js').Replay} Replay */

const FRAME_MS = 2600;
const MOVE_MS = 1900; // of it, the movement of a message
const START_MS = 1400; // the first frame of a recording, in which nothing has moved

export class FirstPlay extends HTMLElement {
  /** @type {import('../model/first-play.js').Frame[]} */ #frames = [];
  /** @type {string[]} */ #sentences = [];
  /** @type {Replay[]} */ #replays = [];
  #at = 0;
  #timer = 0;
  #reached = -1; // the last sentence that was shown
  #ended = false;
  #title = h('h2');
  #from = h('p', { class: 'soft from' });
  #stage = /** @type {any} */ (h(/** @type {any} */ ('trace-stage')));
  #caption = h('p', { class: 'soft moment' });
  #tally = /** @type {any} */ (h(/** @type {any} */ ('crossing-tally')));
  #list = h('ol', { class: 'sentences' });
  #toggle = h('button', { type: 'button', class: 'primary', onclick: () => this.toggle() });
  #leave = h('button', { type: 'button', onclick: () => this.#emit('leave') });

  connectedCallback() {
    const step = (/** @type {string} */ text, /** @type {string} */ label, /** @type {1 | -1} */ direction) =>
      h('button', { type: 'button', 'aria-label': label, onclick: () => this.step(direction) }, text);
    this.role = 'region';
    this.ariaLabel = 'Introduction';
    this.replaceChildren(
      h('div', { class: 'heading' }, this.#title, this.#caption),
      this.#stage,
      this.#tally,
      this.#list,
      h('div', { class: 'buttons' }, this.#toggle, step('◂', 'Back', -1), step('▸', 'Next', 1), this.#leave),
      this.#from,
    );
    reducedMotion.addEventListener('change', () => this.pause());
  }

  /** @param {Replay} pipe @param {Replay} ring */
  load(pipe, ring) {
    this.pause(); // it may be open already
    const { frames, sentences } = firstPlay(pipe, ring);
    this.#frames = frames;
    this.#sentences = sentences;
    this.#replays = [pipe, ring];
    this.#list.replaceChildren(...sentences.map((sentence) => h('li', {}, sentence)));
    const origin = [pipe, ring].every(({ trace }) => trace.origin === 'shipped')
      ? 'the recordings that ship with crossings'
      : 'the latest recordings';
    setText(
      this.#from,
      `These are selected moments of ${origin}, in slow motion. They show what two processes did for their first message. ` +
        'Nothing is simulated.',
    );
    this.#ended = false;
    this.#reached = -1;
    this.#show(0, false);
  }

  get playing() {
    return this.#timer !== 0;
  }

  toggle() {
    if (this.playing) this.pause();
    else this.play();
  }

  play() {
    if (this.#at >= this.#frames.length - 1) this.#show(0, false);
    this.#wait();
    this.#label();
  }

  pause() {
    clearTimeout(this.#timer);
    this.#timer = 0;
    this.#label();
  }

  /** @param {1 | -1} direction */
  step(direction) {
    this.pause();
    this.#show(Math.min(Math.max(this.#at + direction, 0), this.#frames.length - 1), direction > 0);
  }

  #wait() {
    const ms = this.#frames[this.#at].isNext ? FRAME_MS : START_MS;
    this.#timer = window.setTimeout(() => {
      this.#show(this.#at + 1, true);
      if (this.#at < this.#frames.length - 1) this.#wait();
      else this.pause();
    }, ms);
  }

  /** @param {number} at @param {boolean} animated */
  #show(at, animated) {
    const frame = this.#frames[at];
    const before = this.#frames[this.#at];
    const moved = at !== this.#at;
    this.#at = at;
    const { replay, count, sentence, ahead, isNext } = frame;
    if (at === 0 || before.replay !== replay) {
      const { mechanism, title } = replay.trace;
      this.dataset.mechanism = mechanism;
      this.#title.replaceChildren(markOf(mechanism), title);
      this.#stage.load(replay);
    }
    this.#stage.show(count, ahead);
    setText(this.#caption, isNext ? caption(replay, count - 1, false, false) : 'Message 1 comes next.');
    const [pipe, ring] = this.#replays;
    const rows = [pipe, ring].map((each) => this.#row(each, at));
    this.#tally.show(rows, 4);
    for (const [i, item] of [...this.#list.children].entries()) {
      item.classList.toggle('later', i > Math.max(sentence, this.#reached));
      if (i === sentence) item.setAttribute('aria-current', 'step');
      else item.removeAttribute('aria-current');
    }
    if (sentence > this.#reached) announce(this.#sentences[sentence]);
    this.#reached = Math.max(sentence, this.#reached);
    if (animated && moved && isNext) this.#stage.animateChange(count, MOVE_MS);
    if (at === this.#frames.length - 1 && !this.#ended) {
      this.#ended = true;
      this.#emit('end');
    }
    this.#label();
  }

  /** The crossings of the message that a recording's frames have shown so far. @param {Replay} replay @param {number} at */
  #row(replay, at) {
    const shown = this.#frames.slice(0, at + 1).filter((frame) => frame.replay === replay && frame.isNext);
    const moments = shown.map(({ count }) => replay.moments[count - 1]);
    const calls = moments.filter(
      ({ edge, event }) => edge !== 'leave' && replay.trace.events[event].kind === 'syscall',
    );
    return { trace: replay.trace, messages: shown.length > 0 ? 1 : 0, crossings: calls.length };
  }

  #label() {
    const last = this.#at >= this.#frames.length - 1;
    setText(this.#toggle, this.playing ? 'Pause' : last ? 'Play again' : 'Play');
    setText(this.#leave, this.#ended ? 'Continue' : 'Skip');
  }

  /** @param {string} type */
  #emit(type) {
    this.dispatchEvent(new CustomEvent(type));
  }
}

customElements.define('first-play', FirstPlay);
