// Talking to the lab's server: JSON there and back. A refusal becomes an Error whose message is the server's sentence.

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

/**
 * @param {string} path such as '/api/mechanisms'
 * @param {{method?: string, body?: unknown, signal?: AbortSignal}} [options]
 */
export async function call(path, { method = 'GET', body, signal } = {}) {
  // A request that changes something says that it is JSON, with or without a body.
  const headers = method === 'GET' ? undefined : { 'content-type': 'application/json' };
  let response;
  try {
    response = await fetch(path, {
      method,
      signal,
      headers,
      body: method === 'GET' ? undefined : JSON.stringify(body ?? {}),
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new LabError('The lab’s server does not answer: is `npm start` still running?', 'ERR_NO_SERVER', null);
  }
  const answer = response.status === 204 ? null : await response.json().catch(() => null);
  if (response.ok) return answer;
  const { message, code } = answer?.error ?? {};
  throw new LabError(message ?? `The server answered ${response.status}.`, code ?? 'ERR_HTTP', answer?.error);
}
