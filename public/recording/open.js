// Where recordings come from: a file, pasted text, or an address of the lab. Resolves with a recording, or rejects with a sentence.
import { call } from '../shared/api.js';
import { RecordingError } from './model/check.js';
import { LIMITS } from './model/limits.js';

/** @typedef {import('./model/types.js').Recording} Recording */

const TOO_LARGE = 'The recording cannot be read. It may be too large for this browser’s memory.';
const NOT_LOADED =
  'The recording cannot be read: the server of this page does not respond. Check that it is still running.';

/** @type {() => void} ends the opening in progress */
let cancel = () => {};

/** Only the latest reading continues. @param {Blob | string} source @returns {Promise<Recording>} */
export function readRecording(source) {
  cancel();
  const size = typeof source === 'string' ? source.length : source.size;
  if (size > LIMITS.fileBytes) {
    const [most, own] = [LIMITS.fileBytes, size].map((bytes) => Math.ceil(bytes / (1 << 20)).toLocaleString('en-US'));
    throw new RecordingError(`A recording must have at most ${most} MiB to be opened here; this file has ${own} MiB.`);
  }
  const worker = new Worker(new URL('./worker.js', import.meta.url), { type: 'module' });
  return new Promise((resolve, reject) => {
    const end = () => {
      clearTimeout(limit);
      worker.terminate();
    };
    const fail = (/** @type {string} */ sentence) => {
      end();
      reject(new RecordingError(sentence));
    };
    const limit = setTimeout(
      () =>
        fail(
          `Reading the recording took longer than ${LIMITS.readingSeconds} seconds. It may be too large for this machine.`,
        ),
      LIMITS.readingSeconds * 1000,
    );
    cancel = end;
    worker.onmessage = ({ data }) => {
      end();
      if (data.recording) resolve(data.recording);
      else reject(new RecordingError(data.error));
    };
    // Only an error in a worker that has been loaded is an ErrorEvent.
    worker.onerror = (event) => fail(event instanceof ErrorEvent ? TOO_LARGE : NOT_LOADED);
    worker.postMessage(source);
  });
}

/** A recording that the lab's server has. Rejects if another is opened before it has arrived. @param {string} name @returns {Promise<Recording>} */
export async function fetchRecording(name) {
  cancel();
  const fetching = new AbortController();
  cancel = () => fetching.abort();
  const trace = await call(`/api/traces/${encodeURIComponent(name)}`, { signal: fetching.signal });
  fetching.signal.throwIfAborted(); // call() answers null if it is aborted while it reads
  return readRecording(JSON.stringify(trace));
}

/** The recordings that the lab's server has; none without a server. @returns {Promise<{name: string, title: string}[]>} */
export async function knownRecordings() {
  try {
    return (await call('/api/mechanisms')).mechanisms;
  } catch {
    return [];
  }
}
