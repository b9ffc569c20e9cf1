'use strict';
// The tables of the matrix: installing with every package manager, the lab on every Node, using the channel on every runtime, and
// every two runtimes talking to each other.
const install = require('./install-cells.js');
const lab = require('./lab-cells.js');
const { MANAGERS, ownNpm } = require('./managers.js');
const pair = require('./pair-cells.js');
const use = require('./runtime-cells.js');
const { RUNTIMES, ownNode } = require('./runtimes.js');
const { Row } = require('./table.js');

/** @typedef {import('./runtimes.js').Runtime} Runtime */
/** @typedef {import('./managers.js').Manager} Manager */
/** @typedef {import('./sandbox.js').Sandbox} Sandbox */

/**
 * @typedef {object} Context
 * @property {(row: string) => boolean} wanted does the user want this row?
 * @property {boolean} short this machine's npm only, fewer runtimes, and pairs with this Node only
 * @property {boolean} mayDownload
 * @property {number} jobs rows at the same time
 * @property {string} registry its address
 * @property {string[] | string} labTarballs of crossings and crossings-lab, or a sentence that says why there are none
 * @property {string} cPeer a user's C program
 * @property {(text: string) => void} progress
 */

/** @param {Context} context @param {Runtime} runtime @returns {Manager[]} */
function managersFor({ short }, { command, optional }) {
  const all = MANAGERS.filter(({ runtimes }) => runtimes.includes(command));
  if (command !== 'node') return all;
  if (short) return [ownNpm];
  return optional ? all.slice(0, 1) : all;
}

/** Calls a function for each of a list, several at a time. @template T @param {T[]} list @param {number} jobs @param {(each: T) => Promise<void>} work */
async function forEach(list, jobs, work) {
  const rest = [...list];
  const worker = async () => {
    for (let each = rest.shift(); each !== undefined; each = rest.shift()) await work(each);
  };
  await Promise.all(Array.from({ length: jobs }, worker));
}

/** The runtimes of this form of the matrix: in the short form this Node; CI has time for the others. @param {Context} context */
function runtimesOf({ short, mayDownload }) {
  if (!short) return RUNTIMES;
  if (!mayDownload) return [ownNode];
  return RUNTIMES.filter((each) => each === ownNode || each.command !== 'node' || !each.optional);
}

/** A row for each runtime that cannot run here, which is a failure unless it is optional. @param {Context} context */
function absentRows(context) {
  const { wanted, mayDownload } = context;
  const chosen = runtimesOf(context).filter(({ name }) => wanted(name));
  return chosen.flatMap((runtime) => {
    const obstacle = runtime.obstacle(mayDownload);
    if (!obstacle) return [];
    const row = new Row(runtime.name, install.COLUMNS);
    row.skip(`${obstacle}.`, mayDownload && !runtime.optional);
    return [row];
  });
}

/** @param {Context} context @param {Runtime[]} runtimes */
async function installAll(context, runtimes) {
  const all = runtimes.flatMap((runtime) => managersFor(context, runtime).map((manager) => ({ runtime, manager })));
  const chosen = all
    .map((each) => ({ ...each, row: new Row(`${each.runtime.name}, ${each.manager.name}`, install.COLUMNS) }))
    .filter(({ row }) => context.wanted(row.name));
  await forEach(chosen, context.jobs, async ({ runtime, manager, row }) => {
    context.progress(`installing: ${row.name}`);
    await install.fillInstall(row, runtime, manager, context);
  });
  return chosen.map(({ row }) => row);
}

/** crossings-lab, beside crossings, on every Node that is a promise. @param {Context} context @param {Runtime[]} runtimes */
async function runLabs({ short, labTarballs, wanted, mayDownload, jobs, progress }, runtimes) {
  if (short) return []; // test/install.test.js installs it
  const chosen = runtimes
    .filter(({ command, optional }) => command === 'node' && !optional)
    .map((runtime) => ({ runtime, row: new Row(`${runtime.name}, crossings-lab`, lab.COLUMNS) }))
    .filter(({ row }) => wanted(row.name));
  await forEach(chosen, jobs, async ({ runtime, row }) => {
    progress(`running: ${row.name}`);
    const manager = MANAGERS.find((each) => !each.obstacle(mayDownload, runtime));
    if (typeof labTarballs === 'string' || !manager)
      row.skip(typeof labTarballs === 'string' ? labTarballs : 'There is no npm for it.', false);
    else await lab.fillLab(row, runtime, manager, labTarballs);
  });
  return chosen.map(({ row }) => row);
}

/** A project with the package for each runtime. @param {Context} context @param {Runtime[]} runtimes @param {Map<Runtime, Sandbox>} projects */
async function createProjects(context, runtimes, projects) {
  await forEach(runtimes, context.jobs, async (runtime) => {
    context.progress(`preparing: ${runtime.name}`);
    const manager = managersFor(context, runtime).find((each) => !each.obstacle(context.mayDownload, runtime));
    if (!manager) return;
    const sandbox = install.createProject(runtime, manager, context.registry);
    try {
      for (const command of manager.install) await sandbox.run(command);
      projects.set(runtime, sandbox);
    } catch {
      sandbox.remove(); // the table of installing says why
    }
  });
}

/** @param {Context} context @param {Map<Runtime, Sandbox>} projects */
async function useAll(context, projects) {
  const chosen = [...projects]
    .map(([{ name }, sandbox]) => ({ sandbox, row: new Row(name, use.COLUMNS) }))
    .filter(({ row }) => context.wanted(row.name));
  await forEach(chosen, context.jobs, async ({ sandbox, row }) => {
    context.progress(`using: ${row.name}`);
    for (const [column, check] of Object.entries(use.CELLS)) await row.cell(column, () => check(sandbox, context));
  });
  return chosen.map(({ row }) => row);
}

/** @param {Runtime} listening @param {Runtime} connecting */
const pairName = (listening, connecting) => `${listening.name} ← ${connecting.name}`;

/** @param {Context} context @param {Map<Runtime, Sandbox>} projects */
async function talkAll(context, projects) {
  const pairs = [...projects].flatMap(([listening, from]) =>
    [...projects].map(([connecting, to]) => ({ listening, connecting, from, to })),
  );
  const chosen = pairs
    .filter(({ listening, connecting }) => !context.short || listening === ownNode || connecting === ownNode)
    .map((each) => ({ ...each, row: new Row(pairName(each.listening, each.connecting), pair.COLUMNS) }))
    .filter(({ row }) => context.wanted(row.name));
  await forEach(chosen, context.jobs, async ({ from, to, row }) => {
    context.progress(`talking: ${row.name}`);
    await pair.fillPair(row, from, to);
  });
  return chosen.map(({ row }) => row);
}

/** @param {Context} context @returns {Promise<import('./table.js').Table[]>} */
async function runMatrix(context) {
  const { wanted, mayDownload } = context;
  const absent = absentRows(context);
  const inWantedRow = (/** @type {Runtime} */ one) =>
    RUNTIMES.some((other) => [one.name, pairName(one, other), pairName(other, one)].some(wanted));
  const present = runtimesOf(context).filter((each) => !each.obstacle(mayDownload));
  const needed = present.filter(inWantedRow);
  /** @type {Map<Runtime, Sandbox>} */
  const projects = new Map(needed.map((runtime) => [runtime, /** @type {any} */ (undefined)])); // in the order of the list
  try {
    const installed = await installAll(context, present);
    await createProjects(context, needed, projects);
    for (const [runtime, sandbox] of projects) if (!sandbox) projects.delete(runtime);
    const labs = await runLabs(context, present);
    const used = await useAll(context, projects);
    const talked = await talkAll(context, projects);
    return [
      { title: 'Installing', columns: install.COLUMNS, rows: [...installed, ...absent] },
      { title: 'The lab', columns: lab.COLUMNS, rows: labs },
      { title: 'Using', columns: use.COLUMNS, rows: used },
      { title: 'Talking: listens ← connects', columns: pair.COLUMNS, rows: talked },
    ];
  } finally {
    for (const sandbox of projects.values()) sandbox?.remove();
    context.progress('');
  }
}

module.exports = { runMatrix };
