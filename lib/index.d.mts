// Types of import: the ones of require.
import * as crossings from './index.js';

export default crossings;
export * from './index.js';
