// Where the pages of the lessons get their data: from the lab's server, or, in a static copy, from its files.
import { call, LabError, respond } from '../shared/api.js';

/** Every lesson, and a sentence for each folder that is invalid. @returns {Promise<{lessons: LessonLine[], problems: string[]}>} */
export const lessonList = () => call('/api/lessons');

/** @returns {Promise<{terms: GlossaryTerm[]}>} */
export const glossary = () => call('/api/glossary');

/** @param {string} name @returns {Promise<LessonAnswer>} */
export const lessonNamed = (name) => call(`/api/lessons/${encodeURIComponent(name)}`);

/**
 * A call whose answer comes in lines of JSON while something runs.
 * @param {string} path
 * @param {import('../shared/api.js').CallOptions} options
 * @param {(line: any) => void} onLine
 */
async function callInLines(path, options, onLine) {
  const response = await respond(path, { ...options, accept: 'application/x-ndjson' });
  const reader = /** @type {ReadableStream<Uint8Array>} */ (response.body).getReader();
  const decoder = new TextDecoder();
  for (let text = ''; ; ) {
    const { done, value } = await reader.read().catch((error) => {
      if (options.signal?.aborted) throw error;
      return { done: true, value: undefined }; // the lab has ended: nothing follows
    });
    if (done) return;
    const lines = (text + decoder.decode(value, { stream: true })).split('\n');
    text = lines.pop() ?? '';
    for (const line of lines) onLine(JSON.parse(line));
  }
}

/**
 * @param {string} name
 * @param {number | null} which try; null: the lesson's own run
 * @param {{signal: AbortSignal, onProgress: (progress: LessonProgress) => void}} control
 * @returns {Promise<LessonRunAnswer>}
 */
export async function runLesson(name, which, { signal, onProgress }) {
  /** @type {any} */ let last = {};
  const path = `/api/lessons/${encodeURIComponent(name)}/runs`;
  await callInLines(path, { method: 'POST', body: { try: which }, signal }, (line) => {
    last = line;
    if (line.progress) onProgress(line.progress);
  });
  if (last.run) return last.run;
  const { message = 'The lab ended before the run did.', code = 'ERR_NO_SERVER' } = last.error ?? {};
  throw new LabError(message, code, last.error);
}
