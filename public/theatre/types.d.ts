// The shapes that the theatre's modules hand to each other. docs/trace.md tells what each field of a recording means.

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

/** One thing that is seen to happen: a call enters the kernel, leaves it, or a step in user space is made. */
export type Moment = { at: number; edge: 'enter' | 'leave' | 'whole'; event: number; segment: number };

export type Descriptor = { fd: number; object: string; as?: string };

export type Mapping = { object: string; as?: string };

export type ProcessState = {
  pid: number;
  role: string;
  alive: boolean;
  descriptors: Descriptor[];
  maps: Mapping[];
  /** the event under way, or null */
  doing: number | null;
  /** the last event that began: its line of source is lit */
  last: number | null;
  /** system calls that it has made */
  crossings: number;
};

/** Bytes of one message that lie in an object. held: stored, and not yet released; read: its reader has them. */
export type Item = { message: number | null; bytes: number; state: 'held' | 'there' | 'read' };

export type ObjectState = { items: Item[]; words: Record<string, number | string> };

export type Counters = {
  crossings: number;
  kernelCopies: number;
  ownCopies: number;
  bytes: number;
  sleeps: number;
};

export type World = {
  processes: ProcessState[];
  objects: Record<string, ObjectState>;
  total: Counters;
  messages: Counters;
};

/** A recording made ready to be played. worlds[0] is before the first moment; worlds[i] after moment i - 1. */
export type Play = {
  trace: Trace;
  moments: Moment[];
  worlds: World[];
  /** the moment at which each event is entered, and left (-1: never) */
  entered: number[];
  left: number[];
  /** the phases and messages, in order */
  segments: { name: string; message: number | null; phase: string }[];
};
