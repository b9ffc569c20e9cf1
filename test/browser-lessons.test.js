/// <reference lib="dom" />
'use strict';
// Every lesson in its folder, played to its end by keyboard in a real browser, with the real server and the real programs.
const { mkdtempSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { listLessons } = require('../lib/lessons/folders.js');
const { describeInBrowser, expectAccessible, launchBrowser, openPage } = require('./browser.js');
const { inCi, testInCi } = require('./in-ci.js');
const { startLabHere } = require('./lab.js');

/** @typedef {Awaited<ReturnType<typeof openPage>>} Page */

const lessons = listLessons();

describeInBrowser('the lessons', () => {
  const folder = mkdtempSync(join(tmpdir(), 'lab-'));
  /** @type {Awaited<ReturnType<typeof startLabHere>> & {baseUrl: string}} */ let lab;
  /** @type {Awaited<ReturnType<typeof launchBrowser>>} */ let browser;
  /** @type {Page} */ let page;

  beforeAll(async () => {
    const server = await startLabHere({ dataFolder: folder });
    lab = { ...server, baseUrl: `http://127.0.0.1:${server.port}` };
    browser = await launchBrowser();
  });
  afterAll(async () => {
    await browser?.close();
    await lab?.close();
    rmSync(folder, { recursive: true });
  });
  afterEach(async () => {
    const troubles = page?.troubles() ?? [];
    await page?.close();
    expect(troubles).toEqual([]);
  });

  /** @param {string} path @param {any} [options] */
  async function open(path, options) {
    page = await openPage(browser, lab, path, options);
  }
  const focused = () => page.evaluate(() => document.activeElement?.id);
  /** Reaches an element as a keyboard user does. @param {string} selector */
  async function tabTo(selector) {
    for (let i = 0; i < 60; i++) {
      if (await page.evaluate((wanted) => document.activeElement?.matches(wanted), selector)) return;
      await page.keyboard.press('Tab');
    }
    throw new Error(`Tab does not reach ${selector}.`);
  }
  /** @param {('light' | 'dark')[]} themes */
  async function expectGood(themes) {
    for (const colorScheme of themes) {
      await page.emulateMedia({ colorScheme });
      await expectAccessible(page);
    }
    for (const width of [320, 390]) {
      await page.setViewportSize({ width, height: 800 });
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width);
    }
    await page.setViewportSize({ width: 1440, height: 900 });
  }

  // Elsewhere than in CI, the first lesson and the one that shows a moment of a recording. The others have the same page, and
  // test/lessons.test.js runs their programs.
  for (const [i, lesson] of lessons.entries()) {
    const { name } = lesson;
    (i === 0 || lesson.see?.moment ? test : testInCi)(`${name} is played to its end by keyboard`, async () => {
      await open(`/lesson.html?name=${name}`);
      await page.locator('#predict').waitFor();
      expect(await page.textContent('h1')).toBe(lesson.title);
      await tabTo('input[name=guess]');
      await page.keyboard.press('Space');
      await page.keyboard.press('ArrowDown');
      await page.keyboard.press('Enter');
      await page.locator('#run').waitFor();
      expect(await focused()).toBe('run-title');

      await tabTo('#start');
      await page.keyboard.press('Enter');
      await page.locator('#see').waitFor();
      expect(await focused()).toBe('see-title');
      expect(await page.textContent('#origin')).toMatch(/^Measured on this machine/);
      expect(await page.locator('#plot tr').count()).toBeGreaterThan(0);
      expect(await page.textContent('#verdict')).toMatch(/^Your guess was right: |^You guessed: .*The figures say: /);
      expect(await page.innerText('#why')).not.toMatch(/[{}]/);

      if (lesson.see?.moment) {
        const marked = page.locator('#see .recorded .line[data-current=now]');
        expect(await marked.textContent()).toContain(lesson.see.moment.line);
        await tabTo('#see .event-list');
        await page.keyboard.press('ArrowDown');
        await page.locator('#see .event-title', { hasText: 'write()' }).waitFor();
      }
      if (lesson.see?.theatre) {
        const marked = page.locator('#theatre .line[data-current=now]');
        await marked.waitFor();
        const before = await page.textContent('#theatre .caption');
        await tabTo('#theatre .buttons button:nth-of-type(2)');
        await page.keyboard.press('Enter');
        expect(await page.textContent('#theatre .caption')).not.toBe(before);
      }
      if (lesson.try?.length) {
        await tabTo('#tries button');
        await page.keyboard.press('Enter');
        await page.locator('#comparison').waitFor();
        expect(await focused()).toBe('comparison-title');
        expect(await page.textContent('#try-error')).toBe('');
        expect(await page.innerText('#comparison .text')).not.toMatch(/[{}]/);
      }
      await expectGood(inCi ? ['light', 'dark'] : [i % 2 ? 'dark' : 'light']);
      await page.emulateMedia({ media: 'print' });
      expect(await page.locator('.sheet').count()).toBe(2);
      expect(await page.locator('.sheet li').count()).toBe(6);
      expect(await page.locator('h1').isVisible()).toBe(false);
      expect(await page.locator('.sheet').first().innerText()).not.toContain(
        await page.locator('.reply').first().innerText(),
      );

      await page.emulateMedia({ media: 'screen' });
      const finished = await page.evaluate(() => localStorage.getItem('crossings-lessons'));
      expect(JSON.parse(String(finished))).toEqual([name]); // as the list shows it
    });
  }

  test('the list says where to start, remembers what is finished, and forgets it when asked', async () => {
    await open('/lessons.html');
    expect(await page.locator('#lessons li').count()).toBe(lessons.length);
    expect(await page.textContent('#lessons li:first-child')).toContain('start here');
    expect(await page.locator('#progress').isVisible()).toBe(false);
    await page.evaluate((name) => localStorage.setItem('crossings-lessons', JSON.stringify([name])), lessons[0].name);
    await page.reload();
    await page.locator('#lessons li.done').waitFor();
    expect(await page.textContent('#progress-text')).toBe(`1 of ${lessons.length} finished.`);
    await expectGood(['light', 'dark']);
    await page.setViewportSize({ width: 390, height: 800 });
    await expectAccessible(page);
    await page.locator('#clear').focus();
    await page.keyboard.press('Enter');
    expect(await page.locator('#lessons li.done').count()).toBe(0);
    expect(await page.textContent('#announcements')).toBe('Your progress was cleared.');
    expect(await page.evaluate(() => localStorage.getItem('crossings-lessons'))).toBeNull();
  });

  test('a folder that is invalid is a sentence above the others', async () => {
    const problem = 'c-bench/lessons/13-mine/lesson.json is invalid: title: Invalid input.';
    page = await openPage(browser, lab, '/lessons.html');
    await page.route('**/api/lessons', (route) => {
      const line = { name: lessons[0].name, number: 1, title: lessons[0].title, minutes: 5 };
      return route.fulfill({ json: { lessons: [line], problems: [problem] } });
    });
    await page.reload();
    await page.locator('#page-error', { hasText: problem }).waitFor();
    expect(await page.locator('#lessons li').count()).toBe(1);
  });

  test('a term is explained by keyboard, and the question can be skipped', async () => {
    await open(`/lesson.html?name=${lessons[0].name}`);
    await tabTo('.term');
    await page.keyboard.press('Enter');
    const open1 = page.locator('.explanation:popover-open');
    await open1.waitFor();
    expect(await open1.innerText()).toMatch(/^kernel\s+The part of the operating system/);
    await expectAccessible(page);
    await page.keyboard.press('Escape');
    expect(await page.locator('.explanation:popover-open').count()).toBe(0);
    await page.locator('#skip').focus();
    await page.keyboard.press('Enter');
    expect(await focused()).toBe('run-title');
    expect(await page.textContent('#announcements')).toBe('The question was skipped.');
  });

  test('a run says what it is doing, and is canceled by keyboard', async () => {
    await open('/lesson.html?name=03-microseconds');
    await tabTo('#skip');
    await page.keyboard.press('Enter');
    await tabTo('#start');
    await page.keyboard.press('Enter');
    await page.locator('#doing', { hasText: /^Running, \d+ %: \w/ }).waitFor();
    await tabTo('#cancel');
    await page.keyboard.down('Enter');
    await page.locator('#running').waitFor({ state: 'hidden' });
    expect(await focused()).toBe('start');
    await page.keyboard.down('Enter'); // it is held down, and Start has the focus by now
    await page.keyboard.up('Enter');
    expect(await page.textContent('#announcements')).toBe('The run was canceled.');
    expect(await page.locator('#run-error').isVisible()).toBe(false);
    await expectAccessible(page);
  });

  test('if the lab ends during a run, the page says so', async () => {
    await open('/lesson.html?name=03-microseconds');
    await page.locator('#skip').click();
    await page.evaluate(() => {
      const line = `${JSON.stringify({ progress: { doing: 'measuring', fraction: 0.5 } })}\n`;
      window.fetch = async () =>
        new Response(
          new ReadableStream({
            start: (answer) => answer.enqueue(new TextEncoder().encode(line)),
            pull: (answer) => answer.error(new TypeError('network error')),
          }),
        );
    });
    await page.locator('#start').click();
    await page.locator('#run-error').waitFor();
    expect(await page.textContent('#run-error')).toBe('The lab ended before the run did.');
    expect(await page.textContent('#announcements')).toBe('');
    await page.reload(); // with its own fetch()
  });

  test('after a run, another guess is compared at once', async () => {
    await open(`/lesson.html?name=${lessons[0].name}`);
    await page.locator('#skip').click();
    await page.locator('#show-shipped').click();
    await page.locator('#verdict', { hasText: /^The figures say: / }).waitFor();
    await page.locator('input[name=guess]').first().check();
    await page.locator('#answer').click();
    expect(await page.textContent('#verdict')).toMatch(/^You guessed: About as long.*The figures say: /);
    expect(await focused()).toBe('why-title');
  });

  test('a run that cannot be shown because the lab has ended says so', async () => {
    await open('/lesson.html?name=02-pipe');
    await page.route(/elements|api/, (/** @type {any} */ route) => route.abort());
    await page.locator('#skip').click();
    await page.locator('#show-shipped').click();
    await page.locator('#run-error', { hasText: /respond/ }).waitFor();
    await page.unrouteAll();
    expect(page.troubles().filter((/** @type {string} */ trouble) => trouble.startsWith('thrown'))).toEqual([]);
    page.troubles().length = 0; // the browser logs the requests that failed
  });

  test('what was compared with an earlier run disappears with that run', async () => {
    await open(`/lesson.html?name=${lessons[0].name}`);
    await page.locator('#skip').click();
    await page.locator('#show-shipped').click();
    await page.locator('#tries button').first().click();
    await page.locator('#comparison').waitFor();
    expect(await page.innerText('#comparison')).toMatch(/another machine[\s\S]*this try/);
    await page.locator('#show-shipped').click();
    await page.locator('#comparison').waitFor({ state: 'hidden' });
  });

  test('where the page may not copy, the command is selected and a sentence says what to do', async () => {
    await open(`/lesson.html?name=${lessons[0].name}`);
    await page.evaluate(() => {
      navigator.clipboard.writeText = () => Promise.reject(new Error('not permitted'));
    });
    await page.locator('#skip').click();
    await tabTo('#copy');
    await page.keyboard.press('Enter');
    await page.locator('.copied', { hasText: 'press Ctrl+C' }).waitFor();
    expect(await page.evaluate(() => String(getSelection()))).toBe('npx crossings-lab lesson 1');
    await expectAccessible(page);
  });

  test('a lesson that does not exist is a sentence, and without a name there is the list', async () => {
    await open(`/lesson.html?name=99-nothing${'x'.repeat(300)}`, { viewport: { width: 390, height: 800 } });
    await page.locator('#page-error').waitFor();
    expect(await page.textContent('#page-error')).toMatch(
      /^The lesson must be one of 01-kernel.*; got "99-nothingx+"\.$/,
    );
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
    await page.goto(`${lab.baseUrl}/lesson.html`);
    await page.locator('#lessons a').first().waitFor();
    page.troubles().length = 0; // the browser reports the 404
  });
});
