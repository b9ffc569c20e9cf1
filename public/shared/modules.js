// Modules that are loaded when they are needed.
import { isLive, LabError } from './api.js';

/**
 * What `load` imports. Until a page is reloaded, its browser remembers that a module could not be loaded, and does not ask again.
 * @template Loaded
 * @param {() => Promise<Loaded>} load
 */
export async function loadModules(load) {
  try {
    return await load();
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    const server = isLive ? 'The lab’s server' : 'The web server of this copy';
    const sentence = `${server} did not respond when a part of this page was needed. Check that it is running, and reload the page.`;
    throw new LabError(sentence, 'ERR_NO_SERVER', null);
  }
}
