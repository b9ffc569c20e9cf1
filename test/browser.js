'use strict';
/// <reference lib="dom" />
/// <reference lib="dom.iterable" />
// Support for tests in a real browser: a lab on a free port, a headless Chromium, pages that note what goes wrong. The
// browser is the one of the package @sparticuz/chromium: nothing is downloaded but what npm installed.
const { spawnSync } = require('node:child_process');
const { mkdtempSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { createInterface } = require('node:readline');
const { default: AxeBuilder } = require('@axe-core/playwright');
/** @type {{args: string[], executablePath(): Promise<string>}} */
// @ts-expect-error: its types are those of the ES module, which cannot be required
const headless = require('@sparticuz/chromium');
const { chromium } = require('playwright-core');
const { root, start } = require('./support.js');

/** @typedef {import('playwright-core').Page} Page */
/** @typedef {import('playwright-core').Browser} Browser */

/**
 * Flags of the package that are left out: the first two let a page do more than a reader's browser does; with the next
 * two the whole browser ends when its last page is closed; the rest have the processor imitate a graphics card, which a
 * browser on a machine without one does not do.
 */
const UNWANTED = [
  '--disable-web-security',
  '--allow-running-insecure-content',
  '--single-process',
  '--no-zygote',
  '--ignore-gpu-blocklist',
  '--in-process-gpu',
  '--use-gl=angle',
  '--use-angle=swiftshader',
];

const LEVELS = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'];

/** Unpacks the browser and asks for its version; what it prints when that fails is the reason. */
const PROBE = `require('@sparticuz/chromium').executablePath().then((path) => {
  const { status, stderr, error } = require('node:child_process').spawnSync(path, ['--version'], { encoding: 'utf8' });
  if (status !== 0) { process.stderr.write(error ? error.message : stderr); process.exit(1); }
});`;

/** @returns {string | null} */
function findOut() {
  if (process.arch !== 'x64') return `the package's Chromium is for x64, and this is ${process.arch}.`;
  const { header } = /** @type {any} */ (process.report.getReport());
  if (!header.glibcVersionRuntime) return "the package's Chromium needs glibc.";
  const { status, stderr } = spawnSync(process.execPath, ['-e', PROBE], { cwd: root, encoding: 'utf8' });
  return status === 0 ? null : `Chromium does not start: ${stderr.trim()}`;
}

/** @type {string | null | undefined} */
let reason;

/** Can a browser run on this machine, and if not, why? Asked once. @returns {{available: boolean, reason: string | null}} */
function browserAvailable() {
  if (reason === undefined) reason = findOut();
  return { available: reason === null, reason };
}

/**
 * `describe` for tests that need a browser. Where none can run they are skipped, and the reason is said.
 * @param {string} name
 * @param {() => void} tests
 */
function describeInBrowser(name, tests) {
  const { available, reason: why } = browserAvailable();
  if (available) return describe(name, tests);
  process.stderr.write(`${name}: not tested in a browser here: ${why}\n`);
  return describe.skip(name, tests);
}

/**
 * Start `crossings lab` as a user would, on a free port and with a folder of its own for runs.
 * @param {{dataFolder?: string}} [options] a folder that outlives the lab
 */
async function startLab({ dataFolder } = {}) {
  const folder = dataFolder ?? mkdtempSync(join(tmpdir(), 'lab-'));
  const cli = join(root, 'server', 'cli.js');
  const child = start(process.execPath, [cli, 'lab', '--port', '0', '--no-open', '--data', folder]);
  let log = '';
  child.stderr.setEncoding('utf8').on('data', (text) => {
    log += text;
  });
  /** @type {Promise<number | null>} */
  const ended = new Promise((resolve) => child.once('close', resolve));
  const lines = createInterface({ input: child.stdout });
  /** @type {string} */
  const address = await Promise.race([
    new Promise((resolve) => lines.once('line', resolve)),
    ended.then((status) => Promise.reject(new Error(`the lab ended with status ${status}: ${log}`))),
  ]);
  const { origin, port, searchParams } = new URL(address);
  return {
    address,
    baseUrl: origin,
    port: Number(port),
    token: String(searchParams.get('token')),
    child,
    /** Everything it wrote on standard error so far. */
    log: () => log,
    /** Ends it and gives back its exit status. */
    async close() {
      child.kill('SIGTERM');
      const status = await ended;
      if (dataFolder === undefined) rmSync(folder, { recursive: true, force: true });
      return status;
    },
  };
}

/** @typedef {Awaited<ReturnType<typeof startLab>>} Lab */

/** @returns {Promise<Browser>} */
async function launchBrowser() {
  const executablePath = await headless.executablePath();
  const args = headless.args.filter((flag) => !UNWANTED.includes(flag));
  return chromium.launch({ executablePath, args, headless: true });
}

/**
 * A page of the lab in a browser profile of its own that has been let in; the profile goes when the page is closed.
 * `troubles()` tells what went wrong so far: what the console shows as an error (a violation of the content security
 * policy, too), what was thrown, and requests to other hosts.
 * @param {Browser} browser
 * @param {{baseUrl: string, port: number, token: string}} lab
 * @param {string} path such as '/bench.html'
 * @param {import('playwright-core').BrowserContextOptions} [options] such as colorScheme, reducedMotion, viewport
 */
async function openPage(browser, { baseUrl, port, token }, path, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, ...options });
  const name = `crossings-${port}`;
  await context.addCookies([{ name, value: token, url: baseUrl, httpOnly: true, sameSite: 'Strict' }]);
  const page = await context.newPage();
  /** @type {string[]} */
  const found = [];
  page.on('console', (message) => {
    if (message.type() === 'error') found.push(`console: ${message.text()} (${message.location().url})`);
  });
  page.on('pageerror', (error) => found.push(`thrown: ${error?.stack || error}`));
  page.on('request', (request) => {
    const url = new URL(request.url());
    if (url.origin !== baseUrl && !['data:', 'blob:'].includes(url.protocol)) found.push(`stranger: ${url}`);
  });
  page.on('close', () => context.close().catch(() => {})); // the browser may have gone with it
  await page.goto(baseUrl + path);
  return Object.assign(page, { troubles: () => found });
}

/** Fails with what axe finds at WCAG 2.2 AA: each rule, where, and what it asks for. @param {Page} page */
async function expectAccessible(page) {
  const { violations } = await new AxeBuilder({ page }).withTags(LEVELS).analyze();
  const found = violations.flatMap(({ id, nodes }) =>
    nodes.map(({ target, failureSummary }) => `${id}: ${target.join(' ')}\n${failureSummary}`),
  );
  expect(found).toEqual([]);
}

module.exports = { browserAvailable, describeInBrowser, expectAccessible, launchBrowser, openPage, startLab };
