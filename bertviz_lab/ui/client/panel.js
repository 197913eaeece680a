// A panel: one view in a workspace. It is built when first opened, and asks Python only while somebody can see it.

import { LOST, pause } from 'lab/client/ask.js';
import { NO_SELECTION, h, makeField, setText } from 'lab/client/dom.js';
import { page } from 'lab/client/page.js';
import { copyText, encodeBase64, saveText } from 'lab/client/saving.js';
import { figureOf } from 'lab/components/figures/index.js';
import { DRAWINGS } from 'lab/site.js';

/** Make a drawing: {host, show(payload), showIfAny(payload), say(message), payload}. `events` maps the events that it
 * fires to functions, `server` the questions that it asks by itself to functions that answer them; `about()` returns
 * what the caption of its picture says besides its own words, a list of sentences. A `linked` one shows the input of
 * Explore: it marks the selected token, and a click on a token in it selects that in every panel. */
export function makeDrawing(kind, label, { id = null, linked = false, own = page, about = () => [], ...options } = {}) {
  const root = h(`section.lab.lab-${kind}`);
  const host = h(`div.drawing.lab-island.lab-island-${kind}`, { id }, root);
  let payload = null;
  let update = null;
  const savePage = async (stem, body = payload) => {
    const text = await page.ask('explore', 'standalone_page', { drawing: kind, label });
    const plain = (_, value) => (ArrayBuffer.isView(value) ? encodeBase64(value) : value);
    const written = JSON.stringify(body, plain).replaceAll('<', '\\u003c');
    // A function as replacement: in a string "$" would have a meaning.
    saveText(`${stem}.html`, 'text/html', text.replace('"the payload goes here"', () => written));
  };
  const captionOf = (words) =>
    [words || label, ...about()].map((part) => `${part.replace(/[.\s]+$/, '')}.`).join(' ');
  const isLinked = () => payload?.linked !== false; // a payload of other tokens says so
  const selection = !linked ? NO_SELECTION : {
    follow(mark) {
      own.on('select', mark);
      mark(own.selected);
    },
    choose: (position) => isLinked() && own.select(position),
    /** Mark the selected token among the nodes with a data-position: called by a drawing that has drawn some. */
    mark() {
      for (const node of root.querySelectorAll('[data-position]')) {
        const isSelected = isLinked() && Number(node.dataset.position) === own.selected;
        node.classList.toggle('selected', isSelected);
        node.ariaCurrent = isSelected ? 'true' : null;
      }
    },
  };
  if (linked) {
    own.on('select', selection.mark);
    followPointer(root, own, isLinked);
  }
  import(`lab/${DRAWINGS[kind]}`).then(({ default: draw }) => {
    update = draw(root, payload, { label, selection, savePage, captionOf, ...options });
  }, () => { root.textContent = LOST; });
  // A payload within another answer comes as text.
  const show = (next) => {
    payload = figureOf(typeof next === 'string' ? JSON.parse(next || 'null') : next);
    update?.(payload);
  };
  return {
    host, show,
    /** Show it, or hide the drawing where there is nothing to draw. */
    showIfAny(next) {
      host.hidden = !next;
      if (next) show(next);
    },
    say: (message) => show({ message }),
    get payload() { return payload; },
  };
}

/** A token under the pointer is marked in everything that shows the input. */
export function followPointer(root, own, isLinked = () => true) {
  const positions = () => [...root.querySelectorAll('[data-position]')];
  root.addEventListener('pointerover', ({ target }) =>
    own.emit('point', isLinked() ? target.closest('[data-position]')?.dataset.position : undefined));
  root.addEventListener('pointerleave', () => own.emit('point'));
  own.on('point', (position) => positions().forEach((node) =>
    node.classList.toggle('pointed', isLinked() && node.dataset.position === position)));
}

/** Examples to try: {node, show(list), fill(texts)}. A press on one, a list of texts, fills `fields` with it and calls
 * `act()`. Another list leaves what a person has typed; an example of the list before gives way to the first. */
export function makeExamples(id, fields, act) {
  const node = h('div.examples', { id, role: 'group', 'aria-label': 'Examples' });
  let known = [];
  const typed = () => fields.map(({ value }) => value).join('\n');
  const isKnown = () => known.some((texts) => texts.join('\n') === typed());
  function fill(texts) {
    fields.forEach((field, at) => field.set(texts[at]));
    act();
  }
  function show(list) {
    const isOwn = typed().trim() && !isKnown();
    known = list;
    node.hidden = !list.length;
    node.replaceChildren(h('span.quiet', 'Try'), ...list.map((texts) =>
      h('button.chip.cut', { onclick: () => fill(texts) }, texts.slice(0, 2).filter(Boolean).join('  |  '))));
    if (list.length && !isOwn && !isKnown()) fill(list[0]);
  }
  return { node, show, fill };
}

/** What settings of a view are that say where one looks, which its drawings say better. */
const PLACES = ['open', 'id', 'run', 'runs', 'layer', 'head', 'rows', 'column'];

/** The input of Explore, and the settings of a view that differ from their defaults, as sentences. */
function aboutInput(view) {
  const { model, text_a, text_b } = page.input;
  const settings = page.settingsOf(view).filter(([name, text]) => text !== 'open' && !PLACES.includes(name))
    .map(([name, text]) => `${name.replaceAll('_', ' ')} ${text}`).join(', ');
  return [`Model: ${(model || page.start.model).replace(/-[0-9a-f]{16}$/, '')}`, // without what only its owner knows
    text_a && `Text A: “${text_a}”`, text_b && `Text B: “${text_b}”`, settings && `Settings: ${settings}`]
    .filter(Boolean);
}

const RUN_ID = /[?&][^=&]+=[a-z]+-[a-z]+-[0-9a-f]{16}(&|$)/;
const REVEALS = 'Anyone with this link can query the model of this run: '
  + 'its vocabulary and predictions can reveal parts of its training text.';

/** A button that copies the address of what is shown, which is written out where the browser does not let a page
 * copy. `before()` is called first: something may have been typed that nobody has asked for yet. */
export function makeLinkButton(id, before = () => {}) {
  const status = h('span.quiet', { role: 'status' });
  function copy() {
    before();
    const address = page.address();
    return copyText(address, 'Link', status, RUN_ID.test(new URL(address).search) ? REVEALS : '');
  }
  return h('span.copy-link', h('button.plain', { id, onclick: copy }, 'Copy link'), status);
}

/** The part of the page that a view's script draws in, with what it needs. `view` is {id, title, gloss, workspace};
 * `prefix` begins ids and names of settings: a view in several places has another one in each. */
export function makePanel(view, body, prefix = view.id) {
  const parts = []; // {node, draw, stale, isOpen, say, redraw}
  const life = new AbortController(); // ends what something in the panel listens to
  let seen = false;
  let underWay = 0; // parts that are being drawn
  const own = Object.create(page, { on: { value: (topic, act) => page.on(topic, act, life.signal) } });
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
    underWay += 1;
    await Promise.resolve().then(part.draw).catch(({ message }) => part.say(message));
    underWay -= 1;
    part.node.removeAttribute('aria-busy');
    settle();
  }

  /** What follows the first part is shown once all has been drawn: nothing jumps. */
  function settle() {
    if (underWay === 0) body.classList.remove('waiting');
  }

  function add(part) {
    const complaint = h('p.complaint', { role: 'status', hidden: true });
    part.node.append(complaint);
    if (!parts.length) body.classList.add('waiting');
    parts.push(Object.assign(part, {
      say: (message) => setText(complaint, message),
      /** Draw it again because a setting of its own has changed. */
      redraw: () => {
        part.stale = true;
        return bring(part);
      },
    }));
    part.redraw();
    return part;
  }

  const panel = {
    view, body, prefix, ask,
    page: own,
    field: makeField,
    drawing: (kind, label, options) => makeDrawing(kind, label, { own,
      ...(view.workspace === 'explore' && { about: () => aboutInput(prefix) }), ...options }),
    /** Drawings by the parts of an answer that they show, {part: [kind, label, options]}. */
    drawings: (parts) => Object.fromEntries(Object.entries(parts).map(([part, [kind, label, options]]) =>
      [part, panel.drawing(kind, label, { id: `${prefix}-${part}`, ...options })])),
    /** A setting that the address keeps. */
    kept: (name, otherwise = '') => page.kept(`${prefix}.${name}`, otherwise),
    keep: (name, value) => page.keep(`${prefix}.${name}`, value),
    /** Settings that the address keeps, by their defaults (numbers or texts): {values, change, field}.
     * `changed(names)` is called after a field or `change` has changed some. `field(name, kind, label, options)`
     * makes the field of one, whose id is its name behind the prefix. */
    settings(defaults, changed) {
      const fields = new Map();
      const values = { ...defaults };
      for (const [name, otherwise] of Object.entries(defaults)) {
        const text = panel.kept(name, otherwise);
        if (typeof otherwise === 'string') values[name] = text;
        else if (Number.isFinite(Number(text))) values[name] = Number(text); // an address may say anything
        if (values[name] === otherwise) panel.keep(name, ''); // it holds what differs
      }
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
        const id = `${prefix}-${name.replaceAll('_', '-')}`;
        const take = (value) => change({ [name]: value });
        fields.set(name, makeField(kind, label, values[name], take, { id, ...options }));
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
    /** Await an answer and show each of its parts in the drawing of that name; drawings without a part are hidden, and
     * an error is shown in the first. Resolves to the answer, or to undefined if a newer question replaced it. */
    async showParts(drawings, awaited) {
      const [first] = Object.keys(drawings);
      const answer = await awaited.catch(({ message }) => ({ [first]: { message, tone: 'error' } }));
      if (answer) for (const [part, drawing] of Object.entries(drawings)) drawing.showIfAny(answer[part]);
      return answer;
    },
    /** Ask and show, or hide the drawing where there is nothing to draw; what is wrong is said elsewhere. */
    async showAny(drawing, question, more = {}) {
      const payload = await ask(question, more).catch(() => null);
      if (payload !== undefined) drawing.showIfAny(payload); // else it was asked again meanwhile
    },
    /** A part that is always in sight; `draw` is called when the input has changed. A link can lead to its name. */
    part(nodes, draw, name = null) {
      const node = h('div.part', { id: name && `${prefix}-${name}` }, ...nodes);
      body.append(node);
      return add({ node, draw, isOpen: () => !node.closest('[hidden]') });
    },
    /** A part that is folded away. `build(host)` is called when it is first opened and returns, at once or later,
     * the function that draws it. Whether it is open is kept in the address. */
    fold(name, title, build) {
      const host = h('div.fold-body');
      const node = h('details.fold', { id: `${prefix}-${name}`, open: panel.kept(name) === 'open' },
        h('summary', title), host);
      body.append(node);
      let built = null;
      const draw = async () => {
        built ??= build(host);
        return (await built)?.();
      };
      const part = add({ node, draw, isOpen: () => node.open && !node.closest('[hidden]') });
      node.addEventListener('toggle', () => {
        if (!node.isConnected) return; // the panel has been built again since
        panel.keep(name, node.open ? 'open' : '');
        bring(part);
      });
      return part;
    },
    /** A fold with one drawing, of the answer to `question`; `more()` is, or resolves to, what is asked besides
     * the input, `fields()` is what is above the drawing. */
    foldOf(name, title, [kind, label, options], question, { more = () => ({}), fields = null } = {}) {
      return panel.fold(name, title, (host) => {
        const drawing = panel.drawing(kind, label, options);
        if (fields) host.append(h('div.fields', ...fields().map(({ node }) => node)));
        host.append(drawing.host);
        return async () => panel.show(drawing, question, await more());
      });
    },
    /** Draw again what is in sight, and the rest when it comes into sight. */
    refresh: () => Promise.all(parts.map((part) => part.redraw())),
    /** Draw what has come into sight. */
    look() {
      parts.forEach(bring);
      if (seen) settle();
    },
    /** Wait until somebody can see the panel. */
    whenSeen: () => pause(0, body),
    /** Called by the workspace: whether somebody can see the panel. */
    setSeen(now) {
      seen = now;
      panel.look();
    },
    /** Called by the workspace before it builds the panel again: nothing that happens reaches this one any more. */
    leave() {
      seen = false;
      life.abort();
    },
  };
  return panel;
}
