'use strict';
/// <reference lib="dom" />
/// <reference lib="dom.iterable" />
// Support for tests in a real browser: a lab on a free port, a headless Chromium, and pages that record what goes wrong. The
// browser comes from the package @sparticuz/chromium, so npm installs everything that the tests need.
const { spawnSync } = require('node:child_process');
const { existsSync, mkdtempSync, renameSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { createInterface } = require('node:readline');
/** @type {{args: string[], executablePath(): Promise<string>}} */
// @ts-expect-error: its types are those of the ES module, which cannot be required
const headless = require('@sparticuz/chromium');
const axe = require('axe-core');
const { chromium } = require('playwright-core');
const lock = require('../package-lock.json');
const { root, start } = require('./support.js');

/** @typedef {import('playwright-core').Page} Page */
/** @typedef {import('playwright-core').Browser} Browser */

/**
 * Flags of the package that we omit. The first two permit a page more than a user's browser does. The next two end the
 * browser when its last page is closed. The rest emulate a graphics card on the CPU, which browsers do not do by default.
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

const UNPACK = `require('@sparticuz/chromium').executablePath();`; // into the temporary folder

/**
 * Unpacks the browser once for all test files and all later runs. Test files that begin together may each unpack it; the first
 * one to finish gives its folder the final name, so nobody sees half a browser.
 * @returns {string} its path
 */
function unpackBrowser() {
  const shared = process.env.CROSSINGS_SHARED_TMP ?? tmpdir();
  const { version } = lock.packages['node_modules/@sparticuz/chromium'];
  const final = join(shared, `chromium-${version}`);
  if (!existsSync(final)) {
    const folder = mkdtempSync(join(shared, 'unpacking-'));
    const env = { ...process.env, TMPDIR: folder };
    const { status, stderr } = spawnSync(process.execPath, ['-e', UNPACK], { cwd: root, encoding: 'utf8', env });
    if (status !== 0) throw new Error(`Chromium cannot be unpacked: ${stderr}`);
    try {
      renameSync(folder, final);
    } catch {
      rmSync(folder, { recursive: true }); // another test file was faster
    }
  }
  return join(final, 'chromium');
}

/** @returns {string | null} */
function findProblem() {
  if (process.arch !== 'x64') return `the package's Chromium is for x64, and this is ${process.arch}.`;
  const { header } = /** @type {any} */ (process.report.getReport());
  if (!header.glibcVersionRuntime) return "the package's Chromium needs glibc.";
  const { status, stderr, error } = spawnSync(unpackBrowser(), ['--version'], { encoding: 'utf8' });
  return status === 0 ? null : `Chromium does not start: ${(error?.message ?? stderr).trim()}`;
}

const LIMIT_MS = 240_000; // of one test: a busy machine is many times slower than an idle one

/** @type {string | null | undefined} undefined until it is known */
let reason;

/** Can a browser run on this machine, and if not, why? @returns {{available: boolean, reason: string | null}} */
function browserAvailable() {
  if (reason === undefined) reason = findProblem();
  return { available: reason === null, reason };
}

/**
 * `describe` for tests that need a browser, with a generous time limit. If no browser can run, they are skipped, and the reason
 * is printed.
 * @param {string} name
 * @param {() => void} tests
 */
function describeInBrowser(name, tests) {
  const { available, reason: why } = browserAvailable();
  if (available) {
    jest.setTimeout(LIMIT_MS);
    return describe(name, tests);
  }
  process.stderr.write(`${name}: skipped, because no browser can run: ${why}\n`);
  return describe.skip(name, tests);
}

/**
 * Start `crossings lab` as a user does, on a free port, with its own folder for runs.
 * @param {{dataFolder?: string, env?: Record<string, string>}} [options] a folder that is not deleted with the lab; variables
 */
async function startLab({ dataFolder, env = {} } = {}) {
  const folder = dataFolder ?? mkdtempSync(join(tmpdir(), 'lab-'));
  const cli = join(root, 'server', 'cli.js');
  const child = start(process.execPath, [cli, 'lab', '--port', '0', '--no-open', '--data', folder], env);
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
    /** Everything that it has written to standard error. */
    log: () => log,
    /** Ends it; resolves with its exit status. */
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
  const executablePath = unpackBrowser();
  const args = headless.args.filter((flag) => !UNWANTED.includes(flag));
  return chromium.launch({ executablePath, args, headless: true });
}

/** Options that can be changed while a page is open, as its size can. A page with other options is not used again. */
const MEDIA = ['colorScheme', 'reducedMotion', 'forcedColors'];

/**
 * Pages that tests have closed, to be opened again: a new one, with its profile and its process, takes three times as long.
 * @type {WeakMap<Browser, {page: Page, wipe: (origin: string) => Promise<void>}[]>}
 */
const spare = new WeakMap();

/**
 * A blank page in its own profile.
 * @param {Browser} browser
 * @param {import('playwright-core').BrowserContextOptions} [options]
 */
async function newPage(browser, options) {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  page.on('close', () => context.close().catch(() => {})); // fails if the whole browser is being closed
  page.setDefaultTimeout(LIMIT_MS);
  const session = await context.newCDPSession(page);
  /** Deletes what the profile contains except the cache. @param {string} origin */
  const wipe = async (origin) => {
    await session.send('Storage.clearDataForOrigin', { origin, storageTypes: 'all' });
    await context.clearCookies();
  };
  return { page, wipe };
}

/**
 * A page of the lab with valid credentials, in its own browser profile, which is deleted when the page is closed.
 * `troubles()` returns what went wrong: errors on the console, among them violations of the content security policy, uncaught
 * exceptions, and requests to other hosts.
 * @param {Browser} browser
 * @param {{baseUrl: string, port: number, token: string}} lab
 * @param {string} path such as '/bench.html'
 * @param {import('playwright-core').BrowserContextOptions & {reuse?: boolean}} [options] such as colorScheme, reducedMotion,
 *   viewport; `reuse: false` for a test that changes the page for ever, as one that sets its clock does, or needs an empty cache
 */
async function openPage(browser, { baseUrl, port, token }, path, options = {}) {
  const pages = spare.get(browser) ?? [];
  spare.set(browser, pages);
  const { reuse = true, viewport = { width: 1440, height: 900 }, ...others } = options;
  const reusable = reuse && Object.keys(others).every((name) => MEDIA.includes(name));
  const profile = (reusable && pages.pop()) || (await newPage(browser, reusable ? {} : others));
  const { page } = profile;
  if (viewport) await page.setViewportSize(viewport);
  const { colorScheme = 'light', reducedMotion = 'no-preference', forcedColors = 'none' } = others;
  await page.emulateMedia({ media: 'screen', colorScheme, reducedMotion, forcedColors });
  const name = `crossings-${port}`;
  await page.context().addCookies([{ name, value: token, url: baseUrl, httpOnly: true, sameSite: 'Strict' }]);
  /** @type {string[]} */
  const found = [];
  const listeners = /** @type {const} */ ({
    console: (/** @type {import('playwright-core').ConsoleMessage} */ message) => {
      if (message.type() === 'error') found.push(`console: ${message.text()} (${message.location().url})`);
    },
    pageerror: (/** @type {Error} */ error) => found.push(`thrown: ${error?.stack || error}`),
    request: (/** @type {import('playwright-core').Request} */ request) => {
      const url = new URL(request.url());
      if (url.origin !== baseUrl && !['data:', 'blob:'].includes(url.protocol)) found.push(`stranger: ${url}`);
    },
  });
  const on = /** @type {any} */ (page);
  for (const [event, listener] of Object.entries(listeners)) on.on(event, listener);
  await page.goto(baseUrl + path);

  const end = Object.getPrototypeOf(page).close;
  let closed = false;
  /** Leaves the page as a new one is. */
  async function close() {
    if (closed || page.isClosed()) return;
    closed = true;
    for (const [event, listener] of Object.entries(listeners)) on.off(event, listener);
    if (!reusable) return end.call(page);
    await page.unrouteAll();
    await page.mouse.move(0, 0);
    // A file without scripts, from the same server: for about:blank, and for the next page, the browser would start a process.
    await page.goto(`${baseUrl}/shared/base.css`).catch(() => page.goto('about:blank')); // the server may have ended
    await profile.wipe(baseUrl);
    pages.push(profile);
  }
  return Object.assign(page, { troubles: () => found, close });
}

/**
 * Fails with each violation of WCAG 2.2 AA that axe finds.
 * @param {Page} page
 * @param {{except?: string[], rules?: string[]}} [options] selectors of parts that another check covers; only these rules
 */
async function expectAccessible(page, { except = [], rules } = {}) {
  // Once per document: to define axe takes as long as a check.
  if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(axe.source);
  const options = { runOnly: rules ?? LEVELS, resultTypes: /** @type {['violations']} */ (['violations']) };
  const found = await page.evaluate(
    async ([context, how]) => {
      const { violations } = await /** @type {any} */ (window).axe.run(context, how);
      return violations.flatMap((/** @type {axe.Result} */ { id, nodes }) =>
        nodes.map(({ target, failureSummary }) => `${id}: ${target.join(' ')}\n${failureSummary}`),
      );
    },
    /** @type {const} */ ([{ exclude: except }, options]),
  );
  expect(found).toEqual([]);
}

module.exports = { browserAvailable, describeInBrowser, expectAccessible, launchBrowser, openPage, startLab };
