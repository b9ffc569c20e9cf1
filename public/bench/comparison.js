// The comparison of two runs, a baseline and a candidate: the server's sentences, and its verdict for each mechanism.
import { byId, fillRows, h, showParagraphs, showText } from '../shared/dom.js';
import { dateTime, duration, rate, significant } from '../shared/format.js';
import { named } from '../shared/mechanisms.js';

/**
 * @param {{a: number, b: number, ratio: number, low: number, high: number, verdict: string} | null} compared null: not
 *   measured in both runs
 * @param {(value: number) => string} format
 */
const cells = (compared, format) => {
  if (!compared) return ['–', '–', '–', '–'];
  const { a, b, ratio, low, high, verdict } = compared;
  return [
    format(a),
    format(b),
    `${significant(ratio)} (${significant(low)} to ${significant(high)})`,
    h('span', { class: verdict }, verdict === 'undetected' ? 'no detectable difference' : verdict),
  ];
};

/** @param {any} comparison the answer of /api/compare */
export function showComparison({ a, b, mechanisms, sentences, caution }) {
  byId('comparison').hidden = false;
  for (const [id, run] of Object.entries({ 'link-baseline': a, 'link-candidate': b })) {
    byId(id).textContent = dateTime(run.startedAt);
    byId(id).href = `#run=${run.id}`;
  }
  showParagraphs(byId('verdicts'), sentences);
  showText(byId('caution'), caution ?? '');
  const rows = mechanisms.map((/** @type {any} */ { mechanism, title, throughput, roundTrip }) => [
    named(mechanism, title),
    ...cells(throughput, rate),
    ...cells(roundTrip, duration),
  ]);
  fillRows(byId('comparison-rows'), rows);
}
