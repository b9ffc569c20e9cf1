// <trace-bill>: the counters that climb, the bill of one message, and the details of the event at the present moment.
import { h, say } from './dom.js';
import { argumentsBefore, counted, duration, effectTexts, failed, roleOf, significant } from './words.js';

/**
 * @typedef {import('./types.js').Play} Play
 * @typedef {import('./types.js').Counters} Counters
 */

/** @type {[string, (counters: Counters) => string][]} */
const COUNTERS = [
  ['crossings', ({ crossings }) => String(crossings)],
  ['copies by the kernel', ({ kernelCopies }) => String(kernelCopies)],
  ['copies by the processes', ({ ownCopies }) => String(ownCopies)],
  ['bytes copied', ({ bytes }) => bytes.toLocaleString('en-US')],
  ['sleeps and wake-ups', ({ sleeps }) => String(sleeps)],
];

/** What one message costs, from the whole recording. @param {Play} play */
export function billOf({ trace, worlds }) {
  const crossings = (worlds.at(-1)?.messages.crossings ?? 0) / trace.parameters.messages;
  const crossingNs = crossings * trace.floors.syscallNs;
  const messageNs = trace.untraced.messageNs.median;
  return { crossings, crossingNs, messageNs, restNs: Math.max(0, messageNs - crossingNs) };
}

export class TraceBill extends HTMLElement {
  /** @type {Play | null} */ #play = null;
  /** @type {[HTMLElement, HTMLElement][]} */ #cells = [];
  #details = h('dl', { class: 'details' });
  #share = h('span', { class: 'share' });

  /** @param {Play} play */
  load(play) {
    this.#play = play;
    this.#cells = COUNTERS.map(() => [h('td', {}, '0'), h('td', {}, '0')]);
    const heads = h(
      'tr',
      {},
      h('td'),
      h('th', { scope: 'col' }, 'so far'),
      h('th', { scope: 'col' }, 'of them, messages'),
    );
    const rows = COUNTERS.map(([name], i) => h('tr', {}, h('th', { scope: 'row' }, name), ...this.#cells[i]));
    this.replaceChildren(
      h(
        'section',
        { class: 'counters' },
        h('h3', {}, 'Counted'),
        h('table', {}, h('thead', {}, heads), h('tbody', {}, ...rows)),
      ),
      h('section', { class: 'bill' }, h('h3', {}, 'The bill of one message'), ...this.#bill(play)),
      h('section', {}, h('h3', {}, 'This event'), this.#details),
    );
    this.show(0);
  }

  /** @param {Play} play */
  #bill(play) {
    const { trace } = play;
    const { crossings, crossingNs, messageNs, restNs } = billOf(play);
    const share = crossingNs / Math.max(messageNs, crossingNs);
    this.#share.style.width = `${share * 100}%`;
    const row = (/** @type {string} */ what, /** @type {string} */ cost) =>
      h('tr', {}, h('th', { scope: 'row' }, what), h('td', {}, cost));
    const table = h(
      'table',
      {},
      h(
        'tbody',
        {},
        row(`${significant(crossings)} crossings × ${duration(trace.floors.syscallNs)}`, duration(crossingNs)),
        row('the rest: making and checking it, copying, waiting, waking', duration(restNs)),
        row('one message, untraced', duration(messageNs)),
      ),
    );
    const note = h(
      'p',
      { class: 'soft' },
      `The crossings are the recording’s, where the tracer keeps the two in step; ${duration(trace.floors.syscallNs)} is that ` +
        `machine’s cheapest system call. The time is a part of ${trace.parameters.messages} messages sent without waiting, ` +
        `untraced, the median of ${trace.untraced.runs} runs: there one call may take several messages, and one wake-up serve ` +
        'several. The benchmark measures round trips.',
    );
    return [h('div', { class: 'bar', 'aria-hidden': 'true' }, this.#share), table, note];
  }

  /** @param {number} count of moments that are past */
  show(count) {
    const play = this.#play;
    if (!play) return;
    const { total, messages } = play.worlds[count];
    for (const [i, [, read]] of COUNTERS.entries()) {
      say(this.#cells[i][0], read(total));
      say(this.#cells[i][1], read(messages));
    }
    this.#detail(play, count > 0 ? play.moments[count - 1] : null);
  }

  /** @param {Play} play @param {import('./types.js').Moment | null} moment */
  #detail({ trace }, moment) {
    if (!moment) return this.#details.replaceChildren(h('dt', {}, 'who'), h('dd', {}, 'nobody yet'));
    const event = trace.events[moment.event];
    const over = moment.edge !== 'enter';
    const waker = event.wokenBy === null || event.wokenBy === undefined ? null : trace.events[event.wokenBy];
    const slept = event.sleeps
      ? `${counted(event.sleeps, 'time')}${waker ? `, until the ${roleOf(trace, waker.pid)}’s ${waker.name}` : ''}`
      : 'no';
    /** @type {[string, string | null][]} */
    const facts = [
      ['who', `the ${roleOf(trace, event.pid)}, process ${event.pid}`],
      [
        event.kind === 'step' ? 'step' : 'call',
        event.call && event.call !== event.name ? `${event.name}, made by ${event.call}()` : event.name,
      ],
      ...(over ? event.args : argumentsBefore(event)).map(
        (arg, i) => /** @type {[string, string]} */ ([`argument ${i + 1}`, arg]),
      ),
      ['result', !over ? 'not back yet' : event.kind === 'step' ? null : event.result],
      ['took', over && event.end !== null ? `${duration(event.end - event.t)}, traced` : null],
      ['slept', event.kind === 'syscall' && over ? slept : null],
      [
        'memory',
        over && event.memory
          ? Object.entries(event.memory)
              .map(([word, value]) => `${word} ${value}`)
              .join(', ')
          : null,
      ],
      ['effect', over && !failed(event) ? effectTexts(trace, event).join('; ') || null : null],
      ['source', event.source ? `${event.source.file}, line ${event.source.line}` : null],
    ];
    this.#details.replaceChildren(
      ...facts.flatMap(([name, value]) => (value === null ? [] : [h('dt', {}, name), h('dd', {}, value)])),
    );
  }
}

customElements.define('trace-bill', TraceBill);
