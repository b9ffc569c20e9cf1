'use strict';
// What machine this is, and what on it would spoil a measurement. Every fact is read, none is assumed; one that cannot
// be read is left out.
const { existsSync, readFileSync } = require('node:fs');
const os = require('node:os');
const { setTimeout: sleep } = require('node:timers/promises');
const { eventOf, runProgram } = require('./programs.js');

const BUSY_WATCH_MS = 300;
const BUSY_LIMIT = 0.1; // of all cores' time
const STOLEN_LIMIT = 0.01; // of all cores' time

/** How hypervisors sign themselves in CPUID 4000_0000h. @type {Record<string, string>} */
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
 * Time of all cores since the start, in ticks of the kernel's accounting.
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
 * Starts watching the time that the hypervisor gives to others. Call the result at the end: it is the share stolen.
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

async function busyShare() {
  const before = processorTime();
  await sleep(BUSY_WATCH_MS);
  const after = processorTime();
  if (!before || !after || after.all === before.all) return 0;
  return (after.busy - before.busy) / (after.all - before.all);
}

/** What traces this process or the kernel right now, as words, or null. */
function activeTracer() {
  const tracer = /^TracerPid:\s*(\d+)/m.exec(read('/proc/self/status') ?? '')?.[1];
  if (tracer && tracer !== '0') return `process ${tracer} traces this one`;
  const kernelTracer = read('/sys/kernel/tracing/current_tracer');
  if (kernelTracer && kernelTracer !== 'nop') return `the kernel's ${kernelTracer} tracer is on`;
  if (read('/sys/kernel/tracing/events/enable') === '1') return "all of the kernel's trace events are on";
  return null;
}

/** How many cores' worth of time the control group allows, or null when it sets no limit. */
function coreQuota() {
  const [quota, period] = (read('/sys/fs/cgroup/cpu.max') ?? 'max').split(' ');
  return quota === 'max' ? null : Number(quota) / Number(period);
}

/** @param {number} share */
const percent = (share) => `${Math.round(share * 100)} %`;

/**
 * One sentence for each thing that would spoil the measurement.
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
    warnings.push(
      'There is one core: the two processes take turns on it, so nothing here shows what two cores would do.',
    );
  } else if (pin && used[0] === used[1]) {
    warnings.push(
      `Both processes are pinned to core ${used[0]}: they take turns on it and never run at the same time.`,
    );
  } else if (pin && machine.placement.includes('threads')) {
    warnings.push('The two processes share one physical core, as its two hardware threads.');
  }
  if (!pin) warnings.push('The processes are not pinned: the scheduler may move them in the middle of a measurement.');
  const slow = new Set(
    used.map((/** @type {number} */ core) => read(`/sys/devices/system/cpu/cpu${core}/cpufreq/scaling_governor`)),
  );
  for (const governor of slow) {
    if (governor && governor !== 'performance') {
      warnings.push(`The cores' frequency governor is "${governor}": their speed may change while they are measured.`);
    }
  }
  const quota = coreQuota();
  if (quota !== null && quota < 2) {
    warnings.push(
      `A control group limits this process to ${quota} cores' worth of time: it will be stopped now and then.`,
    );
  }
  const tracer = activeTracer();
  if (tracer) warnings.push(`Tracing is active (${tracer}), which makes every system call slower.`);
  if (machine.clock.source === 'clock_monotonic') {
    warnings.push("The processor's own counter cannot be trusted here, so the slower CLOCK_MONOTONIC is used.");
  }
  const busy = await busyShare();
  if (busy > BUSY_LIMIT) {
    warnings.push(`Other work keeps ${percent(busy)} of the cores busy: stop it and measure again.`);
  }
  return warnings;
}

/**
 * Cores, clock, compiler and the cores that a measurement would use, as crossings-bench sees them.
 * @param {{cores: number[] | null, signal?: AbortSignal}} options
 */
async function describeMachine({ cores, signal }) {
  const chosen = cores ? ['--cores', cores.join(',')] : [];
  return eventOf(await runProgram('crossings-bench', ['--describe', ...chosen], { signal }), 'machine');
}

/** @typedef {Awaited<ReturnType<typeof describeEnvironment>>} Environment */

/**
 * The `environment` of a run file.
 * @param {{cores: number[] | null, pin: boolean, signal?: AbortSignal}} options
 */
async function describeEnvironment({ cores, pin, signal }) {
  const machine = await describeMachine({ cores, signal });
  const kind = virtualization(machine.hypervisor);
  return {
    cpu: os.cpus()[0]?.model.trim() ?? 'unknown',
    cores: machine.cpus.length,
    architecture: os.arch(),
    kernel: `${os.type()} ${os.release()}`,
    virtualization: kind,
    compiler: machine.compiler,
    node: process.version,
    pinnedCores: pin ? machine.pinnedCores : null,
    placement: pin ? machine.placement : 'not pinned',
    clock: machine.clock,
    warnings: await findWarnings({ machine, pin, virtualization: kind }),
  };
}

/** @param {number} share of all cores' time that the hypervisor took during the run */
function stolenWarning(share) {
  if (share <= STOLEN_LIMIT) return null;
  return `During the run the hypervisor gave ${percent(share)} of the cores' time to others: the slowest percentiles show it.`;
}

module.exports = { describeEnvironment, describeMachine, watchStolenTime, stolenWarning };
