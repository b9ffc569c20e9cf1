// Which lessons this reader has finished. Kept in this browser, and nowhere else.
import { forget, recall, remember } from '../shared/storage.js';

const KEY = 'crossings-lessons';

/** @returns {string[]} names of lessons */
export function finished() {
  try {
    const names = JSON.parse(recall(KEY) ?? '[]');
    return Array.isArray(names) ? names.filter((name) => typeof name === 'string') : [];
  } catch {
    return []; // someone else's text
  }
}

/** @param {string} name */
export const finish = (name) => remember(KEY, JSON.stringify([...new Set([...finished(), name])]));

export const clearProgress = () => forget(KEY);
