// What this browser remembers: nothing where storage is refused (blocked site data, a sandboxed frame) or full.

/** @template T @param {() => T} use */
function attempt(use) {
  try {
    return use();
  } catch {
    return null;
  }
}

/** @param {string} key */
export const recall = (key) => attempt(() => localStorage.getItem(key));
/** @param {string} key @param {string} value */
export const remember = (key, value) => attempt(() => localStorage.setItem(key, value));
/** @param {string} key */
export const forget = (key) => attempt(() => localStorage.removeItem(key));
