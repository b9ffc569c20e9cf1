'use strict';
// Runs inside the traced program, before it: `node --require lines.js app.js`. It tells the tracer which line of JavaScript
// makes a system call, by marks: access() of a path that does not exist and that holds the line. ./marks.js reads them
// and removes them from the recording. It may change nothing that the program can see, so it uses Node's modules only.
const asyncHooks = require('node:async_hooks');
const childProcess = require('node:child_process');
const fs = require('node:fs');
const { syncBuiltinESMExports } = require('node:module');
const { join } = require('node:path');
const { fileURLToPath } = require('node:url');

/** @typedef {{file: string, line: number, why: 'called' | 'continued'}} Place of the program's own file */

const PREFIX = '/.crossings-lines/';
const MAX_FRAMES = 100; // a framework has many frames between the program and Node
const MAX_PROMISE_FRAMES = 16; // promises are many
const OWN = join(__dirname, '..', '..'); // this package's lib/: a channel's line is its caller's
const MODULES = '/node_modules/';

/** What the thread pool does for one caller. */
const REQUESTS = new Set(['FSREQCALLBACK', 'FSREQPROMISE', 'FILEHANDLECLOSEREQ', 'GETADDRINFOREQWRAP']);
/** Resources whose methods make system calls. */
const HANDLES =
  /^((TCP|PIPE)(SERVER)?|TTY|UDP|TLS|PROCESS|FSEVENT|SIGNAL)WRAP$|^(STATWATCHER|FILEHANDLE|DNSCHANNEL|WORKER)$/;
/** These methods. Other members must be left alone: some look like methods, and to write them ends the process. */
const METHODS = new RegExp(
  '^(open|close|bind6?|listen|connect6?|getsockname|getpeername|reset|shutdown|readStart|readStop|recvStart|recvStop|' +
    'write(v|Buffer|Utf8String|AsciiString|Latin1String|Ucs2String)|send6?|set(Blocking|NoDelay|KeepAlive|RawMode|TTL|Broadcast)|' +
    'fchmod|getWindowSize|add\\w*Membership|bufferSize|spawn|kill|start|startThread|stop|query\\w*)$',
);
const PROCESS_CALLS = /** @type {const} */ (['kill', 'chdir', 'umask']);
const CHILD_CALLS = /** @type {const} */ (['spawnSync', 'execSync', 'execFileSync']);

const { existsSync } = fs;

/** Makes one access(). It throws only if the program has dropped the right to read files. @param {string} path */
function mark(path) {
  try {
    existsSync(path);
  } catch {
    // No mark is better than no program.
  }
}

/** The line that created a resource. @type {WeakMap<object, Place>} */
const lines = new WeakMap();
/** @type {Set<number>} */
const requests = new Set();
/** @type {WeakSet<object>} */
const wrapped = new WeakSet();
const depth = modulesIn(process.argv[1] ?? '');

/** @param {string} path */
function modulesIn(path) {
  return path.split(MODULES).length;
}

/** @param {string | null | undefined} name of a frame's file */
function ownFile(name) {
  if (!name) return null;
  const path = name.startsWith('file:') ? fileURLToPath(name) : name;
  // A program that is installed as a module is not a module that it uses.
  return path.startsWith('/') && modulesIn(path) <= depth && !path.startsWith(`${OWN}/`) ? path : null;
}

/** The innermost line of the program on the stack. @param {number} limit @returns {Place | null} */
function placeOnStack(limit) {
  const { prepareStackTrace, stackTraceLimit } = Error;
  /** @type {{stack?: NodeJS.CallSite[]}} */ const holder = {};
  try {
    Reflect.set(Error, 'stackTraceLimit', limit); // an assignment would throw if the program has frozen Error
    Reflect.set(Error, 'prepareStackTrace', (/** @type {Error} */ _, /** @type {NodeJS.CallSite[]} */ sites) => sites);
    Error.captureStackTrace(holder, placeOnStack);
    for (const site of holder.stack ?? []) {
      const file = ownFile(site.getFileName());
      const line = site.getLineNumber();
      const awaits = /** @type {any} */ (site).isAsync();
      if (file && line) return { file, line, why: awaits ? 'continued' : 'called' };
    }
    return null;
  } catch {
    return null; // a file: URL that is no path, or an Error that the program has changed: no line is better than no program
  } finally {
    Reflect.set(Error, 'prepareStackTrace', prepareStackTrace);
    Reflect.set(Error, 'stackTraceLimit', stackTraceLimit);
  }
}

/** The line on the stack, or the line that led to this callback. @param {number} [limit] @returns {Place | null} */
function currentPlace(limit = MAX_FRAMES) {
  const place = placeOnStack(limit);
  if (place) return place;
  const led = lines.get(asyncHooks.executionAsyncResource());
  return led ? { ...led, why: 'continued' } : null;
}

/** @param {Place} place */
const textOf = ({ file, line, why }) => `${why}/${line}/${file}`;

/** The same function, whose system calls belong to the line that calls it. @param {Function} inner */
function marked(inner) {
  /** @this {any} @param {any[]} args */
  return function (...args) {
    const place = currentPlace();
    if (!place) return Reflect.apply(inner, this, args);
    mark(`${PREFIX}begin/${textOf(place)}`);
    try {
      return Reflect.apply(inner, this, args);
    } finally {
      mark(`${PREFIX}end`);
    }
  };
}

/** Replaces a function of a module by one that marks and is otherwise indistinguishable. @param {any} module @param {string} name */
function replace(module, name) {
  const inner = module[name];
  const apply = marked(inner);
  module[name] = new Proxy(inner, { apply: (_, self, args) => Reflect.apply(apply, self, args) });
}

/** The methods of a handle are those of its prototypes. @param {any} handle */
function wrapMethods(handle) {
  for (let at = Object.getPrototypeOf(handle); at && at !== Object.prototype; at = Object.getPrototypeOf(at)) {
    if (wrapped.has(at)) continue;
    wrapped.add(at);
    for (const [name, { value, writable }] of Object.entries(Object.getOwnPropertyDescriptors(at))) {
      if (METHODS.test(name) && typeof value === 'function' && writable) at[name] = marked(value);
    }
  }
}

let isInside = false; // the program may have replaced a built-in function by one that creates a promise

/** @param {number} asyncId @param {string} type @param {object} resource */
function created(asyncId, type, resource) {
  if (isInside) return;
  isInside = true;
  try {
    const place = currentPlace(type === 'PROMISE' ? MAX_PROMISE_FRAMES : MAX_FRAMES);
    if (place) lines.set(resource, place);
    if (HANDLES.test(type)) wrapMethods(resource);
    if (!REQUESTS.has(type)) return;
    requests.add(asyncId);
    mark(`${PREFIX}request/${asyncId}${place ? `/${textOf(place)}` : ''}`);
  } catch {
    // From such a function, or from a Proxy of the program: no line is better than no program.
  } finally {
    isInside = false;
  }
}

const hook = asyncHooks.createHook({
  init: (asyncId, type, _, resource) => created(asyncId, type, resource),
  before(asyncId) {
    if (requests.delete(asyncId)) mark(`${PREFIX}done/${asyncId}`);
  },
});

function install() {
  for (const module of [fs, fs.promises]) {
    for (const [name, value] of Object.entries(module)) {
      if (typeof value === 'function' && /^[a-z]/.test(name)) replace(module, name);
    }
  }
  for (const name of PROCESS_CALLS) replace(process, name);
  for (const name of CHILD_CALLS) replace(childProcess, name);
  syncBuiltinESMExports();
  // The channel to a parent that forked this process exists already.
  for (const symbol of Object.getOwnPropertySymbols(process)) {
    const value = /** @type {any} */ (process)[symbol];
    if (typeof value?.writeUtf8String === 'function') wrapMethods(value);
  }
  hook.enable();
  mark(`${PREFIX}loaded`);
}

// Where Node's permission model forbids the marks, each would throw.
if (!process.permission || process.permission.has('fs.read', `${PREFIX}loaded`)) install();
