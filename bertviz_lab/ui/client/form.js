// A form, drawn from the declared options of a config (`ui/forms.py`): groups of fields, all but one folded.

import { LOST } from 'lab/client/ask.js';
import { h, setText } from 'lab/client/dom.js';

const TYPING = 400; // milliseconds after a key until a field counts as changed

/** A control for a declared field: {node, label, value, set(), setOptions(), disable(), say()}. */
function makeControl({ name, kind, label, help, examples, options, value: first }, id, onChange) {
  const about = h('span.help.quiet.small', { id: `${id}-help` }, help);
  const complaint = h('span.complaint.small', { id: `${id}-error`, role: 'alert', hidden: true });
  const described = { 'aria-describedby': `${id}-help ${id}-error` };
  const head = h('span.name', label);
  const [isRadio, isSwitch] = [kind === 'radio', kind === 'switch'];
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
  const makeInput = () => {
    const common = { id: `${id}-input`, onchange: changed, ...described };
    if (kind === 'select') return h('select', common);
    if (isSwitch) return h('input', { type: 'checkbox', ...common });
    return h('input',
      { type: 'text', inputmode: kind === 'number' ? 'decimal' : null, autocomplete: 'off', spellcheck: 'false',
      maxlength: 500, list: examples.length ? `${id}-examples` : null, oninput: typed, ...common });
  };
  const inputs = isRadio ? options.map(([value]) => h('input', { type: 'radio', name: id, value, onchange: changed }))
    : [makeInput()];
  const [input] = inputs;
  const labelled = isSwitch ? [h('span.line', input, head)] : [head, input];
  const hints = examples.length
    ? h('datalist', { id: `${id}-examples` }, ...examples.map((value) => h('option', { value }))) : null;
  const radios = () => options.map(([, words], at) => h('label', inputs[at], ` ${words}`));
  const parts = isRadio ? [h('legend', head), about, h('div.choices-list', ...radios())]
    : [h('label', { for: `${id}-input` }, ...labelled), about, hints];
  const node = h(isRadio ? 'fieldset.field' : `div.field.field-${kind}`, { id, ...(isRadio && described) }, ...parts,
    complaint);
  const control = {
    node,
    label,
    get value() {
      if (isRadio) return inputs.find((each) => each.checked)?.value ?? '';
      return isSwitch ? input.checked : input.value;
    },
    set(value) {
      const text = String(value ?? '');
      if (isRadio) inputs.forEach((each) => { each.checked = each.value === text; });
      else if (isSwitch) input.checked = Boolean(value);
      else {
        if (kind === 'select' && ![...input.options].some((option) => option.value === text))
          input.append(h('option', { value: text }, text));
        input.value = text;
      }
    },
    /** Undefined options leave those that are there: a newer question is answered soon. */
    setOptions(now) {
      if (!now) return;
      const before = input.value;
      input.replaceChildren(...now.map(([value, words]) => h('option', { value }, words)));
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
  if (kind === 'select') control.setOptions(options);
  control.set(first);
  return control;
}

/** The fields of `groups`: {main, folds, values(), set(), recommend(), get(name), disable(reasons), complain(message)}.
 * Ids begin with `prefix`; `onChange(name)` is called when a person has changed a field. */
export function makeFields(groups, prefix, onChange) {
  const controls = new Map();
  const draw = ({ fields }) => h('div.fields', ...fields.map((declared) => {
    const control = makeControl(declared, `${prefix}-${declared.name}`, onChange);
    controls.set(declared.name, control);
    return control.node;
  }));
  const [first, ...others] = groups;
  let recommended = {}; // the values that were recommended last
  return {
    main: draw(first),
    folds: new Map(others.map((group) => [group.title, h('details.fold', h('summary', group.title), draw(group))])),
    get: (name) => controls.get(name),
    values: () => Object.fromEntries([...controls].map(([name, control]) => [name, control.value])),
    set: (values) => Object.entries(values).forEach(([name, value]) => controls.get(name)?.set(value)),
    /** Recommend values: those of `names` replace what was recommended before; what a person has set stays. */
    recommend(values, names) {
      for (const name of names) {
        const control = controls.get(name);
        if (String(control.value) === String(recommended[name] ?? '')) control.set(values[name]);
      }
      recommended = values;
    },
    disable: (reasons) => controls.forEach((control, name) => control.disable(reasons[name] ?? '')),
    /** Show a message next to the field that it names, which is unfolded. */
    complain(message) {
      const named = [...controls.values()].find(({ label }) => message.includes(`"${label}"`));
      named?.say(message);
      const folded = named?.node.closest('details');
      if (folded) folded.open = true;
    },
  };
}

/** A box for files, which are uploaded at once: {node, tokens, ready()}. `ready()` resolves when all have arrived;
 * `onChange(early)` is called when the files have changed, and when an upload begins. */
export function makeFiles({ id, label, accept = [], multiple = true, onChange }) {
  let files = []; // {token, name}
  let uploading = Promise.resolve();
  const input = h('input',
    { type: 'file', id: `${id}-input`, multiple, accept: accept.join(','), onchange: () => add([...input.files]) });
  const list = h('ul.files');
  const status = h('p.small', { role: 'status' });
  const ondrop = (event) => {
    event.preventDefault();
    add([...event.dataTransfer.files]);
  };
  const node = h('div.field.dropzone', { id, ondragover: (event) => event.preventDefault(), ondrop },
    h('label', { for: `${id}-input` }, h('span.name', label), input), list, status);
  const setFiles = (now) => {
    files = now;
    list.replaceChildren(...files.map((file) => h('li', file.name, ' ',
      h('button.plain', { 'aria-label': `Remove ${file.name}`, onclick: () => remove(file) }, '×'))));
  };

  function remove(file) {
    setFiles(files.filter((each) => each !== file));
    onChange();
  }

  async function send(file, stays) {
    status.textContent = `Uploading ${file.name} …`;
    const body = new FormData();
    body.append('file', file);
    const answer = await fetch('lab/upload', { method: 'POST', body }).then((sent) => sent.json())
      .catch(() => ({ error: LOST }));
    status.textContent = answer.error ?? '';
    if (answer.token) setFiles([...files.filter(stays), answer]);
  }

  function add(chosen, stays = () => multiple) {
    if (!chosen.length) return;
    input.value = '';
    onChange(true); // an upload chooses itself at once
    uploading = uploading.then(async () => {
      for (const file of chosen) await send(file, stays);
      onChange();
    });
  }
  return {
    node,
    get tokens() { return files.map(({ token }) => token); },
    /** Upload a file in place of the one of its name. */
    put: (file) => add([file], ({ name }) => name !== file.name),
    async ready() {
      for (let last = null; last !== uploading;) {
        last = uploading;
        await last;
      }
    },
  };
}

/** Offer the models to start from again when there are others. */
export const followStarts = (panel, control) => panel.page
  .on('changed', async () => control.setOptions(await panel.ask('starts').catch(() => undefined)));

/** Where the examples of a `form` come from: radio buttons of its sources, and files of a person's own. `onChoose()` is
 * called when others are chosen: {nodes, sent(), ready()}. */
export function makeSource(form, { id, label, accept }, onChoose) {
  const sources = makeControl({ name: id, kind: 'radio', label, help: '', options: form.sources,
    value: form.sources[0][0], examples: [] }, `${id}-source`, () => onChoose());
  const files = makeFiles({ id: `${id}-files`, label: form.upload, accept, onChange(early = false) {
    if (files.tokens.length || early) sources.set(form.own);
    if (!early) onChoose();
  } });
  return { nodes: [sources.node, files.node], ready: files.ready, put: files.put,
    sent: () => ({ source: sources.value, files: sources.value === form.own ? files.tokens : [] }) };
}

/** The end of a `form`: what limits its runs, and the start button, which starts one run however often it is pressed.
 * `sent()` returns what the form sends once `ready()` has resolved; its key is another one when the form has changed,
 * and the server starts one run for each key. */
export function makeStart(panel, form, { id, label, fields, sent, ready }) {
  const PAUSE = 2000; // milliseconds in which a further press is the same
  let [last, key] = ['', ''];
  const message = h('p.complaint', { id: `${id}-message`, role: 'alert', hidden: true });
  const button = h('button.primary', { id, onclick: press }, label);
  async function press() {
    button.disabled = true;
    setText(message, '');
    const wait = new Promise((resolve) => { setTimeout(resolve, PAUSE); });
    try {
      await ready();
      const body = sent();
      if (JSON.stringify(body) !== last) key = Math.random().toString(36).slice(2);
      last = JSON.stringify(body);
      const run = await panel.ask('start', { ...body, key });
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
  return [form.limits && h('p.quiet', { id: `${id}-limits` }, form.limits),
    form.training && h('div.start', button, message)].filter(Boolean);
}
