'use strict';
// All runs that the server knows, one in progress at a time, since two would disturb each other's measurements.
const { randomUUID } = require('node:crypto');
const { CrossingsError } = require('../lib/channel/errors.js');
const { HttpError } = require('./http-error.js');
const { PartialEvents } = require('./partial-events.js');
const { lineOf } = require('./run-kinds.js');
const { RunStore } = require('./run-store.js');
const { Subscribers } = require('./subscribers.js');

/** @typedef {import('./run-kinds.js').RunFile} RunFile */
/** @typedef {import('./run-kinds.js').Task} Task */
/** @typedef {'running' | 'done' | 'failed' | 'cancelled'} State */

/** A run that takes longer is stopped. */
const LIMITS_MS = { quick: 180_000, standard: 600_000, thorough: 3_600_000 };
const LISTED_MS = 100; // so old may a list be in which this server has changed nothing
const MAX_ENDED_SESSIONS = 100;
const MAX_ENDED_PARTIALS = 10; // of these keep what was measured before they ended

/** One run that this server started. */
class Session {
  startedAt = new Date().toISOString();
  /** @type {State} */ state = 'running';
  progress = { fraction: 0, doing: 'starting' };
  /** Of what a client can see of it in this state. */ changes = 0;
  /** The finished run, if it could not be saved as a file. @type {RunFile | null} */ run = null;
  /** @type {RunFile | null} */ partial = null;
  /** @type {{code: string, message: string} | null} */ error = null;
  subscribers = new Subscribers();
  stopping = new AbortController();
  /** Settles when the run's processes have ended. @type {Promise<void>} */ ended = Promise.resolve();

  /** @param {string} id @param {Task} task */
  constructor(id, task) {
    this.id = id;
    this.task = task;
  }
}

class Runs {
  #store;
  #log;
  #limitsMs;
  /** @type {Map<string, Session>} */
  #sessions = new Map();
  /** The run in progress, or a recording, which has no id. @type {{id: string | null, what: string} | null} */
  #busy = null;
  #changes = 0; // that this server has made to the list of the runs
  /** @type {{changes: number, until: number, text: Promise<Buffer>} | null} */ #listing = null;

  /**
   * @param {string} dataFolder of the finished runs
   * @param {import('pino').Logger} log
   * @param {Partial<typeof LIMITS_MS>} [limitsMs]
   */
  constructor(dataFolder, log, limitsMs) {
    this.#store = new RunStore(dataFolder, log);
    this.#log = log;
    this.#limitsMs = { ...LIMITS_MS, ...limitsMs };
  }

  /** The id of the run in progress. */
  get running() {
    return this.#busy?.id ?? null;
  }

  /** The kind of the run in progress. */
  get runningKind() {
    return this.#sessions.get(this.running ?? '')?.task.kind ?? null;
  }

  /** Reserve the machine, or throw a 409. @param {string | null} id @param {string} what such as 'A run' */
  #begin(id, what) {
    if (this.#busy) {
      const message =
        `${this.#busy.what} is already in progress, and a second task would disturb its measurements. ` +
        'Wait until it ends, or cancel it.';
      throw new HttpError(409, 'ERR_BUSY', message, { id: this.#busy.id });
    }
    this.#busy = { id, what };
  }

  /**
   * Do other work during which no run may start.
   * @template T
   * @param {string} what such as 'A recording'
   * @param {() => Promise<T>} work
   */
  async runExclusively(what, work) {
    this.#begin(null, what);
    try {
      return await work();
    } finally {
      this.#busy = null;
    }
  }

  /** Start a run and return its id. @param {Task} task */
  start(task) {
    const why = this.#store.whyFull();
    if (why) throw new HttpError(409, 'ERR_FULL', why);
    const session = new Session(randomUUID(), task);
    this.#begin(session.id, 'A run');
    this.#sessions.set(session.id, session);
    this.#changes++;
    this.#dropOldest();
    session.ended = this.#measure(session);
    return session.id;
  }

  /** @param {Session} session */
  async #measure(session) {
    const { id, task, subscribers, stopping } = session;
    const limitMs = this.#limitsMs[task.effort];
    const timer = setTimeout(() => stopping.abort(timeLimitError(task, limitMs)), limitMs);
    const partials = new PartialEvents((text) => {
      session.changes++;
      subscribers.broadcast(text, 'partial');
    });
    try {
      const run = await task.run({
        id,
        signal: stopping.signal,
        onProgress: (progress) => {
          session.progress = progress;
          session.changes++;
          subscribers.broadcast(progress, 'progress');
        },
        onSample: (partial, data) => {
          session.partial = partial;
          session.changes++;
          subscribers.broadcast(data, 'sample');
        },
        onPartial: (partial) => {
          session.partial = partial;
          partials.offer(partial);
        },
      });
      session.startedAt = run.startedAt;
      session.partial = null;
      if (!this.#store.save(run)) session.run = run;
      this.#end(session, 'done', { id });
    } catch (error) {
      session.error = this.#errorOf(stopping.signal.aborted ? stopping.signal.reason : error);
      if (session.error.code === 'ERR_CANCELLED') this.#end(session, 'cancelled', {});
      else this.#end(session, 'failed', session.error);
    } finally {
      clearTimeout(timer);
      partials.end();
      this.#busy = null;
    }
  }

  /** @param {Session} session @param {State} state @param {object} data of the final event */
  #end(session, state, data) {
    session.state = state;
    this.#changes++;
    this.#log.info({ run: session.id, state, code: session.error?.code }, 'run ended');
    session.subscribers.broadcast(data, state);
    session.subscribers.end();
  }

  /** @param {unknown} error */
  #errorOf(error) {
    if (error instanceof CrossingsError) return { code: error.code, message: asSentence(error.message) };
    this.#log.error(error);
    return { code: 'ERR_INTERNAL', message: 'The run failed because of an internal error in the lab; see its log.' };
  }

  /** Bounds the memory that ended runs take; the finished ones are in their files. */
  #dropOldest() {
    const ended = [...this.#sessions.values()].filter(({ state }) => state !== 'running');
    for (const { id } of ended.slice(0, -MAX_ENDED_SESSIONS)) this.#sessions.delete(id);
    for (const session of ended.slice(0, -MAX_ENDED_PARTIALS)) {
      session.partial = null;
      session.changes++;
    }
  }

  /** A run that this server started. @param {string} id */
  session(id) {
    return this.#sessions.get(id) ?? null;
  }

  /** A finished run. @param {string} id */
  finished(id) {
    return this.#sessions.get(id)?.run ?? this.#store.read(id);
  }

  /** One line for each run, newest first. A run may end while the folder is read, so what is not listed as a file is looked for afterwards. */
  async list() {
    const lines = await this.#store.list();
    const listed = new Set(lines.map(({ id }) => id));
    const others = [...this.#sessions.values()].filter(({ id }) => !listed.has(id));
    const found = others.map((session) => (session.state === 'done' ? this.line(session.id) : lineOfSession(session)));
    return [...lines, ...found.filter((line) => line !== null)].sort((a, b) => b.startedAt.localeCompare(a.startedAt));
  }

  /**
   * The list as JSON. It is made once for all who ask in a short time, unless this server changes it: with 500 runs, that takes
   * milliseconds, and many clients would delay the others. Other programs may change the folder, so it is not kept for longer.
   */
  listText() {
    if (this.#listing?.changes !== this.#changes || performance.now() > this.#listing.until) {
      const text = this.list().then((runs) => Buffer.from(JSON.stringify({ runs })));
      const listing = { changes: this.#changes, until: Number.POSITIVE_INFINITY, text };
      const made = () => {
        listing.until = performance.now() + LISTED_MS;
      };
      text.then(made, made);
      this.#listing = listing;
    }
    return this.#listing.text;
  }

  /** What the list shows of a finished run. @param {string} id */
  line(id) {
    const run = this.session(id)?.run;
    return run ? lineOf(run) : this.#store.line(id);
  }

  /** Changes with everything about a run, but not with each of a thousand partial files a second; null if there is no such run. @param {string} id */
  stamp(id) {
    const session = this.session(id);
    const saved = session?.run ? null : this.#store.stamp(id);
    if (saved !== null) return saved;
    if (!session || (session.state === 'done' && !session.run)) return null; // another program removed its file
    return `${session.state} ${session.changes}`;
  }

  /** Everything about one run, or null. @param {string} id */
  describe(id) {
    const run = this.finished(id);
    if (run) {
      return { ...lineOf(run), progress: { fraction: 1, doing: 'done' }, run, partial: null, error: null };
    }
    const session = this.session(id);
    if (!session || session.state === 'done') return null; // another program removed its file
    const { progress, partial, error } = session;
    return { ...lineOfSession(session), progress, run: null, partial, error };
  }

  /** Cancel a run in progress; the state that it is in then, or null if there is no such run. @param {string} id */
  async cancel(id) {
    const session = this.session(id);
    if (session?.state === 'running') {
      session.stopping.abort(new CrossingsError('ERR_CANCELLED', 'The run was canceled.'));
      await session.ended;
    }
    return session?.state ?? this.line(id)?.state ?? null;
  }

  /** Cancel a run in progress, or remove one that has ended; null if there is none. @param {string} id */
  async remove(id) {
    const session = this.session(id);
    if (session?.state === 'running') return this.cancel(id);
    if (!session && !this.line(id)) return null;
    const isSaved = !session || (session.state === 'done' && !session.run);
    if (isSaved) this.#store.remove(id); // otherwise it need not be possible: the folder may be gone
    this.#sessions.delete(id);
    this.#changes++;
    return 'removed';
  }

  /** Cancel the run in progress and wait until its processes have ended. */
  async close() {
    this.#store.close();
    await Promise.all([...this.#sessions.keys()].filter((id) => id === this.running).map((id) => this.cancel(id)));
  }
}

/** @param {Session} session */
const lineOfSession = ({ id, startedAt, state, task: { kind, line }, error }) => ({
  id,
  kind,
  startedAt,
  state,
  ...line,
  verdict: null,
  error,
});

/** @param {Task} task @param {number} limitMs */
const timeLimitError = ({ effort, advice }, limitMs) =>
  new CrossingsError(
    'ERR_TIME_LIMIT',
    `The run was stopped: it reached the limit of ${limitMs / 1000} seconds for a ${effort} run. ${advice}`,
  );

/** @param {string} text */
const asSentence = (text) => `${text[0].toUpperCase()}${text.slice(1)}${/[.?!]$/.test(text) ? '' : '.'}`;

module.exports = { Runs, LIMITS_MS, MAX_ENDED_SESSIONS };
