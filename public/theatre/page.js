// The theatre's page: connects the session to the controls, the players, the address and the keyboard.
import './elements/trace-player.js';
import { announce } from '../shared/announce.js';
import { byId, h, reducedMotion, setText, showText } from '../shared/dom.js';
import { counted } from '../shared/format.js';
import { markOf } from '../shared/mechanisms.js';
import { readAddress, writeAddress } from './address.js';
import { ask, dismiss } from './elements/quiz-question.js';
import { SPEEDS } from './model/playback.js';
import { Session } from './session.js';
import { actionOf, keyName, SHORTCUTS } from './shortcuts.js';

/** @typedef {import('./session.js').Recording} Recording */

const SINGLE_KEYS = 'crossings-single-keys';

const controls = {
  choice: /** @type {HTMLElement} */ (byId('choice')),
  compareWith: /** @type {HTMLSelectElement} */ (byId('compare-with')),
  toggle: /** @type {HTMLButtonElement} */ (byId('toggle')),
  forward: /** @type {HTMLButtonElement} */ (byId('forward')),
  scrub: /** @type {HTMLInputElement} */ (byId('scrub')),
  speed: /** @type {HTMLSelectElement} */ (byId('speed')),
  quiz: /** @type {HTMLInputElement} */ (byId('quiz')),
  position: /** @type {HTMLElement} */ (byId('position')),
  question: /** @type {HTMLElement} */ (byId('question')),
  error: /** @type {HTMLElement} */ (byId('page-error')),
  players: /** @type {HTMLElement} */ (byId('players')),
  singleKeys: /** @type {HTMLInputElement} */ (byId('single-keys')),
  help: /** @type {HTMLDialogElement} */ (byId('help')),
};

const session = new Session();
const { playback } = session;

/** The <trace-player> elements, each with its `recording`. @returns {any[]} */
const players = () => [...controls.players.children];

/** @param {Recording} recording @param {number} index */
function newPlayer(recording, index) {
  const player = /** @type {any} */ (h(/** @type {any} */ ('trace-player')));
  player.recording = recording;
  player.build(String(index));
  player.addEventListener('pick', (/** @type {CustomEvent} */ { detail }) => session.goToEvent(recording, detail));
  player.addEventListener('record', () => recordAgain(player));
  return player;
}

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
    if (player.replay !== replay) player.load(replay, tracing);
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
  if (how !== 'state') dismiss(controls.question);
  controls.scrub.max = String(stops.length);
  if (controls.scrub.value !== String(count)) controls.scrub.value = String(count);
  controls.scrub.setAttribute('aria-valuetext', `${count} of ${stops.length}, ${partName}`);
  setText(controls.position, `${count} / ${stops.length} · ${partName}`);
  if (playing || !session.ready) return;
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
  const question = session.question();
  if (!question) return playback.step(1);
  playback.pause();
  ask(controls.question, question, (verdict) => {
    controls.forward.focus();
    playback.step(1);
    player.notify(verdict);
  });
}

/** @param {string} selector */
function focusOn(selector) {
  const found = document.querySelector(selector);
  if (found instanceof HTMLElement) found.focus();
}

/** @type {Record<string, () => void>} */
const actions = {
  toggle: () => playback.toggle(),
  forward,
  back: () => playback.step(-1),
  nextPart: () => session.stepPart(1),
  previousPart: () => session.stepPart(-1),
  start: () => playback.goTo(0),
  finish: () => playback.goTo(playback.stops.length),
  setup: () => session.goToPart(0),
  messages: () => session.goToPart(1),
  teardown: () => session.goToPart(-1),
  faster: () => session.changeSpeed(1),
  slower: () => session.changeSpeed(-1),
  choose: () => focusOn('#choice input:checked'),
  log: () => focusOn('trace-log [role="listbox"]'),
  quiz: () => controls.quiz.click(),
  help: () => controls.help.showModal(),
};

/** Open other recordings at their beginning. @param {Partial<import('./model/types.js').View>} change */
function choose(change) {
  const view = { ...session.view, ...change, at: 0 };
  if (view.with === view.mechanism) view.with = null;
  controls.compareWith.value = view.with ?? '';
  session.open(view);
}

/** Open what the address describes. */
function openAddress() {
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

function buildHelp() {
  const rows = SHORTCUTS.flatMap(({ keys, does }) => [
    h('dt', {}, ...keys.flatMap((key, i) => [i > 0 ? ' or ' : '', h('kbd', {}, keyName(key))])),
    h('dd', {}, does),
  ]);
  byId('shortcuts').append(...rows);
}

/** Single-key shortcuts can be turned off (WCAG 2.1.4); this browser remembers it. */
function rememberSingleKeys() {
  controls.singleKeys.checked = localStorage.getItem(SINGLE_KEYS) !== 'off';
  controls.singleKeys.addEventListener('change', () => {
    localStorage.setItem(SINGLE_KEYS, controls.singleKeys.checked ? 'on' : 'off');
  });
}

function listenToSession() {
  session.addEventListener('recordings', showRecordings);
  session.addEventListener('ready', () => {
    controls.quiz.disabled = session.recordings.length > 1; // a question is about one recording
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
    event.preventDefault();
    actions[action]();
  });
  controls.scrub.addEventListener('input', () => {
    playback.pause();
    playback.goTo(Number(controls.scrub.value));
  });
  controls.speed.append(...SPEEDS.map((speed) => h('option', { value: speed }, `${speed} ×`)));
  controls.speed.addEventListener('change', () => playback.setSpeed(Number(controls.speed.value)));
  controls.quiz.addEventListener('change', () => {
    session.view.guess = controls.quiz.checked;
    dismiss(controls.question);
    show('state');
  });
  controls.compareWith.addEventListener('change', () => choose({ with: controls.compareWith.value || null }));
  window.addEventListener('hashchange', openAddress);
  reducedMotion.addEventListener('change', () => playback.pause());
}

async function main() {
  buildHelp();
  rememberSingleKeys();
  listenToSession();
  listenToControls();
  try {
    await session.loadMechanisms();
  } catch (error) {
    return showText(controls.error, /** @type {Error} */ (error).message);
  }
  buildChoice();
  await openAddress();
}

main();
