// A drawing: a component in a place of its own, loaded when it is first needed.

import { LOST } from 'lab/client/ask.js';
import { NO_SELECTION, h } from 'lab/client/dom.js';
import { page } from 'lab/client/page.js';
import { encodeBase64, saveText } from 'lab/client/saving.js';
import { DRAWINGS } from 'lab/site.js';

/** A payload as JSON text that may be written into a page. */
function payloadText(payload) {
  const written = (_, value) => (ArrayBuffer.isView(value) ? encodeBase64(value) : value);
  return JSON.stringify(payload, written).replaceAll('<', '\\u003c');
}

/** Make a drawing: {host, show(payload), say(message), payload}. `events` maps the events that it fires to
 * functions, `server` the questions that it asks by itself to functions that answer them. A `linked` one shows the
 * input of Explore: it marks the selected token, and a click on a token in it selects that in every panel. */
export function makeDrawing(kind, label,
  { id = null, linked = false, own = page, root = h(`section.lab.lab-${kind}`), ...options } = {}) {
  const host = root.parentElement ?? h(`div.drawing.lab-island.lab-island-${kind}`, { id }, root);
  let payload = null;
  let update = null;
  const savePage = async (stem, body = payload) => {
    const text = await page.ask('explore', 'standalone_page', { drawing: kind, label });
    // A function as replacement: in a string "$" would have a meaning.
    saveText(`${stem}.html`, 'text/html', text.replace('"the payload goes here"', () => payloadText(body)));
  };
  const selection = !linked ? NO_SELECTION : {
    /** A payload of other tokens says so: {linked: false}. */
    get linked() { return payload?.linked !== false; },
    follow(mark) {
      own.on('select', mark);
      mark(own.selected);
    },
    choose: (position) => selection.linked && own.select(position),
  };
  import(`lab/${DRAWINGS[kind]}`).then(({ default: draw }) => {
    update = draw(root, payload, { label, selection, savePage, ...options });
  }, () => { root.textContent = LOST; });
  // A payload within another answer comes as text.
  const show = (next) => {
    payload = typeof next === 'string' ? JSON.parse(next || 'null') : next;
    update?.(payload);
  };
  return { host, root, show, say: (message) => show({ message }), get payload() { return payload; } };
}
