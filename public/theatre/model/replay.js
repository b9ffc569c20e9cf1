// A recording prepared for playback: its moments in order of time, and a snapshot of both processes and the kernel after each.
// Only the recorded effects of events change a snapshot; there is no model of a pipe or a socket here.

/**
 * @typedef {import('./types.js').Trace} Trace
 * @typedef {import('./types.js').TraceEvent} TraceEvent
 * @typedef {import('./types.js').Moment} Moment
 * @typedef {import('./types.js').Snapshot} Snapshot
 * @typedef {import('./types.js').Replay} Replay
 */

/** @param {Trace} trace */
function partsOf({ parameters }) {
  const messages = Array.from({ length: parameters.messages }, (_, i) => ({
    name: `message ${i + 1}`,
    message: i + 1,
    phase: 'message',
  }));
  return [
    { name: 'setup', message: null, phase: 'setup' },
    ...messages,
    { name: 'teardown', message: null, phase: 'teardown' },
  ];
}

/**
 * An event has two moments, its beginning and its end. It has one if it never ends, or if it is a step during which nothing
 * else occurs. A moment belongs to the latest message that either process has begun.
 * @param {Trace} trace
 * @returns {Moment[]}
 */
function momentsOf(trace) {
  const edges = trace.events.flatMap(({ t, end }, event) => {
    const enter = { at: t, edge: 'enter', event, part: 0 };
    return end === null ? [{ ...enter, edge: 'whole' }] : [enter, { at: end, edge: 'leave', event, part: 0 }];
  });
  edges.sort((a, b) => a.at - b.at || a.event - b.event);
  const moments = /** @type {Moment[]} */ (
    edges.flatMap((moment, i) => {
      const step = trace.events[moment.event].kind === 'step';
      if (step && moment.edge === 'enter' && edges[i + 1]?.event === moment.event) return [];
      if (step && moment.edge === 'leave' && edges[i - 1]?.event === moment.event)
        return [{ ...moment, edge: 'whole' }];
      return [moment];
    })
  );
  const last = moments.findLastIndex(({ event }) => trace.events[event].phase === 'message');
  let part = 0;
  for (const [i, moment] of moments.entries()) {
    const { phase, message } = trace.events[moment.event];
    if (i > last && last >= 0) part = trace.parameters.messages + 1;
    else if (phase === 'message') part = Math.max(part, message ?? 1);
    moment.part = part;
  }
  return moments;
}

const ZERO = { crossings: 0, kernelCopies: 0, ownCopies: 0, bytes: 0, sleeps: 0 };

/** @param {Trace} trace @returns {Snapshot} */
function firstSnapshot(trace) {
  const first = trace.events[0]?.pid;
  return {
    processes: trace.processes.map(({ pid, role }) => ({
      pid,
      role,
      alive: pid === first,
      descriptors: [],
      maps: [],
      doing: null,
      last: null,
      crossings: 0,
      inMessages: 0,
      holds: null,
    })),
    objects: Object.fromEntries(trace.objects.map(({ id }) => [id, { items: [], words: {} }])),
    total: ZERO,
    messages: ZERO,
  };
}

/** Remove `bytes` from the front of a stream. @param {import('./types.js').Item[]} items @param {number} bytes */
function takeBytes(items, bytes) {
  const rest = [];
  let left = bytes;
  for (const item of items) {
    const taken = Math.min(item.bytes, left);
    left -= taken;
    if (item.bytes > taken) rest.push({ ...item, bytes: item.bytes - taken });
  }
  return rest;
}

/** Mark the first unread item as read. @param {import('./types.js').Item[]} items @returns {import('./types.js').Item[]} */
function markRead(items) {
  const unread = items.findIndex(({ state }) => state !== 'read');
  return items.map((item, i) => (i === unread ? { ...item, state: 'read' } : item));
}

/** @param {import('./types.js').Mapping[]} maps @param {string} object */
const without = (maps, object) => maps.filter((mapping) => mapping.object !== object);

/** A copy of a snapshot, to which the changes of one event are applied. */
class Change {
  /** @param {Snapshot} snapshot @param {TraceEvent} event */
  constructor(snapshot, event) {
    this.snapshot = { ...snapshot, processes: [...snapshot.processes] };
    this.event = event;
  }

  /** @param {number} pid @param {Partial<import('./types.js').ProcessState>} changes */
  process(pid, changes) {
    const i = this.snapshot.processes.findIndex((process) => process.pid === pid);
    if (i >= 0) this.snapshot.processes[i] = { ...this.snapshot.processes[i], ...changes };
  }

  get self() {
    return /** @type {import('./types.js').ProcessState} */ (
      this.snapshot.processes.find(({ pid }) => pid === this.event.pid)
    );
  }

  /** @param {string} id @param {Partial<import('./types.js').ObjectState>} changes */
  object(id, changes) {
    const before = this.snapshot.objects[id];
    if (before) this.snapshot.objects = { ...this.snapshot.objects, [id]: { ...before, ...changes } };
  }

  /** @param {Partial<import('./types.js').Counters>} more */
  count(more) {
    const add = (/** @type {any} */ counters) => {
      const sum = { ...counters };
      for (const [name, value] of Object.entries(more)) sum[name] += value;
      return sum;
    };
    this.snapshot.total = add(this.snapshot.total);
    if (this.event.phase === 'message') this.snapshot.messages = add(this.snapshot.messages);
  }

  /** @param {import('./types.js').Effect} effect */
  apply(effect) {
    const { self, event } = this;
    const { fd = -1, object = '', bytes = 0, pid = 0 } = effect;
    /** @type {import('./types.js').Item} */
    const item = { message: event.message, bytes, state: 'there' };
    switch (effect.do) {
      case 'open': {
        const others = self.descriptors.filter((descriptor) => descriptor.fd !== fd);
        const descriptors = [...others, { fd, object, as: effect.as }].sort((a, b) => a.fd - b.fd);
        return this.process(self.pid, { descriptors });
      }
      case 'close':
        return this.process(self.pid, { descriptors: self.descriptors.filter((descriptor) => descriptor.fd !== fd) });
      case 'map':
        return this.process(self.pid, { maps: [...without(self.maps, object), { object, as: effect.as }] });
      case 'unmap':
        return this.process(self.pid, { maps: without(self.maps, object) });
      case 'fork':
        return this.process(pid, { alive: true, descriptors: self.descriptors, maps: self.maps });
      case 'exit':
        return this.process(self.pid, { alive: false, descriptors: [], maps: [], doing: null, holds: null });
      case 'copy': {
        this.count({ kernelCopies: 1, bytes });
        const inward = effect.from === 'process';
        const id = /** @type {string} */ (inward ? effect.to : effect.from);
        const items = this.snapshot.objects[id]?.items ?? [];
        if (event.message !== null) this.process(self.pid, { holds: item });
        return this.object(id, { items: inward ? [...items, item] : takeBytes(items, bytes) });
      }
      case 'store': {
        this.count({ ownCopies: 1, bytes });
        const unread = (this.snapshot.objects[object]?.items ?? []).filter(({ state }) => state !== 'read');
        return this.object(object, { items: [...unread, { ...item, state: 'held' }] });
      }
      case 'publish': {
        const items = this.snapshot.objects[object]?.items ?? [];
        return this.object(object, {
          items: items.map((held) => (held.state === 'held' ? { ...held, state: 'there' } : held)),
        });
      }
      case 'load':
        this.count({ ownCopies: 1, bytes });
        return this.object(object, { items: markRead(this.snapshot.objects[object]?.items ?? []) });
    }
  }

  /** Record the observed words of shared memory. @param {import('./types.js').TracedObject[]} objects */
  observe(objects) {
    for (const { id, words } of objects) {
      const known = words?.filter((word) => this.event.memory && word in this.event.memory) ?? [];
      if (known.length === 0) continue;
      const values = Object.fromEntries(known.map((word) => [word, this.event.memory?.[word] ?? 0]));
      this.object(id, { words: { ...this.snapshot.objects[id].words, ...values } });
    }
  }
}

/** The message that an event copies from its process into the kernel, or null. @param {TraceEvent} event @returns {import('./types.js').Item | null} */
export function sentBy({ effects, message }) {
  const copied = effects.find((effect) => effect.do === 'copy' && effect.from === 'process');
  return copied && message !== null ? { message, bytes: copied.bytes ?? 0, state: 'there' } : null;
}

/** The snapshot after a moment. @param {Trace} trace @param {Snapshot} before @param {Moment} moment @returns {Snapshot} */
function snapshotAfter(trace, before, moment) {
  const event = trace.events[moment.event];
  const change = new Change(before, event);
  if (moment.edge !== 'leave') {
    change.process(event.pid, { alive: true, doing: moment.event, last: moment.event });
    if (event.kind === 'syscall') {
      change.count({ crossings: 1 });
      const { crossings, inMessages } = change.self;
      const more = event.phase === 'message' ? 1 : 0;
      change.process(event.pid, { crossings: crossings + 1, inMessages: inMessages + more });
    }
    // The bytes that a call copies into the kernel are in the process when the call begins.
    const holds = sentBy(event);
    if (holds) change.process(event.pid, { holds });
  }
  if (moment.edge !== 'enter') {
    change.process(event.pid, { doing: null });
    for (const effect of event.effects) change.apply(effect);
    change.observe(trace.objects);
    if (event.sleeps) change.count({ sleeps: event.sleeps });
  }
  return change.snapshot;
}

/** @param {Trace} trace @returns {Replay} */
export function replayOf(trace) {
  const moments = momentsOf(trace);
  const snapshots = [firstSnapshot(trace)];
  const entered = trace.events.map(() => -1);
  const left = trace.events.map(() => -1);
  for (const [i, moment] of moments.entries()) {
    snapshots.push(snapshotAfter(trace, snapshots[i], moment));
    if (moment.edge !== 'leave') entered[moment.event] = i;
    if (moment.edge !== 'enter') left[moment.event] = i;
  }
  return { trace, moments, snapshots, entered, left, parts: partsOf(trace) };
}

/** The system calls made for the first messages of a recording. @param {Trace} trace @param {number} messages how many */
export const crossingsOf = ({ events }, messages) =>
  events.filter(({ kind, phase, message }) => kind === 'syscall' && phase === 'message' && (message ?? 1) <= messages)
    .length;

/** Is this moment a part of the setup? Pages fold these by default. @param {Replay} replay @param {number} index */
export const isSetup = ({ trace, moments }, index) => trace.events[moments[index].event].phase === 'setup';

/** Did the process sleep during this event? @param {Trace} trace @param {number | null} event */
export const sleepsIn = (trace, event) => event !== null && (trace.events[event].sleeps ?? 0) > 0;
