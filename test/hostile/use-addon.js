'use strict';
// node --require use-addon.js: loads the addon at the path in CROSSINGS_ADDON wherever a program asks for a .node file.
const { _extensions: extensions } = /** @type {any} */ (require('node:module'));

const load = extensions['.node'];
extensions['.node'] = (/** @type {any} */ module) => load(module, process.env.CROSSINGS_ADDON);
