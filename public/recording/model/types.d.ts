// The types of a recording as the page uses it. docs/lab.md documents the fields of the file.

export type Process = {
  pid: number;
  parent: number | null;
  /** the program's name, or the role in a demo */
  name: string;
  command: string;
  start: number;
  end: number;
  status: number | null;
  signal: string | null;
};

export type KernelObject = {
  id: string;
  kind: string;
  name: string;
  /** index of the object at the other end, or -1 */
  peer: number;
  /** it existed before the program: others may hold it */
  outside: boolean;
  listens: boolean;
  /** the addresses of a socket */
  local: string;
  remote: string;
};

/** A descriptor of a process during an interval. fd -1: a mapping. */
export type Descriptor = { pid: number; fd: number; object: number; end: string | null; from: number; until: number };

/** One thread. The arrays have one entry for each of its system calls, ascending by start. */
export type Lane = {
  pid: number;
  tid: number;
  /** index in Recording.processes */
  process: number;
  /** the first thread of its process */
  main: boolean;
  name: string;
  start: number;
  end: number;
  /** indexes of all its events, ascending by start */
  events: Int32Array;
  /** indexes of its system calls, ascending by start */
  calls: Int32Array;
  starts: Float64Array;
  /** not after the start of the next call */
  ends: Float64Array;
  /** nanoseconds in calls, and asleep in calls, before each call; one entry more than calls */
  inCall: Float64Array;
  asleep: Float64Array;
};

export type Wait = {
  pid: number;
  tid: number;
  /** -1: unknown */
  event: number;
  call: string;
  object: number;
  fd: number | null;
  heldBy: { pid: number; fd: number | null /** a thread that is waited for */; tid: number | null }[];
};

export type About = {
  command: string;
  mechanism: string | null;
  title: string;
  recordedAt: string | null;
  machine: string;
  ended: string | null;
  status: number | null;
  signal: string | null;
  payloads: boolean;
  dropped: number;
  /** sentences of the recorder */
  notes: string[];
};

/** A recording in columns: entry i of each array belongs to event i. All of it can be sent from a worker. */
export type Recording = {
  about: About;
  durationNs: number;
  count: number;
  calls: number;
  processes: Process[];
  lanes: Lane[];
  objects: KernelObject[];
  /** by process and number */
  descriptors: Descriptor[];
  names: string[];
  files: string[];
  sources: Record<string, string>;
  t: Float64Array;
  /** NaN if the call never returned */
  end: Float64Array;
  lane: Int32Array;
  name: Int32Array;
  flags: Uint8Array;
  sleeps: Int32Array;
  wokenBy: Int32Array;
  file: Int32Array;
  line: Int32Array;
  /** Index in `LINE_REASONS`: how the line is known. */
  lineReason: Uint8Array;
  /** see event-texts.js */
  text: string;
  textStart: Int32Array;
  textEnds: Float64Array;
  /** transferred; -1: unknown */
  bytes: Float64Array;
  /** the objects of event i: objectList[objectStart[i]] to objectList[objectStart[i + 1] - 1] */
  objectStart: Int32Array;
  objectList: Int32Array;
  /** deadlock: false: it waited for something outside when it was ended */
  stuck: { text: string; deadlock: boolean; waits: Wait[] } | null;
};

export type Filter = {
  text: string;
  call: string;
  pid: number | null;
  tid: number | null;
  object: number | null;
  errors: boolean;
  sleeping: boolean;
};

/** What a lane shows in each of several equal intervals. */
export type Columns = {
  /** shares of the interval, 0 to 1 */
  call: Float32Array;
  asleep: Float32Array;
};
