// One run of an experiment: its heading, verdict, sentences, warnings and machine. The experiment's view draws the figures.
import { dataAddress, isLive } from '../shared/api.js';
import { byId, h, setText, showParagraphs, showText } from '../shared/dom.js';
import { counted, dateTime, significant } from '../shared/format.js';
import { describeChoices } from './choices.js';

/** A mark that does not depend on color, and the beginning of the sentence. @type {Record<Verdict, [string, string]>} */
const VERDICTS = {
  held: ['✓', 'The claim held'],
  partly: ['◐', 'The claim held in part'],
  failed: ['✗', 'The claim did not hold'],
  unknown: ['?', 'This run could not decide whether the claim holds'],
};

/** The mark of a verdict, always beside words. @param {Verdict} verdict */
export const verdictMark = (verdict) =>
  h('span', { class: `verdict-mark ${verdict}`, 'aria-hidden': 'true' }, VERDICTS[verdict][0]);

/** In the list of runs. @param {Verdict | null} verdict */
export const verdictName = (verdict) =>
  verdict ? { held: 'held', partly: 'held in part', failed: 'did not hold', unknown: 'not decided' }[verdict] : '–';

/** @param {Verdict | null} verdict @param {string} [where] */
export function showVerdict(verdict, where = isLive ? 'on this machine' : 'on the machine of this run') {
  byId('verdict').hidden = verdict === null;
  if (!verdict) return;
  byId('verdict').replaceChildren(verdictMark(verdict), `${VERDICTS[verdict][1]} ${where}.`);
}

/** @param {ExperimentFile} file */
function showEnvironment({ environment, tool }) {
  const { cpu, cores, architecture, placement, pinnedCores, kernel, virtualization, compiler, node, clock } =
    environment;
  const facts = {
    Processor: [cpu, counted(cores, 'core'), architecture].filter(Boolean).join(', '),
    'Cores used': pinnedCores ? `${pinnedCores.join(' and ')}${placement ? ` (${placement})` : ''}` : 'not pinned',
    Kernel: kernel,
    Virtualization: virtualization,
    'Compiler and Node': [compiler, node].filter(Boolean).join(', '),
    Clock: `${clock.source}, ${significant(clock.overheadNs, 2)} ns per reading`,
    'crossings version': tool.version,
  };
  const entries = Object.entries(facts).map(([name, text]) => h('div', {}, h('dt', {}, name), h('dd', {}, text)));
  byId('facts').replaceChildren(...entries);
}

/** @param {ExperimentAnswer} answer */
function stateOf({ state, partial, error }) {
  const measured = partial ? ' The figures show what was measured until then.' : '';
  return {
    running: partial ? 'This run is in progress. The figures are those measured so far.' : 'This run is in progress.',
    done: '',
    failed: `This run failed. ${error?.message}${measured}`,
    cancelled: `This run was canceled.${measured}`,
  }[state];
}

/** @param {ExperimentFile | null} file */
function showEnvironmentOf(file) {
  byId('environment').hidden = !file;
  if (file) showEnvironment(file);
}

/**
 * @param {ExperimentAnswer} answer
 * @param {AboutExperiment} experiment
 * @param {(file: ExperimentFile | null, live: boolean) => void} showFigures
 * @param {View | undefined} view
 */
export function showRun(answer, experiment, showFigures, view) {
  const { id, state, startedAt, run, partial, parameters } = answer;
  const file = run ?? partial;
  const { effort, seconds } = parameters;
  byId('run').hidden = false;
  setText(byId('run-title'), `Run of ${dateTime(startedAt)}`);
  const facts = [describeChoices(experiment, view, parameters), effort, seconds && `took ${significant(seconds)} s`];
  showText(byId('run-facts'), facts.filter(Boolean).join(' · '));
  showText(byId('run-state'), stateOf(answer));
  byId('run-state').classList.toggle('bad', state === 'failed');
  showVerdict(run ? run.verdict : null);
  showParagraphs(byId('summary'), run ? (view?.sentences?.(run) ?? run.sentences) : []);
  showParagraphs(byId('warnings'), file?.environment.warnings ?? []);
  byId('files').hidden = state !== 'done';
  byId('download').href = dataAddress(`/api/runs/${id}/file?format=json`);
  byId('download-csv').href = dataAddress(`/api/runs/${id}/file?format=csv`);
  showEnvironmentOf(file);
  showFigures(file, state === 'running');
}
