/// <reference lib="dom" />
'use strict';
// `npm run pictures`: takes the README's screenshots of the lab, with the browser of the tests. It makes a run for the
// benchmark's screenshot, so nothing else should be running.
const { execFileSync } = require('node:child_process');
const { mkdtempSync, readFileSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { browserAvailable, launchBrowser, openPage, startLab } = require('../browser.js');
const { root } = require('../support.js');

const FOLDER = join(root, 'docs', 'pictures');

/** @typedef {import('playwright-core').Browser} Browser */
/** @typedef {import('../browser.js').Lab} Lab */

/** @param {import('playwright-core').Page} page @param {string} name */
async function take(page, name) {
  const path = join(FOLDER, `${name}.png`);
  await page.screenshot({ path });
  await page.close();
  process.stdout.write(`${path}\n`);
}

/** Open the theatre at a message. @param {Browser} browser @param {Lab} lab @param {string} hash @param {number} message its number @param {any} options */
async function theatre(browser, lab, hash, message, options) {
  const page = await openPage(browser, lab, `/#${hash}`, { reducedMotion: 'reduce', ...options });
  await page.locator('trace-player .caption').first().waitFor();
  await page.keyboard.press('2');
  for (let i = 1; i < message; i++) await page.keyboard.press('n');
  // On to a moment at which the message is in a buffer.
  for (let i = 0; i < 12 && (await page.locator('.object .item:not(.read)').count()) === 0; i++) {
    await page.keyboard.press('ArrowRight');
  }
  return page;
}

/** Play a lesson until its figures are shown. @param {import('playwright-core').Page} page */
async function playLesson(page) {
  await page.locator('input[name=guess]').first().check();
  await page.locator('input[name=guess]').first().press('Enter');
  await page.locator('#start').click();
  await page.locator('#see').waitFor({ timeout: 60_000 });
  await page.waitForTimeout(500); // the page scrolls to what is new
  await page.locator('#see').evaluate((see) => window.scrollBy(0, see.getBoundingClientRect().top - 20));
}

/** A recording of two processes that fill each other's pipe. */
function recordHang() {
  const folder = mkdtempSync(join(tmpdir(), 'pictures-'));
  try {
    const program = join(folder, 'full-pipes');
    execFileSync('cc', ['-O2', '-o', program, join(root, 'c-bench', 'pitfalls', 'full-pipes', 'wrong.c')]);
    const file = join(folder, 'hang.json');
    const command = ['trace', '--timeout', '5', '--json', file, '--', './full-pipes'];
    execFileSync(process.execPath, [join(root, 'lib', 'cli.js'), ...command], { cwd: folder, stdio: 'ignore' });
    return readFileSync(file);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** @param {import('playwright-core').Page} page */
async function openHang(page) {
  await page.setInputFiles('#file', { name: 'hang.json', mimeType: 'application/json', buffer: recordHang() });
  await page.waitForFunction(() => document.querySelector('#summary')?.textContent !== '');
}

async function main() {
  const { available, reason } = browserAvailable();
  if (!available) throw new Error(String(reason));
  const lab = await startLab();
  const browser = await launchBrowser();
  try {
    await take(await theatre(browser, lab, 'mechanism=pipe', 4, { viewport: { width: 1440, height: 960 } }), 'theatre');
    const wide = { viewport: { width: 1440, height: 960 }, colorScheme: 'dark' };
    await take(await theatre(browser, lab, 'mechanism=shm-sem&with=ring', 3, wide), 'side-by-side');
    const phone = { viewport: { width: 390, height: 844 }, deviceScaleFactor: 2 };
    const small = await theatre(browser, lab, 'mechanism=uds', 4, phone);
    await small.locator('.transport').evaluate((bar) => window.scrollBy(0, bar.getBoundingClientRect().top));
    await take(small, 'phone');

    const lesson = await openPage(browser, lab, '/lesson.html?name=06-padding', {
      viewport: { width: 1440, height: 1100 },
    });
    await playLesson(lesson);
    await take(lesson, 'lesson');
    const hang = await openPage(browser, lab, '/recording.html', { viewport: { width: 1440, height: 1100 } });
    await openHang(hang);
    await take(hang, 'hang');

    const page = await openPage(browser, lab, '/bench.html', { viewport: { width: 1440, height: 1180 } });
    await page.getByRole('button', { name: 'Start' }).click();
    await page.locator('#start').waitFor({ state: 'hidden' });
    await page.locator('#start').waitFor({ timeout: 120_000 }); // Start reappears when the run has ended
    await page.locator('#run').evaluate((run) => window.scrollTo(0, run.getBoundingClientRect().top - 20));
    await take(page, 'benchmark');
  } finally {
    await browser.close();
    await lab.close();
  }
}

main();
