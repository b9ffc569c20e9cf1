// A run in progress, followed through the server's events until it ends.
import { call, dataAddress } from './api.js';

const RETRY_MS = 3000; // as Chromium does when a connection is lost

/**
 * @typedef {object} Followers
 * @property {(answer: any) => void} onSnapshot all that is known of the run when the stream begins, or begins again
 * @property {(progress: {fraction: number, doing: string}) => void} onProgress
 * @property {(sentence: string) => void} onEnd receives how it ended
 * @property {(sentence: string) => void} onConnection receives what is wrong with the connection; '' if nothing is any longer
 * @property {Record<string, (data: any) => void>} [others] listeners of other events, by name
 */

/**
 * Browsers open at most six connections to a server, for all pages together, and a stream takes one. So a page has none while it is
 * hidden; when it is shown again, the new stream begins with a snapshot.
 * @param {string} id
 * @param {Followers} followers
 * @returns {() => void} stops following
 */
export function followRun(id, { onSnapshot, onProgress, onEnd, onConnection, others = {} }) {
  /** @type {EventSource | null} */
  let source = null;
  let failures = 0; // since the last connection
  /** @type {ReturnType<typeof setTimeout> | undefined} */ let retry;
  function close() {
    clearTimeout(retry);
    source?.close();
    source = null;
    connected();
  }
  function connected() {
    failures = 0;
    onConnection('');
  }
  function stop() {
    document.removeEventListener('visibilitychange', openIfShown);
    close();
  }
  const end = (/** @type {string} */ sentence) => {
    stop();
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
  function open() {
    const opened = new EventSource(dataAddress(`/api/runs/${id}/events`));
    for (const [name, listener] of Object.entries(listeners)) {
      opened.addEventListener(name, (event) => listener(JSON.parse(/** @type {MessageEvent} */ (event).data)));
    }
    opened.onopen = connected;
    opened.onerror = () => {
      if (opened.readyState === EventSource.CLOSED) return refused(opened);
      // The server ends a stream that is not read fast enough; the browser then connects again.
      if (++failures > 1) onConnection('The lab’s server does not respond. The page tries to connect again.');
    };
    return opened;
  }
  /**
   * The browser does not connect again, because the answer was no stream. The run may be gone, or something between the page and the
   * lab refuses the stream only.
   * @param {EventSource} refusedSource
   */
  async function refused(refusedSource) {
    const isGone = await call(`/api/runs/${id}`).then(
      (answer) => ['done', 'failed', 'cancelled'].includes(answer?.state), // it may be that of a proxy
      ({ code }) => ['ERR_NO_RUN', 'ERR_TOKEN'].includes(code), // the lab was started again meanwhile
    );
    if (source !== refusedSource) return; // meanwhile it was stopped, or the page was hidden
    if (isGone) return end('The run can no longer be followed.');
    onConnection('The lab’s server does not send the progress of this run. The page tries to connect again.');
    retry = setTimeout(() => {
      source = open();
    }, RETRY_MS);
  }
  function openIfShown() {
    if (document.hidden) close();
    else source ??= open();
  }
  document.addEventListener('visibilitychange', openIfShown);
  openIfShown();
  return stop;
}

/** The page of a run. @param {string} kind 'bench' or the name of an experiment @param {string} id */
export const addressOf = (kind, id) =>
  kind === 'bench' ? `bench.html#run=${id}` : `experiment.html?name=${encodeURIComponent(kind)}#run=${id}`;
