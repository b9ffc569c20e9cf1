// The selected event and the filter in the fragment of the address: #event=12&call=read&pid=7&errors=1
import { currentAddress, replaceAddress } from '../shared/address.js';
import { NO_FILTER } from './model/filter.js';

/** @typedef {import('./model/types.js').Filter} Filter */

/** @param {string | null} text @returns {number | null} */
const integer = (text) => (text !== null && /^\d{1,15}$/.test(text) ? Number(text) : null);

/** Which of the server's recordings the address names: ?recording=pipe */
export const recordingName = () => new URLSearchParams(location.search).get('recording');

/** @returns {{event: number | null, filter: Filter}} */
export function readAddress() {
  const given = new URLSearchParams(currentAddress().hash.slice(1));
  const event = integer(given.get('event'));
  const filter = {
    text: (given.get('text') ?? '').slice(0, 200),
    call: (given.get('call') ?? '').slice(0, 200),
    pid: integer(given.get('pid')),
    tid: integer(given.get('tid')),
    object: integer(given.get('object')),
    errors: given.get('errors') === '1',
    sleeping: given.get('sleeping') === '1',
  };
  return { event: event === null || event === 0 ? null : event - 1, filter };
}

/** @param {number} event @param {Filter} filter */
export function writeAddress(event, filter) {
  const parts = new URLSearchParams();
  if (event >= 0) parts.set('event', String(event + 1));
  for (const [name, value] of Object.entries(filter)) {
    if (value !== NO_FILTER[/** @type {keyof Filter} */ (name)]) parts.set(name, value === true ? '1' : String(value));
  }
  replaceAddress(`#${parts}`);
}

/** The address no longer names a recording of the server. */
export const forgetRecording = () => replaceAddress(location.pathname + currentAddress().hash);
