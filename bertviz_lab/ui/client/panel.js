// A panel: one view in a workspace. It is built when it is first opened, and asks Python only while somebody can see
// it.

import { LOST } from 'lab/client/ask.js';
import { NO_SELECTION, h, setOptions, setText } from 'lab/client/dom.js';
import { page } from 'lab/client/page.js';
import { encodeBase64, saveText } from 'lab/client/saving.js';
import { DRAWINGS } from 'lab/site.js';

/** A labelled field of a panel. `kind` is text, textarea, number, range, checkbox, or select with [[value, words],
 * ...]. */
function makeField(kind, label, value, onChange, { options = [], ...attributes } = {}) {
  const input = ['select', 'textarea'].includes(kind) ? h(kind, { ...attributes, spellcheck: 'false' })
    : h('input', { type: kind, ...attributes, autocomplete: 'off', spellcheck: 'false' });
  if (kind === 'select') setOptions(input, options);
  const shown = kind === 'range' ? h('output') : null;
  const read = () =>
    (kind === 'checkbox' ? input.checked : ['number', 'range'].includes(kind) ? Number(input.value) : input.value);
  const tell = () => { if (shown) shown.textContent = input.value; };
  const set = (to) => {
    if (kind === 'checkbox') input.checked = Boolean(to);
    else input.value = to;
    tell();
  };
  set(value);
  input.addEventListener('change', () => onChange(read()));
  input.addEventListener('input', tell);
  const node = h(`label.field.field-${kind}`, h('span.name.quiet.small', label), shown, input);
  return { node, input, set, get value() { return read(); } };
}

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

const RUN_ID = /[?&][^=&]+=[a-z]+-[a-z]+-[0-9a-f]{16}(&|$)/;
const REVEALS = 'Anyone with this link can query the model of this run: '
  + 'its vocabulary and predictions can reveal parts of its training text.';

/** A button that copies the address of what is shown, which is written out where the browser does not let a page
 * copy. `before()` is called first: something may have been typed that nobody has asked for yet. */
export function makeLinkButton(id, before = () => {}) {
  const status = h('span.quiet', { role: 'status' });
  async function copy() {
    before();
    const warning = RUN_ID.test(new URL(page.address()).search) ? REVEALS : '';
    try {
      await navigator.clipboard.writeText(page.address());
      status.textContent = ['Link copied', warning].filter(Boolean).join('. ');
    } catch {
      status.replaceChildren(h('input', { type: 'text', readonly: true, value: page.address(),
        'aria-label': 'Link to what is shown', onfocus: (event) => event.target.select() }), warning);
    }
  }
  return h('span.copy-link', h('button.plain', { id, onclick: copy }, 'Copy link'), status);
}

/** The part of the page that a view's script draws in, with what it needs. `view` is {id, title, gloss, workspace};
 * `prefix` begins ids and names of settings: a view in several places has another one in each. */
export function makePanel(view, body, prefix = view.id) {
  const parts = []; // {node, draw, stale, isOpen, say, redraw}
  const listening = []; // functions that end it, one for each topic that something in the panel listens to
  const watching = []; // functions that wait until somebody can see it
  let seen = false;
  const own = Object.create(page, { on: { value: (topic, act) => {
    listening.push(page.on(topic, act));
    return listening.at(-1);
  } } });
  const ask = (question, more = {}, line = question) => {
    const { model, text_a, text_b } = page.input;
    const input = view.workspace === 'explore' ? { model, text_a, text_b } : {};
    return page.ask(view.id, question, { ...input, ...more }, `${prefix}.${line}`);
  };

  async function bring(part) {
    if (!seen || !part.stale || !part.isOpen()) return;
    part.stale = false;
    part.say('');
    part.node.setAttribute('aria-busy', 'true');
    try {
      await part.draw();
    } catch (error) {
      part.say(error.message);
    } finally {
      part.node.removeAttribute('aria-busy');
    }
  }

  function add(part) {
    const complaint = h('p.complaint', { role: 'status', hidden: true });
    part.node.append(complaint);
    Object.assign(part, {
      stale: true,
      say: (message) => setText(complaint, message),
      /** Draw it again because a setting of its own has changed. */
      redraw: () => {
        part.stale = true;
        return bring(part);
      },
    });
    parts.push(part);
    bring(part);
    return part;
  }

  const panel = {
    view,
    body,
    prefix,
    page: own,
    ask,
    field: makeField,
    /** Cancel a question of this panel, which then resolves to undefined. */
    cancel: (question) => page.ask.cancel(`${prefix}.${question}`),
    drawing: (kind, label, options) => makeDrawing(kind, label, { ...options, own }),
    /** A setting that the address keeps. */
    kept: (name, otherwise = '') => page.kept(`${prefix}.${name}`, otherwise),
    keep: (name, value) => page.keep(`${prefix}.${name}`, value),
    /** Settings that the address keeps, by their defaults (numbers or texts): {values, change, field}.
     * `changed(names)` is called after a field or `change` has changed some. `field(name, kind, label, options)`
     * makes the field of one. */
    settings(defaults, changed) {
      const fields = new Map();
      const read = ([name, otherwise]) => {
        const text = panel.kept(name, otherwise);
        if (text === String(otherwise)) panel.keep(name, ''); // the address holds what differs
        if (typeof otherwise !== 'number') return [name, text];
        return [name, Number.isFinite(Number(text)) ? Number(text) : otherwise]; // an address may say anything
      };
      const values = Object.fromEntries(Object.entries(defaults).map(read));
      const change = (some) => {
        const names = Object.keys(some).filter((name) => values[name] !== some[name]);
        Object.assign(values, some);
        for (const name of names) {
          fields.get(name)?.set(values[name]);
          panel.keep(name, values[name] === defaults[name] ? '' : values[name]);
        }
        if (names.length) changed(names);
      };
      const field = (name, kind, label, options) => {
        fields.set(name, makeField(kind, label, values[name], (value) => change({ [name]: value }), options));
        return fields.get(name);
      };
      return { values, change, field };
    },
    /** Ask and show; nothing is shown where a newer question has taken this one's place. */
    async show(drawing, question, more = {}, line = question) {
      if (!drawing.payload || drawing.payload.message) drawing.say('Computing …');
      const payload = await ask(question, more, line).catch(({ message }) => ({ message }));
      if (payload !== undefined) drawing.show(payload);
    },
    /** Ask and show, or hide the drawing where there is nothing to draw; what is wrong is said elsewhere. */
    async showAny(drawing, question, more = {}) {
      const payload = await ask(question, more).catch(() => null);
      if (payload === undefined) return; // asked again meanwhile
      drawing.host.hidden = payload === null;
      if (payload) drawing.show(payload);
    },
    /** A part that is always in sight; `draw` is called when the input has changed. A link can lead to one with a
     * name. */
    part(nodes, draw, name = null) {
      const node = h('div.part', { id: name && `${prefix}-${name}` }, ...nodes);
      body.append(node);
      return add({ node, draw, isOpen: () => !node.hidden });
    },
    /** A part that is folded away. `build(host)` is called when it is first opened and returns the function that
     * draws it. Whether it is open is kept in the address. */
    fold(name, title, build) {
      const host = h('div.fold-body');
      const node = h('details.fold', { id: `${prefix}-${name}`, open: panel.kept(name) === 'open' },
        h('summary', title), host);
      body.append(node);
      let draw = null;
      const part = add({
        node,
        isOpen: () => node.open && !node.hidden,
        draw: () => {
          draw ??= build(host);
          return draw?.();
        },
      });
      node.addEventListener('toggle', () => {
        if (!node.isConnected) return; // the panel has been built again since
        panel.keep(name, node.open ? 'open' : '');
        bring(part);
      });
      return part;
    },
    /** A fold with one drawing, of the answer to `question`; `more()` is what is asked besides the input, `above`
     * what is above the drawing. */
    foldOf(name, title, [kind, label, options], question, { more = () => ({}), above = () => [] } = {}) {
      return panel.fold(name, title, (host) => {
        const drawing = panel.drawing(kind, label, options);
        host.append(...above(), drawing.host);
        return () => panel.show(drawing, question, more());
      });
    },
    /** Draw again what is in sight, and the rest when it comes into sight. */
    refresh: () => parts.forEach((part) => part.redraw()),
    /** Wait until somebody can see the panel. */
    whenSeen: () => (seen ? Promise.resolve() : new Promise((resolve) => { watching.push(resolve); })),
    /** Called by the workspace: whether somebody can see the panel. */
    setSeen(now) {
      seen = now;
      if (!seen) return;
      parts.forEach(bring);
      watching.splice(0).forEach((go) => go());
    },
    /** Called by the workspace before it builds the panel again: nothing that happens reaches this one any more. */
    leave() {
      seen = false;
      listening.forEach((end) => end());
    },
  };
  if (view.workspace === 'explore') own.on('input', panel.refresh);
  return panel;
}
