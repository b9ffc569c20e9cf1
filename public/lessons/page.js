// The page of a lesson: predict, run, see, why, try. Each step appears when the one before is done, and gets the focus.
import { announce } from '../shared/announce.js';
import { isLive, NEEDS_LAB } from '../shared/api.js';
import { offerCopy } from '../shared/clipboard.js';
import { needsLab } from '../shared/copy.js';
import { byId, h, showText } from '../shared/dom.js';
import { dateTime } from '../shared/format.js';
import { ignoreSecondPress } from '../shared/second-press.js';
import { moments } from './moments.js';
import { bars, table } from './plot.js';
import { finish } from './progress.js';
import { recording } from './recording.js';
import { lessonNamed, runLesson } from './source.js';
import { explanation, fromHtml, program, setHtml, worksheet } from './texts.js';
import { theatre } from './theatre.js';

const STEPS = /** @type {const} */ (['predict', 'run', 'see', 'why', 'try']);
/** @typedef {typeof STEPS[number]} Step */

/** @type {LessonAnswer} */ let lesson;
/** The reader's guess. @type {number | null} */ let guess = null;
/** The lesson's own run, which tries are compared with. @type {LessonRunAnswer | null} */ let baseline = null;

/** @param {Step} step */
const isShown = (step) => !byId(step).hidden;

function showSteps() {
  const current = STEPS.findLast(isShown);
  const items = STEPS.map((step) => {
    const name = step[0].toUpperCase() + step.slice(1);
    const link = isShown(step) ? h('a', { href: `#${step}`, 'aria-current': step === current && 'step' }, name) : name;
    return h('li', { class: isShown(step) ? '' : 'soft' }, link);
  });
  byId('steps').firstElementChild.replaceChildren(...items);
}

/** @param {Step} step @param {string} sentence for screen readers */
function begin(step, sentence) {
  byId(step).hidden = false;
  showSteps();
  byId(`${step}-title`).focus();
  byId(step).scrollIntoView({ block: 'start' });
  announce(sentence);
}

/** Which namespaces the program had. @param {LessonRunAnswer['confinement']} confinement */
function confinedIn(confinement) {
  if (!confinement) return '';
  const { namespaces, refused } = confinement;
  if (namespaces) return ` The program ran with limits, in its own namespaces (${namespaces}).`;
  return ` The program ran with limits, and without its own namespaces${refused ? ` (${refused})` : ''}.`;
}

/** Where and when a run was made. @param {LessonRunAnswer} run */
function originOf({ origin, recordedAt, environment, seconds, confinement }) {
  const { cpu, cores, kernel, virtualization } = environment;
  const machine = `${cpu}, ${cores} ${cores === 1 ? 'core' : 'cores'}, ${kernel}${virtualization === 'none' ? '' : `, ${virtualization}`}`;
  return origin === 'here'
    ? `Measured on this machine in ${seconds < 0.1 ? 'less than 0.1' : seconds.toFixed(1)} s: ${machine}.${confinedIn(confinement)}`
    : `Measured on another machine on ${dateTime(recordedAt)}: ${machine}. The figures on your machine will be different.`;
}

/** @param {string[]} lines */
const outputOf = (lines) =>
  lines.length > 0
    ? h('pre', { class: 'output', tabindex: '0', 'aria-label': 'What the program printed' }, lines.join('\n'))
    : '';

/** @param {LessonRunAnswer} run */
function showVerdict({ right }) {
  const { answers } = lesson.question;
  byId('verdict').hidden = right === null;
  if (right === null) return;
  const found = fromHtml(answers[right]);
  if (guess === null) byId('verdict').replaceChildren('The figures say: ', found, '.');
  else if (guess === right) byId('verdict').replaceChildren('Your guess was right: ', found, '.');
  else byId('verdict').replaceChildren('You guessed: ', fromHtml(answers[guess]), '. The figures say: ', found, '.');
}

/** @param {LessonRunAnswer} run */
async function showRun(run) {
  const [recorded, inTheatre] = await Promise.all([recording(run), lesson.see ? theatre(lesson.see) : []]);
  baseline = run;
  showText(byId('run-error'), run.trouble ?? '');
  const runs = [{ name: 'this run', figures: run.figures }];
  byId('plot').replaceChildren(...(lesson.see?.figures ? [bars(lesson.see, runs)] : [table(runs)]));
  byId('theatre').replaceChildren(...inTheatre);
  byId('output').replaceChildren(...moments(lesson, run.moments), recorded ?? '', outputOf(run.output));
  showText(byId('origin'), originOf(run));
  byId('comparison').hidden = true; // with a run that is no longer shown
  if (run.why !== null) showRest(run, run.why);
  // Last, so that the page is long enough to scroll there.
  begin('see', run.trouble ?? 'The run has ended. Its figures follow.');
}

/** What follows the figures. @param {LessonRunAnswer} run @param {string} why */
function showRest(run, why) {
  setHtml(/** @type {Element} */ (byId('why').querySelector('.text')), why);
  showVerdict(run);
  byId('why').hidden = false;
  if (lesson.tries.length > 0) byId('try').hidden = false;
  if (lesson.pitfalls.length > 0) byId('pitfalls').hidden = false;
  byId('onward').hidden = false;
  finish(lesson.name);
}

/** @param {LessonRunAnswer} run */
async function showTry(run) {
  const recorded = await recording(run);
  const label = lesson.tries[run.try ?? 0].label;
  showText(byId('try-error'), run.trouble ?? '');
  const shared = Object.keys(run.figures).some((name) => baseline && name in baseline.figures);
  const runs = [
    ...(shared && baseline
      ? [{ name: baseline.origin === 'here' || !isLive ? 'first run' : 'another machine', figures: baseline.figures }]
      : []),
    { name: shared ? 'this try' : 'this run', figures: run.figures },
  ];
  const drawn = shared && lesson.see?.figures ? bars(lesson.see, runs) : table(runs, lesson.see?.labels);
  const note = h('div', { class: 'text' });
  setHtml(note, run.note ?? '');
  byId('comparison').replaceChildren(
    h('h3', { id: 'comparison-title', tabindex: '-1' }, label),
    drawn,
    ...moments(lesson, run.moments),
    recorded ?? '',
    outputOf(run.output),
    note,
    h('p', { class: 'soft small' }, originOf(run), ' ', h('code', {}, run.terminal)),
  );
  byId('comparison').hidden = false;
  byId('comparison-title').focus({ preventScroll: true });
  byId('tries').scrollIntoView({ block: 'start' }); // the other changes stay in reach
  announce(`${label}: the run has ended.`);
}

/** Ends the run in progress. */
let canceling = new AbortController();
let canceledAt = Number.NEGATIVE_INFINITY;

/** What is being done now. @param {LessonProgress} progress */
function showProgress({ doing, fraction }) {
  const bar = /** @type {HTMLProgressElement} */ (byId('running').querySelector('progress'));
  if (fraction === null) bar.removeAttribute('value');
  else bar.value = fraction;
  const share = fraction === null ? '' : `${Math.round(100 * fraction)} %: `;
  byId('doing').textContent = `Running, ${share}${doing}`;
}

/** @param {boolean} running @param {Element | null} [after] the progress is shown behind this element */
function setRunning(running, after) {
  after?.after(byId('running'));
  byId('running').hidden = !running;
  if (running) showProgress({ doing: 'one moment', fraction: null });
  for (const button of document.querySelectorAll('#start, #show-shipped, #tries button')) {
    /** @type {HTMLButtonElement} */ (button).setAttribute('aria-disabled', String(running));
  }
}

/** @param {number | null} which @param {string} where the place for an error */
async function run(which, where) {
  if (!byId('running').hidden) return;
  showText(byId(where), '');
  const shipped = lesson.shipped.find((candidate) => candidate.try === which);
  const begunBy = /** @type {HTMLElement | null} */ (document.activeElement);
  setRunning(true, which === null ? byId('start').closest('.actions') : byId('tries'));
  announce('Running.');
  canceling = new AbortController();
  const { signal } = canceling;
  try {
    const answer = isLive ? await runLesson(lesson.name, which, { signal, onProgress: showProgress }) : shipped;
    if (!answer)
      throw new Error(
        `${NEEDS_LAB.replaceAll('`', '')} No run of ${which === null ? 'this lesson' : 'this change'} ships with it.`,
      );
    if (which === null) await showRun(answer);
    else await showTry(answer);
  } catch (error) {
    if (signal.aborted) {
      announce('The run was canceled.');
      begunBy?.focus(); // Cancel had the focus, and is about to be hidden
      canceledAt = performance.now();
    } else {
      showText(byId(where), /** @type {Error} */ (error).message);
      announce(''); // no longer "Running."
    }
  } finally {
    setRunning(false);
  }
}

/** @param {LessonLine | null} line @param {string} id @param {string} word */
function showNeighbor(line, id, word) {
  byId(id).hidden = line === null;
  if (!line) return;
  byId(id).href = `lesson.html?name=${encodeURIComponent(line.name)}`;
  byId(id).textContent = `${word}: ${line.title}`;
}

/** In a copy without a server: what a run needs, and whose run is shown. @param {boolean} ships */
function explainCopy(ships) {
  const shown = ships
    ? 'This page shows a run that was recorded on another machine.'
    : 'No run of this lesson ships with it.';
  byId('start').textContent = 'Show the run';
  byId('start').hidden = !ships;
  byId('start').parentElement.before(needsLab(shown));
}

function showLesson() {
  const { title, number, minutes, question, sections, sources, terms, tries, pitfalls } = lesson;
  document.title = `${title} · crossings`;
  byId('title').textContent = title;
  byId('place-text').textContent = `Lesson ${number} · ${minutes} min`;
  for (const step of STEPS) {
    if (step !== 'why') setHtml(/** @type {Element} */ (byId(step).querySelector('.text')), sections[step]);
  }
  setHtml(byId('question-text'), question.text);
  const answers = question.answers.map((text, i) =>
    h('label', { class: 'choice' }, h('input', { type: 'radio', name: 'guess', value: i }), fromHtml(text)),
  );
  byId('answers').replaceChildren(...answers);
  byId('sources').replaceChildren(...sources.map((source, i) => program(source, i === 0)));
  byId('terminal').textContent = lesson.terminal;
  byId('terms').replaceChildren(...terms.map(explanation));
  byId('tries').replaceChildren(
    ...tries.map(({ label }, i) => h('button', { type: 'button', onclick: () => run(i, 'try-error') }, label)),
  );
  byId('pitfalls')
    .querySelector('ul')
    ?.replaceChildren(
      ...pitfalls.map(({ name, title: about }) =>
        h(
          'li',
          {},
          h('a', { href: `pitfalls.html?name=${name}` }, about),
          ' ',
          h('code', {}, `npx crossings-lab pitfall ${name}`),
        ),
      ),
    );
  byId('worksheet').replaceChildren(...worksheet(lesson));
  showNeighbor(lesson.previous, 'previous', 'Previous');
  showNeighbor(lesson.next, 'next', 'Next');
  const first = lesson.shipped.find((candidate) => candidate.try === null);
  byId('show-shipped').hidden = !first || !isLive;
  byId('show-shipped').addEventListener('click', () => {
    if (first && byId('running').hidden) showRun(first).catch((error) => showText(byId('run-error'), error.message));
  });
  if (!isLive) explainCopy(first !== undefined);
  byId('predict').hidden = false;
  byId('steps').hidden = false;
  showSteps();
}

function listen() {
  byId('question').addEventListener('submit', (/** @type {SubmitEvent} */ event) => {
    event.preventDefault();
    const chosen = new FormData(byId('question')).get('guess');
    guess = chosen === null ? null : Number(chosen);
    if (guess === null) return begin('run', 'No guess.');
    if (!baseline || byId('why').hidden) return begin('run', 'Your guess is saved. Run the program to check it.');
    showVerdict(baseline); // it has run already
    begin('why', byId('verdict').textContent ?? '');
  });
  byId('skip').addEventListener('click', () => begin('run', 'The question was skipped.'));
  byId('start').addEventListener('click', () => run(null, 'run-error'));
  byId('cancel').addEventListener('click', () => canceling.abort());
  for (const step of ['run', 'try']) ignoreSecondPress(byId(step), () => canceledAt);
  byId('print').addEventListener('click', () => print());
  offerCopy(byId('copy'), byId('terminal'));
  for (const box of document.querySelectorAll('[popover]')) placeBeside(/** @type {HTMLElement} */ (box));
}

/** Opens an explanation below its term, within the window. @param {HTMLElement} box */
function placeBeside(box) {
  box.addEventListener('toggle', () => {
    const term = document.querySelector(`[popovertarget="${box.id}"]`);
    if (!term || !box.matches(':popover-open')) return;
    const { left, bottom } = term.getBoundingClientRect();
    box.style.left = `${Math.max(8, Math.min(left, innerWidth - box.offsetWidth - 8))}px`;
    box.style.top = `${Math.min(bottom + 6, innerHeight - box.offsetHeight - 8)}px`;
  });
}

async function main() {
  const name = new URLSearchParams(location.search).get('name');
  if (!name) return location.replace('lessons.html'); // to choose one
  lesson = await lessonNamed(name);
  showLesson();
  listen();
}
main().catch((error) => showText(byId('page-error'), error.message));
