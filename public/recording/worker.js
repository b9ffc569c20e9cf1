// Reads, checks and prepares a recording in a separate thread, so that the page never freezes, no matter what the file contains.
import { parseTrace, RecordingError } from './model/check.js';
import { buffersOf, recordingOf } from './model/recording.js';

// In a worker, postMessage() takes a list of what to transfer; the types are those of a window.
const port = /** @type {{postMessage(message: unknown, transfer?: Transferable[]): void}} */ (
  /** @type {unknown} */ (self)
);

/** @param {MessageEvent<Blob | string>} event */
self.onmessage = async ({ data }) => {
  try {
    const recording = recordingOf(parseTrace(typeof data === 'string' ? data : await data.text()));
    port.postMessage({ recording }, buffersOf(recording));
  } catch (error) {
    port.postMessage({ error: sentenceOf(error) });
  }
};

/** @param {unknown} error */
function sentenceOf(error) {
  if (error instanceof RecordingError) return error.message;
  const { name, message } = /** @type {Error} */ (error);
  if (name === 'NotReadableError')
    return 'The file cannot be read. Check that it still exists and that you have permission to read it.';
  return `The recording cannot be opened: ${message.slice(0, 200)}`;
}
