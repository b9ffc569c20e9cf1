'use strict';
// One process of the stress test: node process.js left|right PLAN. The left one starts the right ones; each pair has several
// channels, by path and by inherited descriptor. Each process writes what its channels sent and received to a file of its own,
// which the test compares.
const { spawn } = require('node:child_process');
const { writeFileSync } = require('node:fs');
const { join } = require('node:path');
const { setTimeout: pause } = require('node:timers/promises');
const { channelPair, connect, listen, openChannel } = /** @type {any} */ (require('../../../lib/index.js'));
const { Driver } = require('./driver.js');
const { Random, channelPlan } = require('./plan.js');

const PATIENCE_MS = 60_000; // without progress on a channel
const LOOK_MS = 1000;

const [, , side, json] = process.argv;
/** @type {any} the plan of the group, and where this process and its files are */
const plan = JSON.parse(json);
const name = side === 'left' ? 'left' : `right-${plan.right}`;
/** @type {InstanceType<typeof Driver>[]} */
const drivers = [];
/** @type {any[]} */
const reports = [];
let opened = 0;
let finished = false;

/** @param {string} text */
function failed(text) {
  writeFileSync(join(plan.folder, `${name}.failed`), `${name}, process ${process.pid}: ${text}\n`);
  process.exit(1);
}
process.on('uncaughtException', (error) => failed(error?.stack ?? String(error)));
process.on('exit', (status) => {
  if (finished || status !== 0) return;
  const text = drivers.map((driver) => driver.describe()).join('\n');
  writeFileSync(join(plan.folder, `${name}.failed`), `${name}: ended although it had calls that wait\n${text}\n`);
  process.exitCode = 1;
});

/** Ends this process with a description if one of its channels makes no progress. */
function watch() {
  const seen = new Map();
  setInterval(() => {
    for (const driver of drivers) {
      const before = seen.get(driver);
      if (before === undefined || before.progress !== driver.progress)
        seen.set(driver, { progress: driver.progress, looks: 0 });
      else if (++before.looks * LOOK_MS >= PATIENCE_MS) {
        const all = drivers.map((each) => each.describe()).join('\n');
        failed(`no progress for ${PATIENCE_MS / 1000} s: ${driver.describe()}\nAll channels:\n${all}`);
      }
    }
    process.stdout.write('.'); // this process runs its timers
  }, LOOK_MS).unref(); // only waiting calls keep this process alive
}

/** @param {number} right @param {number} number @param {Promise<any>} opening @param {boolean} decodes */
async function drive(right, number, opening, decodes) {
  const driver = new Driver(await opening, channelPlan(plan, right, number), /** @type {any} */ (side), decodes);
  drivers.push(driver);
  opened++;
  reports.push(await driver.run());
  drivers.splice(drivers.indexOf(driver), 1);
}

/** The options of this side's end. @param {number} right @param {number} number */
function optionsOf(right, number) {
  const channel = channelPlan(plan, right, number);
  const decodes = number % 3 === 0;
  const decode = decodes ? (/** @type {Buffer} */ bytes) => ({ bytes }) : undefined;
  return { via: channel.via, decodes, options: { ...channel[/** @type {'left' | 'right'} */ (side)], decode } };
}

const socketOf = (/** @type {number} */ right, /** @type {number} */ number) =>
  join(plan.folder, `${right}-${number}.sock`);

async function left() {
  const driven = [];
  const children = [];
  for (let right = 0; right < plan.rights; right++) {
    const ports = [];
    for (let number = 0; number < plan.channels; number++) {
      const { via, options, decodes } = optionsOf(right, number);
      let opening;
      if (via === 'path') {
        const server = await listen(socketOf(right, number), options);
        opening = server.accept().finally(() => server.close());
      } else {
        const pair = channelPair(options);
        ports.push(pair.port);
        opening = pair.channel;
      }
      driven.push(drive(right, number, opening, decodes));
    }
    const child = spawn(process.execPath, [__filename, 'right', JSON.stringify({ ...plan, right })], {
      stdio: ['ignore', 'inherit', 'inherit', ...ports.map(({ fd }) => fd)],
    });
    for (const port of ports) port.close();
    children.push(child);
  }
  const ended = children.map((child) => new Promise((resolve) => child.on('close', resolve)));
  if (plan.killed) kill(children[0]);
  await Promise.all([...driven, ...ended]);
}

/** Kills one side at a random moment after all channels are open. @param {import('node:child_process').ChildProcess} child */
async function kill(child) {
  const random = new Random(plan.seed, plan.group, 77);
  while (opened < plan.rights * plan.channels) await pause(5);
  await pause(random.below(500));
  if (plan.killed === 'right') child.kill('SIGKILL');
  else process.kill(process.pid, 'SIGKILL');
}

async function right() {
  const driven = [];
  let fd = 3;
  for (let number = 0; number < plan.channels; number++) {
    const { via, options, decodes } = optionsOf(plan.right, number);
    const opening = via === 'path' ? connect(socketOf(plan.right, number), options) : openChannel(fd++, options);
    driven.push(drive(plan.right, number, opening, decodes));
  }
  await Promise.all(driven);
}

watch();
(side === 'left' ? left() : right()).then(() => {
  finished = true;
  writeFileSync(join(plan.folder, `${name}.json`), JSON.stringify(reports));
});
