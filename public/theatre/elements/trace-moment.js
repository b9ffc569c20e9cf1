// <trace-moment>: one moment of a demo's recording: the stage, a caption, and the source with the line that acts, with buttons
// that step. It is what another page of the lab embeds:
//
//   import '/theatre/elements/trace-moment.js';        // and the style sheets stage.css, reading.css and moment.css beside it
//   const moment = document.createElement('trace-moment');
//   place.append(moment);
//   moment.show(trace, 17);                            // after event 17 of trace.events
//
// `trace` is what GET /api/traces/pipe or GET /recordings/pipe.json returns. Each step fires the event "moment", whose detail is
// {event, edge, count}: the index of the event, 'enter', 'leave' or 'whole', and how many moments have passed.
import './trace-source.js';
import './trace-stage.js';
import { h, setText } from '../../shared/dom.js';
import { replayOf } from '../model/replay.js';
import { caption } from '../model/text.js';

/** @typedef {import('../model/types.js').Trace} Trace */

const MOVE_MS = 900;

export class TraceMoment extends HTMLElement {
  /** @type {import('../model/types.js').Replay | null} */ #replay = null;
  #count = 0;
  #stage = /** @type {any} */ (h(/** @type {any} */ ('trace-stage')));
  #source = /** @type {any} */ (h(/** @type {any} */ ('trace-source')));
  #caption = h('p', { class: 'caption', role: 'status' });
  #back = h('button', { type: 'button', onclick: () => this.step(-1) }, '◂ Step back');
  #forward = h('button', { type: 'button', onclick: () => this.step(1) }, 'Step forward ▸');
  #position = h('span', { class: 'soft number' });

  connectedCallback() {
    if (this.#stage.isConnected) return;
    const buttons = h('div', { class: 'buttons' }, this.#back, this.#forward, this.#position);
    this.replaceChildren(h('div', { class: 'picture' }, this.#stage, this.#caption, buttons), this.#source);
    this.addEventListener('pick', (event) => this.#goToEvent(/** @type {CustomEvent} */ (event).detail));
  }

  /** @param {Trace} trace @param {number} [event] its index; 0 by default */
  show(trace, event = 0) {
    this.#replay = replayOf(trace);
    this.dataset.mechanism = trace.mechanism;
    this.role = 'region';
    this.ariaLabel = `A moment of the recording: ${trace.title}`;
    this.#stage.load(this.#replay);
    this.#source.load(this.#replay);
    this.#goToEvent(event);
  }

  /** @param {1 | -1} direction */
  step(direction) {
    const before = this.#count;
    this.#goTo(before + direction);
    if (this.#count > before) this.#stage.animateChange(this.#count, MOVE_MS);
  }

  /** To the end of an event, or to its beginning if it never ends. @param {number} event */
  #goToEvent(event) {
    const { left, entered } = /** @type {import('../model/types.js').Replay} */ (this.#replay);
    this.#goTo((left[event] >= 0 ? left[event] : (entered[event] ?? -1)) + 1);
  }

  /** @param {number} count of moments that have passed */
  #goTo(count) {
    const replay = this.#replay;
    if (!replay) return;
    const { moments, parts } = replay;
    this.#count = Math.min(Math.max(count, 1), moments.length);
    const { event, edge, part } = moments[this.#count - 1];
    this.#stage.show(this.#count);
    this.#source.show(this.#count);
    setText(this.#caption, caption(replay, this.#count - 1));
    setText(this.#position, `${this.#count} / ${moments.length} · ${parts[part].name}`);
    // Only aria-disabled: `disabled` would take the focus from the button.
    this.#back.ariaDisabled = String(this.#count === 1);
    this.#forward.ariaDisabled = String(this.#count === moments.length);
    this.#source.follow();
    this.dispatchEvent(new CustomEvent('moment', { detail: { event, edge, count: this.#count } }));
  }
}

customElements.define('trace-moment', TraceMoment);
