// One session of the theatre: the view, the recordings that it names, and their common playback. It knows no element of the page.
// Events: "loading" (detail: does it begin?), "recordings" (new recordings or new display times), "ready" (the view is complete)
// and "error" (detail: a sentence). The playback has its own events.
import { call } from '../shared/api.js';
import { loadModules } from '../shared/modules.js';
import { FIRST } from './address.js';
import { Playback, SPEEDS } from './model/playback.js';
import { crossingsOf, replayOf } from './model/replay.js';
import { countUpTo, lockstep } from './model/time-scale.js';

/** @typedef {import('./model/types.js').View} View */
/** @typedef {import('./model/types.js').Replay} Replay */
/** @typedef {{replay: Replay, times: number[]}} Recording with the display time of each moment */

const MAX_ANIMATION_MS = 450;
const SLACK_MS = 1; // a part that began this recently is the current one

export class Session extends EventTarget {
  playback = new Playback();
  /** @type {{name: string, title: string}[]} */ mechanisms = [];
  tracing = { allowed: false, reason: /** @type {string | null} */ (null) };
  /** @type {View} */ view = { mechanism: '', with: null, at: null, speed: 1, guess: false, setup: false };
  /** @type {Recording[]} */ recordings = [];
  /** @type {Replay | null} what a single recording is compared with: the ring, or for the ring the pipe */
  reference = null;
  ready = false; // do the recordings match the view?
  /** @type {number[]} milliseconds */ #partStarts = [];
  /** @type {string[]} */ #partNames = [];
  #length = 0;
  #openings = 0; // only the latest is shown

  /** @param {string} type @param {unknown} [detail] */
  #emit(type, detail) {
    this.dispatchEvent(new CustomEvent(type, { detail }));
  }

  async loadMechanisms() {
    const { mechanisms, tracing } = await call('/api/mechanisms');
    this.mechanisms = mechanisms;
    this.tracing = tracing;
  }

  /** Fetch the recordings of a view and show them. @param {View} view */
  async open(view) {
    this.view = view;
    this.ready = false;
    this.playback.pause();
    const opening = ++this.#openings;
    const names = view.with ? [view.mechanism, view.with] : [view.mechanism];
    this.#emit('loading', true);
    try {
      const other = view.mechanism === 'ring' ? 'pipe' : 'ring';
      const none = /** @returns {(Replay | null)[]} */ () => [null];
      const [replays, [reference]] = await Promise.all([
        this.replaysOf(names),
        view.with ? none() : this.replaysOf([other]).catch(none), // a comparison is no reason to fail
      ]);
      if (opening !== this.#openings) return;
      this.reference = reference;
      this.recordings = replays.map((replay) => ({ replay, times: [] }));
      this.#align();
      this.playback.goTo(view.at ?? FIRST);
      this.ready = true;
      this.#emit('ready');
    } catch (error) {
      if (opening === this.#openings) this.#emit('error', /** @type {Error} */ (error).message);
    } finally {
      if (opening === this.#openings) this.#emit('loading', false);
    }
  }

  /** The latest recordings, or those that ship. @param {string[]} names */
  async replaysOf(names) {
    const traces = await Promise.all(names.map((name) => call(`/api/traces/${name}`)));
    return traces.map(replayOf);
  }

  /** Show every call of the setup, or fold them into one stop; the moment stays. @param {boolean} setup */
  setSetup(setup) {
    const [first] = this.recordings;
    this.view.setup = setup;
    if (!first) return;
    const shown = countUpTo(first.times, this.playback.position);
    this.#align();
    this.playback.seek(first.times[shown - 1] ?? 0);
    this.#emit('ready');
  }

  /** To the beginning; if the setup is folded, to the first message. */
  goToStart() {
    this.playback.goTo(this.view.setup ? 0 : FIRST);
  }

  /** Record a mechanism again. Resolves with the new trace, or null if another view has been opened meanwhile. @param {Recording} recording */
  async record(recording) {
    const { mechanism, parameters } = recording.replay.trace;
    const body = { mechanism, messages: parameters.messages };
    const trace = await call('/api/traces', { method: 'POST', body });
    if (!this.recordings.includes(recording)) return null;
    recording.replay = replayOf(trace);
    this.#align();
    this.goToStart();
    return trace;
  }

  /** Put all recordings on one time scale, at its beginning. */
  #align() {
    const replays = this.recordings.map(({ replay }) => replay);
    const { times, length, starts } = lockstep(replays, !this.view.setup);
    const [longest] = replays.map(({ parts }) => parts).sort((a, b) => b.length - a.length);
    for (const [i, recording] of this.recordings.entries()) recording.times = times[i];
    this.#partStarts = starts;
    this.#partNames = longest.map(({ name }) => name);
    this.#length = length;
    this.#emit('recordings');
    this.playback.load(times.flat(), length);
  }

  /** The crossings made for messages so far: of each recording, and of the reference for as many messages. */
  get tally() {
    const rows = this.recordings.map(({ replay, times }) => {
      const count = countUpTo(times, this.playback.position);
      const messages = count > 0 ? Math.min(replay.moments[count - 1].part, replay.trace.parameters.messages) : 0;
      return { trace: replay.trace, messages, crossings: replay.snapshots[count].messages.crossings };
    });
    if (!this.reference || rows.length !== 1) return rows;
    const { trace } = this.reference;
    const messages = Math.min(rows[0].messages, trace.parameters.messages);
    return [...rows, { trace, messages, crossings: crossingsOf(trace, messages) }];
  }

  /** The name of the current part. */
  get partName() {
    const part = this.#partStarts.findLastIndex((start) => start <= this.playback.position);
    return this.#partNames[part] ?? '';
  }

  /** To the next part, or to the start of the current or previous one. @param {1 | -1} direction */
  stepPart(direction) {
    const { position } = this.playback;
    this.playback.pause();
    const target =
      direction > 0
        ? this.#partStarts.find((start) => start > position + SLACK_MS)
        : this.#partStarts.findLast((start) => start < position - SLACK_MS);
    this.playback.seek(target ?? (direction > 0 ? this.#length : 0));
  }

  /** @param {number} index of a part; negative counts from the end */
  goToPart(index) {
    if (index === 0 && !this.view.setup) this.setSetup(true);
    this.playback.seek(this.#partStarts.at(index) ?? 0);
  }

  /** To the beginning of an event. @param {Recording} recording @param {number} event */
  goToEvent({ replay, times }, event) {
    this.playback.pause();
    this.playback.seek(times[replay.entered[event]]);
  }

  /** @param {1 | -1} direction */
  changeSpeed(direction) {
    const index = SPEEDS.indexOf(this.playback.speed) + direction;
    this.playback.setSpeed(SPEEDS[Math.min(Math.max(index, 0), SPEEDS.length - 1)]);
  }

  /** Is the quiz on? A question is about one recording. */
  get asks() {
    return this.view.guess && this.recordings.length === 1;
  }

  /** The quiz's question at the present, or null if no event of a message begins next. */
  async question() {
    const { questionAt } = await loadModules(() => import('./model/quiz.js')); // only for those who turn the quiz on
    const [recording] = this.recordings;
    return questionAt(recording.replay, countUpTo(recording.times, this.playback.position), !this.view.setup);
  }

  /** How long an animation may take: while playing, until the next moment. */
  get animationMs() {
    const { stops, count, playing, position, speed } = this.playback;
    const next = stops[count];
    if (!playing || next === undefined) return MAX_ANIMATION_MS;
    return Math.min(MAX_ANIMATION_MS, ((next - position) / speed) * 0.95);
  }
}
