'use strict';
// `crossings doctor`: reports what this machine allows and what would disturb a measurement.
const { Command } = require('commander');
const { CrossingsError } = require('./channel/errors.js');
const { native } = require('./channel/native.js');
const { describeEnvironment, describeMachine } = require('./measure/environment.js');
const { significant } = require('./terminal/numbers.js');
const { eventOf, runProgram } = require('./measure/programs.js');
const { styleFor, wrap } = require('./terminal/style.js');

const WIDTH = 100;

/**
 * @typedef {{ok: boolean, what: string, finding: string}} Finding
 * @param {AbortSignal} signal
 */
async function examine(signal) {
  const machine = await describeMachine({ cores: null, signal });
  const methods = eventOf(await runProgram('crossings-count', ['--probe'], { signal }), 'methods');
  methods.seccomp = await trySeccomp(signal);
  methods.channels = tryChannels();
  const environment = await describeEnvironment({ cores: null, pin: true, signal });
  return { machine, methods, environment };
}

/**
 * Whether the filter of `crossings prove` can be entered, found by two messages that it forbids.
 * @param {AbortSignal} signal
 */
async function trySeccomp(signal) {
  try {
    const control = ['--proof', 'pipe-control', '--messages', 2, '--warm-up', 2, '--no-pin'];
    await runProgram('crossings-prove', control, { signal });
    return { allowed: 'yes', reason: null };
  } catch (error) {
    if (!(error instanceof CrossingsError) || error.code !== 'ERR_FILTER_REFUSED') throw error;
    return { allowed: 'no', reason: error.message.replace('pipe-control: ', '') };
  }
}

/** Whether the memory of a channel can be made. */
function tryChannels() {
  try {
    const { handle, buffer } = native.createRegion(65536, false, false);
    native.releaseRegion(handle, buffer);
    return { allowed: 'yes', reason: null };
  } catch (error) {
    return { allowed: 'no', reason: /** @type {Error} */ (error).message };
  }
}

/** @param {Awaited<ReturnType<typeof examine>>} facts @returns {Finding[]} */
function findings({ machine, methods, environment }) {
  const cores = new Set(
    machine.cpus.map((/** @type {any} */ cpu) => (cpu.core < 0 ? `cpu ${cpu.id}` : `${cpu.package}/${cpu.core}`)),
  );
  const method = (/** @type {string} */ name, /** @type {string} */ effect) => ({
    ok: methods[name].allowed === 'yes',
    what: name,
    finding: methods[name].allowed === 'yes' ? `allowed: ${effect}` : `refused: ${methods[name].reason}`,
  });
  return [
    { ok: true, what: 'processor', finding: `${environment.cpu} (${environment.architecture})` },
    { ok: true, what: 'kernel', finding: environment.kernel },
    { ok: environment.virtualization === 'none', what: 'virtualization', finding: environment.virtualization },
    {
      ok: cores.size > 1,
      what: 'cores',
      finding: `${cores.size} physical; ${machine.cpus.length} logical available to this process`,
    },
    {
      ok: machine.placement === 'two physical cores',
      what: 'default cores',
      finding: `${machine.pinnedCores.join(' and ')}: ${machine.placement}`,
    },
    {
      ok: machine.clock.source !== 'clock_monotonic',
      what: 'clock',
      finding: `${machine.clock.source}: ${significant(machine.clock.overheadNs)} ns per reading, ${significant(machine.clock.resolutionNs)} ns resolution`,
    },
    method('tracepoint', 'counts system calls at full speed'),
    method('ptrace', 'counts and records system calls by stopping the process at each one'),
    method('seccomp', 'proves that the hot path makes no system call'),
    method('channels', 'connect processes through shared memory'),
    { ok: true, what: 'compiler', finding: environment.compiler },
    { ok: true, what: 'Node', finding: environment.node },
  ];
}

/** @param {{json?: boolean}} options @param {AbortSignal} signal */
async function doctor(options, signal) {
  const facts = await examine(signal);
  if (options.json) {
    const { machine, methods, environment } = facts;
    process.stdout.write(`${JSON.stringify({ environment, cpus: machine.cpus, methods }, null, 2)}\n`);
    return;
  }
  const style = styleFor(process.stdout);
  const list = findings(facts);
  const width = Math.max(...list.map(({ what }) => what.length));
  for (const { ok, what, finding } of list) {
    const mark = ok ? style.good('✓') : style.bad('!');
    process.stdout.write(`${mark} ${what.padEnd(width)}  ${wrap(finding, WIDTH - width - 4, ' '.repeat(width + 4))}\n`);
  }
  const { warnings } = facts.environment;
  const heading =
    warnings.length > 0 ? 'These would disturb a measurement now:' : 'Found nothing that would disturb a measurement.';
  process.stdout.write(`\n${style.bold(heading)}\n`);
  for (const warning of warnings) process.stdout.write(`${wrap(`- ${warning}`, WIDTH, '  ')}\n`);
}

/** @param {AbortSignal} signal */
function doctorCommand(signal) {
  return new Command('doctor')
    .description('report what this machine allows and what would disturb a measurement')
    .option('--json', 'print the report as JSON')
    .allowExcessArguments(false)
    .action((options) => doctor(options, signal));
}

module.exports = { doctorCommand };
