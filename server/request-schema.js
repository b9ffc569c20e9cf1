'use strict';
// The schemas of all requests. An invalid value is answered 400 with one sentence: its name, what is valid, what was sent.
const { z } = require('zod');
const { EFFORTS } = require('../lib/bench/runner.js');
const { EXPERIMENTS } = require('../lib/experiments/index.js');
const { HttpError } = require('./http-error.js');
const { benchTask, experimentTask } = require('./run-kinds.js');

const MESSAGES = { min: 1, max: 1_000_000 };
const SIZE = { min: 8, max: 16 << 20 };
const MAX_SAMPLE_BYTES = 1 << 30; // messages × sizeBytes
const TRACED_MESSAGES = { min: 1, max: 1000 };

/** @param {number} value */
const grouped = (value) => value.toLocaleString('en-US');

/** A value as an error message can quote it. @param {unknown} value */
function quoted(value) {
  if (value === undefined) return 'nothing';
  let text;
  try {
    text = JSON.stringify(value);
  } catch {
    return 'a value that is nested too deeply'; // JSON.stringify runs out of stack
  }
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}

/** @param {string} expected such as 'effort must be quick, standard or thorough' */
const expecting = (expected) => ({
  /** @param {{input?: unknown}} issue */
  error: ({ input }) => `${expected}; got ${quoted(input)}.`,
});

/** @param {string} name @param {{min: number, max: number}} range */
const integer = (name, { min, max }) => {
  const message = expecting(`${name} must be an integer from ${grouped(min)} to ${grouped(max)}`);
  return z.int(message).min(min, message).max(max, message);
};

/** An object with these keys and no others. @template {z.ZodRawShape} T @param {T} shape */
const only = (shape) =>
  z.strictObject(shape, {
    error: (issue) => {
      const names = Object.keys(shape).join(', ');
      return issue.code === 'unrecognized_keys'
        ? `Unknown parameter ${quoted(issue.keys?.[0])}. Parameters: ${names}.`
        : `Request body must be an object with ${names}; got ${quoted(issue.input)}.`;
    },
  });

/** @param {string[]} names of mechanisms */
const oneOf = (names) => z.enum(names, expecting(`mechanism must be one of ${names.join(', ')}`));

const effort = z.enum(['quick', 'standard', 'thorough'], expecting('effort must be quick, standard or thorough'));

/** The body of POST /api/runs for the benchmark. @param {string[]} names of mechanisms */
const runBody = (names) => {
  const message = expecting(`mechanisms must be a list of one or more of ${names.join(', ')}`);
  return only({
    mechanisms: z.array(z.enum(names, message), message).min(1, message).max(names.length, message).optional(),
    messages: integer('messages', MESSAGES).optional(),
    sizeBytes: integer('sizeBytes', SIZE).optional(),
    effort,
  });
};

/** The body of POST /api/runs for an experiment. @param {import('../lib/experiments/command.js').Experiment} experiment */
const experimentBody = ({ name, choices }) =>
  only({
    experiment: z.literal(name),
    effort,
    ...Object.fromEntries(
      Object.entries(choices).map(([choice, values]) => [
        choice,
        z.enum(values, expecting(`${choice} must be one of ${values.join(', ')}`)).default(values[0]),
      ]),
    ),
  });

/** The body of POST /api/traces. @param {string[]} names of mechanisms */
const traceBody = (names) =>
  only({ mechanism: oneOf(names), messages: integer('messages', TRACED_MESSAGES).default(10) });

/** The body of POST /api/gates: an empty one must not start anything. */
const gatesBody = only({ record: z.literal(true, expecting('record must be true')) });

/** The body of POST /api/lessons/NAME/runs. @param {number} count of the lesson's tries */
const lessonBody = (count) => {
  const message = expecting(`try must be null or an integer from 0 to ${count - 1}`);
  return only({
    try: z
      .int(message)
      .min(0, message)
      .max(count - 1, message)
      .nullable()
      .default(null),
  });
};

const FORMATS = /** @type {const} */ (['json', 'csv', 'markdown']);
const fileQuery = only({ format: z.enum(FORMATS, expecting('format must be json, csv or markdown')).default('json') });

const runId = z.uuid(expecting('run id must be a UUID'));
const compareQuery = only({ a: runId, b: runId });

/**
 * @template {z.ZodType} T
 * @param {T} schema
 * @param {unknown} value
 * @returns {z.output<T>}
 */
function parse(schema, value) {
  const { success, data, error } = schema.safeParse(value);
  if (success) return data;
  throw new HttpError(400, 'ERR_USAGE', error.issues[0].message);
}

/**
 * The run to start, from the body of POST /api/runs.
 * @param {any} body
 * @param {{name: string, title: string}[]} catalogue of the mechanisms
 */
function parseTask(body, catalogue) {
  const requested = body?.experiment;
  if (requested === undefined) return benchTask(parseRun(body, catalogue));
  const experiment = EXPERIMENTS.find(({ name }) => name === requested);
  if (!experiment) {
    const names = EXPERIMENTS.map(({ name }) => name).join(', ');
    throw new HttpError(400, 'ERR_USAGE', `experiment must be one of ${names}; got ${quoted(requested)}.`);
  }
  const { experiment: _, ...options } = parse(experimentBody(experiment), body);
  return experimentTask(experiment, /** @type {any} */ (options));
}

/**
 * The benchmark's options.
 * @param {unknown} body
 * @param {{name: string, title: string}[]} catalogue
 * @returns {import('../lib/bench/runner.js').BenchOptions}
 */
function parseRun(body, catalogue) {
  const names = catalogue.map(({ name }) => name);
  const { mechanisms = names, sizeBytes = 64, messages, ...rest } = parse(runBody(names), body);
  const most = Math.floor(MAX_SAMPLE_BYTES / sizeBytes);
  if (messages !== undefined && messages > most) {
    throw new HttpError(
      400,
      'ERR_USAGE',
      `messages must be at most ${grouped(most)} when sizeBytes is ${grouped(sizeBytes)}, ` +
        `because a sample carries at most 1 GiB; got ${messages}.`,
    );
  }
  return {
    mechanisms: [...new Set(mechanisms)],
    catalogue,
    effort: rest.effort,
    sizeBytes,
    messages: messages ?? Math.min(EFFORTS[rest.effort].messages, most),
    batch: 1,
    cores: null,
    pin: true,
    realtime: false,
    countMethod: 'auto',
  };
}

module.exports = {
  parse,
  parseTask,
  runBody,
  experimentBody,
  gatesBody,
  lessonBody,
  traceBody,
  fileQuery,
  compareQuery,
  runId,
};
