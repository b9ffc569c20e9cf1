// Where all pages get their data: from the lab's server, or, in a static copy that `crossings lab --export` wrote, from files. JSON both
// ways. An error status becomes a LabError with the server's own sentence.

const site = new URL('../', import.meta.url); // the pages' folder, which need not be the root of its server

/** A copy names the folder of its files in <meta name="crossings-data" content="data/">. */
const folder = /** @type {HTMLMetaElement | null} */ (document.querySelector('meta[name="crossings-data"]'))?.content;

/** Whether there is a server that can run programs. */
export const isLive = folder === undefined;

/** What a copy says where a program would run. */
export const NEEDS_LAB =
  'This is a copy of the lab without a server, so it cannot run programs. To run them, start `npx crossings-lab lab` on your own Linux machine.';

/**
 * The address of an answer of the server, or of the file that holds it.
 * @param {string} path such as '/api/runs/ID/file?format=csv'
 */
export function dataAddress(path) {
  if (isLive) return new URL(path.slice(1), site).href;
  const [resource, query] = path.replace(/^\/api\//, '').split('?');
  return new URL(`${folder}${resource}.${new URLSearchParams(query).get('format') ?? 'json'}`, site).href;
}

export class LabError extends Error {
  /**
   * @param {string} message
   * @param {string} code
   * @param {any} details
   */
  constructor(message, code, details) {
    super(message);
    this.code = code;
    this.details = details;
  }
}

/** @typedef {{method?: string, body?: unknown, signal?: AbortSignal, accept?: string}} CallOptions */

/** @param {string} path such as '/api/mechanisms' @param {CallOptions} [options] @returns {Promise<Response>} that is ok */
export async function respond(path, { method = 'GET', body, signal, accept } = {}) {
  if (!isLive && method !== 'GET') throw new LabError(NEEDS_LAB.replaceAll('`', ''), 'ERR_NO_SERVER', null);
  // The browser would resolve it, so that /api/runs/. would be the list of all runs.
  const [, dots] = /\/(\.\.?)(?=[/?]|$)/.exec(path) ?? [];
  if (dots) throw new LabError(`The address names “${dots}”, which does not exist.`, 'ERR_NO_ROUTE', null);
  // The server requires this type for every request that changes something, with or without a body.
  const headers = { ...(method !== 'GET' && { 'content-type': 'application/json' }), ...(accept && { accept }) };
  let response;
  try {
    response = await fetch(dataAddress(path), {
      method,
      signal,
      headers,
      body: method === 'GET' ? undefined : JSON.stringify(body ?? {}),
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    if (!isLive)
      throw new LabError(
        'This copy of the lab cannot be read: its web server does not respond.',
        'ERR_NO_SERVER',
        null,
      );
    throw new LabError('The lab’s server does not respond. Check that it is still running.', 'ERR_NO_SERVER', null);
  }
  if (response.ok) return response;
  if (!isLive)
    throw new LabError(`This copy of the lab has no file for ${path.replace('/api/', '')}.`, 'ERR_NO_FILE', null);
  const answer = await response.json().catch(() => null);
  const { message, code } = answer?.error ?? {};
  throw new LabError(
    message ?? `The server answered with status ${response.status}.`,
    code ?? 'ERR_HTTP',
    answer?.error,
  );
}

/** @param {string} path @param {CallOptions} [options] */
export async function call(path, options) {
  const response = await respond(path, options);
  if (response.status === 204) return null;
  try {
    return await response.json();
  } catch (error) {
    if (options?.signal?.aborted) throw error;
    throw new LabError(
      'The answer of the lab’s server was cut off. Check that it is still running, and try again.',
      'ERR_CUT_OFF',
      null,
    );
  }
}
