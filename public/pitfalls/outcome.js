// What was observed of a program: a sentence, what it printed, and its figures.
import { h } from '../shared/dom.js';

/**
 * @typedef {object} Observed
 * @property {string} program
 * @property {boolean} failed
 * @property {string} text
 * @property {{stream: 'stdout' | 'stderr', line: string}[]} lines
 * @property {number} left
 * @property {number} ms
 */
/** @typedef {{wrong: Observed, right: Observed, verdict: 'shown' | 'not shown', recording?: any, notRecorded?: string | null, event?: number}} PitfallFile */

/** @param {Observed} observed @param {'wrong' | 'right'} which */
export function outcome({ program, failed, text, lines, left, ms }, which) {
  const mark = h('span', { class: failed ? 'bad' : 'good', 'aria-hidden': 'true' }, failed ? '✗ ' : '✓ ');
  const time = ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`;
  const said = failed ? 'failed' : which === 'wrong' ? 'did not fail here' : 'did not fail';
  return h(
    'section',
    { class: 'outcome panel' },
    h('h3', {}, mark, h('code', {}, program), ` ${said}`),
    h('p', {}, text),
    left > 0
      ? h(
          'p',
          { class: 'bad' },
          `It left ${left} ${left === 1 ? 'process behind, which was' : 'processes behind, which were'} killed.`,
        )
      : null,
    h('p', { class: 'soft' }, `It ran for ${time} and printed:`),
    h(
      'pre',
      { tabindex: 0, role: 'region', 'aria-label': `Output of ${program}` },
      lines.map(({ line }) => line).join('\n') || '(nothing)',
    ),
  );
}

/** @param {PitfallFile} file */
export function verdictOf({ wrong, verdict }) {
  if (verdict === 'shown') return 'The wrong program failed, and the right one did not.';
  return wrong.failed ? 'Both programs failed.' : 'The wrong program did not fail here.';
}
