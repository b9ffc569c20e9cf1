'use strict';
// The page of the pitfalls, in a real browser: the list, one pitfall with its programs, and a run of both.
const { listPitfalls } = require('../lib/lessons/folders.js');
const { describeInBrowser, expectAccessible, launchBrowser, openPage, startLab } = require('./browser.js');
const { clientOf } = require('./lab-client.js');

describeInBrowser('the page of the pitfalls', () => {
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

  test('lists every pitfall, and one can be opened and run by keyboard', async () => {
    const page = await openPage(browser, lab, '/pitfalls.html');
    const links = page.locator('#list a');
    await links.first().waitFor();
    expect(await links.allInnerTexts()).toEqual(listPitfalls().map(({ title }) => title));
    await expectAccessible(page);

    await page.getByRole('link', { name: 'Two processes that fill each other' }).focus();
    await page.keyboard.press('Enter');
    await page.locator('#pitfall:visible').waitFor(); // on the next page
    await page.locator('#run').focus();
    await page.keyboard.press('Enter');
    await page.locator('#verdict').waitFor();
    expect(await page.locator('#verdict').innerText()).toBe('The wrong program failed, and the right one did not.');
    expect(await page.evaluate(() => document.activeElement?.id)).toBe('run'); // it was lost while the programs ran
    expect(await page.locator('#announcements').innerText()).toMatch(/^The wrong program failed/);
    const [wrong, right] = await page.locator('.outcome').allInnerTexts();
    expect(wrong).toMatch(/Process \d+ \(child\) sleeps in write\(\) on descriptor \d+ \(a pipe\)/);
    expect(right).toContain('The parent sent 262144 bytes and received 262144.');
    await expectAccessible(page);
    expect(page.troubles()).toEqual([]);
    await page.close();
  });

  test.each([
    ['light', 1440],
    ['dark', 390],
  ])('shows both programs with the changed lines marked, %s, %d px', async (scheme, width) => {
    const colorScheme = /** @type {'light' | 'dark'} */ (scheme);
    const page = await openPage(browser, lab, '/pitfalls.html?name=sigpipe', {
      colorScheme,
      viewport: { width, height: 900 },
    });
    const changed = page.locator('.changed');
    await changed.first().waitFor();
    expect((await changed.allInnerTexts()).join()).toMatch(/\+\s+changed:\s+signal\(SIGPIPE, SIG_IGN\);\s*$/);
    expect(await page.locator('.program').first().innerText()).not.toContain('#include');
    await page.locator('#whole').check();
    expect(await page.locator('.program').first().innerText()).toContain('#include <signal.h>');
    await expectAccessible(page);
    expect(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth)).toBe(true);
    await page.close();
  });

  test('an unknown name is answered with a sentence', async () => {
    const page = await openPage(browser, lab, '/pitfalls.html?name=nothing');
    await page.locator('#page-error:visible').waitFor();
    expect(await page.locator('#page-error').innerText()).toBe('Pitfall nothing not found.');
    await page.close();
  });

  test('the wrong program is recorded: a sentence says why it hangs, and the call that never returned is marked', async () => {
    const page = await openPage(browser, lab, '/pitfalls.html?name=end-of-file-never-comes');
    await page.locator('#run').focus();
    await page.keyboard.press('Enter');
    const said = page.locator('#recorded .notice');
    await said.waitFor();
    expect(await said.innerText()).toMatch(/^Deadlock: .*never sees the end of file\.$|^Cannot record/);
    if (await page.locator('#recorded .recorded').count())
      expect(await page.locator('#recorded .line[data-current=now]').innerText()).toContain('read(');
    await expectAccessible(page);
    await page.setViewportSize({ width: 390, height: 800 });
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
    await page.close();
  });

  test('a program in Node is recorded: only the calls of its own lines, and the one that fails is selected', async () => {
    const page = await openPage(browser, lab, '/pitfalls.html?name=fixed-port');
    await page.locator('#run').click();
    const shown = page.locator('#recorded').locator('.recorded, .notice').first();
    await shown.waitFor();
    if (await page.locator('#recorded .recorded').count()) {
      expect(await shown.innerText()).toMatch(/Node made \d+ system calls\. These are the \d+ that belong to a line/);
      expect(await page.locator('#recorded .line[data-current=now]').innerText()).toContain('server.listen(port');
      expect(await page.locator('#recorded .details').innerText()).toContain('EADDRINUSE');
      await expectAccessible(page);
    } else expect(await shown.innerText()).toMatch(/^Cannot record/);
    expect(page.troubles()).toEqual([]);
    await page.close();
  });

  test('one run at a time: a second one is refused', async () => {
    const { ask } = clientOf(lab);
    const run = () => ask('/api/pitfalls/stale-semaphore/runs', { method: 'POST', body: {} });
    const [done, refused] = (await Promise.all([run(), run()])).sort((a, b) => a.status - b.status);
    expect(done).toMatchObject({ status: 201, body: { schema: 'crossings/pitfall/1', verdict: 'shown' } });
    expect(refused).toMatchObject({ status: 409, body: { error: { code: 'ERR_BUSY' } } });
  });
});
