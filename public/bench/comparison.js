// Two runs compared: the server's verdict on each mechanism and its sentences.
import { duration, rate, significant, when } from './format.js';
import { byId, fill, h, named, say, sayAll } from './html.js';

/** @param {{a: number, b: number, ratio: number, verdict: string}} compared @param {(value: number) => string} show */
const cells = ({ a, b, ratio, verdict }, show) => [
  show(a),
  show(b),
  significant(ratio),
  h('span', { class: verdict }, verdict === 'undetected' ? 'no detectable difference' : verdict),
];

/** @param {any} comparison the answer of /api/compare */
export function showComparison({ a, b, mechanisms, sentences, caution }) {
  byId('comparison').hidden = false;
  for (const [id, run] of Object.entries({ 'link-a': a, 'link-b': b })) {
    byId(id).textContent = when(run.startedAt);
    byId(id).href = `#run=${run.id}`;
  }
  sayAll('verdicts', sentences);
  say('caution', caution ?? '');
  const rows = mechanisms.map((/** @type {any} */ { mechanism, title, throughput, roundTrip }) => [
    named(mechanism, title),
    ...cells(throughput, rate),
    ...cells(roundTrip, duration),
  ]);
  fill(byId('compared-rows'), rows);
}
