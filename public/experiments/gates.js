// The page of the gates: every attempt of a process to write to its peer's memory or to send it invalid frames, the C line that
// made it, what refused it, and the same attempt where nothing forbids it. It shows a recording.
import { announce } from '../shared/announce.js';
import { call, isLive } from '../shared/api.js';
import { offerCopy } from '../shared/clipboard.js';
import { byId, h, showParagraphs, showText } from '../shared/dom.js';
import { dateTime } from '../shared/format.js';
import { makeTable } from './figure.js';
import { showVerdict } from './run.js';

/** @typedef {{refused: boolean, error: string | null, signal: string | null, text: string, code: string, source: {file: string, line: number}}} Answer */
/** @typedef {{name: string, title: string, answer: Answer, control: Answer}} Attempt */
/** @typedef {{name: string, title: string, refusedBy: string, claim: string, here: string, attempts: Attempt[]}} Gate */
/** @typedef {ExperimentFile & {gates: Gate[], sources: Record<string, string>, origin?: 'shipped' | 'recorded'}} GatesFile */

/** @param {string} file @param {number} line */
const idOf = (file, line) => `${file}:${line}`;

/** @param {Answer} answer */
function outcomeOf({ refused, error, signal, text }) {
  const name = error ?? signal;
  return `${refused ? '✗' : '✓'} ${name ? `${name}, ${text.toLowerCase()}` : text}`;
}

/** The C line, which leads to its place in the program. @param {Answer} answer */
function codeOf({ code, source: { file, line } }) {
  const place = `${file.replace(/^.*\//, '')}:${line}`;
  const link = h('a', { href: `#${idOf(file, line)}`, onclick: () => reveal(file, line) }, place);
  return h('span', {}, h('code', {}, code), ' ', h('span', { class: 'soft' }, link));
}

/** Open the program at a line. @param {string} file @param {number} line */
function reveal(file, line) {
  const target = byId(idOf(file, line));
  target?.closest('details')?.setAttribute('open', '');
}

/** @param {Gate} gate */
function gatePart({ title, refusedBy, claim, here, attempts }) {
  const table = makeTable(title, ['attempt', 'C', `answer of ${refusedBy}`, 'control']);
  table.element.classList.add('words', 'attempts');
  const rows = attempts.map(({ title: attempt, answer, control }) => [
    attempt,
    codeOf(answer),
    h('span', { class: answer.refused ? 'good' : 'bad' }, outcomeOf(answer)),
    outcomeOf(control),
  ]);
  table.show(rows);
  return h(
    'section',
    { class: 'gate' },
    h('h2', {}, title),
    h('p', {}, h('span', { class: 'soft' }, 'The document: '), claim),
    h('p', {}, h('span', { class: 'soft' }, 'Here: '), here),
    table.element,
  );
}

/** @param {string} file @param {string} text @param {Set<string>} marked ids of the lines that make an attempt */
function sourcePart(file, text, marked) {
  const lines = text
    .replace(/\n$/, '')
    .split('\n')
    .map((line, i) => {
      const id = idOf(file, i + 1);
      return h(
        'span',
        { id, class: marked.has(id) ? 'line marked' : 'line' },
        `${String(i + 1).padStart(4)}  ${line}\n`,
      );
    });
  const code = h('pre', { tabindex: 0, role: 'region', 'aria-label': file }, ...lines);
  return h('details', {}, h('summary', {}, h('code', {}, file)), code);
}

/** @param {GatesFile} file */
function show(file) {
  const { gates, sources, sentences, verdict, environment, startedAt, tool, origin } = file;
  showVerdict(verdict, origin === 'recorded' ? 'on this machine' : 'on the machine of the recording');
  showParagraphs(byId('summary'), sentences);
  byId('recorded').textContent =
    `Recorded with crossings ${tool.version} on ${dateTime(startedAt)}: ${environment.cpu}, ${environment.kernel}.`;
  byId('gates').replaceChildren(...gates.map(gatePart));
  const places = gates.flatMap(({ attempts }) =>
    attempts.flatMap(({ answer, control }) => [answer.source, control.source]),
  );
  const marked = new Set(places.map(({ file: name, line }) => idOf(name, line)));
  for (const former of document.querySelectorAll('#sources details')) former.remove();
  byId('sources').append(...Object.entries(sources).map(([name, text]) => sourcePart(name, text, marked)));
  byId('result').hidden = false;
}

/** @param {Error} error */
const fail = (error) => showText(byId('page-error'), error.message);

offerCopy(byId('copy'), byId('command'));

/** Try everything again, on this machine. */
async function record() {
  const button = byId('record');
  if (button.getAttribute('aria-disabled') === 'true') return;
  button.setAttribute('aria-disabled', 'true');
  showText(byId('page-error'), '');
  announce('Trying all attempts.');
  try {
    show(await call('/api/gates', { method: 'POST', body: { record: true } }));
    announce(`Recorded on this machine. ${byId('verdict').textContent}`);
  } catch (error) {
    fail(/** @type {Error} */ (error));
  } finally {
    button.setAttribute('aria-disabled', 'false');
  }
}
byId('record-part').hidden = !isLive;
byId('record').addEventListener('click', record);
call('/api/gates').then(show).catch(fail);
