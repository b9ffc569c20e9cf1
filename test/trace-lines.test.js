'use strict';
// Recordings of Node programs: the line of JavaScript beside each system call, compared with the program's own text.
const { spawnSync } = require('node:child_process');
const { mkdtempSync, openSync, rmSync, writeFileSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { recordProgram } = require('../lib/trace/program/record.js');
const { run } = require('./support.js');

/** @typedef {import('../lib/trace/program/record.js').ProgramTrace} ProgramTrace */
/** @typedef {import('../lib/trace/program/recorder.js').ProgramCall} ProgramCall */

const isTracing = run('crossings-demo', ['--trace', 'pipe']).status === 0;
const describeWhereAllowed = isTracing ? describe : describe.skip;
const testWhereAllowed = isTracing ? test : test.skip;
const LINES = join(__dirname, '..', 'lib/trace/node/lines.js');

// A comment names each line that a test is about.
const SERVER = `
const { fork } = require('node:child_process');
const { readFile, readFileSync, writeFileSync } = require('node:fs');
const http = require('node:http');
if (process.argv[2]) {
  process.send({ hello: 1 }, () => process.disconnect()); // send
} else {
  const server = http.createServer((request, response) => {
    readFile('data.txt', (error, data) => { // read
      response.end(data); // respond
    });
  });
  server.listen(0, '127.0.0.1', () => { // listen
    http.get({ port: server.address().port, host: '127.0.0.1' }, (response) => { // get
      response.on('data', (data) => {
        process.stdout.write(data); // print
        server.close();
        server.closeAllConnections();
        writeFileSync('copy.txt', data); // copy
        fork(__filename, ['child']); // fork
      });
    });
  });
}
`;
const MODULE = `
import { readFile, writeFile } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { connect, createServer } from 'node:net';

const text = await readFile('data.txt', 'utf8'); // read
existsSync('never.txt'); // exists
const server = createServer((socket) => socket.end(text)); // answer
await new Promise((resolve) => server.listen('socket', resolve)); // listen
for await (const data of connect('socket')) { // connect
  await writeFile('copy.txt', data); // write
}
server.close();
`;

describeWhereAllowed('the lines of a Node program', () => {
  const folder = mkdtempSync(join(tmpdir(), 'trace-lines-'));
  const nowhere = openSync('/dev/null', 'r+');
  /** @param {string} name @param {boolean} [lines] */
  const record = (name, lines) =>
    recordProgram({
      command: ['node', name],
      lines,
      spawn: { cwd: folder, stdio: [nowhere, 'pipe', 'inherit', 'pipe'] },
    });
  /** @type {ProgramTrace} */ let server;
  /** @type {ProgramTrace} */ let module;
  beforeAll(async () => {
    writeFileSync(join(folder, 'data.txt'), 'some data');
    writeFileSync(join(folder, 'server.js'), SERVER);
    writeFileSync(join(folder, 'module.mjs'), MODULE);
    [server, module] = [await record('server.js'), await record('module.mjs')];
    expect([server.status, module.status]).toEqual([0, 0]);
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  /** "respond", if this is the comment of the event's line. @param {ProgramTrace} trace @param {ProgramCall | undefined} event */
  const placeOf = ({ sources }, event) => {
    if (!event?.source) return undefined;
    const { file, line, why } = event.source;
    return [sources[file].split('\n')[line - 1].replace(/.*\/\/ /, ''), why];
  };
  /** @param {ProgramTrace} trace @param {string} name @param {RegExp} pattern */
  const find = ({ events }, name, pattern) =>
    events.find((event) => event.name === name && pattern.test(`${event.args.join(', ')} = ${event.result}`));

  test.each([
    ['listen', /TCP socket/, 'listen'],
    ['connect', /TCP socket/, 'get'],
    ['write', /GET \/ HTTP/, 'get'],
    ['writev', /HTTP\/1\.1 200 OK/, 'respond'],
    ['write', /^1<.*"some data"/, 'print'],
    ['openat', /copy\.txt/, 'copy'],
    ['write', /copy\.txt.*"some data"/, 'copy'],
    ['write', /hello/, 'send'],
  ])('are those that called: %s', (name, pattern, place) => {
    expect(placeOf(server, find(server, name, pattern))?.[0]).toBe(place);
  });

  test('are those that gave the work to the thread pool', () => {
    const open = find(server, 'openat', /data\.txt/);
    expect(open?.tid).not.toBe(open?.pid);
    expect(placeOf(server, open)).toEqual(['read', 'queued']);
    expect(placeOf(server, find(server, 'read', /data\.txt.*some data/))).toEqual(['read', 'queued']);
    expect(placeOf(module, find(module, 'openat', /data\.txt/))).toEqual(['read', 'queued']);
    expect(placeOf(module, find(module, 'write', /copy\.txt.*some data/))).toEqual(['write', 'queued']);
  });

  test('are those that created the descriptor, where libuv calls by itself', () => {
    expect(placeOf(server, find(server, 'accept4', /TCP socket/))).toEqual(['listen', 'created']);
    expect(placeOf(server, find(server, 'read', /HTTP\/1\.1 200 OK/))).toEqual(['get', 'created']);
  });

  test('are those that spawned, until the new process has its program', () => {
    const [parent, child] = server.processes;
    const before = server.events.filter(({ pid, t }) => pid === child.pid && t < Number(child.end));
    const execve = before.findIndex(({ name, result }) => name === 'execve' && result === '0');
    expect(execve).toBeGreaterThan(0);
    for (const event of before.slice(0, execve)) expect(placeOf(server, event)).toEqual(['fork', 'spawned']);
    const clone = server.events.find(({ pid, result }) => pid === parent.pid && result === String(child.pid));
    expect(placeOf(server, clone)).toEqual(['fork', undefined]);
  });

  test('are found in modules', () => {
    expect(placeOf(module, find(module, 'access', /never\.txt/))).toEqual(['exists', undefined]);
    expect(placeOf(module, find(module, 'listen', /Unix socket/))).toEqual(['listen', undefined]);
    expect(placeOf(module, find(module, 'connect', /Unix socket/))).toEqual(['connect', undefined]);
    expect(placeOf(module, find(module, 'write', /Unix socket.*some data/))).toEqual(['answer', undefined]);
  });

  test('are in the recording with the text of their files, and nothing else', () => {
    expect(server.sources).toEqual({ 'server.js': SERVER });
    expect(module.sources).toEqual({ 'module.mjs': MODULE });
  });

  test('leave no marks, and the program makes the same calls as without them', async () => {
    /**
     * Calls on files and sockets, in the order of each thread's first. Those that only wait depend on the time, as does whether
     * one recvmsg() or two receive the child's message and its end.
     * @param {ProgramTrace} trace
     */
    const calls = ({ events }) =>
      events
        .filter(
          ({ name, fds, args }) => !/^epoll|^mmap$|^recvmsg$/.test(name) && (fds.length || args[1]?.includes('/')),
        )
        .filter(({ args }) => !args[0].includes('eventfd') && !args.join().includes('/proc/'))
        .map(({ name }) => name);
    // Two runs of a Node program may differ by a call, with or without marks. So there are three attempts, each with new runs.
    for (let attempt = 1; ; attempt++) {
      const withMarks = attempt === 1 ? server : await record('server.js');
      const plain = await record('server.js', false);
      expect(plain.sources).toEqual({});
      const [marked, unmarked] = [calls(withMarks).sort(), calls(plain).sort()];
      if (attempt < 3 && String(marked) !== String(unmarked)) continue;
      expect(marked).toEqual(unmarked);
      break;
    }
    for (const trace of [server, module]) {
      expect(trace.events.filter((event) => /crossings-lines|lines\.js/.test(event.args.join()))).toEqual([]);
    }
  });
});

describe('where the permission model forbids', () => {
  const folder = mkdtempSync(join(tmpdir(), 'trace-lines-'));
  afterAll(() => rmSync(folder, { recursive: true }));
  const program = join(folder, 'a.js');
  writeFileSync(program, "console.log('hello')");
  const flag = process.allowedNodeEnvironmentFlags.has('--permission') ? '--permission' : '--experimental-permission';

  test('the marks, the program runs without them', () => {
    const allowed = [program, LINES].map((path) => `--allow-fs-read=${path}`);
    const args = [flag, ...allowed, '--require', LINES, program];
    const { status, stdout } = spawnSync(process.execPath, args, { encoding: 'utf8' });
    expect({ status, stdout }).toEqual({ status: 0, stdout: 'hello\n' });
  });

  testWhereAllowed('lines.js itself, the recording names --no-lines', async () => {
    const command = [process.execPath, flag, `--allow-fs-read=${program}`, program];
    const nowhere = openSync('/dev/null', 'r+');
    const { status, notes } = await recordProgram({ command, spawn: { stdio: [nowhere, 'pipe', nowhere, 'pipe'] } });
    // Since Node 22, what --require names may be read.
    const isReadable = Number(process.versions.node.split('.')[0]) >= 22;
    expect({ status, notes }).toEqual(
      isReadable
        ? { status: 0, notes: [] }
        : { status: 1, notes: [expect.stringMatching(/ lines\.js .* --no-lines\.$/)] },
    );
  });
});

test.each([
  ['a file: URL of another host', "vm.runInThisContext('work()', { filename: 'file://server/share/a.js' })"],
  ['a file: URL that is no path', "vm.runInThisContext('work()', { filename: 'file:///a%2fb.js' })"],
  ['a frozen Error', 'Object.freeze(Error); work()'],
  [
    'a regular expression that makes promises',
    'const { exec } = RegExp.prototype; RegExp.prototype.exec = function (text) { Promise.resolve(); return exec.call(this, text); }; work()',
  ],
  [
    'a prototype that throws',
    `const { AsyncResource } = require('node:async_hooks');
     class Wrap extends AsyncResource { constructor() { super('PIPEWRAP'); } }
     const trap = { getPrototypeOf() { throw new Error('trap'); } };
     Object.setPrototypeOf(Wrap.prototype, new Proxy(AsyncResource.prototype, trap));
     try { new Wrap(); } catch {}
     work()`,
  ],
  [
    'a fixed limit of stack traces',
    "Object.defineProperty(Error, 'stackTraceLimit', { value: 5, writable: false }); work()",
  ],
  ['stack traces that throw', "Error.prepareStackTrace = () => { throw new Error('x') }; work()"],
])('a program with %s runs as without them', (_what, what) => {
  const script = `
    const vm = require('node:vm');
    globalThis.work = () => { require('node:fs').existsSync('x'); setTimeout(() => console.log('done'), 1); };
    ${what};`;
  const { status, stdout, stderr } = spawnSync(process.execPath, ['--require', LINES, '-e', script], {
    encoding: 'utf8',
  });
  expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: 'done\n', stderr: '' });
});
