// <trace-bill>: the running counters, the cost of one message, and the details of the current event.
import { h, setText } from '../../shared/dom.js';
import { counted, crossingCount, duration } from '../../shared/format.js';
import { argumentsBefore, effectTexts, failed, memoryText, roleOf, wakerOf } from '../model/text.js';

/**
 * @typedef {import('../model/types.js').Replay} Replay
 * @typedef {import('../model/types.js').Counters} Counters
 */

/** @type {[string, (counters: Counters) => number][]} */
const COUNTERS = [
  ['crossings', ({ crossings }) => crossings],
  ['copies by the kernel', ({ kernelCopies }) => kernelCopies],
  ['copies by the processes', ({ ownCopies }) => ownCopies],
  ['bytes copied', ({ bytes }) => bytes],
  ['sleeps', ({ sleeps }) => sleeps],
];

/** The cost of one message, from the whole recording. @param {Replay} replay */
function billOf({ trace, snapshots }) {
  const crossings = (snapshots.at(-1)?.messages.crossings ?? 0) / trace.parameters.messages;
  const crossingNs = crossings * trace.floors.syscallNs;
  const messageNs = trace.untraced.messageNs.median;
  return { crossings, crossingNs, messageNs, restNs: Math.max(0, messageNs - crossingNs) };
}

/** A row of a table whose first cell is its heading. @param {string} heading @param {...(HTMLElement | string)} cells */
const row = (heading, ...cells) =>
  h(
    'tr',
    {},
    h('th', { scope: 'row' }, heading),
    ...cells.map((cell) => (typeof cell === 'string' ? h('td', {}, cell) : cell)),
  );

export class TraceBill extends HTMLElement {
  /** @type {Replay | null} */ #replay = null;
  /** @type {[HTMLElement, HTMLElement][]} so far, and in the messages of it */ #cells = [];
  #details = h('dl', { class: 'details' });
  #share = h('span', { class: 'share' });

  /** @param {Replay} replay */
  load(replay) {
    this.#replay = replay;
    this.#cells = COUNTERS.map(() => [h('td', {}, '0'), h('td', {}, '0')]);
    const heads = ['so far', 'of these, in messages'].map((text) => h('th', { scope: 'col' }, text));
    const table = h(
      'table',
      {},
      h('thead', {}, h('tr', {}, h('td'), ...heads)),
      h('tbody', {}, ...COUNTERS.map(([name], i) => row(name, ...this.#cells[i]))),
    );
    this.replaceChildren(
      h(
        'div',
        { class: 'costs' },
        h('section', { class: 'counters' }, h('h3', {}, 'Counters'), table),
        h('section', { class: 'bill' }, h('h3', {}, 'Cost of one message'), ...this.#bill(replay)),
      ),
      h('section', { class: 'current' }, h('h3', {}, 'Current event'), this.#details),
    );
    this.show(0);
  }

  /** @param {Replay} replay */
  #bill(replay) {
    const { floors, parameters, untraced } = replay.trace;
    const { crossings, crossingNs, messageNs, restNs } = billOf(replay);
    const share = crossingNs / Math.max(messageNs, crossingNs);
    this.#share.style.width = `${share * 100}%`;
    const syscall = duration(floors.syscallNs);
    const table = h(
      'table',
      {},
      h(
        'tbody',
        {},
        row(`${crossingCount(crossings)} crossings × ${syscall}`, duration(crossingNs)),
        row('everything else: building, checking, copying, waiting, waking', duration(restNs)),
        row('one message, untraced', duration(messageNs)),
      ),
    );
    const note = h(
      'p',
      { class: 'soft' },
      `The number of crossings comes from the recording, in which the tracer keeps both processes in step. ${syscall} is the time of ` +
        `the machine’s cheapest system call. The time of a message is the median of ${untraced.runs} untraced runs of ` +
        `${parameters.messages} messages sent without waiting; in those runs, one call can take several messages, and one wake-up can ` +
        'serve several. The benchmark measures round trips.',
    );
    return [h('div', { class: 'bar', 'aria-hidden': 'true' }, this.#share), table, note];
  }

  /** @param {number} count of moments that have passed @param {boolean} [quiet] is no event current? */
  show(count, quiet = false) {
    const replay = this.#replay;
    if (!replay) return;
    const { total, messages } = replay.snapshots[count];
    for (const [i, [, read]] of COUNTERS.entries()) {
      setText(this.#cells[i][0], read(total).toLocaleString('en-US'));
      setText(this.#cells[i][1], read(messages).toLocaleString('en-US'));
    }
    this.#detail(replay, count > 0 && !quiet ? replay.moments[count - 1] : null);
  }

  /** @param {Replay} replay @param {import('../model/types.js').Moment | null} moment */
  #detail({ trace }, moment) {
    if (!moment) return this.#details.replaceChildren(h('dt', {}, 'event'), h('dd', {}, 'none yet'));
    const event = trace.events[moment.event];
    const { name, call, kind } = event;
    const ended = moment.edge !== 'enter';
    const waker = wakerOf(trace, event);
    const slept = event.sleeps
      ? `${counted(event.sleeps, 'time')}${waker ? `, woken by the ${roleOf(trace, waker.pid)}’s ${waker.name}` : ''}`
      : 'no';
    /** @type {[string, string | null][]} */
    const facts = [
      ['process', `${roleOf(trace, event.pid)}, process ${event.pid}`],
      [kind === 'step' ? 'step' : 'call', call && call !== name ? `${name}, made by ${call}()` : name],
      ...(ended ? event.args : argumentsBefore(event)).map(
        (arg, i) => /** @type {[string, string]} */ ([`argument ${i + 1}`, arg]),
      ),
      ['result', !ended ? 'has not returned yet' : kind === 'step' ? null : event.result],
      ['duration', ended && event.end !== null ? `${duration(event.end - event.t)}, traced` : null],
      ['slept', kind === 'syscall' && ended ? slept : null],
      ['memory', ended ? memoryText(event) || null : null],
      ['effect', ended && !failed(event) ? effectTexts(trace, event).join('; ') || null : null],
      ['source', event.source ? `${event.source.file}, line ${event.source.line}` : null],
    ];
    this.#details.replaceChildren(
      ...facts.flatMap(([fact, value]) => (value === null ? [] : [h('dt', {}, fact), h('dd', {}, value)])),
    );
  }
}

customElements.define('trace-bill', TraceBill);
