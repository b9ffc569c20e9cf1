// The types of the theatre's modules. docs/lab.md documents the fields of a recording.

export type Effect = {
  do: 'open' | 'close' | 'map' | 'unmap' | 'fork' | 'exit' | 'copy' | 'store' | 'load' | 'publish' | 'pass';
  fd?: number;
  object?: string;
  as?: string;
  pid?: number;
  from?: string;
  to?: string;
  bytes?: number;
};

export type TraceEvent = {
  t: number;
  end: number | null;
  pid: number;
  kind: 'syscall' | 'step';
  name: string;
  args: string[];
  before?: [number, string][];
  result: string;
  source: { file: string; line: number };
  call?: string;
  phase: 'setup' | 'message' | 'teardown';
  message: number | null;
  sleeps?: number;
  wokenBy?: number | null;
  memory?: Record<string, number | string>;
  effects: Effect[];
};

export type TracedObject = { id: string; kind: string; name: string; peer?: string; words?: string[] };

export type Trace = {
  schema: string;
  mechanism: string;
  title: string;
  recordedAt: string;
  tool?: { version: string };
  origin?: 'shipped' | 'recorded';
  environment: Record<string, any>;
  parameters: { messages: number; sizeBytes: number };
  floors: { syscallNs: number };
  untraced: { runs: number; messageNs: { median: number; q1: number; q3: number } };
  processes: { pid: number; role: string }[];
  sources: Record<string, string>;
  objects: TracedObject[];
  events: TraceEvent[];
};

/** What one step of the playback shows: a call that enters the kernel, one that returns, or a step in user space. */
export type Moment = { at: number; edge: 'enter' | 'leave' | 'whole'; event: number; part: number };

export type Descriptor = { fd: number; object: string; as?: string };

export type Mapping = { object: string; as?: string };

export type ProcessState = {
  pid: number;
  role: string;
  alive: boolean;
  descriptors: Descriptor[];
  maps: Mapping[];
  /** the event in progress, or null */
  doing: number | null;
  /** the latest event that began: its source line is highlighted */
  last: number | null;
  /** system calls made so far, and those of them that were made for messages */
  crossings: number;
  inMessages: number;
  /** the message that its latest copy left in its own memory, or null */
  holds: Item | null;
};

/** Bytes of one message in an object. held: stored, but not published; there: can be read; read: the reader has copied them. */
export type Item = { message: number | null; bytes: number; state: 'held' | 'there' | 'read' };

export type ObjectState = { items: Item[]; words: Record<string, number | string> };

export type Counters = {
  crossings: number;
  kernelCopies: number;
  ownCopies: number;
  bytes: number;
  sleeps: number;
};

/** Everything that the theatre shows after a moment. */
export type Snapshot = {
  processes: ProcessState[];
  objects: Record<string, ObjectState>;
  total: Counters;
  messages: Counters;
};

/** A recording prepared for playback. snapshots[0] is before the first moment; snapshots[i] is after moment i - 1. */
export type Replay = {
  trace: Trace;
  moments: Moment[];
  snapshots: Snapshot[];
  /** the moment at which each event begins, and at which it ends; -1 if never */
  entered: number[];
  left: number[];
  /** setup, each message, teardown */
  parts: { name: string; message: number | null; phase: string }[];
};

/**
 * What the address of the page describes. at: the number of stops that have passed, null for the first message; guess: is the
 * quiz on? setup: are the calls of the setup shown one by one?
 */
export type View = {
  mechanism: string;
  with: string | null;
  at: number | null;
  speed: number;
  guess: boolean;
  setup: boolean;
};

/** The elements of the page that its script uses. */
export type Controls = {
  choice: HTMLElement;
  compareWith: HTMLSelectElement;
  toggle: HTMLButtonElement;
  forward: HTMLButtonElement;
  scrub: HTMLInputElement;
  speed: HTMLSelectElement;
  quiz: HTMLInputElement;
  setup: HTMLInputElement;
  tally: any;
  position: HTMLElement;
  question: HTMLElement;
  error: HTMLElement;
  players: HTMLElement;
  theatre: HTMLElement;
  singleKeys: HTMLInputElement;
  help: HTMLDialogElement;
};
