// Explore: one input for all views, the tokens that it becomes, and a panel for each view. A token that is selected in
// one of them is selected in all.

import { h, setOptions, setText, walkWithKeys } from 'lab/client/dom.js';
import { makeDrawing } from 'lab/client/drawing.js';
import { page } from 'lab/client/page.js';
import { makeLinkButton } from 'lab/client/panel.js';
import { recall, remember } from 'lab/client/saving.js';
import { makeWorkspace } from 'lab/client/workspace.js';

export function mountExplore(root) {
  const TYPING = 350; // milliseconds without a key until what was typed is asked
  const REMEMBERED = 'bertviz-lab-model'; // the model of the last visit
  const OPEN_FIRST = ['predictions', 'attention'];
  root.classList.add('workspace', 'explore');

  // ---- the input bar

  const fields = {
    text_a: h('textarea', { id: 'text-a', rows: 1, 'aria-label': 'Text A', spellcheck: 'false',
      placeholder: 'Type a text; [MASK] marks a word to predict' }),
    text_b: h('textarea', { id: 'text-b', rows: 1, 'aria-label': 'Text B', spellcheck: 'false',
      placeholder: 'Optional second text, for next-sentence prediction' }),
  };
  const modelBox = makeModelBox('model', 'Model', {});
  const otherBox = makeModelBox('other', 'Compare with',
    { '': 'no other model', before: 'the same model before training' });
  const examples = h('div', { class: 'examples', id: 'examples', role: 'group', 'aria-label': 'Examples' });
  const facts = makeDrawing('facts', 'About this model', { id: 'model-facts' });
  const next = h('p', { class: 'next quiet' },
    'Edit the text, or click a word to mask it. Click a token below to follow it through every panel.');
  const strip = h('div', { class: 'strip line', id: 'tokens-strip', role: 'listbox',
    'aria-label': 'Tokens; the selected one is marked in every panel', 'aria-orientation': 'horizontal' });
  const complaint = h('p', { class: 'complaint', role: 'status', hidden: true });
  const swap = h('button', { type: 'button', class: 'plain', onclick: () => fill(fields.text_b.value,
    fields.text_a.value) }, 'Swap A and B');
  const another = h('button', { type: 'button', class: 'plain', onclick: anotherB }, 'Random B');
  // Models of the hub that are named, perhaps by a link, and not on the server yet: pressing a button downloads them.
  const absent = h('p', { class: 'missing', id: 'missing-models', role: 'status', hidden: true });
  root.append(
    h('div', { class: 'input-bar card' },
      h('div', { class: 'texts tiles' },
        h('label', {}, h('span', { class: 'name quiet small' }, 'Text A'), fields.text_a),
        h('label', {}, h('span', { class: 'name quiet small' }, 'Text B'), fields.text_b)),
      h('div', { class: 'models tiles' }, modelBox.node, otherBox.node),
      h('div', { class: 'line' }, examples, h('div', { class: 'line push' }, swap, another,
        makeLinkButton('copy-link', take))),
      facts.host),
    absent, strip, complaint, next);

  let typing = 0;
  let shownExamples = []; // those of the model that is shown: [text a, text b]

  for (const box of Object.values(fields)) {
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
    Object.values(fields).forEach(grow);
    take();
  }

  /** As high as its text, up to a point. */
  function grow(box) {
    box.style.height = 'auto';
    box.style.height = `${Math.min(160, box.scrollHeight + 2)}px`;
  }

  async function anotherB() {
    const text = await page.ask('explore', 'random_text',
      { model: page.input.model, texts: [page.input.text_a, page.input.text_b] }).catch(() => '');
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
      // about to be typed
      const known = [...box.options].some((option) => option.value === value) && document.activeElement !== typed;
      box.value = known ? value : OTHER;
      typed.hidden = known;
      if (!known && document.activeElement !== typed) typed.value = value;
    };
    return { node: h('label', { class: 'model' }, h('span', { class: 'name quiet small' }, label), box, typed), show };
  }

  function showExamples(list) {
    shownExamples = list;
    examples.replaceChildren(h('span', { class: 'quiet' }, 'Try'), ...list.map(([textA, textB]) =>
      h('button', { type: 'button', class: 'chip cut', onclick: () => fill(textA, textB) }, [textA, textB]
        .filter(Boolean).join('  |  '))));
    examples.hidden = !list.length;
  }

  // ---- the tokens

  async function drawTokens() {
    const { model, text_a, text_b } = page.input;
    const answer = await page.ask('explore', 'encode', { model, text_a, text_b })
      .catch(({ message }) => ({ tokens: [], note: message }));
    if (!answer) return;
    const { tokens, note } = answer;
    setText(complaint, note);
    strip.replaceChildren(...tokens.map(({ token, segment, special, masked }, position) =>
      h('button', { type: 'button', role: 'option',
      class: `token mono small ${masked ? 'masked' : special ? 'special' : segment ? 'seg-b' : 'seg-a'}`,
        'data-position': position,
      onclick: () => page.select(page.selected === position ? null : position) }, token)));
    walk.moveTo(0, false);
    strip.hidden = !tokens.length;
    markSelected();
  }

  function markSelected() {
    for (const button of strip.children) button.setAttribute('aria-selected',
      String(Number(button.dataset.position) === page.selected));
  }

  const walk = walkWithKeys(strip, {});
  page.on('select', markSelected);

  // ---- the panels

  const workspace = makeWorkspace('explore', root, OPEN_FIRST, missing);

  /** What has to be typed before a panel can show anything; "" for nothing. */
  function missing() {
    if (page.input.text_a.trim()) return '';
    return page.input.text_b.trim() ? 'Text A is empty. Type it above: text B is read only together with it.'
      : 'Type a text above.';
  }

  // ---- what happens

  /** The model has changed, or the page has just opened: what it is, and texts that it knows. */
  async function showModel() {
    const { model } = page.input;
    page.ask('explore', 'about', { model }).then((payload) => payload && facts.show(payload),
      (error) => facts.say(error.message));
    const before = shownExamples;
    const list = await page.ask('explore', 'examples', { model }).catch(() => undefined);
    if (!list) return;
    showExamples(list);
    const isIn = (texts) => texts.some(([textA, textB]) => textA === fields.text_a.value
      && textB === fields.text_b.value);
    if (list.length && !isIn(list) && (isIn(before) || !Object.values(fields).some(({ value }) => value.trim()))) fill(
      ...list[0]);
  }

  async function showMissing() {
    const { model, other } = page.input;
    const names = await page.ask('explore', 'missing', { models: [model, other === 'before' ? '' : other] })
      .catch(() => undefined);
    if (!names) return;
    absent.replaceChildren(...names.map((name) => h('button', { type: 'button', class: 'action',
      onclick: ({ target }) => download(name, target) }, `Download ${name}`)));
    absent.hidden = !names.length;
  }

  async function download(name, button) {
    [button.disabled, button.textContent] = [true, `Downloading ${name} …`];
    try {
      await page.ask('explore', 'download', { model: name });
    } catch (error) {
      [button.disabled, button.textContent] = [false, `Download ${name}`];
      absent.append(' ', h('span', { class: 'complaint' }, error.message));
      return;
    }
    showMissing();
    showModel();
    drawTokens();
    workspace.refresh();
  }

  async function showModels() {
    const groups = await page.ask('explore', 'models').catch(() => undefined);
    if (!groups) return;
    const known = groups.flatMap(({ models }) => models.map(([name]) => name));
    const last = recall(REMEMBERED);
    page.input.model ||= known.includes(last) ? last : page.start.model;
    modelBox.show(groups);
    otherBox.show(groups);
  }

  page.on('input', (changed) => {
    for (const [name, box] of Object.entries(fields)) {
      if (changed.includes(name) && box.value !== page.input[name]) {
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
  page.on('start', () => begun && showModels());

  for (const [name, box] of Object.entries(fields)) box.value = page.input[name];
  let begun = false;
  begin();

  /** First the models, then what the chosen one says. */
  async function begin() {
    begun = true;
    await showModels();
    if (page.input.text_a || page.input.text_b) {
      Object.values(fields).forEach(grow);
      drawTokens();
      workspace.look();
    }
    showMissing();
    await showModel();
  }
}
