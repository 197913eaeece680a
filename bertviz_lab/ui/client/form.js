// A form, drawn from the declared options of a config (`ui/forms/fields.py`): groups of fields, all but one folded.

import { LOST } from 'lab/client/ask.js';
import { h, setText } from 'lab/client/dom.js';

const TYPING = 400; // milliseconds after a key until a field counts as changed

/** A control for a declared field: {node, name, value, set(value), setOptions(options), disable(reason)}. */
function makeControl(declared, id, onChange) {
  const { name, kind, label, help, examples } = declared;
  const about = h('span', { class: 'help quiet small', id: `${id}-help` }, help);
  const complaint = h('span', { class: 'complaint small', id: `${id}-error`, role: 'alert', hidden: true });
  const described = { 'aria-describedby': `${id}-help ${id}-error` };
  let inputs = [];
  let input = null;
  let timer = 0;
  const changed = () => {
    clearTimeout(timer);
    setText(complaint, '');
    inputs.forEach((each) => each.removeAttribute('aria-invalid'));
    onChange(name);
  };
  const typed = () => {
    clearTimeout(timer);
    timer = setTimeout(changed, TYPING);
  };
  const head = h('span', { class: 'name' }, label);
  let node;
  if (kind === 'radio') {
    inputs = declared.options.map(([value]) => h('input', { type: 'radio', name: id, value, onchange: changed }));
    const choices = declared.options.map(([, words], at) => h('label', {}, inputs[at], ` ${words}`));
    node = h('fieldset', { class: 'field', id, ...described }, h('legend', {}, head), about,
      h('div', { class: 'choices-list' }, ...choices), complaint);
  } else {
    const common = { id: `${id}-input`, onchange: changed, ...described };
    const list = examples.length ? `${id}-examples` : null;
    if (kind === 'select') input = h('select', common);
    else if (kind === 'switch') input = h('input', { type: 'checkbox', ...common });
    else {
      input = h('input', { type: 'text', inputmode: kind === 'number' ? 'decimal' : null, list, autocomplete: 'off',
        spellcheck: 'false', maxlength: 500, oninput: typed, ...common });
    }
    inputs = [input];
    const row = kind === 'switch' ? [h('span', { class: 'line' }, input, head)] : [head, input];
    node = h('div', { class: `field field-${kind}`, id }, h('label', { for: `${id}-input` }, ...row), about,
      list ? h('datalist', { id: list }, ...examples.map((each) => h('option', { value: each }))) : null, complaint);
  }
  const control = {
    node,
    name,
    label,
    get value() {
      if (kind === 'radio') return inputs.find((each) => each.checked)?.value ?? '';
      return kind === 'switch' ? input.checked : input.value;
    },
    set(value) {
      if (kind === 'radio') inputs.forEach((each) => { each.checked = each.value === String(value); });
      else if (kind === 'switch') input.checked = Boolean(value);
      else {
        const text = String(value ?? '');
        const known = kind !== 'select' || [...input.options].some((option) => option.value === text);
        if (!known) input.append(h('option', { value: text }, text));
        input.value = text;
      }
    },
    /** Undefined options leave those that are there: a newer question is answered soon. */
    setOptions(options) {
      if (!options) return;
      const before = input.value;
      input.replaceChildren(...options.map(([value, words]) => h('option', { value }, words)));
      control.set(before);
    },
    /** Disable it for a reason, which takes the place of its help; "" enables it. */
    disable(reason) {
      inputs.forEach((each) => { each.disabled = Boolean(reason); });
      about.textContent = reason || help;
    },
    say(message) {
      setText(complaint, message);
      inputs.forEach((each) => each.setAttribute('aria-invalid', 'true'));
    },
  };
  if (kind === 'select') control.setOptions(declared.options);
  control.set(declared.value);
  return control;
}

/**
 * The fields of `groups`: {main, folds, values(), set(values), get(name), disable(reasons), complain(message)}.
 * Ids begin with `prefix`; `onChange(name)` is called when a person has changed a field.
 */
export function makeFields(groups, prefix, onChange) {
  const controls = new Map();
  const draw = ({ fields }) => fields.map((declared) => {
    controls.set(declared.name, makeControl(declared, `${prefix}-${declared.name}`, onChange));
    return controls.get(declared.name).node;
  });
  const [first, ...others] = groups;
  const main = h('div', { class: 'fields' }, ...draw(first));
  const fold = (group) => h('details', { class: 'fold' }, h('summary', {}, group.title),
    h('div', { class: 'fields' }, ...draw(group)));
  const folds = new Map(others.map((group) => [group.title, fold(group)]));
  return {
    main,
    folds,
    get: (name) => controls.get(name),
    values: () => Object.fromEntries([...controls].map(([name, control]) => [name, control.value])),
    set: (values) => Object.entries(values).forEach(([name, value]) => controls.get(name)?.set(value)),
    disable: (reasons) => controls.forEach((control, name) => control.disable(reasons[name] ?? '')),
    /** Show a message next to the field that it names, which is unfolded; returns whether it names one. */
    complain(message) {
      const named = [...controls.values()].find(({ label }) => message.includes(`"${label}"`));
      named?.say(message);
      const folded = named?.node.closest('details');
      if (folded) folded.open = true;
      return Boolean(named);
    },
  };
}

/**
 * A box for files, which are uploaded at once: {node, tokens, ready}. `ready()` resolves when all have arrived;
 * `onChange()` is called when the files have changed.
 */
export function makeFiles({ id, label, accept = [], multiple = true, onChange }) {
  let files = []; // {token, name}
  let uploading = Promise.resolve();
  const input = h('input', { type: 'file', id: `${id}-input`, multiple, accept: accept.join(','),
    onchange: () => add([...input.files]) });
  const list = h('ul', { class: 'files' });
  const status = h('p', { class: 'small', role: 'status' });
  const name = h('span', { class: 'name' }, label);
  const node = h('div', { class: 'field dropzone', id }, h('label', { for: `${id}-input` }, name, input), list, status);
  node.addEventListener('dragover', (event) => event.preventDefault());
  node.addEventListener('drop', (event) => {
    event.preventDefault();
    add([...event.dataTransfer.files]);
  });
  const button = (file) => h('button', { type: 'button', class: 'plain', 'aria-label': `Remove ${file.name}`,
    onclick: () => remove(file) }, '×');
  const draw = () => list.replaceChildren(...files.map((file) => h('li', {}, file.name, ' ', button(file))));

  function remove(file) {
    files = files.filter((each) => each !== file);
    draw();
    onChange();
  }

  async function send(file) {
    status.textContent = `Uploading ${file.name} …`;
    const body = new FormData();
    body.append('file', file);
    const answer = await fetch('lab/upload', { method: 'POST', body })
      .then((sent) => sent.json())
      .catch(() => ({ error: LOST }));
    status.textContent = answer.error ?? '';
    if (answer.token) files = multiple ? [...files, answer] : [answer];
    draw();
  }

  function add(chosen) {
    if (!chosen.length) return;
    input.value = '';
    onChange(true); // an upload chooses itself at once
    uploading = uploading.then(async () => {
      for (const file of chosen) await send(file);
      onChange();
    });
  }
  return {
    node,
    get tokens() { return files.map(({ token }) => token); },
    /** Wait for what is being uploaded. */
    async ready() {
      let last;
      do {
        last = uploading;
        await last;
      } while (last !== uploading);
    },
  };
}

/** Offer the models to start from again when there are others. */
export function followStarts(panel, control) {
  panel.page.on('changed', async () => {
    const starts = await panel.ask('starts').catch(() => null);
    if (starts) control.setOptions(starts); // nothing where it is asked again meanwhile
  });
}

/** Radio buttons of the sources of `options` [[value, label], ...]: {node, value, set(value)}. */
export function makeSources(id, label, options, onChange) {
  const declared = { name: id, kind: 'radio', label, help: '', options, value: options[0][0], examples: [] };
  return makeControl(declared, id, onChange);
}

/**
 * The start button of a form: it starts one run however often it is pressed. `sent()` resolves to what the form sends;
 * its key is another one when the form has changed, and the server starts one run for each key.
 */
export function makeStart(panel, { id, label, fields, sent }) {
  let last = '';
  let key = '';
  const PAUSE = 2000; // milliseconds in which a further press is the same
  const message = h('p', { class: 'complaint', id: `${id}-message`, role: 'alert', hidden: true });
  const button = h('button', { type: 'button', class: 'primary', id, onclick: press }, label);
  async function press() {
    if (button.disabled) return;
    button.disabled = true;
    setText(message, '');
    const wait = new Promise((resolve) => { setTimeout(resolve, PAUSE); });
    try {
      const form = await sent();
      if (JSON.stringify(form) !== last) key = Math.random().toString(36).slice(2);
      last = JSON.stringify(form);
      const run = await panel.ask('start', { ...form, key });
      panel.page.start.awaited = run; // its first model is opened
      panel.page.emit('follow', run);
      panel.page.emit('start');
      document.getElementById(`${panel.view.id}-progress`)?.scrollIntoView({ block: 'start' });
    } catch (error) {
      fields.complain(error.message);
      setText(message, error.message);
    }
    await wait;
    button.disabled = false;
  }
  return h('div', { class: 'start' }, button, message);
}
