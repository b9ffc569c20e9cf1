// Figures as bars, with the numbers beside them; a second run is shown below the first.
import { h } from '../shared/dom.js';
import { significant } from '../shared/format.js';

/** A count whole, a measured value with three significant digits. @param {number} value */
const valueText = (value) => (Number.isInteger(value) ? value.toLocaleString('en-US') : significant(value));

/** @param {string} figure 'apart8' -> 'apart 8' */
const spaced = (figure) => figure.replace(/([a-z])([A-Z0-9])/g, '$1 $2').toLowerCase();

/**
 * @param {LessonPlot} plot
 * @param {{name: string, figures: LessonFigures}[]} runs one, or a baseline and a candidate
 */
export function bars({ figures = [], labels = {}, unit, scale = 'linear' }, runs) {
  const names = figures.filter((name) => runs.some((run) => name in run.figures));
  const all = runs.flatMap((run) => names.flatMap((name) => run.figures[name]?.value ?? []));
  const most = Math.max(...all, 0);
  const least = Math.min(...all.filter((value) => value > 0));
  /** @param {number} value */
  const share = (value) => {
    if (scale === 'linear' || least === most) return most > 0 ? value / most : 0;
    return value > 0 ? 0.1 + (0.9 * Math.log(value / least)) / Math.log(most / least) : 0;
  };
  const rows = names.flatMap((name, i) =>
    runs.flatMap(({ name: run, figures: measured }, which) => {
      const figure = measured[name];
      if (!figure) return [];
      const bar = h('span', {
        class: `bar part-${(i % 6) + 1}${which > 0 ? ' candidate' : ''}`,
        'aria-hidden': 'true',
      });
      bar.style.setProperty('--share', String(Math.max(share(figure.value), 0.003)));
      const text = `${valueText(figure.value)} ${unit ?? figure.unit}`;
      return [
        h(
          'tr',
          {},
          h(
            'th',
            { scope: 'row' },
            labels[name] ?? spaced(name),
            runs.length > 1 ? h('span', { class: 'soft' }, ` ${run}`) : null,
          ),
          h('td', { class: 'track', 'aria-hidden': 'true' }, bar),
          h('td', { class: 'value' }, text),
        ),
      ];
    }),
  );
  const note = scale === 'log' ? h('caption', {}, 'The lengths are logarithmic: equal steps are equal ratios.') : null;
  return h('table', { class: 'bars' }, note, h('tbody', {}, ...rows));
}

/**
 * The figures of one run or two, side by side: those that have a label, or all if none has. Figures without a label are for the
 * texts.
 * @param {{name: string, figures: LessonFigures}[]} runs
 * @param {Record<string, string>} [labels]
 */
export function table(runs, labels = {}) {
  const all = [...new Set(runs.flatMap(({ figures }) => Object.keys(figures)))];
  const named = all.filter((name) => name in labels);
  const names = named.length > 0 ? named : all;
  const heads = runs.map(({ name }) => h('th', { scope: 'col' }, name));
  const rows = names.map((name) =>
    h(
      'tr',
      {},
      h('th', { scope: 'row' }, labels[name] ?? spaced(name)),
      ...runs.map(({ figures }) =>
        h('td', {}, figures[name] ? `${valueText(figures[name].value)} ${figures[name].unit}` : '–'),
      ),
    ),
  );
  return h(
    'table',
    {},
    h('thead', {}, h('tr', {}, h('th', { scope: 'col' }, 'figure'), ...heads)),
    h('tbody', {}, ...rows),
  );
}
