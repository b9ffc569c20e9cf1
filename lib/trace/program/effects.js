'use strict';
// What a call that has returned changed: the descriptors of its process, the objects that it made, what an epoll watches, names.
const { printable } = require('../values.js');
const { watchedData } = require('./causes.js');

/** @typedef {import('./stuck.js').Recorder} Recorder */
/** @typedef {import('./objects.js').RawDescriptor} RawDescriptor */

const CLOSE_RANGE_CLOEXEC = 4;
const EPOLL_CTL_DEL = 2;
const MESSAGE_CALLS = ['sendmsg', 'recvmsg', 'sendmmsg', 'recvmmsg'];
const DUPLICATES = ['dup', 'dup2', 'dup3', 'fcntl'];

/** The arguments of a call as signed numbers. @param {{args: string[]}} raw */
const numbersOf =
  ({ args }) =>
  (/** @type {number} */ i) =>
    Number(BigInt.asIntN(32, BigInt(args[i])));

/**
 * Keeps the recorder up to date, and adds to the call what it made, closed, sent and received.
 * @param {Recorder} recorder
 * @param {any} raw
 */
function applyCall(recorder, raw) {
  const { tid, name } = raw;
  const failed = raw.result.startsWith('-');
  raw.known = recorder.objects.list.length;
  raw.closed ??= []; // an execve() has closed some already
  if (name === 'execve' && !failed) recorder.preloaded.delete(tid);
  if (!failed) close(recorder, raw);
  make(recorder, raw);
  if (name === 'epoll_ctl' && !failed) watch(recorder, raw);
  exchangeRights(recorder, raw);
  recorder.outside.learn(raw);
  if (name === 'prctl' && raw.in[1] !== undefined) rename(recorder, raw);
  if (name === 'ptrace' && !recorder.notes.some((note) => note.startsWith('The program uses ptrace'))) {
    recorder.note(
      'The program uses ptrace itself, which fails while it is traced: a process can have only one tracer.',
    );
  }
}

/** @param {Recorder} recorder @param {any} raw */
function close({ descriptors }, raw) {
  const { pid, name, end, args } = raw;
  const number = numbersOf(raw);
  if (name === 'close') raw.closed.push(descriptors.close(pid, number(0), end));
  if (name !== 'close_range' || number(2) & CLOSE_RANGE_CLOEXEC) return;
  const last = Number(BigInt.asUintN(32, BigInt(args[1])));
  for (const fd of [...descriptors.table(pid).keys()])
    if (fd >= number(0) && fd <= last) raw.closed.push(descriptors.close(pid, fd, end));
}

/** A new descriptor replaces an old one with its number. @param {Recorder} recorder @param {any} raw */
function make({ descriptors, objects }, raw) {
  const { pid, name, end } = raw;
  const copied = DUPLICATES.includes(name) ? numbersOf(raw)(0) : undefined;
  for (const changed of raw.changed ?? []) descriptors.see(pid, changed, end);
  raw.madeObjects = raw.made.map((/** @type {RawDescriptor} */ made) => {
    if (made.fd === copied) return descriptors.see(pid, made, end);
    raw.closed.push(descriptors.close(pid, made.fd, end));
    return descriptors.see(pid, made, end, copied);
  });
  if (name === 'socketpair' && raw.madeObjects.length === 2) objects.connect(raw.madeObjects[0], raw.madeObjects[1]);
}

/** @param {Recorder} recorder @param {any} raw an epoll_ctl() */
function watch({ watched }, raw) {
  const [epoll, object] = raw.objects;
  const operation = numbersOf(raw)(1);
  const fd = numbersOf(raw)(2);
  const list = watched.get(epoll) ?? new Map();
  watched.set(epoll, list);
  if (operation === EPOLL_CTL_DEL || object === undefined) list.delete(fd);
  else list.set(fd, { object, data: watchedData(raw.in[3] ?? '')[0] });
}

/** Descriptors that were passed through a socket. @param {Recorder} recorder @param {any} raw */
function exchangeRights({ descriptors, outside }, raw) {
  const { pid, name, end } = raw;
  const rights = name === 'recvmsg' ? (raw.out[1]?.rights ?? []) : [];
  raw.received = rights.map((/** @type {RawDescriptor} */ right) => descriptors.see(pid, right, end));
  const given = name === 'sendmsg' ? (raw.in[1]?.rights ?? []) : [];
  if (MESSAGE_CALLS.includes(name) && (raw.in[1]?.more || raw.out[1]?.more)) outside.isUnsure = true;
  raw.sent = given.flatMap((/** @type {RawDescriptor} */ { fd }) => descriptors.table(pid).get(fd)?.object ?? []);
}

/** A thread names itself. @param {Recorder} recorder @param {any} raw a prctl() */
function rename({ alive }, { pid, tid, in: input }) {
  const process = alive.get(pid);
  const thread = process?.threads.find((candidate) => candidate.tid === tid);
  const name = printable(input[1].slice(0, 15));
  if (thread) thread.name = name;
  // The name of the first thread is that of the process, except in Node, which calls it MainThread.
  if (process && tid === pid && !name.endsWith('MainThread')) process.name = name;
}

module.exports = { applyCall };
