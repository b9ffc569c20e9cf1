// The entry of the theatre's address: the whole page, or with ?embed one moment of a recording for an iframe.
import { LabError } from '../shared/api.js';
import { loadModules } from '../shared/modules.js';

const isEmbedded = new URLSearchParams(location.search).has('embed');
try {
  await loadModules(() => (isEmbedded ? import('./embed.js') : import('./page.js')));
} catch (error) {
  if (!(error instanceof LabError)) throw error;
  const place = /** @type {HTMLElement} */ (document.getElementById('page-error'));
  place.textContent = error.message;
  place.hidden = false;
}
