/// <reference lib="dom" />
'use strict';
// `crossings lab --export`: a copy of the lab works from any file server, below any path, without ours and without a network.
const { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } = require('node:fs');
const { createServer } = require('node:http');
const { tmpdir } = require('node:os');
const { extname, join } = require('node:path');
const { listLessons, listPitfalls } = require('../lib/lessons/folders.js');
const { readGlossary } = require('../lib/lessons/text.js');
const { describeInBrowser, expectAccessible, launchBrowser, openPage } = require('./browser.js');
const { inCi } = require('./in-ci.js');
const { exportLab } = require('../server/export.js');
const { cli } = require('./support.js');

const BELOW = '/course/ipc/';
const TYPES = /** @type {Record<string, string>} */ ({
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
  '.json': 'application/json',
});

const folder = mkdtempSync(join(tmpdir(), 'export-'));
const site = join(folder, 'site');
/** @type {ReturnType<typeof cli>} */ let exported;
beforeAll(() => {
  exported = cli(['lab', '--export', site]);
});
afterAll(() => rmSync(folder, { recursive: true }));

/** The files of a folder below a path, and nothing else. @param {string} from */
function fileServer(from) {
  return createServer(({ url = '' }, response) => {
    const { pathname } = new URL(url, 'http://localhost');
    const file = join(from, pathname.slice(BELOW.length).replace(/^$/, 'index.html'));
    if (!pathname.startsWith(BELOW) || !existsSync(file)) return response.writeHead(404).end();
    response.setHeader('content-type', TYPES[extname(file)] ?? 'text/plain').end(readFileSync(file));
  });
}

test('the command writes the folder, says so on standard error, and leaves nothing beside it', () => {
  expect(exported).toMatchObject({ status: 0, stdout: '' });
  expect(exported.stderr).toMatch(/\/site: \d+ files, [\d.]+ MB\. Any web server can serve them, below any path\.\n$/);
  expect(readdirSync(folder)).toEqual(['site']);
});

test('every lesson and every pitfall has its file', () => {
  for (const { name } of listLessons()) expect(existsSync(join(site, 'data', 'lessons', `${name}.json`))).toBe(true);
  for (const { name } of listPitfalls()) expect(existsSync(join(site, 'data', 'pitfalls', `${name}.json`))).toBe(true);
});

test('every page has the content security policy, and no page or script names a path from the root', () => {
  const files = readdirSync(site, { recursive: true, encoding: 'utf8' });
  for (const name of files.filter((file) => file.endsWith('.html'))) {
    const page = readFileSync(join(site, name), 'utf8');
    expect(page).toMatch(/<meta http-equiv="content-security-policy" content="default-src 'none'; script-src 'self';/);
    expect(page).not.toMatch(/(href|src)="\//);
  }
});

test.each(['full', 'a-file', 'none/site', ''])(
  '--export "%s" is refused with a sentence, and nothing is written',
  async (name) => {
    const parent = mkdtempSync(join(folder, 'refused-'));
    mkdirSync(join(parent, 'full'));
    for (const file of ['a-file', 'full/other']) writeFileSync(join(parent, file), 'x');
    await expect(exportLab(name && join(parent, name))).rejects.toMatchObject({
      code: 'ERR_USAGE',
      message: expect.stringMatching(/^--export must be a folder that does not exist or is empty; got ".*": .*\.$/),
    });
    expect(readdirSync(parent, { recursive: true }).sort()).toEqual(['a-file', 'full', 'full/other']);
    rmSync(parent, { recursive: true });
  },
);

test('the command ends with status 2 when it is refused, as with an option that it cannot have', () => {
  expect(cli(['lab', '--export', folder])).toMatchObject({ status: 2, stdout: '' });
  expect(cli(['lab', '--export', 'x', '--port', '1'])).toMatchObject({ status: 2, stdout: '' });
});

test('an export that fails leaves nothing', async () => {
  const parent = mkdtempSync(join(folder, 'failed-'));
  const long = join(parent, 'x'.repeat(256)); // a name has at most 255 bytes
  await expect(exportLab(long)).rejects.toThrow(/^Cannot write .*: name too long/);
  expect(readdirSync(parent)).toEqual([]);
  rmSync(parent, { recursive: true });
});

describeInBrowser('in a browser', () => {
  /** @type {import('node:http').Server} */ let server;
  /** @type {Awaited<ReturnType<typeof launchBrowser>>} */ let browser;
  /** @type {Awaited<ReturnType<typeof openPage>>} */ let page;
  /** @type {string[]} */ let failed;

  beforeAll(async () => {
    server = fileServer(site);
    await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(null)));
    const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
    browser = await launchBrowser();
    page = await openPage(browser, { baseUrl: `http://127.0.0.1:${port}`, port, token: 'none' }, `${BELOW}gates.html`);
    await page.context().route(
      (url) => url.port !== String(port),
      (route) => route.abort(),
    );
    failed = [];
    page.on('requestfailed', (request) => {
      // A page that is left stops what it was still loading.
      if (request.failure()?.errorText !== 'net::ERR_ABORTED') failed.push(request.url());
    });
    page.on('response', (response) => {
      if (response.status() >= 400) failed.push(`${response.status()} ${response.url()}`);
    });
  });
  afterAll(async () => {
    await browser?.close();
    await new Promise((resolve) => server.close(resolve));
  });
  afterEach(() => expect({ failed, troubles: page.troubles() }).toEqual({ failed: [], troubles: [] }));

  /** @param {string} path below the folder of the site */
  const open = (path) => page.goto(new URL(BELOW + path, page.url()).href, { waitUntil: 'networkidle' });
  const errorShown = () => page.locator('#page-error:visible, #form-error:visible').count();

  test('every page of the menu opens', async () => {
    const menu = page.locator('nav a');
    await menu.first().waitFor({ state: 'attached' });
    const paths = await menu.evaluateAll((links) => links.map((link) => String(link.getAttribute('href'))));
    expect(paths.length).toBeGreaterThan(10);
    // Elsewhere than in CI every third one: the tests below open others.
    for (const path of paths.filter((each, i) => each !== './' && (inCi || i % 3 === 1))) {
      await open(path);
      expect(await errorShown()).toBe(0);
      expect(await page.locator('nav a[aria-current]').getAttribute('href')).toBe(path);
    }
  });

  test('the benchmark and an experiment say what they need, and show a run that ships', async () => {
    for (const path of ['bench.html', 'experiment.html?name=bill']) {
      await open(path);
      expect(await page.locator('#run').isVisible()).toBe(true);
      expect(await page.textContent('#facts')).toContain('Linux');
      await page.locator('#form .notice', { hasText: 'npx crossings-lab lab' }).first().waitFor();
      expect(await page.locator('#start').isVisible()).toBe(false);
    }
  });

  test('the theatre plays a recording that ships, and says where it was made', async () => {
    await open('#mechanism=pipe');
    await page.locator('trace-player .caption').waitFor();
    const before = await page.textContent('#position');
    for (let i = 0; i < 3; i++) await page.keyboard.press('ArrowRight');
    expect(await page.textContent('#position')).not.toBe(before);
    expect(await page.textContent('.provenance')).toMatch(/^Shipped with .* Recorded on .* npx crossings-lab lab/);
    expect(await page.getByRole('button', { name: 'Record again' }).isVisible()).toBe(false);
    await page.getByRole('link', { name: 'Perfetto' }).click({ trial: true });
    const link = await page.getByRole('link', { name: 'Perfetto' }).getAttribute('href');
    expect((await page.request.get(String(link))).status()).toBe(200);
  });

  test('one moment of a recording can be put into a frame', async () => {
    await open('?embed&mechanism=ring&event=30');
    await page.locator('trace-moment .caption').waitFor();
  });

  const played = listLessons().find(
    ({ folder: path, run }) => existsSync(join(path, 'shipped.json')) && 'program' in run,
  );

  test('a lesson is played to its end by keyboard, with the run that ships', async () => {
    await open(`lesson.html?name=${played?.name}`);
    const press = async (/** @type {string} */ selector) => {
      for (let i = 0; i < 60 && !(await page.locator(`${selector}:focus`).count()); i++)
        await page.keyboard.press('Tab');
      await page.keyboard.press('Enter');
    };
    await press('#skip');
    expect(await page.locator('#run .notice:visible').first().textContent()).toContain('npx crossings-lab lab');
    await press('#start');
    await page.locator('#why').waitFor();
    expect(await page.textContent('#origin')).toMatch(/^Measured on another machine on \d.*\./);
    expect(await page.textContent('#verdict')).toMatch(/^The figures say: /);
    await press('#tries button');
    await page.locator('#comparison').waitFor();
    expect(await page.textContent('#try-error')).toBe('');
    await expectAccessible(page);
  });

  test('the last lesson and a pitfall open', async () => {
    const [lesson, pitfall] = [listLessons().at(-1), listPitfalls()[0]];
    await open(`lesson.html?name=${lesson?.name}`);
    expect(await page.textContent('h1')).toBe(lesson?.title);
    await open(`pitfalls.html?name=${pitfall.name}`);
    expect(await page.textContent('h1')).toBe(pitfall.title);
    await page.locator('#needs', { hasText: 'npx crossings-lab lab' }).waitFor();
    await page.click('#run');
    expect(await page.textContent('#origin')).toMatch(/^Observed on \d.* on another machine: .*, Linux /);
    expect(await errorShown()).toBe(0);
  });

  test('the glossary explains every term, and an address names one', async () => {
    await open('glossary.html#term-pipe');
    expect(await page.locator('dt').count()).toBe(readGlossary().size);
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('pipe');
    expect(await page.locator('#term-pipe + dd a').first().getAttribute('href')).toBe('lesson.html?name=02-pipe');
    await expectAccessible(page);
  });

  test('the page of recordings opens one', async () => {
    await open('recording.html?recording=pipe');
    await page.locator('#recording trace-lanes').waitFor();
    expect(await page.textContent('#recorded')).toMatch(/^Recorded on /);
    expect(await page.locator('#known a').count()).toBeGreaterThan(3);
  });
});
