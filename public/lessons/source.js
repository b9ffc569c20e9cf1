// Where the pages of the lessons get their data: from the lab's server, or, in a static copy, from its files.
import { call, callInLines, LabError } from '../shared/api.js';

/** Every lesson, and a sentence for each folder that is invalid. @returns {Promise<{lessons: LessonLine[], problems: string[]}>} */
export const lessonList = () => call('/api/lessons');

/** @returns {Promise<{terms: GlossaryTerm[]}>} */
export const glossary = () => call('/api/glossary');

/** @param {string} name @returns {Promise<LessonAnswer>} */
export const lessonNamed = (name) => call(`/api/lessons/${encodeURIComponent(name)}`);

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
