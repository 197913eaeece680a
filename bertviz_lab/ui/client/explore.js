// Explore: one input for all views, the tokens that it becomes, and a panel for each view. A token that is selected in
// one of them is selected in all.

import { h, makeField, makeMenu, publishHeight, setOptions, setText, walkWithKeys } from 'lab/client/dom.js';
import { page } from 'lab/client/page.js';
import { followPointer, makeDrawing, makeExamples, makeLinkButton } from 'lab/client/panel.js';
import { recall, remember } from 'lab/client/saving.js';
import { makeWorkspace } from 'lab/client/workspace.js';
import { columnsOf } from 'lab/components/figures/strips.js';
import { answerer } from 'lab/site.js';

export function mountExplore(root) {
  const TYPING = 350; // milliseconds without a key until what was typed is asked
  const REMEMBERED = 'bertviz-lab-model'; // the model of the last visit
  const RANDOMIZED = 'random:'; // before the name of a model, as `ui/state/models.py` has it

  // ---- the input bar

  const fields = {
    text_a: makeText('text_a', 'Text A', 'Type a text; [MASK] marks a word to predict'),
    text_b: makeText('text_b', 'Text B', 'Optional'),
  };
  const texts = Object.values(fields);
  const models = [makeModels('model', 'Model', []),
    makeModels('other', 'Compare with', [['', 'no other model'],
      ...(page.start.published ? [] : [['before', 'the same model before training']])])];
  const examples = makeExamples('examples', texts, () => {
    menus.forEach((menu) => { menu.open = false; });
    take();
  });
  const facts = makeDrawing('facts', 'About this model', { id: 'model-facts' });
  const next = h('p.next.quiet.small',
    'Edit the text, or click a word to mask it. Click a token to follow it through every panel.');
  const strip = h('div.strip.line', { id: 'tokens-strip', role: 'listbox',
    'aria-label': 'Tokens; the selected one is marked in every panel', 'aria-orientation': 'horizontal' });
  const walk = walkWithKeys(strip);
  const complaint = h('p.complaint', { role: 'status', hidden: true });
  // Models of the hub that are named, perhaps by a link, and not on the server yet: pressing a button downloads them.
  const absent = h('p.missing', { id: 'missing-models', role: 'status', hidden: true });
  const swap = () => examples.fill(texts.map(({ value }) => value).reverse());
  const { engine } = answerer; // in this browser, where the lab offers one
  const choice = engine && makeField('checkbox', 'Compute shipped models in this browser', engine.isOn, (on) => {
    engine.turn(on);
    refresh();
  }, { id: 'browser-engine', inline: true });
  const trained = (model) => model.replace(RANDOMIZED, '');
  const control = makeField('checkbox', 'Random weights in every panel, as a control', false, (on) =>
    page.set({ model: `${on ? RANDOMIZED : ''}${trained(page.input.model)}` }), { id: 'random-weights', inline: true });
  const menus = [makeMenu('Examples', examples.node), makeMenu('About the model', facts.host),
    makeMenu('More', models[1].node, h('button.plain', { onclick: swap }, 'Swap A and B'),
      h('button.plain', { onclick: randomB }, 'Random B'), makeLinkButton('copy-link', take),
      page.start.published ? null : control.node, choice?.node,
      page.start.shared || page.start.published ? null : makePublishFold())];
  const inputs = h('div.inputs', ...texts.map(({ node }) => node), models[0].node, h('div.menus.line', ...menus));
  const bar = h('div.input-bar', inputs, strip);
  root.append(bar, absent, complaint, next);
  followPointer(strip, page);
  publishHeight(bar, '--lab-input-bar');
  publishHeight(inputs, '--lab-inputs');
  for (const kind of ['focusin', 'input']) inputs.addEventListener(kind, bringBack);

  /** Scroll back to a field that is used: on a phone they leave the window, and no browser scrolls to what sticks. */
  function bringBack({ target }) {
    if (target.getBoundingClientRect().top < 0) root.scrollIntoView();
  }

  /** A text, which is taken over once the typing rests. */
  function makeText(name, label, placeholder) {
    const onkeydown = (event) => {
      if (event.key !== 'Enter' || event.shiftKey) return;
      event.preventDefault();
      take();
    };
    return makeField('textarea', label, page.input[name], take,
      { id: name.replace('_', '-'), rows: 1, dir: 'auto', placeholder, onkeydown, rest: TYPING });
  }

  /** Take over the text of the fields. */
  function take() {
    page.set({ text_a: fields.text_a.value, text_b: fields.text_b.value });
  }

  /** Ask about the input of Explore; undefined where it cannot be answered, or a newer question is. */
  const askQuietly = (question, args) => page.ask('explore', question, args).catch(() => undefined);

  async function randomB() {
    const { model, text_a, text_b } = page.input;
    const text = await askQuietly('random_text', { model, texts: [text_a, text_b] });
    if (text) examples.fill([fields.text_a.value, text]);
  }

  /** A list of models, which follow those that are `always` in it, and a field for one that is not: {node, show()}. */
  function makeModels(name, label, always) {
    const OTHER = '\u0000';
    const others = page.start.published ? [] : [[OTHER, 'Another model …']];
    const choose = (value) => page.set({ [name]: value.trim() });
    const list = makeField('select', label, '', (value) => {
      typed.hidden = value !== OTHER;
      if (typed.hidden) choose(value);
      else typed.focus();
    }, { id: `${name}-picker` });
    const typed = h('input', { type: 'text', id: `${name}-typed`, 'aria-label': `${label}: hub id or folder`,
      placeholder: 'hub id, such as prajjwal1/bert-tiny', autocomplete: 'off', spellcheck: 'false', hidden: true,
      onchange: () => choose(typed.value) });
    list.node.append(typed);
    return { node: list.node, show(groups) {
      const value = page.input[name];
      const isTyping = document.activeElement === typed;
      const randomized = value.startsWith(RANDOMIZED) ? [[value, `${trained(value)} with random weights`]] : [];
      setOptions(list.input, [...randomized, ...always, ...groups, ...others], value);
      typed.hidden = list.value === value && !isTyping;
      if (typed.hidden) return;
      list.set(OTHER);
      if (!isTyping) typed.value = value;
    } };
  }

  /** Publish the model; shared pages do not. */
  function makePublishFold() {
    let publisher = null;
    const fold = h('details.fold', h('summary', 'Publish'));
    fold.addEventListener('toggle', async () => {
      const { makePublisher } = await import('lab/views/publish/publish.js');
      publisher ??= makePublisher('explore');
      fold.append(publisher.node);
      publisher.refresh(page.input.model || page.start.model);
    });
    page.on('input', () => { fold.open = false; }); // it is about the model that was chosen
    return fold;
  }

  // ---- the tokens

  async function drawTokens() {
    const { model, text_a, text_b } = page.input;
    const answer = await page.ask('explore', 'encode', { model, text_a, text_b })
      .catch(({ message }) => ({ note: message }));
    if (!answer) return;
    setText(complaint, answer.note);
    const tokens = answer.encoding ? columnsOf(answer.encoding) : [];
    strip.replaceChildren(...tokens.map(({ token, kind }, position) => {
      const onclick = () => page.select(page.selected === position ? null : position);
      return h(`button.token.mono.small.${kind}`, { role: 'option', 'data-position': position, onclick }, token);
    }));
    walk.moveTo(0, false);
    markSelected();
  }

  function markSelected() {
    [...strip.children]
      .forEach((button, position) => button.setAttribute('aria-selected', String(position === page.selected)));
  }

  // ---- what happens

  let isOpening = true; // a first example comes with the model
  const workspace = makeWorkspace('explore', root, ['predictions', 'attention'], () => {
    if (page.input.text_a.trim()) return '';
    if (isOpening) return 'Loading …';
    return page.input.text_b.trim() ? 'Text A is empty. Type it above: text B is read only together with it.'
      : 'Type a text above.';
  });

  /** The model has changed, or the page has just opened: what it is, and texts that it knows. */
  async function showModel() {
    const { model } = page.input;
    page.ask('explore', 'about', { model })
      .then((payload) => payload && facts.show(payload), (error) => facts.say(error.message));
    const list = await askQuietly('examples', { model });
    if (list) examples.show(list);
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
    const failure = await page.ask('explore', 'download', { model: name }).then(() => '', ({ message }) => message);
    await showMissing();
    if (failure) {
      absent.append(' ', h('span.complaint', failure));
      return;
    }
    showModel();
    refresh();
  }

  async function showModels() {
    const groups = await askQuietly('models');
    if (!groups) return;
    const last = recall(REMEMBERED);
    page.input.model ||= groups.some(([, names]) => names.some(([name]) => name === last)) ? last : page.start.model;
    models.forEach((list) => list.show(groups));
    control.set(page.input.model.startsWith(RANDOMIZED));
  }

  function refresh() {
    drawTokens();
    workspace.refresh();
  }

  page.on('select', markSelected);
  page.on('input', (changed) => {
    for (const name of changed) fields[name]?.set(page.input[name]);
    if (changed.includes('model') || changed.includes('other')) {
      showModels();
      showMissing();
    }
    if (changed.includes('model')) {
      remember(REMEMBERED, page.input.model);
      showModel();
    }
    if (changed.some((name) => name !== 'other')) drawTokens();
    workspace.refresh();
    workspace.look();
  });
  // A checkpoint of a chosen model is new: what is in sight is drawn again; nobody's text is touched.
  page.on('model', (name) => [page.input.model, page.input.other].includes(name) && refresh());
  page.on('start', showModels);

  /** First the models, then what the chosen one says. */
  async function begin() {
    await showModels();
    if (page.input.text_a || page.input.text_b) {
      drawTokens();
      workspace.look();
    }
    showMissing();
    await showModel();
    isOpening = false;
    workspace.look();
  }
  begin();
}
