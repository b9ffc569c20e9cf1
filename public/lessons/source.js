// Where the pages of the lessons get their data: from the lab's server, or, in a static export, from files that shipped with it.
// An export names their folder in <meta name="crossings-data" content="data/">.
import { call, LabError } from '../shared/api.js';

const folder = /** @type {HTMLMetaElement | null} */ (document.querySelector('meta[name="crossings-data"]'))?.content;

/** Whether programs can be run. */
export const isLive = folder === undefined;

/** @param {string} path */
async function file(path) {
  const response = await fetch(`${folder}${path}`);
  if (!response.ok) throw new LabError(`The file ${path} is missing from this export.`, 'ERR_HTTP', null);
  return response.json();
}

/** @returns {Promise<{lessons: LessonLine[]}>} */
export const lessonList = () => (isLive ? call('/api/lessons') : file('lessons.json'));

/** @param {string} name @returns {Promise<LessonAnswer>} */
export const lessonNamed = (name) =>
  isLive ? call(`/api/lessons/${encodeURIComponent(name)}`) : file(`lessons/${encodeURIComponent(name)}.json`);

/** @param {string} name @param {number | null} which try; null: the lesson's own run @returns {Promise<LessonRunAnswer>} */
export const runLesson = (name, which) =>
  call(`/api/lessons/${encodeURIComponent(name)}/runs`, { method: 'POST', body: { try: which } });
