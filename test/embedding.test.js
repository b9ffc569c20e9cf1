/// <reference lib="dom" />
'use strict';
// One moment of a recording in a frame of another page: only where the owner of the lab allows it, and only that page.
const { createServer } = require('node:http');
const { describeInBrowser, expectAccessible, launchBrowser, openPage } = require('./browser.js');
const { startLabHere } = require('./lab.js');
const { cli } = require('./support.js');

const EMBED = '/?embed&mechanism=pipe&event=17';

/** @param {any} lab @param {string} path */
const headersOf = async (lab, path) => (await lab.ask(path)).headers;

/** @type {any} */ let stranger;
/** @type {any} */ let open;
/** @type {any} */ let closed;
let site = '';

beforeAll(async () => {
  stranger = createServer(({ url = '' }, response) => {
    const frame = new URL(url, 'http://stranger').searchParams.get('frame')?.replaceAll('&', '&amp;');
    response
      .setHeader('content-type', 'text/html')
      .end(`<!doctype html><title>a course</title><iframe src="${frame}">`);
  });
  await new Promise((resolve) => stranger.listen(0, '127.0.0.1', () => resolve(null)));
  site = `http://localhost:${stranger.address().port}`; // another site than 127.0.0.1
  open = await startLabHere({ embedders: [site, 'https://courses.example.org'] });
  closed = await startLabHere();
});
afterAll(async () => {
  await new Promise((resolve) => stranger.close(resolve));
  await open.close();
  await closed.close();
});

test('without --allow-embedding no page may be framed', async () => {
  for (const path of ['/', EMBED, '/bench.html', '/recordings/pipe.json']) {
    const headers = await headersOf(closed, path);
    expect(headers['content-security-policy']).toContain("frame-ancestors 'none'");
    expect(headers['x-frame-options']).toBe('SAMEORIGIN');
  }
});

test('with it only the embed page may be framed, and only by the given origins', async () => {
  const headers = await headersOf(open, EMBED);
  expect(headers['content-security-policy']).toContain(`frame-ancestors ${site} https://courses.example.org`);
  expect(headers).not.toHaveProperty('x-frame-options');
  const others = ['/', '/?token=x', '/bench.html?embed', '/index.html?embed', '/api/mechanisms?embed', '/#embed'];
  const notToThePage = ['/?embed?x', '/??embed', '/?x?embed', '/?embed%3Fx', '/?EMBED', '//?embed'];
  for (const path of [...others, ...notToThePage]) {
    expect((await headersOf(open, path))['content-security-policy']).toContain("frame-ancestors 'none'");
  }
});

test('recordings that ship need no token, and nothing else of the server is there', async () => {
  const headers = { 'x-crossings-token': undefined };
  expect((await closed.ask('/recordings/pipe.json', { headers })).body.mechanism).toBe('pipe');
  for (const path of [
    '/recordings/',
    '/recordings/../server.js',
    '/recordings/%2e%2e/server.js',
    '/recordings/none.json',
  ]) {
    expect((await closed.ask(path, { headers })).status).toBe(404);
  }
});

test.each([
  '*',
  "'self'",
  'courses.example.org',
  'https://*.example.org',
  'https://example.org/path',
  'https://example.org;script-src',
  'https://a, https://b',
  'ftp://example.org',
  'null',
  'http://localhost:99999',
  '',
])('crossings lab --allow-embedding %j ends with a sentence', (origin) => {
  const { status, stdout, stderr } = cli(['lab', '--no-open', '--allow-embedding', origin]);
  expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
  expect(stderr).toMatch(/--allow-embedding must be an origin such as .*; got ".*"\.\n$/);
});

describeInBrowser('in a browser', () => {
  /** @type {any} */ let browser;
  beforeAll(async () => {
    browser = await launchBrowser();
  });
  afterAll(() => browser?.close());

  /** A page of another site that frames a page of a lab, without its cookie. @param {any} lab @param {string} path */
  async function framed(lab, path) {
    const page = await browser.newPage();
    await page.goto(`${site}/?frame=${encodeURIComponent(`http://127.0.0.1:${lab.port}${path}`)}`);
    return page;
  }

  test('another site shows the moment that the address names, and steps on', async () => {
    const page = await framed(open, EMBED);
    const frame = page.frameLocator('iframe');
    const { events } = (await open.ask('/recordings/pipe.json')).body;
    const { source, result, name } = events[17];
    await frame.locator('trace-moment .caption', { hasText: `${name}() returns ${result}` }).waitFor();
    const line = frame.locator('.line[data-current="now"]');
    expect(await line.locator('.line-number').textContent()).toBe(String(source.line));
    const before = await frame.locator('.buttons .number').textContent();
    await frame.getByRole('button', { name: 'Step forward' }).click();
    expect(await frame.locator('.buttons .number').textContent()).not.toBe(before);
    expect(await frame.getByRole('link').getAttribute('href')).toMatch(/^\.\/#mechanism=pipe&at=\d+$/);
    await page.close();
  });

  test('a frame of a closed lab, or of the whole theatre, stays empty', async () => {
    for (const [lab, path] of [
      [closed, EMBED],
      [open, '/'],
    ]) {
      const page = await framed(lab, path);
      expect(await page.frameLocator('iframe').locator('main').count()).toBe(0);
      await page.close();
    }
  });

  test.each([
    ['/?embed&mechanism=pipe&event=9999', /^event must be a whole number from 0 to \d+; got “9999”\.$/],
    ['/?embed&mechanism=pipe&event=-1', /^event must be /],
    ['/?embed&mechanism=..%2Fx', /^mechanism must be a name/],
    ['/?embed&mechanism=smoke', /^No recording of “smoke” ships/],
  ])('%s shows a sentence', async (path, sentence) => {
    const page = await openPage(browser, { ...closed, baseUrl: `http://127.0.0.1:${closed.port}` }, path);
    await page.locator('#page-error').waitFor();
    expect(await page.locator('#page-error').textContent()).toMatch(sentence);
    await page.close();
  });

  test.each([390, 1440])('axe finds no violation, %i px wide, and it fits', async (width) => {
    const lab = { ...closed, baseUrl: `http://127.0.0.1:${closed.port}` };
    const page = await openPage(browser, lab, EMBED, { viewport: { width, height: 700 }, reducedMotion: 'reduce' });
    await page.locator('trace-moment .caption').waitFor();
    await expectAccessible(page, { except: ['.code'] });
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(width);
    expect(page.troubles()).toEqual([]);
    await page.close();
  });
});
