// Two runs compared: the server's verdict on each mechanism and its sentences.
import { duration, rate, significant, when } from './format.js';
import { byId, h, named, tableOf } from './html.js';

/** @type {Record<string, string>} */
const VERDICTS = { faster: 'faster', slower: 'slower', undetected: 'no detectable difference' };

/** @param {string} verdict of B against A */
const verdictOf = (verdict) => h('span', { class: `verdict ${verdict}` }, VERDICTS[verdict] ?? verdict);

/** @param {any} comparison the answer of /api/compare */
export function showComparison({ a, b, mechanisms, sentences, caution }) {
  byId('comparison').hidden = false;
  const link = (/** @type {any} */ { id, startedAt }) => h('a', { href: `#run=${id}` }, when(startedAt));
  byId('compared').replaceChildren(h('dt', {}, 'A'), h('dd', {}, link(a)), h('dt', {}, 'B'), h('dd', {}, link(b)));
  byId('verdicts').replaceChildren(...sentences.map((/** @type {string} */ sentence) => h('p', {}, sentence)));
  byId('caution').textContent = caution ?? '';
  byId('caution').hidden = !caution;
  const rows = mechanisms.map((/** @type {any} */ { mechanism, title, throughput, roundTrip }) => [
    named({ mechanism, title }),
    rate(throughput.a),
    rate(throughput.b),
    significant(throughput.ratio),
    verdictOf(throughput.verdict),
    duration(roundTrip.a),
    duration(roundTrip.b),
    significant(roundTrip.ratio),
    verdictOf(roundTrip.verdict),
  ]);
  const heads = ['mechanism', 'A', 'B', 'B / A', 'B is', 'A', 'B', 'B / A', 'B is'];
  const table = tableOf('Two runs compared: the figures', heads, rows, {
    groups: [
      ['', 1],
      ['messages a second', 4],
      ['round trip', 4],
    ],
  });
  byId('verdict-table').replaceChildren(table);
}
