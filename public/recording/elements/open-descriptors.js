// <open-descriptors>: what each process holds open after the selected event, and who holds the other end. Dispatches
// "object" (detail: the index of an object) when the user wants only the events of one.
import { h } from '../../shared/dom.js';
import { duration } from '../../shared/format.js';
import { groupBy, openAt, otherEnds } from '../model/descriptors.js';
import { fitted, manyProcesses, processName } from '../model/text.js';

/**
 * @typedef {import('../model/types.js').Recording} Recording
 * @typedef {import('../model/types.js').Descriptor} Descriptor
 * @typedef {ReturnType<typeof otherEnds>} OtherEnds
 */

const MOST_PROCESSES = 100;
const MOST_ROWS = 200; // of one process
const MOST_HOLDERS = 6; // processes
const MOST_NUMBERS = 4; // descriptors of one holder

export class OpenDescriptors extends HTMLElement {
  /** @type {Recording | null} */ recording = null;
  /** @type {Map<number, boolean>} did the user open or close this process? */ #opened = new Map();

  /** @param {number} at nanoseconds @param {number} pid of the selected event */
  show(at, pid) {
    const { recording } = this;
    if (!recording) return this.replaceChildren();
    const open = openAt(recording, at);
    const byProcess = groupBy(open, (one) => one.pid);
    const ends = otherEnds(recording, open);
    const alive = recording.processes.filter(({ start, end }) => start <= at && at <= end);
    const sorted = [...alive].sort((a, b) => Number(b.pid === pid) - Number(a.pid === pid));
    const parts = sorted
      .slice(0, MOST_PROCESSES)
      .map((process) =>
        this.#process(process.pid, byProcess.get(process.pid) ?? [], ends, process.pid === pid || alive.length <= 3),
      );
    const more = sorted.length - parts.length;
    this.replaceChildren(
      h('p', { class: 'soft' }, `At ${duration(at)}, after the selected event.`),
      ...parts,
      ...(more > 0 ? [h('p', { class: 'soft' }, `And ${manyProcesses(more)} more.`)] : []),
    );
  }

  /** @param {number} pid @param {Descriptor[]} own @param {OtherEnds} ends @param {boolean} expanded */
  #process(pid, own, ends, expanded) {
    const recording = /** @type {Recording} */ (this.recording);
    const details = h(
      'details',
      { open: this.#opened.get(pid) ?? expanded },
      h(
        'summary',
        {},
        h('strong', {}, processName(recording, pid)),
        h('span', { class: 'soft' }, ` ${own.length === 0 ? 'none' : own.length}`),
      ),
    );
    const fill = () => {
      if (details.querySelector('table') || own.length === 0) return;
      const rows = own.slice(0, MOST_ROWS).map((one) => this.#row(one, ends));
      const head = ['fd', 'refers to', 'other end held by'].map((text) => h('th', { scope: 'col' }, text));
      details.append(h('table', {}, h('thead', {}, h('tr', {}, ...head)), h('tbody', {}, ...rows)));
      if (own.length > MOST_ROWS) details.append(h('p', { class: 'soft' }, `${own.length - MOST_ROWS} more.`));
    };
    if (details.open) fill();
    details.addEventListener('toggle', () => {
      if (details.open) fill();
    });
    details.querySelector('summary')?.addEventListener('click', () => this.#opened.set(pid, !details.open));
    return details;
  }

  /** @param {Descriptor} one @param {OtherEnds} ends */
  #row(one, ends) {
    const recording = /** @type {Recording} */ (this.recording);
    const { name } = recording.objects[one.object];
    const onclick = () => this.dispatchEvent(new CustomEvent('object', { detail: one.object, bubbles: true }));
    const title = `Show only the events of ${fitted(name, 100)}`;
    const button = h('button', { type: 'button', class: 'link', title, onclick }, fitted(name, 100));
    return h(
      'tr',
      {},
      h('th', { scope: 'row' }, one.fd < 0 ? 'mapped' : String(one.fd)),
      h('td', {}, button, h('span', { class: 'soft' }, aboutText(recording.objects[one.object], one.end))),
      h('td', {}, holdersText(recording, ends(one, MOST_HOLDERS), one)),
    );
  }
}

/** What an object is, and which end. @param {import('../model/types.js').KernelObject} object @param {string | null} end */
function aboutText({ name, kind, listens, local, remote }, end) {
  const address = listens && local ? `listens at ${local}` : remote ? `${local} to ${remote}` : local;
  const which = end === 'both' ? '' : end === 'read' || end === 'write' ? `${end} end` : end;
  const parts = [name.toLowerCase().includes(kind.toLowerCase()) || kind === 'file' ? '' : kind, which, address];
  const said = parts.filter(Boolean).join(', ');
  return said && `, ${fitted(said, 160)}`;
}

/** @param {Recording} recording @param {ReturnType<OtherEnds>} found @param {Descriptor} one */
function holdersText(recording, { holders, count }, one) {
  const { kind, peer, outside, listens, remote } = recording.objects[one.object];
  const connected = one.end === 'read' || one.end === 'write' || peer >= 0;
  if (listens || ['file', 'folder', 'device', 'terminal'].includes(kind)) return '';
  if (count === 0 && (outside || (remote && peer < 0))) return 'a process that was not recorded';
  if (count === 0) return connected ? 'no process' : '–';
  const texts = holders.map((descriptors) => {
    const [{ pid }] = descriptors;
    const some = descriptors.slice(0, MOST_NUMBERS).map(({ fd }) => fd); // mapped ones, without a number, are last
    const numbers = some.filter((fd) => fd >= 0).join(', ');
    const who = pid === one.pid ? 'itself' : processName(recording, pid);
    return numbers ? `${who} (fd ${numbers})` : who;
  });
  const more = count > texts.length ? ` and ${(count - texts.length).toLocaleString('en-US')} more` : '';
  return `${texts.join('; ')}${more}${outside ? '; perhaps others' : ''}`;
}

customElements.define('open-descriptors', OpenDescriptors);
