// The bits of Recording.flags.
export const STEP = 1; // something in user space, or a signal: not a system call
export const FAILED = 2;
export const ASLEEP = 4; // the thread slept during the call
export const NEVER_RETURNED = 8;
export const DECODED = 16; // the payload is the message that a demo's bytes stand for, not the bytes
export const SIGNAL = 32;
export const PAYLOAD = 64; // it has one

/** How the line of a call is known; '': the line made the call. */
export const LINE_REASONS = ['', 'continued', 'queued', 'created', 'spawned'];
