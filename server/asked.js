'use strict';
// What a client may ask for. A value that cannot be used is refused in one sentence that names it and what is accepted.
const { z } = require('zod');
const { EFFORTS } = require('../lib/bench/runner.js');
const { LabRefusal } = require('./refusal.js');

const MESSAGES = { least: 1, most: 1_000_000 };
const SIZE = { least: 8, most: 16 << 20 };
const MOST_BYTES = 1 << 30; // of one sample: messages × sizeBytes
const TRACED_MESSAGES = { least: 1, most: 1000 };

/** A value as a sentence can show it. @param {unknown} value */
function shown(value) {
  if (value === undefined) return 'nothing';
  let text;
  try {
    text = JSON.stringify(value);
  } catch {
    return 'what was sent'; // nested too deep to be written out
  }
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}

/** @param {string} accepted such as 'effort is quick, standard or thorough' */
const say = (accepted) => ({
  /** @param {{input?: unknown}} issue */
  error: ({ input }) => `${accepted}, not ${shown(input)}.`,
});

/** @param {string} name @param {{least: number, most: number}} range */
const whole = (name, { least, most }) => {
  const told = say(`${name} is a whole number from ${least} to ${most}`);
  return z.int(told).min(least, told).max(most, told);
};

/** An object with these keys and no others. @template {z.ZodRawShape} T @param {T} shape */
const only = (shape) =>
  z.strictObject(shape, {
    error: (issue) => {
      const names = Object.keys(shape).join(', ');
      return issue.code === 'unrecognized_keys'
        ? `There is no parameter ${shown(issue.keys?.[0])}: what can be given is ${names}.`
        : `What is sent is an object with ${names}, not ${shown(issue.input)}.`;
    },
  });

/** @param {string[]} names of mechanisms */
const oneOf = (names) => z.enum(names, say(`mechanism is one of ${names.join(', ')}`));

/** The body of POST /api/runs. @param {string[]} names of mechanisms */
const runBody = (names) => {
  const list = say(`mechanisms is a list of one or more of ${names.join(', ')}`);
  return only({
    mechanisms: z.array(z.enum(names, list), list).min(1, list).max(names.length, list).optional(),
    messages: whole('messages', MESSAGES).optional(),
    sizeBytes: whole('sizeBytes', SIZE).optional(),
    effort: z.enum(['quick', 'standard', 'thorough'], say('effort is quick, standard or thorough')),
  });
};

/** The body of POST /api/traces. @param {string[]} names of mechanisms */
const traceBody = (names) =>
  only({ mechanism: oneOf(names), messages: whole('messages', TRACED_MESSAGES).default(10) });

const FORMATS = /** @type {const} */ (['json', 'csv', 'markdown']);
const fileQuery = only({ format: z.enum(FORMATS, say('format is json, csv or markdown')).default('json') });

const id = z.uuid(say('a run is named by its id, a UUID'));
const compareQuery = only({ a: id, b: id });

/**
 * @template {z.ZodType} T
 * @param {T} schema
 * @param {unknown} value
 * @returns {z.output<T>}
 */
function read(schema, value) {
  const { success, data, error } = schema.safeParse(value);
  if (success) return data;
  const [{ message }] = error.issues;
  throw new LabRefusal(400, 'ERR_USAGE', `${message[0].toUpperCase()}${message.slice(1)}`);
}

/**
 * What the runner is asked for, from the body of a request.
 * @param {unknown} body
 * @param {{name: string, title: string}[]} catalogue
 * @returns {import('../lib/bench/runner.js').BenchOptions}
 */
function readRun(body, catalogue) {
  const names = catalogue.map(({ name }) => name);
  const { mechanisms = names, sizeBytes = 64, effort, messages } = read(runBody(names), body);
  const fitting = Math.floor(MOST_BYTES / sizeBytes);
  if (messages !== undefined && messages > fitting) {
    throw new LabRefusal(
      400,
      'ERR_USAGE',
      `A sample carries 1 GiB at most: with messages of ${sizeBytes} bytes take ${fitting} or fewer, not ${messages}.`,
    );
  }
  return {
    mechanisms: [...new Set(mechanisms)],
    catalogue,
    effort,
    sizeBytes,
    messages: messages ?? Math.min(EFFORTS[effort].messages, fitting),
    batch: 1,
    cores: null,
    pin: true,
    realtime: false,
    countMethod: 'auto',
  };
}

module.exports = { read, readRun, traceBody, oneOf, fileQuery, compareQuery, id };
