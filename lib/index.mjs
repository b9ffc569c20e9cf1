// What import gives: the module of require, under the same names. There is one copy of every class and of all state.
import crossings from './index.js';

export default crossings;
export const {
  listen,
  connect,
  channelPair,
  openChannel,
  structured,
  Channel,
  Server,
  Port,
  CrossingsError,
  supported,
  unsupportedReason,
} = crossings;
