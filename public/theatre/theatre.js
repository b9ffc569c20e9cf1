// The theatre's page: fetches recordings, keeps the player, the address, the keyboard and the figures in step.
import './trace-play.js';
import { call } from '../shared/api.js';
import { readAddress, writeAddress } from './address.js';
import { h, say, stillness } from './dom.js';
import { ask, questionAt } from './guess.js';
import { actionOf, KEYS, keyName } from './keys.js';
import { playOf } from './model.js';
import { Player, SPEEDS } from './player.js';
import { countShown, lockstep } from './stretch.js';
import { counted } from './words.js';

const STEP_GLIDE_MS = 450;
const SINGLE_KEYS = 'crossings-single-keys';

/** @template {HTMLElement} T @param {string} id @returns {T} */
const element = (id) => /** @type {T} */ (document.getElementById(id));

const controls = {
  choice: element('choice'),
  beside: /** @type {HTMLSelectElement} */ (element('beside')),
  toggle: /** @type {HTMLButtonElement} */ (element('toggle')),
  forward: /** @type {HTMLButtonElement} */ (element('forward')),
  scrub: /** @type {HTMLInputElement} */ (element('scrub')),
  speed: /** @type {HTMLSelectElement} */ (element('speed')),
  guess: /** @type {HTMLInputElement} */ (element('guess')),
  where: element('where'),
  question: element('question'),
  spoken: element('spoken'),
  trouble: element('trouble'),
  plays: element('plays'),
  single: /** @type {HTMLInputElement} */ (element('single')),
  help: /** @type {HTMLDialogElement} */ (element('help')),
};

const player = new Player();
/** @type {any[]} the <trace-play> elements */
let figures = [];
/** @type {number[]} when each part begins, milliseconds */
let starts = [];
/** @type {import('./types.js').Play['segments']} the parts themselves: of the play with the most messages */
let parts = [];
/** @type {import('./address.js').View} */
let view = { mechanism: '', with: null, at: 0, speed: 1, guess: false };
/** @type {{name: string, title: string}[]} */
let mechanisms = [];
let opening = 0; // counts what was asked for: only the last is shown
let settled = false; // does the page show what the address says?
let tracing = { allowed: false, reason: /** @type {string | null} */ (null) };

/** How long what has just happened may glide: until the next thing happens. */
function glideMs() {
  const next = player.stops[player.count];
  if (!player.playing || next === undefined) return STEP_GLIDE_MS;
  return Math.min(STEP_GLIDE_MS, ((next - player.position) / player.speed) * 0.95);
}

/** @param {string} how */
function show(how) {
  const manner = { how, glideMs: glideMs(), speed: player.speed, hideFuture: view.guess };
  for (const figure of figures) figure.show(player.position, manner);
  const count = player.count;
  if (how !== 'state') closeQuestion();
  if (controls.scrub.value !== String(count)) controls.scrub.value = String(count);
  const part = partName();
  controls.scrub.setAttribute('aria-valuetext', `${count} of ${player.stops.length}, ${part}`);
  say(controls.where, `${count} / ${player.stops.length} · ${part}`);
  if (player.playing || !settled) return;
  view.at = count;
  writeAddress(view);
  // The slider and the log speak for themselves.
  const own = document.activeElement?.closest('#scrub, [role="listbox"]');
  if (how !== 'state' && !own) say(controls.spoken, `${spoken()} ${how === 'jump' ? part : ''}`.trim());
}

/** A question is about one moment, and goes with it. */
function closeQuestion() {
  if (controls.question.hidden) return; // as in nearly every frame
  controls.question.hidden = true;
  controls.question.replaceChildren();
}

const spoken = () =>
  figures.map(({ play, spoken: words }) => (figures.length > 1 ? `${play.trace.title}: ${words}` : words)).join(' ');

/** The name of the part that the present lies in: one that is about to begin is the present one. */
function partName() {
  const part = starts.findLastIndex((start) => start <= player.position);
  return parts[part]?.name ?? '';
}

function showState() {
  say(controls.toggle, player.playing ? 'Pause' : 'Play');
  controls.speed.value = String(player.speed);
  if (settled && view.speed !== player.speed) say(controls.spoken, `Speed ${player.speed}`);
  view.speed = player.speed;
  show('state');
}

/** To the part before or after the present one. @param {1 | -1} direction */
function toPart(direction) {
  player.pause();
  const slack = 1; // millisecond: a part that has just begun is the present one
  const next =
    direction > 0
      ? starts.find((start) => start > player.position + slack)
      : starts.findLast((start) => start < player.position - slack);
  player.seek(next ?? (direction > 0 ? player.length : 0));
}

function forward() {
  const [figure] = figures;
  if (!figure) return;
  figure.notify('');
  const question =
    view.guess && figures.length === 1 ? questionAt(figure.play, countShown(figure.shown, player.position)) : null;
  if (!question) return player.step(1);
  player.pause();
  ask(controls.question, question, (verdict) => {
    controls.forward.focus();
    player.step(1);
    figure.notify(verdict && `${verdict}It is ${question.answer}.`);
  });
}

/** @param {string} selector */
function focusOn(selector) {
  const found = document.querySelector(selector);
  if (found instanceof HTMLElement) found.focus();
}

/** @type {Record<string, () => void>} */
const actions = {
  toggle: () => player.toggle(),
  forward,
  back: () => player.step(-1),
  nextPart: () => toPart(1),
  previousPart: () => toPart(-1),
  start: () => player.goTo(0),
  finish: () => player.goTo(player.stops.length),
  setup: () => player.seek(starts[0]),
  messages: () => player.seek(starts[1]),
  teardown: () => player.seek(starts[starts.length - 1]),
  faster: () => player.setSpeed(SPEEDS[Math.min(SPEEDS.indexOf(player.speed) + 1, SPEEDS.length - 1)]),
  slower: () => player.setSpeed(SPEEDS[Math.max(SPEEDS.indexOf(player.speed) - 1, 0)]),
  choose: () => focusOn('#choice input:checked'),
  log: () => focusOn('trace-log [role="listbox"]'),
  guess: () => controls.guess.click(),
  help: () => controls.help.showModal(),
};

/** @param {string} sentence empty: no trouble */
function complain(sentence) {
  controls.trouble.hidden = sentence === '';
  say(controls.trouble, sentence);
}

/** @param {string} mechanism @param {number} place */
function newFigure(mechanism, place) {
  const figure = /** @type {any} */ (document.createElement('trace-play'));
  figure.build(String(place));
  figure.addEventListener('pick', (/** @type {CustomEvent} */ { detail }) => {
    player.pause();
    player.seek(figure.shown[figure.play.entered[detail]]);
  });
  figure.addEventListener('record', () => recordAgain(figure, mechanism));
  return figure;
}

/** Put all figures on one time, keeping the present where it is told to be. @param {number} at */
function arrange(at) {
  const joint = lockstep(figures.map(({ play }) => play));
  starts = joint.starts;
  parts = figures.map(({ play }) => play.segments).sort((a, b) => b.length - a.length)[0];
  for (const [i, figure] of figures.entries()) figure.place(joint.shown[i]);
  player.load(joint.shown.flat(), joint.length);
  controls.scrub.max = String(player.stops.length);
  player.goTo(at);
}

/** @param {any} figure @param {string} mechanism */
async function recordAgain(figure, mechanism) {
  figure.recording = true;
  figure.notify('');
  try {
    const { messages } = figure.play.trace.parameters;
    const trace = await call('/api/traces', { method: 'POST', body: { mechanism, messages } });
    if (!figures.includes(figure)) return; // another was chosen meanwhile
    figure.load(playOf(trace), tracing);
    arrange(0);
    figure.notify(`Recorded: ${counted(trace.events.length, 'event')}, just now, on this machine.`);
  } catch (error) {
    figure.notify(/** @type {Error} */ (error).message);
  } finally {
    figure.recording = false;
  }
}

/** Fetch what the view asks for and show it. */
async function open() {
  settled = false;
  const turn = ++opening;
  player.pause();
  const names = [view.mechanism, ...(view.with ? [view.with] : [])];
  const at = view.at;
  complain('');
  controls.plays.setAttribute('aria-busy', 'true');
  try {
    const traces = await Promise.all(names.map((name) => call(`/api/traces/${name}`)));
    if (turn !== opening) return;
    figures = names.map(newFigure);
    controls.plays.replaceChildren(...figures);
    for (const [i, figure] of figures.entries()) figure.load(playOf(traces[i]), tracing);
    controls.plays.classList.toggle('two', figures.length > 1);
    arrange(at);
    settled = true;
    controls.guess.disabled = figures.length > 1; // a question is about one recording
    show('jump');
  } catch (error) {
    if (turn === opening) complain(/** @type {Error} */ (error).message);
  } finally {
    if (turn === opening) controls.plays.removeAttribute('aria-busy');
  }
}

function buildChoice() {
  const radios = mechanisms.map(({ name, title }) => {
    const input = h('input', { type: 'radio', name: 'mechanism', value: name, checked: name === view.mechanism });
    input.addEventListener('change', () => {
      view = { ...view, mechanism: name, with: view.with === name ? null : view.with, at: 0 };
      controls.beside.value = view.with ?? '';
      open();
    });
    return h('label', { 'data-mechanism': name }, input, h('span', { class: 'swatch' }), title);
  });
  controls.choice.append(...radios);
  controls.beside.append(...mechanisms.map(({ name, title }) => h('option', { value: name }, title)));
}

/** The controls say what the view says. */
function showView() {
  const chosen = controls.choice.querySelector(`input[value="${view.mechanism}"]`);
  if (chosen instanceof HTMLInputElement) chosen.checked = true;
  controls.beside.value = view.with ?? '';
  controls.guess.checked = view.guess;
  player.setSpeed(view.speed);
}

/** Keys of one character can be turned off (WCAG 2.1.4); this browser keeps the choice. */
function keepSingleKeys() {
  controls.single.checked = localStorage.getItem(SINGLE_KEYS) !== 'off';
  controls.single.addEventListener('change', () => {
    localStorage.setItem(SINGLE_KEYS, controls.single.checked ? 'on' : 'off');
  });
}

function listen() {
  keepSingleKeys();
  player.addEventListener('move', (event) => show(/** @type {CustomEvent} */ (event).detail));
  player.addEventListener('state', showState);
  for (const button of document.querySelectorAll('[data-action]')) {
    button.addEventListener('click', () => actions[/** @type {HTMLElement} */ (button).dataset.action ?? '']());
  }
  document.addEventListener('keydown', (event) => {
    const action = actionOf(event, controls.single.checked);
    if (!action) return;
    event.preventDefault();
    actions[action]();
  });
  controls.scrub.addEventListener('input', () => {
    player.pause();
    player.goTo(Number(controls.scrub.value));
  });
  controls.speed.append(...SPEEDS.map((speed) => h('option', { value: speed }, `${speed} ×`)));
  controls.speed.addEventListener('change', () => player.setSpeed(Number(controls.speed.value)));
  controls.guess.addEventListener('change', () => {
    view.guess = controls.guess.checked;
    closeQuestion();
    show('state');
  });
  controls.beside.addEventListener('change', () => {
    view = { ...view, with: controls.beside.value === view.mechanism ? null : controls.beside.value || null, at: 0 };
    controls.beside.value = view.with ?? '';
    open();
  });
  window.addEventListener('hashchange', () => {
    settled = false;
    view = readAddress(mechanisms.map(({ name }) => name));
    showView();
    open();
  });
  stillness.addEventListener('change', () => player.pause());
  const rows = KEYS.flatMap(({ keys, does }) => [
    h('dt', {}, ...keys.flatMap((key, i) => [i > 0 ? ' or ' : '', h('kbd', {}, keyName(key))])),
    h('dd', {}, does),
  ]);
  element('keys').append(...rows);
}

async function begin() {
  listen();
  try {
    const told = await call('/api/mechanisms');
    mechanisms = told.mechanisms;
    tracing = told.tracing;
  } catch (error) {
    return complain(/** @type {Error} */ (error).message);
  }
  view = readAddress(mechanisms.map(({ name }) => name));
  buildChoice();
  showView();
  await open();
}

begin();
