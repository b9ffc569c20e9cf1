// <crossing-tally>: the crossings made for messages so far, one row and one bar for each mechanism.
import { h, setText } from '../../shared/dom.js';
import { counted, crossingCount } from '../../shared/format.js';
import { markOf } from '../../shared/mechanisms.js';

/** @typedef {{trace: import('../model/types.js').Trace, messages: number, crossings: number}} Row */

export class CrossingTally extends HTMLElement {
  #key = '';
  /** @type {{number: HTMLElement, text: HTMLElement, bar: HTMLElement}[]} */ #rows = [];

  /** @param {Row[]} rows @param {number} [scale] the number of crossings that fills a bar */
  show(rows, scale = Math.max(1, ...rows.map(({ trace }) => 2 * trace.parameters.messages))) {
    const key = rows.map(({ trace }) => trace.mechanism).join();
    if (key !== this.#key) this.#build(rows);
    this.#key = key;
    for (const [i, { messages, crossings }] of rows.entries()) {
      const { number, text, bar } = this.#rows[i];
      setText(number, messages > 0 ? String(crossings) : '–');
      const each = `: ${crossingCount(crossings / messages)} each`;
      const what = `${crossings === 1 ? 'crossing' : 'crossings'} for ${counted(messages, 'message')}`;
      setText(text, messages > 0 ? what + (messages > 1 ? each : '') : 'no message yet');
      bar.style.width = `${Math.min(100, (crossings / scale) * 100)}%`;
    }
  }

  /** @param {Row[]} rows */
  #build(rows) {
    this.role = 'group';
    this.ariaLabel = 'Crossings for messages';
    this.#rows = [];
    this.replaceChildren(
      ...rows.map(({ trace: { mechanism, title } }) => {
        const number = h('b', { class: 'number' });
        const text = h('span', { class: 'number' });
        const bar = h('span');
        this.#rows.push({ number, text, bar });
        const name = h('span', { class: 'named' }, markOf(mechanism), title);
        const track = h('span', { class: 'track', 'aria-hidden': 'true' }, bar);
        return h('p', { 'data-mechanism': mechanism }, name, number, text, track);
      }),
    );
  }
}

customElements.define('crossing-tally', CrossingTally);
