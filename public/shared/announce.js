// Text for screen readers: each page has one live region, with the id "announcements".
import { byId, setText } from './dom.js';

/** @param {string} text */
export const announce = (text) => setText(byId('announcements'), text);
