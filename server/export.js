'use strict';
// `crossings lab --export FOLDER`: a copy of the lab as static files. The pages are those of public/; what they would ask the server,
// a server of this process is asked now, and each answer becomes a file. Written beside the folder and then renamed to it.
const {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} = require('node:fs');
const { once } = require('node:events');
const { Agent, get } = require('node:http');
const { basename, dirname, join, resolve } = require('node:path');
const { text } = require('node:stream/consumers');
const pino = require('pino').default;
const { CrossingsError } = require('../lib/channel/errors.js');
const { reasonOf } = require('../lib/terminal/files.js');
const { POLICY } = require('./security.js');
const { CHART, PUBLIC, startServer } = require('./server.js');

const SHIPPED_RUNS = join(__dirname, 'recordings', 'runs'); // of the benchmark and the experiments
const DATA = 'data';
const FIRST = '.nojekyll'; // written before the answers of the server

/** A `meta` element cannot say who may frame a page, and no page of a copy can start anything. */
const { 'frame-ancestors': _, ...META_POLICY } = POLICY;
const POLICY_TEXT = Object.entries(META_POLICY)
  .map(([name, sources]) => `${name} ${sources.join(' ')}`)
  .join('; ');
const CHARSET = '<meta charset="utf-8">';
const HEAD = `${CHARSET}
<meta http-equiv="content-security-policy" content="${POLICY_TEXT}">
<meta name="crossings-data" content="${DATA}/">`;

/** @param {string} given @param {string} why @returns {never} */
function refuse(given, why) {
  throw new CrossingsError(
    'ERR_USAGE',
    `--export must be a folder that does not exist or is empty; got "${given}": ${why}.`,
  );
}

/** The folder that will be written. @param {string} given */
function checkFolder(given) {
  if (given === '') refuse(given, 'the name is empty');
  const parent = dirname(resolve(given));
  try {
    if (!statSync(parent, { throwIfNoEntry: false })?.isDirectory())
      refuse(given, `the folder ${parent} does not exist`);
    if (!existsSync(given)) return resolve(given);
    if (!statSync(given).isDirectory()) refuse(given, 'it is not a folder');
    if (readdirSync(given).length > 0) refuse(given, 'it is not empty');
    return realpathSync(given);
  } catch (error) {
    if (error instanceof CrossingsError) throw error;
    return refuse(given, reasonOf(error));
  }
}

/** @param {string} folder */
function makeWritable(folder) {
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true }))
    chmodSync(join(entry.parentPath, entry.name), entry.isDirectory() ? 0o755 : 0o644);
}

/** The pages, their modules and the libraries that they load. @param {string} folder */
function writePages(folder) {
  cpSync(PUBLIC, folder, { recursive: true, filter: (path) => !path.endsWith('.d.ts') });
  makeWritable(folder); // cpSync() copies the permissions, too, and the package may be read-only
  for (const page of readdirSync(folder).filter((name) => name.endsWith('.html'))) {
    const path = join(folder, page);
    writeFileSync(path, readFileSync(path, 'utf8').replace(CHARSET, HEAD));
  }
  mkdirSync(join(folder, 'vendor'));
  cpSync(CHART, join(folder, 'vendor', 'chart.umd.min.js'));
  writeFileSync(join(folder, FIRST), ''); // GitHub's pages then serve the files as they are
}

/** @typedef {{status: number, text: string}} Answer */

/**
 * The answers of the server, as files.
 * @param {string} folder
 * @param {(path: string) => Promise<Answer>} ask for a path below /api
 */
async function writeData(folder, ask) {
  /** @param {string} path @param {string} text */
  const write = (path, text) => {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  };
  /** @param {string} path @param {string} [query] @returns {Promise<any>} */
  const save = async (path, query = '') => {
    const { status, text } = await ask(path + query);
    if (status !== 200)
      throw new CrossingsError('ERR_EXPORT', `Cannot export ${path}: ${JSON.parse(text).error.message}`);
    const format = new URLSearchParams(query).get('format') ?? 'json';
    write(`${path}.${format}`, text);
    return format === 'json' ? JSON.parse(text) : null;
  };

  const lab = await save('mechanisms');
  const recorded = [];
  for (const mechanism of lab.mechanisms) {
    const path = `traces/${mechanism.name}`;
    if ((await ask(path)).status === 404) continue; // it has no recording that ships
    await save(path);
    await save(`${path}/perfetto`);
    recorded.push(mechanism);
  }
  // A copy cannot record, no matter what this machine permits.
  const tracing = { allowed: false, reason: 'a copy of the lab has no server.' };
  write('mechanisms.json', JSON.stringify({ ...lab, mechanisms: recorded, tracing, running: null, runningKind: null }));
  for (const path of ['experiments', 'gates', 'glossary']) await save(path);
  for (const { name } of (await save('lessons')).lessons) await save(`lessons/${name}`);
  for (const { name } of (await save('pitfalls')).pitfalls) await save(`pitfalls/${name}`);
  const { runs } = await save('runs');
  for (const { id, kind, state } of runs) {
    await save(`runs/${id}`);
    if (state !== 'done') continue;
    const formats = kind === 'bench' ? ['json', 'csv', 'markdown'] : ['json', 'csv'];
    for (const format of formats) await save(`runs/${id}/file`, `?format=${format}`);
  }
}

/** @param {string} folder @param {string} runs the folder of run files @param {AbortSignal} [signal] */
async function writeCopy(folder, runs, signal) {
  writePages(folder);
  const server = await startServer({ port: 0, dataFolder: runs, log: pino({ enabled: false }), signal });
  const agent = new Agent(); // the global one may ask the proxy of the environment
  try {
    await writeData(join(folder, DATA), async (path) => {
      const headers = { 'x-crossings-token': server.token };
      const asked = get({ host: '127.0.0.1', port: server.port, path: `/api/${path}`, headers, signal, agent });
      asked.on('error', () => {}); // once() rejects, or text() does if the response has begun
      const [response] = await once(asked, 'response');
      return { status: response.statusCode, text: await text(response) };
    });
  } finally {
    await server.close();
  }
}

/** The number of files below a folder, and their size. @param {string} folder */
function extentOf(folder) {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const sizes = entries.map((entry) => statSync(join(entry.parentPath, entry.name)).size);
  return { files: sizes.length, bytes: sizes.reduce((sum, size) => sum + size, 0) };
}

/**
 * Write a copy of the lab. Nothing is left when it fails.
 * @param {string} given the folder: it must be empty, or not exist
 * @param {{runs?: string, signal?: AbortSignal}} [options] runs: the folder of run files; by default those that ship
 */
async function exportLab(given, { runs = SHIPPED_RUNS, signal } = {}) {
  const path = checkFolder(given);
  /** @type {string | null} */
  let beside = null;
  function clean() {
    try {
      if (beside) rmSync(beside, { recursive: true, force: true });
    } catch {
      // There may be an error already, which says more.
    }
  }
  process.once('exit', clean); // a second Ctrl-C ends this process before it gets any further
  try {
    beside = mkdtempSync(join(dirname(path), `.${basename(path).slice(0, 60)}-`));
    const copy = join(beside, 'copy'); // whose permissions are the usual ones
    mkdirSync(copy);
    await writeCopy(copy, runs, signal);
    signal?.throwIfAborted();
    if (!existsSync(join(copy, FIRST)))
      throw new CrossingsError('ERR_WRITE', `Cannot write ${given}: the copy was removed meanwhile.`);
    const extent = extentOf(copy);
    renameSync(copy, path);
    return { path, ...extent };
  } catch (error) {
    if (signal?.aborted || error instanceof CrossingsError) throw error;
    throw new CrossingsError('ERR_WRITE', `Cannot write ${given}: ${reasonOf(error)}`);
  } finally {
    clean();
    process.off('exit', clean);
  }
}

module.exports = { exportLab };
