// <trace-play>: everything about one recording: where it comes from, the stage, the caption, the lanes, source, log, bill.
import './trace-bill.js';
import './trace-log.js';
import './trace-source.js';
import './trace-stage.js';
import './trace-timeline.js';
import { h, say } from './dom.js';
import { countShown } from './stretch.js';
import { caption, duration, significant } from './words.js';

/** @typedef {import('./types.js').Play} Play */

/** @param {import('./types.js').Trace} trace */
function provenance({ origin, recordedAt, environment, tool }) {
  const day = new Date(recordedAt).toLocaleString('en-GB', { dateStyle: 'medium', timeStyle: 'short' });
  const where = `${environment.cpu}, ${environment.kernel}, ${environment.architecture}`;
  return origin === 'shipped'
    ? `This recording came with crossings ${tool?.version ?? ''}: made on ${day} on ${where}.`
    : `Recorded by this server on ${day} on ${where}.`;
}

/** Nanoseconds that the traced processes took for a message. @param {Play} play */
function tracedMessageNs({ trace }) {
  const events = trace.events.filter(({ phase }) => phase === 'message');
  if (events.length === 0) return null;
  const end = Math.max(...events.map((event) => event.end ?? event.t));
  return (end - Math.min(...events.map(({ t }) => t))) / trace.parameters.messages;
}

export class TracePlay extends HTMLElement {
  /** @type {Play | null} */ play = null;
  /** @type {number[]} */ shown = [];
  /** @type {{stage: any, timeline: any, source: any, log: any, bill: any} | null} */ #parts = null;
  #title = h('h2');
  #where = h('p', { class: 'soft provenance' });
  #caption = h('p', { class: 'caption' });
  #stretch = h('p', { class: 'soft stretch number' });
  #links = h('p', { class: 'links' });
  #record = h('button', { type: 'button' }, 'Record it again here');
  #notice = h('p', { class: 'notice', role: 'status', hidden: true });
  #count = -1;
  #speed = 0; // that the line about stretched time was written for

  /** @param {string} key tells two plays on one page apart */
  build(key) {
    const make = (/** @type {string} */ name) => document.createElement(name);
    this.#parts = {
      stage: make('trace-stage'),
      timeline: make('trace-timeline'),
      source: make('trace-source'),
      log: make('trace-log'),
      bill: make('trace-bill'),
    };
    const { stage, timeline, source, log, bill } = this.#parts;
    log.id = `log-${key}`;
    this.replaceChildren(
      h('div', { class: 'heading' }, this.#title, this.#record, this.#links),
      this.#where,
      this.#notice,
      stage,
      this.#caption,
      timeline,
      this.#stretch,
      h('div', { class: 'reading' }, source, log, bill),
    );
    // Not `disabled`, which would take the focus away from whoever has just pressed it.
    this.#record.addEventListener('click', () => {
      if (this.#record.ariaDisabled !== 'true') this.dispatchEvent(new CustomEvent('record', { bubbles: true }));
    });
    this.role = 'region';
  }

  /** @param {Play} play @param {{allowed: boolean, reason: string | null}} tracing */
  load(play, tracing) {
    const { trace } = play;
    this.play = play;
    this.dataset.mechanism = trace.mechanism;
    this.ariaLabel = trace.title;
    this.#title.replaceChildren(h('span', { class: 'swatch' }), trace.title);
    say(this.#where, provenance(trace));
    this.#record.disabled = !tracing.allowed;
    this.#record.title = tracing.allowed
      ? ''
      : `This machine does not let one process trace another: ${tracing.reason}`;
    const path = `/api/traces/${trace.mechanism}`;
    this.#links.replaceChildren(
      h('a', { href: path, download: `${trace.mechanism}.trace.json` }, 'JSON'),
      ' ',
      h('a', { href: `${path}/perfetto` }, 'Perfetto'),
    );
    const { stage, source, log, bill } = this.#parts ?? {};
    for (const part of [stage, source, log, bill]) part?.load(play);
    this.#count = -1;
  }

  /** When each moment is shown, milliseconds. @param {number[]} shown */
  place(shown) {
    this.shown = shown;
    this.#speed = 0;
    if (this.play) this.#parts?.timeline.load(this.play, shown);
  }

  /**
   * @param {number} positionMs
   * @param {{how: string, glideMs: number, speed: number, hideFuture: boolean}} manner
   */
  show(positionMs, { how, glideMs, speed, hideFuture }) {
    const { play } = this;
    if (!play || !this.#parts) return;
    const { stage, timeline, source, log, bill } = this.#parts;
    timeline.show(positionMs, hideFuture);
    if (speed !== this.#speed) this.#sayStretch(play, speed);
    const count = countShown(this.shown, positionMs);
    if (count === this.#count) return;
    const forward = count === this.#count + 1 && how !== 'jump';
    this.#count = count;
    stage.show(count);
    source.show(count);
    log.show(count);
    bill.show(count);
    say(this.#caption, caption(play, count - 1));
    // What must know where things are comes last, so that the browser lays the page out once.
    if (forward) stage.glide(count, glideMs);
    source.follow();
    log.follow();
  }

  /** How the time that is shown belongs to the time that passed. @param {Play} play @param {number} speed */
  #sayStretch(play, speed) {
    this.#speed = speed;
    const { moments, trace } = play;
    const first = this.shown[0];
    const last = this.shown.at(-1);
    const traced = tracedMessageNs(play);
    if (first === undefined || last === undefined || traced === null || moments.length < 2) return;
    const passedNs = moments[moments.length - 1].at - moments[0].at;
    const factor = ((last - first) * 1e6) / speed / passedNs;
    say(
      this.#stretch,
      `Shown ${significant(factor, 2)} times slower, short gaps stretched more than long ones. Tracing itself slowed this run: ` +
        `a message took ${duration(traced)} traced, ${duration(trace.untraced.messageNs.median)} untraced.`,
    );
  }

  /** The words for a screen reader: the caption. */
  get spoken() {
    return this.#caption.textContent ?? '';
  }

  /** @param {string} sentence empty: nothing to say */
  notify(sentence) {
    this.#notice.hidden = sentence === '';
    say(this.#notice, sentence);
  }

  /** @param {boolean} busy */
  set recording(busy) {
    this.#record.ariaDisabled = String(busy);
    say(this.#record, busy ? 'Recording …' : 'Record it again here');
  }
}

customElements.define('trace-play', TracePlay);
