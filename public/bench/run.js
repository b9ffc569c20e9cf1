// One run on the page: its heading, what it says, its charts, its machine. The same for a run that is still going on.
import { byteCount, duration, significant, when } from './format.js';
import { byId, h } from './html.js';

/** @type {ChartName[]} */
const CHARTS = ['crossings', 'throughput', 'percentiles', 'distribution'];

/** @param {number} n @param {string} what */
const count = (n, what) => `${n.toLocaleString('en-US')} ${what}${n === 1 ? '' : 's'}`;

/** @param {Figures} figures @param {(chart: ChartName) => string} sentenceOf */
export function showCharts(figures, sentenceOf) {
  byId('charts').hidden = figures.results.length === 0;
  for (const name of CHARTS) {
    const chart = /** @type {import('./chart.js').LabChart} */ (document.querySelector(`${name}-chart`));
    chart.show(figures, sentenceOf(name));
  }
}

/** Figures of a run that is going on: how far it is stands in the place of the sentences. @param {Figures} figures */
export function showLive(figures) {
  const samples = Math.min(...figures.results.map(({ throughput }) => throughput.messagesPerSecond.samples.length));
  showCharts(figures, () => `So far: ${count(samples, 'sample')} of each.`);
}

/** @param {RunFile} run */
function facts({ parameters: { messages, sizeBytes, samples, effort, seconds } }) {
  return [
    `${byteCount(sizeBytes)} a message`,
    `${count(messages, 'message')} a sample`,
    samples && `${count(samples, 'sample')} of each mechanism`,
    effort,
    seconds && `took ${significant(seconds)} s`,
  ];
}

/** @param {RunFile} run @returns {[string, string][]} */
function machine({ environment, floors, results, tool }) {
  const { cpu, cores, architecture, placement, pinnedCores, kernel, virtualization, compiler, node, clock } =
    environment;
  const methods = new Set(results.map(({ crossings }) => crossings.method ?? 'could not be counted'));
  return [
    ['Processor', `${cpu}, ${count(cores, 'core')}${architecture ? `, ${architecture}` : ''}`],
    ['Cores used', pinnedCores ? `${pinnedCores.join(' and ')}${placement ? ` (${placement})` : ''}` : 'not pinned'],
    ['Kernel', kernel],
    ['Virtualization', virtualization],
    ['Compiler, Node', `${compiler}, ${node}`],
    ['Clock', `${clock.source}, ${significant(clock.overheadNs, 2)} ns a reading`],
    ['Cheapest system call', duration(floors.syscallNs)],
    ['Bare cache line, there and back', duration(floors.cacheLineRoundTripNs)],
    ['System calls counted by', [...methods].join(', ')],
    ['crossings', tool.version],
  ];
}

/** @type {Record<RunState, (answer: RunAnswer) => string>} */
const STATES = {
  running: () => 'This run is going on: the charts fill as samples arrive.',
  done: () => '',
  failed: ({ error }) => `This run failed. ${error?.message ?? ''}`,
  cancelled: ({ partial, run }) =>
    `This run was cancelled${(partial ?? run)?.results.length ? ': below is what was measured until then' : ' before its first sample'}.`,
};

/** @param {RunAnswer} answer */
export function showRun(answer) {
  const { id, state, sentences, summary } = answer;
  const run = answer.run ?? answer.partial;
  byId('run').hidden = false;
  byId('run-title').textContent = run ? `Run of ${when(run.startedAt)}` : 'A run without figures';
  if (state === 'running') byId('run-title').textContent = 'Measuring';
  byId('run-facts').textContent = run ? facts(run).filter(Boolean).join(' · ') : '';
  const said = STATES[state](answer);
  byId('run-state').textContent = said;
  byId('run-state').hidden = said === '';
  byId('run-state').classList.toggle('bad', state === 'failed');
  byId('summary').replaceChildren(...(summary ?? []).map((sentence) => h('p', {}, sentence)));
  byId('warnings').replaceChildren(
    ...(run?.environment.warnings ?? []).map((text) => h('p', { class: 'notice' }, text)),
  );
  byId('files').hidden = state !== 'done';
  const files = Object.entries({ json: 'JSON', csv: 'CSV', markdown: 'Markdown' }).map(([format, name]) =>
    h('a', { href: `/api/runs/${id}/file?format=${format}`, download: true }, name),
  );
  byId('files').replaceChildren('Save the run as', ...files);
  byId('environment').hidden = !run;
  if (run)
    byId('machine').replaceChildren(
      ...machine(run).map(([term, text]) => h('div', {}, h('dt', {}, term), h('dd', {}, text))),
    );
  if (!run?.results.length) byId('charts').hidden = true;
  else if (state === 'running') showLive(run);
  else showCharts(run, (name) => sentences?.[name] ?? '');
}
