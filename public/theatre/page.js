// The theatre's page: connects the session to the controls, the players, the address and the keyboard.
import './elements/crossing-tally.js';
import { announce } from '../shared/announce.js';
import { byId, h, reducedMotion, setText, showText } from '../shared/dom.js';
import { counted } from '../shared/format.js';
import { markOf } from '../shared/mechanisms.js';
import { loadModules } from '../shared/modules.js';
import { recall, remember } from '../shared/storage.js';
import { readAddress, writeAddress } from './address.js';
import { buildHelp } from './help.js';
import { SPEEDS } from './model/playback.js';
import { Session } from './session.js';
import { actionOf } from './shortcuts.js';

/** @typedef {import('./session.js').Recording} Recording */

/** @type {import('./model/types.js').Controls} */
const controls = {
  choice: byId('choice'),
  compareWith: byId('compare-with'),
  toggle: byId('toggle'),
  forward: byId('forward'),
  scrub: byId('scrub'),
  speed: byId('speed'),
  quiz: byId('quiz'),
  setup: byId('setup'),
  tally: byId('tally'),
  position: byId('position'),
  question: byId('question'),
  error: byId('page-error'),
  players: byId('players'),
  theatre: byId('theatre'),
  singleKeys: byId('single-keys'),
  help: byId('help'),
};

const INTRODUCED = 'crossings-introduced';

const session = new Session();
const { playback } = session;

/** The <trace-player> elements, each with its `recording`. @returns {any[]} */
const players = () => [...controls.players.children];

/** @param {Recording} recording @param {number} index */
function newPlayer(recording, index) {
  const player = h(/** @type {any} */ ('trace-player'));
  player.recording = recording;
  player.build(String(index));
  player.addEventListener('pick', (/** @type {CustomEvent} */ { detail }) => session.goToEvent(recording, detail));
  player.addEventListener('unfold', () => session.setSetup(true));
  player.addEventListener('record', () => recordAgain(player));
  return player;
}

/** @param {Error} error */
const showError = ({ message }) => showText(controls.error, message);

/** One player for each recording, with its current times. */
function showRecordings() {
  const { recordings, tracing } = session;
  const current = players();
  if (current.length !== recordings.length || current.some(({ recording }, i) => recording !== recordings[i])) {
    controls.players.replaceChildren(...recordings.map(newPlayer));
    controls.players.classList.toggle('two', recordings.length > 1);
  }
  for (const player of players()) {
    const { replay, times } = player.recording;
    const folded = !session.view.setup;
    if (player.replay !== replay || player.folded !== folded) player.load(replay, tracing, folded);
    player.setTimes(times);
  }
}

/** @param {any} player */
async function recordAgain(player) {
  player.busy = true;
  player.notify('');
  try {
    const trace = await session.record(player.recording);
    if (trace) player.notify(`Recorded ${counted(trace.events.length, 'event')} on this machine.`);
  } catch (error) {
    player.notify(/** @type {Error} */ (error).message);
  } finally {
    player.busy = false;
  }
}

/** Show the present. @param {string} how 'play', 'step' or 'jump', as the position changed; 'state' if it has not */
function show(how) {
  const { position, speed, count, stops, playing } = playback;
  const { view, partName } = session;
  const options = { how, animationMs: session.animationMs, speed, hideFuture: view.guess };
  for (const player of players()) player.show(position, options);
  if (how !== 'state') {
    dismissQuestion();
    controls.tally.show(session.tally);
  }
  controls.scrub.max = String(stops.length);
  if (controls.scrub.value !== String(count)) controls.scrub.value = String(count);
  controls.scrub.setAttribute('aria-valuetext', `${count} of ${stops.length}, ${partName}`);
  setText(controls.position, `${count} / ${stops.length} · ${partName}`);
  if (playing || !session.ready || controls.theatre.hidden) return;
  view.at = count;
  writeAddress(view);
  // Screen readers announce changes of the focused slider and log themselves.
  const announced = document.activeElement?.closest('#scrub, [role="listbox"]');
  if (how !== 'state' && !announced) announce(`${captions()} ${how === 'jump' ? partName : ''}`.trim());
}

function captions() {
  const all = players();
  return all
    .map(({ replay, captionText }) => (all.length > 1 ? `${replay.trace.title}: ${captionText}` : captionText))
    .join(' ');
}

/** Show whether it plays, and how fast. */
function showState() {
  const { playing, speed } = playback;
  setText(controls.toggle, playing ? 'Pause' : 'Play');
  controls.speed.value = String(speed);
  if (session.ready && session.view.speed !== speed) announce(`Speed ${speed}`);
  session.view.speed = speed;
  show('state');
}

function forward() {
  const [player] = players();
  if (!player) return;
  player.notify('');
  if (!session.asks) return playback.step(1);
  playback.pause();
  askFirst((verdict) => player.notify(verdict)).catch(showError);
}

/** Take the next step after the quiz's question, if there is one. @param {(verdict: string) => void} notify */
async function askFirst(notify) {
  const { count } = playback;
  const { ask } = await loadModules(() => import('./elements/quiz-question.js'));
  const question = await session.question();
  if (playback.count !== count) return; // moved on meanwhile
  if (!question) return playback.step(1);
  ask(controls.question, question, (verdict) => {
    dismissQuestion();
    controls.forward.focus();
    playback.step(1);
    notify(verdict);
  });
}

function dismissQuestion() {
  if (controls.question.hidden) return; // nearly always, and this runs in every frame
  controls.question.hidden = true;
  controls.question.replaceChildren();
}

/** @param {string} selector */
function focusOn(selector) {
  const found = document.querySelector(selector);
  if (found instanceof HTMLElement) found.focus();
}

/** @type {Record<string, () => unknown>} */
const actions = {
  toggle: () => playback.toggle(),
  forward,
  back: () => playback.step(-1),
  nextPart: () => session.stepPart(1),
  previousPart: () => session.stepPart(-1),
  start: () => session.goToStart(),
  finish: () => playback.goTo(playback.stops.length),
  setup: () => session.goToPart(0),
  messages: () => session.goToPart(1),
  teardown: () => session.goToPart(-1),
  faster: () => session.changeSpeed(1),
  slower: () => session.changeSpeed(-1),
  choose: () => focusOn('#choice input:checked'),
  log: () => focusOn('trace-log [role="listbox"]'),
  quiz: () => controls.quiz.click(),
  setupCalls: () => controls.setup.click(),
  introduction: () => introduce().then(() => welcome?.focus()), // its button is hidden now
  help: () => controls.help.showModal(),
};

/** Once it has been loaded. @type {typeof import('./welcome.js') | null} */
let welcome = null;

/** Show the introduction, with the latest recordings. */
async function introduce() {
  playback.pause();
  try {
    const [pipe, ring] = await session.replaysOf(['pipe', 'ring']);
    welcome = await loadModules(() => import('./welcome.js'));
    controls.theatre.hidden = true;
    welcome.open(pipe, ring, () => {
      remember(INTRODUCED, 'yes');
      return enter();
    });
  } catch (error) {
    showError(/** @type {Error} */ (error));
    await enter();
  }
}

/** Open other recordings at their beginning. @param {Partial<import('./model/types.js').View>} change */
function choose(change) {
  const view = { ...session.view, ...change, at: session.view.setup ? 0 : null };
  if (view.with === view.mechanism) view.with = null;
  controls.compareWith.value = view.with ?? '';
  session.open(view);
}

let opened = false; // has the view of the address been opened?

/** Show the theatre. Its elements are loaded only now, so that the introduction appears sooner. */
async function enter() {
  try {
    await loadModules(() => import('./elements/trace-player.js'));
  } catch (error) {
    return showError(/** @type {Error} */ (error));
  }
  controls.theatre.hidden = false;
  if (!opened) await openAddress();
}

/** Open what the address describes. */
function openAddress() {
  opened = true;
  const view = readAddress(session.mechanisms.map(({ name }) => name));
  const radio = controls.choice.querySelector(`input[value="${view.mechanism}"]`);
  if (radio instanceof HTMLInputElement) radio.checked = true;
  controls.compareWith.value = view.with ?? '';
  controls.quiz.checked = view.guess;
  session.ready = false; // the new speed is no change to announce
  playback.setSpeed(view.speed);
  return session.open(view);
}

function buildChoice() {
  const radios = session.mechanisms.map(({ name, title }) => {
    const input = h('input', { type: 'radio', name: 'mechanism', value: name });
    input.addEventListener('change', () => choose({ mechanism: name }));
    return h('label', {}, input, markOf(name), title);
  });
  controls.choice.append(...radios);
  controls.compareWith.append(...session.mechanisms.map(({ name, title }) => h('option', { value: name }, title)));
}

function listenToSession() {
  session.addEventListener('recordings', showRecordings);
  session.addEventListener('ready', () => {
    controls.quiz.disabled = session.recordings.length > 1; // a question is about one recording
    controls.setup.checked = session.view.setup;
    show('jump');
  });
  session.addEventListener('loading', (event) => {
    const begins = /** @type {CustomEvent} */ (event).detail;
    if (begins) showText(controls.error, '');
    controls.players.setAttribute('aria-busy', String(begins));
  });
  session.addEventListener('error', (event) => showText(controls.error, /** @type {CustomEvent} */ (event).detail));
  playback.addEventListener('move', (event) => show(/** @type {CustomEvent} */ (event).detail));
  playback.addEventListener('state', showState);
}

function listenToControls() {
  for (const button of document.querySelectorAll('[data-action]')) {
    button.addEventListener('click', () => actions[/** @type {HTMLElement} */ (button).dataset.action ?? '']());
  }
  document.addEventListener('keydown', (event) => {
    const action = actionOf(event, controls.singleKeys.checked);
    if (!action) return;
    const act = (welcome?.isOpen() && welcome.actions[action]) || (controls.theatre.hidden ? null : actions[action]);
    if (!act) return;
    event.preventDefault();
    act();
  });
  controls.scrub.addEventListener('input', () => {
    playback.pause();
    playback.goTo(Number(controls.scrub.value));
  });
  controls.speed.append(...SPEEDS.map((speed) => h('option', { value: speed }, `${speed} ×`)));
  controls.speed.addEventListener('change', () => playback.setSpeed(Number(controls.speed.value)));
  controls.quiz.addEventListener('change', () => {
    session.view.guess = controls.quiz.checked;
    dismissQuestion();
    show('state');
  });
  controls.setup.addEventListener('change', () => session.setSetup(controls.setup.checked));
  controls.compareWith.addEventListener('change', () => choose({ with: controls.compareWith.value || null }));
  window.addEventListener('hashchange', () => opened && openAddress());
  reducedMotion.addEventListener('change', () => playback.pause());
}

async function main() {
  buildHelp(controls.singleKeys);
  listenToSession();
  listenToControls();
  try {
    await session.loadMechanisms();
  } catch (error) {
    return showError(/** @type {Error} */ (error));
  }
  buildChoice();
  // A first visit, to no particular moment, begins with the introduction.
  if (location.hash === '' && recall(INTRODUCED) === null) await introduce();
  else await enter();
}

main();
