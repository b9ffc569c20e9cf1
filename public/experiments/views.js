// How each experiment is shown, by its name.
import { bill } from './bill.js';
import { cycles } from './cycles.js';
import { latency } from './latency.js';
import { prove } from './prove.js';
import { sweep } from './sweep.js';

/** @type {Record<string, View>} */
export const VIEWS = { bill, prove, sweep, cycles, latency };
