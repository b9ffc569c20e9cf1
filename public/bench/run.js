// One run on the page: its heading, what it says, its charts, its machine. The same for a run that is still going on.
import { byteCount, duration, significant, when } from './format.js';
import { byId, say, sayAll } from './html.js';

/** @type {ChartName[]} */
const CHARTS = ['crossings', 'throughput', 'percentiles', 'distribution'];

/** @param {number} n @param {string} what */
const count = (n, what) => `${n.toLocaleString('en-US')} ${what}${n === 1 ? '' : 's'}`;

/** @param {Figures} figures @param {(chart: ChartName) => string} sentenceOf */
function showCharts(figures, sentenceOf) {
  byId('charts').hidden = figures.results.length === 0;
  for (const name of CHARTS) {
    const chart = /** @type {import('./chart.js').LabChart} */ (document.querySelector(`${name}-chart`));
    chart.show(figures, sentenceOf(name));
  }
}

/** Figures of a run that is going on: how far it is stands in the place of the sentences. @param {Figures} figures */
export function showLive(figures) {
  const samples = figures.results.map(({ throughput }) => throughput.messagesPerSecond.samples.length);
  const least = samples.length === figures.expected ? Math.min(...samples) : 0;
  const said = least === 0 ? 'The first round of samples is going on.' : `So far: ${count(least, 'round')} of samples.`;
  showCharts(figures, () => said);
}

/** @param {RunFile} run */
const factsOf = ({ parameters: { messages, sizeBytes, samples, effort, seconds } }) => [
  `${byteCount(sizeBytes)} a message`,
  `${count(messages, 'message')} a sample`,
  `${count(samples ?? 0, 'sample')} of each mechanism`,
  effort ?? '–',
  seconds ? `took ${significant(seconds)} s` : '',
];

/** @param {RunFile} run */
function showMachine({ environment, floors, results, tool }) {
  const { cpu, cores, architecture, placement, pinnedCores, kernel, virtualization, compiler, node, clock } =
    environment;
  const methods = new Set(results.map(({ crossings }) => crossings.method ?? 'could not be counted'));
  const facts = {
    cpu: `${cpu}, ${count(cores, 'core')}, ${architecture}`,
    cores: pinnedCores ? `${pinnedCores.join(' and ')} (${placement})` : 'not pinned',
    kernel,
    virtualization,
    compiler: `${compiler}, ${node}`,
    clock: `${clock.source}, ${significant(clock.overheadNs, 2)} ns a reading`,
    syscall: duration(floors.syscallNs),
    line: duration(floors.cacheLineRoundTripNs),
    method: [...methods].join(', '),
    version: tool.version,
  };
  for (const [name, text] of Object.entries(facts)) byId(`fact-${name}`).textContent = text;
}

/** @param {RunAnswer} answer */
function stateOf({ state, run, partial, error }) {
  const measured = (run ?? partial)?.results.length ? ': below is what was measured until then' : '';
  return {
    running: 'This run is going on; the charts fill as samples arrive.',
    done: '',
    failed: `This run failed. ${error?.message}`,
    cancelled: `This run was cancelled${measured}.`,
  }[state];
}

/** @param {RunAnswer} answer */
export function showRun(answer) {
  const { id, state, sentences, summary, mechanisms, startedAt } = answer;
  const run = answer.run ?? answer.partial;
  byId('run').hidden = false;
  byId('run-title').textContent = `Run of ${when(startedAt)}`;
  say('run-facts', run && state !== 'running' ? factsOf(run).filter(Boolean).join(' · ') : '');
  say('run-state', stateOf(answer));
  byId('run-state').classList.toggle('bad', state === 'failed');
  sayAll('summary', summary);
  sayAll('warnings', run?.environment.warnings ?? []);
  byId('files').hidden = state !== 'done';
  for (const link of byId('files').children) link.href = `/api/runs/${id}/file?format=${link.dataset.format}`;
  byId('environment').hidden = !run;
  if (run) showMachine(run);
  if (!run) byId('charts').hidden = true;
  else if (state === 'running') showLive({ ...run, expected: mechanisms.length });
  else showCharts(run, (name) => sentences?.[name] ?? '');
}
