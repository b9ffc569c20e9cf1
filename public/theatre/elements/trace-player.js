// <trace-player>: everything about one recording: heading, stage, caption, timeline, source, log, bill.
import './trace-bill.js';
import './trace-log.js';
import './trace-source.js';
import './trace-stage.js';
import './trace-timeline.js';
import { dataAddress, isLive } from '../../shared/api.js';
import { h, setText, showText } from '../../shared/dom.js';
import { duration, significant } from '../../shared/format.js';
import { markOf } from '../../shared/mechanisms.js';
import { isSetup } from '../model/replay.js';
import { caption } from '../model/text.js';
import { countUpTo } from '../model/time-scale.js';

/** @typedef {import('../model/types.js').Replay} Replay */

const RECORD = 'Record again';

/** @param {import('../model/types.js').Trace} trace */
function provenance({ origin, recordedAt, environment, tool }) {
  const day = new Date(recordedAt).toLocaleString('en-GB', { dateStyle: 'medium', timeStyle: 'short' });
  const machine = `${environment.cpu}, ${environment.kernel}, ${environment.architecture}`;
  const own = isLive ? '' : ' To record it on your own machine, run npx crossings-lab lab there.';
  return origin === 'shipped'
    ? `Shipped with crossings ${tool?.version ?? ''}. Recorded on ${day} on ${machine}.${own}`
    : `Recorded by this lab on ${day} on ${machine}.`;
}

/** The traced processes' time per message, nanoseconds. @param {Replay} replay */
function tracedMessageNs({ trace }) {
  const events = trace.events.filter(({ phase }) => phase === 'message');
  if (events.length === 0) return null;
  const end = Math.max(...events.map((event) => event.end ?? event.t));
  return (end - Math.min(...events.map(({ t }) => t))) / trace.parameters.messages;
}

export class TracePlayer extends HTMLElement {
  /** @type {Replay | null} */ replay = null;
  /** @type {number[]} */ times = [];
  folded = false;
  /** @type {{stage: any, timeline: any, source: any, log: any, bill: any} | null} */ #parts = null;
  #title = h('h2');
  #provenance = h('p', { class: 'soft provenance' });
  #caption = h('p', { class: 'caption' });
  #timeScale = h('p', { class: 'soft time-scale number' });
  #links = h('p', { class: 'links' });
  #record = h('button', { type: 'button' }, RECORD);
  #notice = h('p', { class: 'notice', role: 'status', hidden: true });
  #count = -1;
  #speed = 0; // for which the line about the time scale was written

  /** @param {string} key distinguishes two players on one page */
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
      this.#provenance,
      this.#notice,
      stage,
      this.#caption,
      timeline,
      this.#timeScale,
      h('div', { class: 'reading' }, source, log, bill),
    );
    // While recording the button is only aria-disabled: `disabled` would take the focus from it.
    this.#record.addEventListener('click', () => {
      if (this.#record.ariaDisabled !== 'true') this.dispatchEvent(new CustomEvent('record', { bubbles: true }));
    });
    this.role = 'region';
  }

  /** @param {Replay} replay @param {{allowed: boolean, reason: string | null}} tracing @param {boolean} folded is the setup one stop? */
  load(replay, tracing, folded) {
    const { trace } = replay;
    this.replay = replay;
    this.dataset.mechanism = trace.mechanism;
    this.ariaLabel = trace.title;
    this.#title.replaceChildren(markOf(trace.mechanism), trace.title);
    setText(this.#provenance, provenance(trace));
    this.#record.hidden = !isLive;
    this.#record.disabled = !tracing.allowed;
    this.#record.title = tracing.allowed ? '' : `This machine does not allow tracing: ${tracing.reason}`;
    this.#links.replaceChildren(
      'Download ',
      h(
        'a',
        { href: dataAddress(`/api/traces/${trace.mechanism}`), download: `${trace.mechanism}.trace.json` },
        'JSON',
      ),
      ' ',
      h(
        'a',
        { href: dataAddress(`/api/traces/${trace.mechanism}/perfetto`), download: `${trace.mechanism}.perfetto.json` },
        'Perfetto',
      ),
    );
    const { stage, source, log, bill } = this.#parts ?? {};
    for (const part of [stage, source, bill]) part?.load(replay);
    log?.load(replay, folded);
    this.folded = folded;
    this.#count = -1;
  }

  /** @param {number[]} times when each moment is displayed, milliseconds */
  setTimes(times) {
    this.times = times;
    this.#speed = 0;
    if (this.replay) this.#parts?.timeline.load(this.replay, times, this.folded);
  }

  /**
   * @param {number} positionMs
   * @param {{how: string, animationMs: number, speed: number, hideFuture: boolean}} options
   */
  show(positionMs, { how, animationMs, speed, hideFuture }) {
    const { replay } = this;
    if (!replay || !this.#parts) return;
    const { stage, timeline, source, log, bill } = this.#parts;
    timeline.show(positionMs, hideFuture);
    if (speed !== this.#speed) this.#showTimeScale(replay, speed);
    const count = countUpTo(this.times, positionMs);
    if (count === this.#count) return;
    let passed = count; // one moment, besides folded ones before it
    while (this.folded && passed - 2 >= this.#count && isSetup(replay, passed - 2)) passed--;
    const forward = how !== 'jump' && passed === this.#count + 1;
    this.#count = count;
    const quiet = this.folded && count > 0 && isSetup(replay, count - 1);
    stage.show(count);
    source.show(count, quiet);
    log.show(count);
    bill.show(count, quiet);
    setText(this.#caption, caption(replay, count - 1, this.folded));
    // These read positions on the page, so they come last, and the one that adds elements after the others: one layout suffices.
    source.follow();
    log.follow();
    if (forward) stage.animateChange(count, animationMs);
  }

  /** State how far display time is slowed down. @param {Replay} replay @param {number} speed */
  #showTimeScale(replay, speed) {
    this.#speed = speed;
    const { moments, trace } = replay;
    const first = this.times[0];
    const last = this.times.at(-1);
    const traced = tracedMessageNs(replay);
    if (first === undefined || last === undefined || traced === null || moments.length < 2) return;
    const elapsedNs = moments[moments.length - 1].at - moments[0].at;
    const factor = ((last - first) * 1e6) / speed / elapsedNs;
    setText(
      this.#timeScale,
      `Slowed down ${significant(factor, 2)} times; short gaps are enlarged more than long ones. Tracing also slowed the processes down: ` +
        `a message took ${duration(traced)} traced, ${duration(trace.untraced.messageNs.median)} untraced.`,
    );
  }

  get captionText() {
    return this.#caption.textContent ?? '';
  }

  /** @param {string} sentence empty to hide the notice */
  notify(sentence) {
    showText(this.#notice, sentence);
  }

  /** @param {boolean} busy */
  set busy(busy) {
    this.#record.ariaDisabled = String(busy);
    setText(this.#record, busy ? 'Recording …' : RECORD);
  }
}

customElements.define('trace-player', TracePlayer);
