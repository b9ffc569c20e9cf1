'use strict';
// The machine, and what on it would disturb a measurement. Every fact is read from the system; a fact that cannot be
// read is left out.
const { existsSync, readFileSync } = require('node:fs');
const os = require('node:os');
const { setTimeout: sleep } = require('node:timers/promises');
const { eventOf, runProgram } = require('./programs.js');

const BUSY_WATCH_MS = 300;
const BUSY_LIMIT = 0.1; // of all cores' time
const BUSY_NOW = 'Other processes use';
const STOLEN_LIMIT = 0.01; // of all cores' time

/** Hypervisor signatures in CPUID 4000_0000h. @type {Record<string, string>} */
const HYPERVISORS = {
  KVMKVMKVM: 'KVM',
  'Microsoft Hv': 'Hyper-V',
  VMwareVMware: 'VMware',
  XenVMMXenVMM: 'Xen',
  VBoxVBoxVBox: 'VirtualBox',
  TCGTCGTCGTCG: 'QEMU without hardware support',
  'bhyve bhyve ': 'bhyve',
  ACRNACRNACRN: 'ACRN',
};

/** @param {string} path */
function read(path) {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch {
    return null;
  }
}

/** @param {string | null} signature */
function virtualization(signature) {
  const container = ['/.dockerenv', '/run/.containerenv', '/run/systemd/container'].some((path) => existsSync(path));
  const product = read('/sys/class/dmi/id/product_name') ?? '';
  const guessed = /kvm|qemu|virtual|vmware|bochs/i.test(product) ? product : null;
  const machine = signature ? (HYPERVISORS[signature] ?? signature.trim()) : guessed;
  return [machine, container ? 'container' : null].filter(Boolean).join(', ') || 'none';
}

/**
 * Time of all cores since boot, in the kernel's accounting ticks.
 * @returns {{all: number, busy: number, stolen: number} | null}
 */
function processorTime() {
  const line = /^cpu +(.*)$/m.exec(read('/proc/stat') ?? '');
  if (!line) return null;
  const [user, nice, system, idle, iowait, irq, softirq, stolen = 0] = line[1].split(' ').map(Number);
  const busy = user + nice + system + irq + softirq;
  return { all: busy + idle + iowait + stolen, busy, stolen };
}

/**
 * Starts watching stolen time: processor time that the hypervisor gives to other guests. The returned function gives
 * its share.
 * @returns {() => number}
 */
function watchStolenTime() {
  const before = processorTime();
  return () => {
    const after = processorTime();
    if (!before || !after || after.all === before.all) return 0;
    return (after.stolen - before.stolen) / (after.all - before.all);
  };
}

/** Processor time of this process and of its children that have ended, in the kernel's accounting ticks. */
function ownTime() {
  const fields = /\) (.*)$/.exec(read('/proc/self/stat') ?? '')?.[1].split(' ') ?? [];
  const [user, system, childrenUser, childrenSystem] = fields.slice(11, 15).map(Number); // proc(5): fields 14 to 17
  return user + system + childrenUser + childrenSystem;
}

/**
 * Starts watching the processor time that others use. The returned function gives its share of all cores' time. Call it
 * when all children have ended, because the kernel adds their time then.
 * @returns {() => number}
 */
function watchOtherWork() {
  const [before, ownBefore] = [processorTime(), ownTime()];
  return () => {
    const [after, own] = [processorTime(), ownTime() - ownBefore];
    if (!before || !after || after.all === before.all || Number.isNaN(own)) return 0;
    return Math.max(0, (after.busy - before.busy - own) / (after.all - before.all));
  };
}

async function busyShare() {
  const before = processorTime();
  await sleep(BUSY_WATCH_MS);
  const after = processorTime();
  if (!before || !after || after.all === before.all) return 0;
  return (after.busy - before.busy) / (after.all - before.all);
}

/** The active tracer of this process or of the kernel, as words, or null. */
function activeTracer() {
  const tracer = /^TracerPid:\s*(\d+)/m.exec(read('/proc/self/status') ?? '')?.[1];
  if (tracer && tracer !== '0') return `process ${tracer} is tracing this one`;
  const kernelTracer = read('/sys/kernel/tracing/current_tracer');
  if (kernelTracer && kernelTracer !== 'nop') return `the kernel's ${kernelTracer} tracer is on`;
  if (read('/sys/kernel/tracing/events/enable') === '1') return 'all kernel trace events are on';
  return null;
}

/** The control group's limit of processor time, in cores, or null if there is none. */
function coreQuota() {
  const [quota, period] = (read('/sys/fs/cgroup/cpu.max') ?? 'max').split(' ');
  return quota === 'max' ? null : Number(quota) / Number(period);
}

/** @param {number} share */
const percent = (share) => `${Math.round(share * 100)} %`;

/**
 * One sentence for each thing that would disturb a measurement.
 * @param {{machine: any, pin: boolean, virtualization: string}} facts
 */
async function findWarnings({ machine, pin, virtualization: kind }) {
  const warnings = [];
  const used = machine.pinnedCores;
  if (kind !== 'none') {
    warnings.push(
      `This is a virtual machine or container (${kind}): compare ratios within a run, not times between runs.`,
    );
  }
  if (machine.cpus.length === 1) {
    warnings.push('Only one core is available: both processes share it, so these results do not predict two cores.');
  } else if (pin && used[0] === used[1]) {
    warnings.push(`Both processes are pinned to core ${used[0]}: they share it and never run at the same time.`);
  } else if (pin && machine.placement.includes('threads')) {
    warnings.push('The processes run on two hardware threads of one physical core.');
  }
  if (!pin) warnings.push('The processes are not pinned: the scheduler may move them during a measurement.');
  const slow = new Set(
    used.map((/** @type {number} */ core) => read(`/sys/devices/system/cpu/cpu${core}/cpufreq/scaling_governor`)),
  );
  for (const governor of slow) {
    if (governor && governor !== 'performance') {
      warnings.push(
        `The frequency governor of the cores is "${governor}": their speed may change during a measurement.`,
      );
    }
  }
  const quota = coreQuota();
  if (quota !== null && quota < 2) {
    warnings.push(
      `A control group limits this process to the processor time of ${quota} cores, so it will be throttled at times.`,
    );
  }
  const tracer = activeTracer();
  if (tracer) warnings.push(`Tracing is active (${tracer}): every system call is slower.`);
  if (machine.clock.source === 'clock_monotonic') {
    warnings.push("The processor's cycle counter is not reliable here, so the slower CLOCK_MONOTONIC is used.");
  }
  const busy = await busyShare();
  if (busy > BUSY_LIMIT) {
    warnings.push(`${BUSY_NOW} ${percent(busy)} of the processor time: stop them and measure again.`);
  }
  return warnings;
}

/**
 * The cores, the clock, the compiler, and the cores that a measurement would use, as crossings-bench reports them.
 * @param {{cores: number[] | null, signal?: AbortSignal}} options
 */
async function describeMachine({ cores, signal }) {
  const chosen = cores ? ['--cores', cores.join(',')] : [];
  return eventOf(await runProgram('crossings-bench', ['--describe', ...chosen], { signal }), 'machine');
}

/** @param {any} machine as crossings-bench describes it */
const hostOf = (machine) => ({
  cpu: os.cpus()[0]?.model.trim() ?? 'unknown',
  cores: /** @type {number} */ (machine.cpus.length),
  architecture: os.arch(),
  kernel: `${os.type()} ${os.release()}`,
  virtualization: virtualization(machine.hypervisor),
  compiler: /** @type {string} */ (machine.compiler),
  node: process.version,
});

/** The machine and the versions, without what would disturb a measurement. @param {{signal?: AbortSignal}} options */
const describeHost = async ({ signal }) => hostOf(await describeMachine({ cores: null, signal }));

/** @typedef {Awaited<ReturnType<typeof describeEnvironment>>} Environment */

/**
 * Where the two processes run.
 * @typedef {object} Placement
 * @property {number[] | null} cores two core numbers; null: chosen from the topology
 * @property {boolean} pin false: the scheduler places the processes
 * @property {boolean} [sameCore] both on the first of the two cores
 */

/**
 * The `environment` of a run file.
 * @param {Placement & {signal?: AbortSignal}} options
 */
async function describeEnvironment({ cores, pin, sameCore = false, signal }) {
  let machine = await describeMachine({ cores, signal });
  const [first, second] = machine.pinnedCores;
  if (sameCore && first !== second) machine = await describeMachine({ cores: [first, first], signal });
  const host = hostOf(machine);
  return {
    ...host,
    pinnedCores: pin ? machine.pinnedCores : null,
    placement: pin ? machine.placement : 'not pinned',
    clock: machine.clock,
    warnings: await findWarnings({ machine, pin, virtualization: host.virtualization }),
    /** The share of the processor time that other processes used during the run; null until it has ended. */
    otherWork: /** @type {number | null} */ (null),
  };
}

/** @param {number} share of stolen time during the run */
function stolenWarning(share) {
  if (share <= STOLEN_LIMIT) return null;
  return `The hypervisor took ${percent(share)} of the cores' time during the run: the highest percentiles are affected.`;
}

/** Is this warning about other processes from before the run? @param {string} warning */
const isBusyWarning = (warning) => warning.startsWith(BUSY_NOW);

/** @param {number} share of the processor time that other processes used during the run */
function otherWorkWarning(share) {
  if (share <= BUSY_LIMIT) return null;
  return `Other processes used ${percent(share)} of the processor time during the run: stop them and measure again.`;
}

module.exports = {
  BUSY_LIMIT,
  describeEnvironment,
  describeHost,
  describeMachine,
  isBusyWarning,
  otherWorkWarning,
  stolenWarning,
  watchOtherWork,
  watchStolenTime,
};
