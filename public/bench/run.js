// One run on the page, finished or in progress: its heading, sentences, charts and machine.
import { dataAddress } from '../shared/api.js';
import { byId, showParagraphs, showText } from '../shared/dom.js';
import { byteCount, counted, dateTime, duration, significant } from '../shared/format.js';

/** @type {ChartName[]} */
const CHARTS = ['crossings', 'throughput', 'percentiles', 'distribution'];

/** @param {Figures} figures @param {(chart: ChartName) => string} sentenceOf */
function showCharts(figures, sentenceOf) {
  byId('charts').hidden = figures.results.length === 0;
  for (const name of CHARTS) {
    const chart = /** @type {import('./charts/chart.js').LabChart} */ (document.querySelector(`${name}-chart`));
    chart.show(figures, sentenceOf(name));
  }
}

/** A run in progress: the number of samples replaces the charts' sentences. @param {Figures} figures */
export function showLive(figures) {
  const samples = figures.results.map(({ throughput }) => throughput.messagesPerSecond.samples.length);
  const rounds = samples.length === figures.expected ? Math.min(...samples) : 0;
  const sentence =
    rounds === 0 ? 'Measuring the first round of samples.' : `${counted(rounds, 'round')} of samples so far.`;
  showCharts(figures, () => sentence);
}

/** @param {RunFile} run */
const factsOf = ({ parameters: { messages, sizeBytes, samples, effort, seconds } }) => [
  `${byteCount(sizeBytes)} per message`,
  `${counted(messages, 'message')} per sample`,
  `${counted(samples ?? 0, 'sample')} per mechanism`,
  effort ?? '–',
  seconds ? `took ${significant(seconds)} s` : '',
];

/** @param {RunFile} run */
function showEnvironment({ environment, floors, results, tool }) {
  const { cpu, cores, architecture, placement, pinnedCores, kernel, virtualization, compiler, node, clock } =
    environment;
  const methods = new Set(results.map(({ crossings }) => crossings.method ?? 'not available'));
  const facts = {
    cpu: `${cpu}, ${counted(cores, 'core')}, ${architecture}`,
    cores: pinnedCores ? `${pinnedCores.join(' and ')} (${placement})` : 'not pinned',
    kernel,
    virtualization,
    compiler: `${compiler}, ${node}`,
    clock: `${clock.source}, ${significant(clock.overheadNs, 2)} ns per reading`,
    syscall: duration(floors.syscallNs),
    line: duration(floors.cacheLineRoundTripNs),
    method: [...methods].join(', '),
    version: tool.version,
  };
  for (const [name, text] of Object.entries(facts)) byId(`fact-${name}`).textContent = text;
}

/** @param {RunAnswer} answer */
function stateOf({ state, run, partial, error }) {
  const measured = (run ?? partial)?.results.length ? ' The charts show what was measured until then.' : '';
  return {
    running: 'This run is in progress. The charts fill in as samples arrive.',
    done: '',
    failed: `This run failed. ${error?.message}`,
    cancelled: `This run was canceled.${measured}`,
  }[state];
}

/** @param {RunAnswer} answer */
export function showRun(answer) {
  const { id, state, sentences, summary, mechanisms, startedAt } = answer;
  const run = answer.run ?? answer.partial;
  byId('run').hidden = false;
  byId('run-title').textContent = `Run of ${dateTime(startedAt)}`;
  showText(byId('run-facts'), run && state !== 'running' ? factsOf(run).filter(Boolean).join(' · ') : '');
  showText(byId('run-state'), stateOf(answer));
  byId('run-state').classList.toggle('bad', state === 'failed');
  showParagraphs(byId('summary'), summary);
  showParagraphs(byId('warnings'), run?.environment.warnings ?? []);
  byId('files').hidden = state !== 'done';
  for (const link of byId('files').children)
    link.href = dataAddress(`/api/runs/${id}/file?format=${link.dataset.format}`);
  byId('environment').hidden = !run;
  if (run) showEnvironment(run);
  if (!run) byId('charts').hidden = true;
  else if (state === 'running') showLive({ ...run, expected: mechanisms.length });
  else {
    const texts = new Map(Object.entries(sentences ?? {})); // a saved run can name a mechanism "constructor"
    showCharts(run, (name) => texts.get(name) ?? '');
  }
}
