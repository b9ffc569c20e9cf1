// Requests to the lab's server: JSON both ways. An error status becomes a LabError with the server's own sentence.

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
  // The server requires this type for every request that changes something, with or without a body.
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
    throw new LabError('The lab’s server does not respond. Check that it is still running.', 'ERR_NO_SERVER', null);
  }
  const answer = response.status === 204 ? null : await response.json().catch(() => null);
  if (response.ok) return answer;
  const { message, code } = answer?.error ?? {};
  throw new LabError(
    message ?? `The server answered with status ${response.status}.`,
    code ?? 'ERR_HTTP',
    answer?.error,
  );
}
