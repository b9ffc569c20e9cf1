'use strict';
// Runs: one at a time, since two would disturb each other. Each has a channel of events, an end, and a way to be stopped.
const { randomUUID } = require('node:crypto');
const { runBench } = require('../lib/bench/runner.js');
const { CrossingsError } = require('../lib/channel/errors.js');
const { createChannel } = require('./events.js');
const { LabRefusal } = require('./refusal.js');

/** @typedef {import('../lib/bench/runner.js').Run} Run */
/** @typedef {'running' | 'done' | 'failed' | 'cancelled'} State */

/** How long a run may take, whatever happens. */
const LIMITS_MS = { quick: 120_000, standard: 300_000, thorough: 1_800_000 };
const MOST_REMEMBERED = 100; // runs of this session that have ended

/** One run of this session, from its start on. */
class Session {
  startedAt = new Date().toISOString();
  /** @type {State} */ state = 'running';
  progress = { fraction: 0, doing: 'starting' };
  /** The finished run, unless it is kept as a file. @type {Run | null} */ run = null;
  /** @type {Run | null} */ partial = null;
  /** @type {{code: string, message: string} | null} */ error = null;
  channel = createChannel();
  stopping = new AbortController();
  /** Settles when its processes are gone. @type {Promise<void>} */ ended = Promise.resolve();

  /** @param {string} id @param {import('../lib/bench/runner.js').BenchOptions} options */
  constructor(id, options) {
    this.id = id;
    this.options = options;
  }
}

/** All runs that this server knows. */
class Runs {
  #kept;
  #log;
  #limitsMs;
  /** @type {Map<string, Session>} */
  #sessions = new Map();
  /** What goes on now: a run, or a recording, which has no id. @type {{id: string | null, what: string} | null} */
  #busy = null;

  /**
   * @param {InstanceType<typeof import('./keeping.js').KeptRuns>} kept
   * @param {import('pino').Logger} log
   * @param {Partial<typeof LIMITS_MS>} [limitsMs]
   */
  constructor(kept, log, limitsMs) {
    this.#kept = kept;
    this.#log = log;
    this.#limitsMs = { ...LIMITS_MS, ...limitsMs };
  }

  /** The id of the run that goes on. */
  get running() {
    return this.#busy?.id ?? null;
  }

  /** Begin what nothing else may disturb, or refuse. @param {string | null} id @param {string} what such as 'A run' */
  #begin(id, what) {
    if (this.#busy) {
      const message = `${this.#busy.what} is going on, and two would disturb each other: wait for its end or cancel it.`;
      throw new LabRefusal(409, 'ERR_BUSY', message, { id: this.#busy.id });
    }
    this.#busy = { id, what };
  }

  /**
   * Do something else than a run while no run may begin.
   * @template T
   * @param {string} what such as 'A recording'
   * @param {() => Promise<T>} work
   */
  async alone(what, work) {
    this.#begin(null, what);
    try {
      return await work();
    } finally {
      this.#busy = null;
    }
  }

  /** Start a run and give back its id. @param {import('../lib/bench/runner.js').BenchOptions} options */
  start(options) {
    const session = new Session(randomUUID(), options);
    this.#begin(session.id, 'A run');
    this.#sessions.set(session.id, session);
    this.#forgetOldest();
    session.ended = this.#measure(session);
    return session.id;
  }

  /** @param {Session} session */
  async #measure(session) {
    const { id, options, channel, stopping } = session;
    const limitMs = this.#limitsMs[options.effort];
    const late = setTimeout(() => stopping.abort(tooLate(options.effort, limitMs)), limitMs);
    try {
      const run = await runBench(options, {
        id,
        signal: stopping.signal,
        onProgress: (progress) => {
          session.progress = progress;
          channel.broadcast(progress, 'progress');
        },
        onSample: (partial, mechanism) => {
          session.partial = partial;
          const result = partial.results.find((candidate) => candidate.mechanism === mechanism);
          channel.broadcast({ result, floors: partial.floors }, 'sample');
        },
      });
      session.startedAt = run.startedAt;
      session.partial = null;
      if (!this.#kept.keep(run)) session.run = run;
      this.#end(session, 'done', { id });
    } catch (error) {
      session.error = this.#errorOf(stopping.signal.aborted ? stopping.signal.reason : error);
      if (session.error.code === 'ERR_CANCELLED') this.#end(session, 'cancelled', {});
      else this.#end(session, 'failed', session.error);
    } finally {
      clearTimeout(late);
      this.#busy = null;
    }
  }

  /** @param {Session} session @param {State} state @param {object} data of the last event */
  #end(session, state, data) {
    session.state = state;
    this.#log.info({ run: session.id, state, code: session.error?.code }, 'run ended');
    session.channel.broadcast(data, state);
  }

  /** @param {unknown} error */
  #errorOf(error) {
    if (error instanceof CrossingsError) return { code: error.code, message: asSentence(error.message) };
    this.#log.error(error);
    return { code: 'ERR_INTERNAL', message: 'The run ended by a fault of the lab; its log tells more.' };
  }

  /** What has ended is not remembered for ever; finished runs are in their files. */
  #forgetOldest() {
    const ended = [...this.#sessions.values()].filter(({ state }) => state !== 'running');
    for (const { id } of ended.slice(0, -MOST_REMEMBERED)) this.#sessions.delete(id);
  }

  /** A run of this session. @param {string} id */
  session(id) {
    return this.#sessions.get(id) ?? null;
  }

  /** The file of a finished run. @param {string} id */
  finished(id) {
    return this.#sessions.get(id)?.run ?? this.#kept.read(id);
  }

  /** Everything there is, newest first. */
  list() {
    const sessions = [...this.#sessions.values()].filter(({ state, run }) => state !== 'done' || run);
    const lines = [...this.#kept.list().map(lineOfRun), ...sessions.map(lineOfSession)];
    return lines.sort((a, b) => b.startedAt.localeCompare(a.startedAt));
  }

  /** Everything about one run, or null. @param {string} id */
  describe(id) {
    const run = this.finished(id);
    if (run) {
      return { ...lineOfRun(run), progress: { fraction: 1, doing: 'done' }, run, partial: null, error: null };
    }
    const session = this.session(id);
    if (!session || session.state === 'done') return null; // its file was removed by somebody else
    const { progress, partial, error } = session;
    return { ...lineOfSession(session), progress, run: null, partial, error };
  }

  /** Cancel a run that goes on, remove one that has ended; null: there is none. @param {string} id */
  async remove(id) {
    const session = this.session(id);
    if (session?.state === 'running') {
      session.stopping.abort(new CrossingsError('ERR_CANCELLED', 'The run was cancelled.'));
      await session.ended;
      return session.state;
    }
    if (!session && !this.finished(id)) return null;
    this.#sessions.delete(id);
    this.#kept.remove(id);
    return 'removed';
  }

  /** End what goes on and wait until its processes are gone. */
  async close() {
    await Promise.all([...this.#sessions.keys()].filter((id) => id === this.running).map((id) => this.remove(id)));
  }
}

/** One line of the list of runs. @param {Run} run a finished one */
const lineOfRun = ({ id, startedAt, parameters, results }) => ({
  id,
  startedAt,
  state: /** @type {State} */ ('done'),
  parameters,
  mechanisms: results.map(({ mechanism }) => mechanism),
  error: null,
});

/** @param {Session} session */
const lineOfSession = ({ id, startedAt, state, options, error }) => ({
  id,
  startedAt,
  state,
  parameters: { messages: options.messages, sizeBytes: options.sizeBytes, effort: options.effort },
  mechanisms: options.mechanisms,
  error,
});

/** @param {string} effort @param {number} limitMs */
const tooLate = (effort, limitMs) =>
  new CrossingsError(
    'ERR_TIME_LIMIT',
    `The run was stopped: a ${effort} run may take ${limitMs / 1000} seconds; take fewer mechanisms or smaller messages.`,
  );

/** @param {string} text */
const asSentence = (text) => `${text[0].toUpperCase()}${text.slice(1)}${/[.?!]$/.test(text) ? '' : '.'}`;

module.exports = { Runs, LIMITS_MS };
