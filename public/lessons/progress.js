// Which lessons this reader has finished. Kept in this browser, and nowhere else.
const KEY = 'crossings-lessons';

/** @returns {string[]} names of lessons */
export function finished() {
  try {
    const names = JSON.parse(localStorage.getItem(KEY) ?? '[]');
    return Array.isArray(names) ? names.filter((name) => typeof name === 'string') : [];
  } catch {
    return []; // someone else's text, or storage that is not permitted
  }
}

/** @param {string} name */
export function finish(name) {
  try {
    localStorage.setItem(KEY, JSON.stringify([...new Set([...finished(), name])]));
  } catch {
    // Storage is not permitted: the lesson works without.
  }
}

export function clearProgress() {
  try {
    localStorage.removeItem(KEY);
  } catch {
    // As above.
  }
}
