'use strict';
// The machinery of `npm run test:long`, tried with parts that pass, fail, hang, crash, and leave things behind; and the short
// forms of the long days, of the event loop under floods, and of the random walks.
const { spawn, spawnSync } = require('node:child_process');
const { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { testInCi } = require('./in-ci.js');
const { isAlive, until } = require('./support.js');

const script = join(__dirname, 'long', 'run.js');
const folder = mkdtempSync(join(tmpdir(), 'runs-'));
const parts = join(folder, 'parts');
afterAll(() => rmSync(folder, { recursive: true }));

/** Starts a process that leads its own group and sleeps, and notes its id. */
const sleeper = `
  const child = require('node:child_process').spawn('sleep', ['1000'], { detached: true, stdio: 'ignore' });
  require('node:fs').writeFileSync(process.env.SLEEPER, String(child.pid));`;

/** @type {Record<string, string>} */
const BODIES = {
  passes: `progress(0.5, 'half'); return { figures: { seed, scale, bytes: 12345.678 }, failures: [] };`,
  skips: `return { figures: {}, failures: [], skipped: 'this machine lacks it' };`,
  fails: `return { figures: {}, failures: ['message 7 was lost'] };`,
  crashes: `process.kill(process.pid, 'SIGSEGV'); await new Promise(() => setTimeout(() => {}, 1e6));`,
  throws: `throw new Error('it is broken');`,
  hangs: `${sleeper} await new Promise(() => setTimeout(() => {}, 1e6));`,
  waits: `${sleeper.replace('detached: true, ', '')} await new Promise(() => setTimeout(() => {}, 1e6));`,
  leaves: `${sleeper} require('node:fs').writeFileSync(require('node:path').join(require('node:os').tmpdir(), 'rubbish'), '');
    return { figures: {}, failures: [] };`,
};
mkdirSync(parts);
for (const [name, body] of Object.entries(BODIES)) {
  writeFileSync(
    join(parts, `${name}.js`),
    `module.exports = { name: '${name}', title: 'it ${name}', boundSeconds: { short: 2, long: 60 },
      async run({ scale, seed, progress }) { ${body} } };`,
  );
}

const sleeperFile = join(folder, 'sleeper');
const env = { ...process.env, SLEEPER: sleeperFile };

/** @param {string[]} args */
function run(...args) {
  const result = spawnSync(process.execPath, [script, '--parts', parts, ...args], { encoding: 'utf8', env });
  return { status: result.status, stdout: result.stdout, stderr: result.stderr };
}

/** The process that the part started, once it has noted its id. */
const sleeperId = () => Number(readFileSync(sleeperFile, 'utf8'));

test('the list names the parts of this project', () => {
  const { status, stdout } = spawnSync(process.execPath, [script, '--list'], { encoding: 'utf8' });
  expect(status).toBe(0);
  for (const name of ['api-abuse', 'connects', 'event-loop', 'messages', 'stress', 'walk'])
    expect(stdout).toContain(name);
});

test('a part that cannot be loaded is a failure, and is listed as such', () => {
  const broken = join(folder, 'broken');
  mkdirSync(broken);
  writeFileSync(join(broken, 'nothing.js'), `require('a-package-that-does-not-exist');`);
  const { status, stdout } = run('--parts', broken);
  expect(status).toBe(1);
  expect(stdout).toMatch(/! nothing: Error: Cannot find module/);
  expect(run('--parts', broken, '--list')).toMatchObject({
    status: 0,
    stdout: expect.stringMatching(/^nothing +\(cannot be loaded: Error: Cannot find module/),
  });
});

test('parts that pass or are skipped make a table, a file and exit status 0', () => {
  const file = join(folder, 'run.json');
  const { status, stdout, stderr } = run('--only', 'passes,skips', '--seed', '42', '--scale', 'short', '--json', file);
  expect(status).toBe(0);
  expect(stdout).toMatch(/passes: it passes +passed in/);
  expect(stdout).toMatch(/bytes +12,300/);
  expect(stdout).toContain('skips was skipped: this machine lacks it');
  expect(stdout).toContain('--seed 42');
  expect(stderr).toMatch(/passes …\n/);
  expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({
    schema: 'crossings/long-run/1',
    machine: { node: process.version },
    parameters: { seed: 42, scale: 'short' },
    outcomes: [
      { name: 'passes', figures: { seed: 42, scale: 'short', bytes: 12345.678 }, failures: [] },
      { name: 'skips', skipped: 'this machine lacks it', failures: [] },
    ],
  });
});

test.each([
  ['fails', /! fails: message 7 was lost/],
  ['crashes', /! crashes: Its process ended without a result: .*SIGSEGV/],
  ['throws', /! throws: Its process ended without a result: .*\n.*it is broken/],
])('a part that %s fails the run, and the others run all the same', (name, message) => {
  const { status, stdout } = run('--only', `${name},passes`, '--scale', 'short');
  expect(status).toBe(1);
  expect(stdout).toMatch(message);
  expect(stdout).toMatch(/it passes +passed/);
});

test('a part past its bound is ended with all its processes', () => {
  const { status, stdout } = run('--only', 'hangs', '--scale', 'short');
  expect(status).toBe(1);
  expect(stdout).toMatch(/! hangs: It was ended after 2 s, the bound of this part/);
  expect(isAlive(sleeperId())).toBe(false);
});

test('what a part leaves behind is ended, removed, and a failure', () => {
  const { status, stdout } = run('--only', 'leaves', '--scale', 'short');
  expect(status).toBe(1);
  expect(stdout).toMatch(/It left process \d+ behind: sleep 1000/);
  expect(stdout).toContain('It left rubbish behind');
  expect(isAlive(sleeperId())).toBe(false);
});

/** Starts a run of a part that never ends, and waits until that has started its process. @param {string} part */
async function startEndless(part) {
  rmSync(sleeperFile, { force: true });
  const child = spawn(process.execPath, [script, '--parts', parts, '--only', part], { env, stdio: 'ignore' });
  const ended = new Promise((resolve) => child.on('exit', resolve));
  await until(() => {
    try {
      return isAlive(sleeperId());
    } catch {
      return false; // the file is not there yet
    }
  });
  return { child, ended };
}

test.each([
  ['SIGINT', 130],
  ['SIGTERM', 143],
])('%s ends every process', async (signal, expected) => {
  const { child, ended } = await startEndless('hangs');
  child.kill(/** @type {NodeJS.Signals} */ (signal));
  expect(await ended).toBe(expected);
  expect(isAlive(sleeperId())).toBe(false);
});

test('when the run is killed, its part ends with its children', async () => {
  const { child, ended } = await startEndless('waits');
  child.kill('SIGKILL');
  await ended;
  await until(() => !isAlive(sleeperId()));
});

test.each([
  [['--only', 'nonsense'], /--only must be a comma-separated list of .*passes.*; got "nonsense"/],
  [['--seed', 'x'], /--seed must be a whole number from 1 to 2147483647; got "x"/],
  [['--minutes', '0'], /--minutes must be a whole number from 1 to 10000; got "0"/],
  [['--scale', 'huge'], /option '--scale <scale>' argument 'huge' is invalid. Allowed choices are short, long/],
  [['--json', '/nowhere/run.json'], /--json must be a file that can be written; got "\/nowhere\/run.json"/],
  [['--parts', '/nowhere'], /--parts must be a folder with parts; got "\/nowhere"/],
  [['--nonsense'], /unknown option '--nonsense'/],
  [['nonsense'], /too many arguments/],
])('%j is refused in one sentence', (args, message) => {
  const { status, stdout, stderr } = run(...args);
  expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
  expect(stderr).toMatch(message);
  expect(stderr.trim().split('\n')).toHaveLength(1);
});

const seed = Number(process.env.CROSSINGS_SEED ?? 1 + (Date.now() % 1_000_000));

for (const name of ['messages', 'connects', 'event-loop', 'walk']) {
  testInCi(`${name}, the short form (CROSSINGS_SEED=${seed})`, async () => {
    const part = require(`./long/parts/${name}.js`);
    const { figures, failures } = await part.run({ scale: 'short', seed, progress() {} });
    expect(failures).toEqual([]);
    expect(Object.keys(figures).length).toBeGreaterThan(3);
  });
}
