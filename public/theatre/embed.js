// One moment of a recording that ships, for an iframe of another page: /?embed&mechanism=pipe&event=17. It needs no token, because
// a browser does not send the lab's cookie from a frame of another site. docs/lab.md states who may frame it.
import './elements/trace-moment.js';
import { dataAddress, isLive } from '../shared/api.js';
import { byId, h, showText } from '../shared/dom.js';

const given = new URLSearchParams(location.search);
const mechanism = given.get('mechanism') ?? 'pipe';
const error = byId('page-error');

/** @returns {Promise<import('./model/types.js').Trace>} */
async function fetchRecording() {
  if (!/^[a-z-]+$/.test(mechanism)) throw new Error('mechanism must be a name such as pipe or ring.');
  const response = await fetch(
    dataAddress(isLive ? `/recordings/${mechanism}.json` : `/api/traces/${mechanism}`),
  ).catch(() => null);
  if (!response) throw new Error('The lab does not respond.');
  if (!response.ok) throw new Error(`No recording of “${mechanism}” ships with this lab.`);
  return response.json();
}

async function main() {
  for (const part of document.querySelectorAll('.masthead, .skip, #theatre, #first-play, #help')) part.remove();
  document.body.classList.add('embedded');
  try {
    const trace = await fetchRecording();
    const text = given.get('event') ?? '0';
    const event = Number(text);
    if (!/^\d+$/.test(text) || event >= trace.events.length) {
      throw new Error(`event must be a whole number from 0 to ${trace.events.length - 1}; got “${text}”.`);
    }
    const moment = /** @type {any} */ (h(/** @type {any} */ ('trace-moment')));
    const link = h('a', { target: '_blank', rel: 'noopener' }, 'Open in the theatre');
    moment.addEventListener('moment', (/** @type {CustomEvent} */ { detail }) => {
      link.href = `./#mechanism=${mechanism}&at=${detail.count}`;
    });
    byId('main').append(moment, h('p', {}, link));
    moment.show(trace, event);
    document.querySelector('h1')?.replaceChildren(trace.title);
    document.title = `${trace.title} · crossings`;
  } catch (problem) {
    showText(error, /** @type {Error} */ (problem).message);
  }
}

await main();
