// Explore: one input for all views, the tokens that it becomes, and a panel for each view. A token that is selected in
// one of them is selected in all.

import { h, setOptions, setText, walkWithKeys } from 'lab/client/dom.js';
import { page } from 'lab/client/page.js';
import { makeDrawing, makeLinkButton } from 'lab/client/panel.js';
import { recall, remember } from 'lab/client/saving.js';
import { makeWorkspace } from 'lab/client/workspace.js';

export function mountExplore(root) {
  const TYPING = 350; // milliseconds without a key until what was typed is asked
  const REMEMBERED = 'bertviz-lab-model'; // the model of the last visit
  root.classList.add('workspace', 'explore');

  // ---- the input bar

  const field = (id, name, placeholder) =>
    h('textarea', { id, rows: 1, 'aria-label': name, spellcheck: 'false', placeholder });
  const fields = {
    text_a: field('text-a', 'Text A', 'Type a text; [MASK] marks a word to predict'),
    text_b: field('text-b', 'Text B', 'Optional second text, for next-sentence prediction'),
  };
  const boxes = Object.entries(fields);
  const labelled = (words, ...controls) => [h('span.name.quiet.small', words), ...controls];
  const modelBox = makeModelBox('model', 'Model', {});
  const otherBox = makeModelBox('other', 'Compare with',
    { '': 'no other model', before: 'the same model before training' });
  const examples = h('div.examples', { id: 'examples', role: 'group', 'aria-label': 'Examples' });
  const facts = makeDrawing('facts', 'About this model', { id: 'model-facts' });
  const next = h('p.next.quiet',
    'Edit the text, or click a word to mask it. Click a token below to follow it through every panel.');
  const strip = h('div.strip.line', { id: 'tokens-strip', role: 'listbox',
    'aria-label': 'Tokens; the selected one is marked in every panel', 'aria-orientation': 'horizontal' });
  const walk = walkWithKeys(strip);
  const complaint = h('p.complaint', { role: 'status', hidden: true });
  // Models of the hub that are named, perhaps by a link, and not on the server yet: pressing a button downloads them.
  const absent = h('p.missing', { id: 'missing-models', role: 'status', hidden: true });
  const buttons = h('div.line.push',
    h('button.plain', { onclick: () => fill(fields.text_b.value, fields.text_a.value) }, 'Swap A and B'),
    h('button.plain', { onclick: randomB }, 'Random B'), makeLinkButton('copy-link', take));
  const texts = [h('label', ...labelled('Text A', fields.text_a)), h('label', ...labelled('Text B', fields.text_b))];
  const bar = h('div.input-bar.card', h('div.texts.tiles', ...texts),
    h('div.models.tiles', modelBox.node, otherBox.node), h('div.line', examples, buttons), facts.host);
  root.append(bar, absent, strip, complaint, next);

  let typing = 0;
  let shownExamples = []; // those of the model that is shown: [text a, text b]

  for (const [, box] of boxes) {
    box.addEventListener('input', () => {
      grow(box);
      clearTimeout(typing);
      typing = setTimeout(take, TYPING);
    });
    box.addEventListener('keydown', (event) => {
      if (event.key !== 'Enter' || event.shiftKey) return;
      event.preventDefault();
      take();
    });
  }

  /** Take over the text of the fields. */
  function take() {
    clearTimeout(typing);
    page.set({ text_a: fields.text_a.value, text_b: fields.text_b.value });
  }

  function fill(textA, textB) {
    [fields.text_a.value, fields.text_b.value] = [textA, textB];
    boxes.forEach(([, box]) => grow(box));
    take();
  }

  /** As high as its text, up to a point. */
  function grow(box) {
    box.style.height = 'auto';
    box.style.height = `${Math.min(160, box.scrollHeight + 2)}px`;
  }

  /** Ask about the input of Explore; undefined where it cannot be answered, or a newer question is. */
  const askQuietly = (question, args) => page.ask('explore', question, args).catch(() => undefined);

  async function randomB() {
    const { model, text_a, text_b } = page.input;
    const text = await askQuietly('random_text', { model, texts: [text_a, text_b] });
    if (text) fill(fields.text_a.value, text);
  }

  /** A list of models and a field for one that is not in it. */
  function makeModelBox(name, label, always) {
    const OTHER = '\u0000';
    const box = h('select', { id: `${name}-picker`, 'aria-label': label });
    const typed = h('input', { type: 'text', id: `${name}-typed`, 'aria-label': `${label}: hub id or folder`,
      placeholder: 'hub id, such as prajjwal1/bert-tiny', autocomplete: 'off', spellcheck: 'false', hidden: true });
    box.addEventListener('change', () => {
      typed.hidden = box.value !== OTHER;
      if (typed.hidden) page.set({ [name]: box.value });
      else typed.focus();
    });
    typed.addEventListener('change', () => page.set({ [name]: typed.value.trim() }));
    const show = (groups) => {
      setOptions(box, [...Object.entries(always), [OTHER, 'Another model …']]);
      box.lastChild.before(...groups.filter(({ models }) => models.length).map(({ title, models }) =>
        h('optgroup', { label: title }, ...models.map(([value, words]) => h('option', { value }, words)))));
      const value = page.input[name];
      const isTyping = document.activeElement === typed;
      const known = [...box.options].some((option) => option.value === value) && !isTyping;
      box.value = known ? value : OTHER;
      typed.hidden = known;
      if (!known && !isTyping) typed.value = value;
    };
    return { node: h('label.model', ...labelled(label, box, typed)), show };
  }

  function showExamples(list) {
    shownExamples = list;
    examples.replaceChildren(h('span.quiet', 'Try'), ...list.map((texts) =>
      h('button.chip.cut', { onclick: () => fill(...texts) }, texts.filter(Boolean).join('  |  '))));
    examples.hidden = !list.length;
  }

  // ---- the tokens

  async function drawTokens() {
    const { model, text_a, text_b } = page.input;
    const answer = await page.ask('explore', 'encode', { model, text_a, text_b })
      .catch(({ message }) => ({ tokens: [], note: message }));
    if (!answer) return;
    setText(complaint, answer.note);
    strip.replaceChildren(...answer.tokens.map(({ token, segment, special, masked }, position) => {
      const kind = masked ? 'masked' : special ? 'special' : segment ? 'seg-b' : 'seg-a';
      const onclick = () => page.select(page.selected === position ? null : position);
      return h(`button.token.mono.small.${kind}`, { role: 'option', 'data-position': position, onclick }, token);
    }));
    walk.moveTo(0, false);
    strip.hidden = !answer.tokens.length;
    markSelected();
  }

  function markSelected() {
    [...strip.children]
      .forEach((button, position) => button.setAttribute('aria-selected', String(position === page.selected)));
  }

  // ---- what happens

  const workspace = makeWorkspace('explore', root, ['predictions', 'attention'], () => {
    if (page.input.text_a.trim()) return '';
    return page.input.text_b.trim() ? 'Text A is empty. Type it above: text B is read only together with it.'
      : 'Type a text above.';
  });

  /** The model has changed, or the page has just opened: what it is, and texts that it knows. */
  async function showModel() {
    const { model } = page.input;
    page.ask('explore', 'about', { model })
      .then((payload) => payload && facts.show(payload), (error) => facts.say(error.message));
    const before = shownExamples;
    const list = await askQuietly('examples', { model });
    if (!list) return;
    showExamples(list);
    const isIn = (texts) =>
      texts.some(([textA, textB]) => textA === fields.text_a.value && textB === fields.text_b.value);
    const isOwn = !isIn(before) && boxes.some(([, box]) => box.value.trim());
    if (list.length && !isIn(list) && !isOwn) fill(...list[0]);
  }

  async function showMissing() {
    const { model, other } = page.input;
    const names = await askQuietly('missing', { models: [model, other === 'before' ? '' : other] });
    if (!names) return;
    absent.replaceChildren(...names.map((name) =>
      h('button.action', { onclick: ({ target }) => download(name, target) }, `Download ${name}`)));
    absent.hidden = !names.length;
  }

  async function download(name, button) {
    [button.disabled, button.textContent] = [true, `Downloading ${name} …`];
    try {
      await page.ask('explore', 'download', { model: name });
    } catch (error) {
      [button.disabled, button.textContent] = [false, `Download ${name}`];
      absent.append(' ', h('span.complaint', error.message));
      return;
    }
    showMissing();
    showModel();
    drawTokens();
    workspace.refresh();
  }

  async function showModels() {
    const groups = await askQuietly('models');
    if (!groups) return;
    const last = recall(REMEMBERED);
    page.input.model ||= groups.some(({ models }) => models.some(([name]) => name === last)) ? last : page.start.model;
    modelBox.show(groups);
    otherBox.show(groups);
  }

  page.on('select', markSelected);
  page.on('input', (changed) => {
    for (const [name, box] of boxes) {
      if (box.value !== page.input[name] && changed.includes(name)) {
        box.value = page.input[name];
        grow(box);
      }
    }
    if (changed.includes('model') || changed.includes('other')) {
      showModels();
      showMissing();
    }
    if (changed.includes('model')) {
      remember(REMEMBERED, page.input.model);
      showModel();
    }
    if (changed.some((name) => name !== 'other')) drawTokens();
    workspace.look();
  });
  // A checkpoint of a chosen model is new: what is in sight is drawn again; nobody's text is touched.
  page.on('model', (name) => {
    if (![page.input.model, page.input.other].includes(name)) return;
    drawTokens();
    workspace.refresh();
  });
  page.on('start', showModels);

  /** First the models, then what the chosen one says. */
  async function begin() {
    for (const [name, box] of boxes) box.value = page.input[name];
    await showModels();
    if (page.input.text_a || page.input.text_b) {
      boxes.forEach(([, box]) => grow(box));
      drawTokens();
      workspace.look();
    }
    showMissing();
    await showModel();
  }
  begin();
}
