// Where the pages of the lessons get their data: from the lab's server, or, in a static copy, from its files.
import { call } from '../shared/api.js';

/** Every lesson, and a sentence for each folder that is invalid. @returns {Promise<{lessons: LessonLine[], problems: string[]}>} */
export const lessonList = () => call('/api/lessons');

/** @returns {Promise<{terms: GlossaryTerm[]}>} */
export const glossary = () => call('/api/glossary');

/** @param {string} name @returns {Promise<LessonAnswer>} */
export const lessonNamed = (name) => call(`/api/lessons/${encodeURIComponent(name)}`);

/** @param {string} name @param {number | null} which try; null: the lesson's own run @returns {Promise<LessonRunAnswer>} */
export const runLesson = (name, which) =>
  call(`/api/lessons/${encodeURIComponent(name)}/runs`, { method: 'POST', body: { try: which } });
