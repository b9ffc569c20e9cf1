// A run in progress, followed through the server's events until it ends.
import { dataAddress } from './api.js';

/**
 * @typedef {object} Followers
 * @property {(answer: any) => void} onSnapshot all that is known of the run when the stream begins, or begins again
 * @property {(progress: {fraction: number, doing: string}) => void} onProgress
 * @property {(sentence: string) => void} onEnd receives how it ended
 * @property {Record<string, (data: any) => void>} [others] listeners of other events, by name
 */

/**
 * @param {string} id
 * @param {Followers} followers
 * @returns {() => void} stops following
 */
export function followRun(id, { onSnapshot, onProgress, onEnd, others = {} }) {
  const source = new EventSource(dataAddress(`/api/runs/${id}/events`));
  const end = (/** @type {string} */ sentence) => {
    source.close();
    onEnd(sentence);
  };
  /** @type {Record<string, (data: any) => void>} */
  const listeners = {
    snapshot: onSnapshot,
    progress: onProgress,
    done: () => end('Run finished.'),
    failed: ({ message }) => end(`Run failed. ${message}`),
    cancelled: () => end('Run canceled.'),
    ...others,
  };
  for (const [name, listener] of Object.entries(listeners)) {
    source.addEventListener(name, (event) => listener(JSON.parse(/** @type {MessageEvent} */ (event).data)));
  }
  source.onerror = () => {
    if (source.readyState === EventSource.CLOSED) end('The connection to the lab’s server was lost.');
  };
  return () => source.close();
}

/** The page of a run. @param {string} kind 'bench' or the name of an experiment @param {string} id */
export const addressOf = (kind, id) =>
  kind === 'bench' ? `bench.html#run=${id}` : `experiment.html?name=${encodeURIComponent(kind)}#run=${id}`;
