'use strict';
// The server and its pages together, in a real browser.
const { describeInBrowser, launchBrowser, openPage, startLab } = require('./browser.js');

describeInBrowser('in a browser', () => {
  /** @type {import('./browser.js').Lab} */
  let lab;
  /** @type {import('playwright-core').Browser} */
  let browser;
  beforeAll(async () => {
    lab = await startLab();
    browser = await launchBrowser();
  });
  afterAll(async () => {
    await browser?.close();
    await lab?.close();
  });

  test.each(['/', '/bench.html', '/experiment.html?name=bill', '/gates.html', '/pitfalls.html'])(
    '%s loads without an error, within the security policy, and without another host',
    async (path) => {
      const page = await openPage(browser, lab, path);
      await page.waitForLoadState('networkidle');
      expect(await page.locator('h1').count()).toBe(1);
      expect(page.troubles()).toEqual([]);
      await page.close();
    },
  );

  test.each([
    '/bench.html#run=.',
    '/experiment.html?name=bill#run=..',
    '/lesson.html?name=.',
    '/pitfalls.html?name=..',
  ])('%s names nothing, and gets a sentence', async (path) => {
    const page = await openPage(browser, lab, path);
    const error = page.locator('#page-error, #form-error').filter({ hasText: /./ });
    expect(await error.innerText()).toMatch(/^The address names “\.\.?”, which does not exist\.$/);
    expect(page.troubles()).toEqual([]);
    await page.close();
  });

  test('where storage is refused, as for a sandboxed frame, every page works without', async () => {
    const page = await openPage(browser, lab, '/shared/base.css', { reuse: false });
    await page.addInitScript(() => {
      Object.defineProperty(window, 'localStorage', {
        get() {
          throw new DOMException('not permitted', 'SecurityError');
        },
      });
    });
    for (const [path, shown] of [
      ['/', '#first-play .buttons'],
      ['/#mechanism=pipe', 'trace-player .caption'],
      ['/lessons.html', 'main a[href*="lesson.html"]'],
      ['/lesson.html?name=02-pipe', 'main button'],
      ['/bench.html', '#start'],
      ['/recording.html', '#file'],
    ]) {
      await page.goto('about:blank');
      await page.goto(lab.baseUrl + path);
      await page.locator(shown).first().waitFor();
      await page.locator('button.theme').click();
    }
    expect(page.troubles()).toEqual([]);
    await page.close();
  });

  test('the printed address gives a browser access, and the token disappears from the address bar', async () => {
    const context = await browser.newContext();
    const page = await context.newPage();
    await page.goto(lab.address);
    expect(page.url()).toBe(`${lab.baseUrl}/`);
    const answer = await page.evaluate(async () => (await fetch('/api/mechanisms')).status);
    expect(answer).toBe(200);
    // Scripts cannot read the cookie.
    expect(await page.evaluate('document.cookie')).toBe('');
    await context.close();
  });

  test('an inline script or style has no effect', async () => {
    const page = await openPage(browser, lab, '/');
    const ran = await page.evaluate(`(async () => {
      const script = document.createElement('script');
      script.textContent = 'window.intruder = true';
      document.body.append(script);
      const style = document.createElement('style');
      style.textContent = 'h1 { position: fixed }';
      document.body.append(style);
      return [window.intruder === true, getComputedStyle(document.querySelector('h1')).position];
    })()`);
    expect(ran).toEqual([false, expect.not.stringContaining('fixed')]);
    await page.close();
  });

  test('a page of another server on this machine can read nothing and start nothing', async () => {
    const stranger = require('node:http').createServer((_request, response) => {
      response.setHeader('content-type', 'text/html').end('<!doctype html><title>elsewhere</title>');
    });
    await new Promise((resolve) => stranger.listen(0, '127.0.0.1', () => resolve(null)));
    const { port } = /** @type {import('node:net').AddressInfo} */ (stranger.address());
    // The same host, so the browser sends the lab's cookie.
    const page = await openPage(browser, lab, '/');
    await page.goto(`http://127.0.0.1:${port}/`);
    const tries = await page.evaluate(async (base) => {
      const json = { 'content-type': 'application/json' };
      /** @param {string} path @param {RequestInit} options */
      const attempt = (path, options) =>
        fetch(base + path, { credentials: 'include', ...options }).then(
          ({ type }) => type,
          () => 'refused',
        );
      return [
        await attempt('/api/mechanisms', {}),
        await attempt('/api/runs', { method: 'POST', headers: json, body: '{"effort":"quick"}' }),
        await attempt('/api/runs', { method: 'POST', mode: 'no-cors', body: '{"effort":"quick"}' }),
      ];
    }, lab.baseUrl);
    expect(tries).toEqual(['refused', 'refused', expect.any(String)]);
    await page.goto(`${lab.baseUrl}/`);
    const { running } = await page.evaluate(async () => (await fetch('/api/mechanisms')).json());
    expect(running).toBeNull();
    await page.close();
    stranger.close();
  });
});
