// What every island is given besides the tools: its value, its colours, and how it is saved. This file and the island's
// own script share the arguments `element, props, trigger, server, watch` (see bundle.py).

/** Read `props.value`: an object, or null when there is nothing to show yet. */
function readPayload() {
  const text = props.value;
  if (!text || typeof text === 'object') return text || null;
  try {
    const body = JSON.parse(text);
    return body && typeof body === 'object' ? body : null;
  } catch {
    return null;
  }
}

/** The value as text that may stand inside a page. */
function payloadText() {
  if (typeof props.value !== 'object') return props.value;
  const spelt = (_, value) => (ArrayBuffer.isView(value) ? encodeBase64(value) : value);
  return JSON.stringify(props.value, spelt).replaceAll('<', '\\u003c');
}

/** Call `act(payload)` now and whenever Python sends another value, unless it answers an older question than the last. */
function onValue(act) {
  let latest = -Infinity; // when the answer on show was asked for
  const update = () => {
    const payload = readPayload();
    if (payload?.asked < latest) return;
    latest = payload?.asked ?? latest;
    act(payload);
  };
  watch('value', () => setTimeout(update)); // in a turn of its own: the page has been busy with taking the value in
  update();
}

/** Call `show(payload)` for each value; nothing to show becomes a sentence. The caller fills `content`, then starts. */
function onPayload(emptyText, show) {
  const root = element.querySelector('.lab');
  if (props.label) root.setAttribute('aria-label', props.label);
  const empty = h('p', { class: 'empty' });
  const content = h('div');
  root.replaceChildren(empty, content);
  const start = () => onValue((payload) => {
    const usable = payload && !payload.message;
    setText(empty, usable ? '' : payload?.message || emptyText);
    content.hidden = !usable;
    if (usable) show(payload);
  });
  return { content, start };
}

// ---- colours

const seenColours = new Map();

/** The page's current colour behind a CSS variable, in a form that a canvas takes. */
function colour(variable) {
  // Asking makes the browser work out the page's styles: once for a burst of drawing is enough.
  const key = `${variable} ${document.body.className} ${document.documentElement.className}`;
  if (seenColours.has(key)) return seenColours.get(key);
  if (seenColours.size === 0) setTimeout(() => seenColours.clear(), 1000);
  const probe = h('i', { style: `color: var(${variable}); display: none` });
  element.append(probe);
  const value = getComputedStyle(probe).color;
  probe.remove();
  seenColours.set(key, value);
  return value;
}

/** Run `draw` when the page turns dark or light. The watchers go when the component has left the page. */
function onThemeChange(draw) {
  const observer = new MutationObserver(() => {
    if (element.isConnected) draw();
    else observer.disconnect();
  });
  for (const node of [document.body, document.documentElement]) {
    observer.observe(node, { attributes: true, attributeFilter: ['class', 'data-theme'] });
  }
}

// ---- the selected token, in drawings of Explore's input (`props.linked`)

/** Call `mark(position)`, null for none, now and whenever another token is selected. */
function onSelection(mark) {
  if (!props.linked) return;
  page.on('select', mark);
  mark(page.selected);
}

function selectToken(position) {
  if (props.linked) page.select(position);
}

// ---- saving

/**
 * "Save: PNG CSV JSON". `kinds` maps a name to a function that saves. With `stem`, which gives a file's name without its
 * ending, the view can also be saved as a page of its own.
 */
function saveButtons(what, kinds, stem = null) {
  const button = (name, words, act) => h('button', { type: 'button', class: 'plain', 'data-save': name.toLowerCase(), 'aria-label': words,
    title: words, onclick: act }, name);
  const buttons = Object.entries(kinds).map(([kind, save]) => button(kind, `Save ${what} as ${kind}`, save));
  const node = h('div', { class: 'save push', 'data-noexport': '' }, h('span', { class: 'quiet' }, 'Save'), ...buttons);
  if (stem && server?.standalone_page) {
    node.append(button('HTML', `Save ${what} as a page that works without this server`, async () => {
      const page = await server.standalone_page();
      // A function as replacement: in a string "$" would have a meaning.
      saveText(`${stem()}.html`, 'text/html', page.replace('"the payload goes here"', () => payloadText()));
    }));
  }
  return node;
}

/**
 * The same for a drawing: `picture()` is an SVG element, `rows()` are for CSV, `body()` for JSON; `file()` names the files.
 * With `alone` it can be saved as a page of its own.
 */
function saveDrawing(what, file, { picture, rows, body, alone = false }) {
  const name = (ending) => `${file()}.${ending}`;
  return saveButtons(what, {
    ...(picture && { PNG: () => savePng(name('png'), picture()), SVG: () => saveSvg(name('svg'), picture()) }),
    ...(rows && { CSV: () => saveCsv(name('csv'), rows()) }),
    ...(body && { JSON: () => saveJson(name('json'), body()) }),
  }, alone ? file : null);
}
