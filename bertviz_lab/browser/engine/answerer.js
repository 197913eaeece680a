// Who answers the questions of a published page: an engine in the place of the server.

import { makeEngine } from 'lab/browser/engine/engine.js';

const site = JSON.parse(document.getElementById('lab-published').textContent);
const addresses = Object.fromEntries(['base', 'worker', 'runtime', 'tokenizers']
  .map((name) => [name, document.querySelector(`meta[name=lab-${name}]`).content]));
const engine = makeEngine(site, addresses);

/** A page that shows one drawing, without this one. */
async function standalonePage({ drawing, label }) {
  const page = await fetch(`${addresses.base}${site.files.drawings}${drawing}.html`).catch(() => null);
  if (!page?.ok) return { error: 'This page cannot save a drawing as a page: save it as a picture.' };
  const escaped = label.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
  return { answer: (await page.text()).replace('<title></title>', () => `<title>${escaped}</title>`) };
}

export const answerer = { ...engine,
  answer: (ticket, view, question, args) =>
    (question === 'standalone_page' ? standalonePage(args) : engine.answer(ticket, view, question, args)) };
