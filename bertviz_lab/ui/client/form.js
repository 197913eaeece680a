// A form, drawn from the declared options of a config (`ui/forms.py`): groups of fields, all but one folded.

import { LOST } from 'lab/client/ask.js';
import { h, makeField, setText } from 'lab/client/dom.js';
import { recall, remember } from 'lab/client/saving.js';

const TYPING = 400; // milliseconds after a key until a field counts as changed

/** A declared field with its help and what is wrong with it below: as of `makeField`, and {label, disable(), say()}. */
function makeControl({ name, kind, label, help, examples, options, value }, id, onChange) {
  const about = h('span.help.quiet.small', { id: `${id}-help` }, help);
  const complaint = h('span.complaint.small', { id: `${id}-error`, role: 'alert', hidden: true });
  const changed = () => {
    say('');
    onChange(name);
  };
  const isNumber = kind === 'number'; // is typed as text: "1e-4", or nothing
  const field = makeField(isNumber ? 'text' : kind, label, value, changed, { id: `${id}-input`, options, rest: TYPING,
    inputmode: isNumber && 'decimal', maxlength: 500, list: examples.length > 0 && `${id}-examples`,
    'aria-describedby': `${id}-help ${id}-error` });
  const inputs = field.node.querySelectorAll('input, select');
  const say = (message) => {
    setText(complaint, message);
    for (const input of inputs) input.ariaInvalid = message ? 'true' : null;
  };
  /** Disable it for a reason, which takes the place of its help; "" enables it. */
  const disable = (reason) => {
    for (const input of inputs) input.disabled = Boolean(reason);
    about.textContent = reason || help;
  };
  const hints = h('datalist', { id: `${id}-examples` }, ...examples.map((example) => h('option', { value: example })));
  const node = h('div.control', { id }, field.node, about, hints, complaint);
  return Object.assign(field, { label, say, disable, node });
}

/** The fields of `groups`: {main, folds, drawer(), values(), set(), recommend(), get(name), disable(reasons),
 * complain(message)}. Ids begin with `prefix`; `onChange(name)` is called when a person has changed a field. */
export function makeFields(groups, prefix, onChange) {
  const controls = new Map();
  const draw = ({ fields }) => h('div.fields', ...fields.map((declared) => {
    const control = makeControl(declared, `${prefix}-${declared.name}`, onChange);
    controls.set(declared.name, control);
    return control.node;
  }));
  const [first, ...others] = groups;
  const folds = new Map(others.map((group) =>
    [group.title, h('details.fold', h('summary', group.title), draw(group))]));
  let recommended = {}; // the values that were recommended last
  return {
    main: draw(first),
    folds,
    /** All further settings in one fold. */
    drawer: () => h('details.fold', h('summary', 'All settings'), ...folds.values()),
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
      for (let fold = named?.node; fold; fold = fold.parentElement.closest('details')) fold.open = true;
    },
  };
}

/** Fill in a form as it was when this tab left the page: a reload loses nothing. `boxes` are further files; returns
 * whether something was kept. */
export function keepForm(name, source, fields, boxes = []) {
  const [key, place] = [`bertviz-lab-form-${name}`, 'sessionStorage'];
  window.addEventListener('pagehide', () => remember(key,
    { chosen: source.chosen, values: fields.values(), files: boxes.map(({ files }) => files) }, place));
  const { chosen, values, files } = recall(key, place);
  if (!values) return false;
  source.chosen = chosen;
  fields.set(values);
  boxes.forEach((box, at) => { box.files = files[at]; });
  return true;
}

/** A box for files, which are uploaded at once: {node, files, tokens, put(file), remove(name), ready()}. `ready()`
 * resolves when all have arrived; `onChange()` is called when the files have changed, `onBegin()` when an upload
 * begins. */
export function makeFiles({ id, label, accept = [], multiple = true, onChange, onBegin = () => {} }) {
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
    h('label', h('span.name', label), input), list, status);

  function setFiles(now) {
    files = now;
    list.replaceChildren(...files.map((file) => {
      const remove = () => {
        setFiles(files.filter((each) => each !== file));
        onChange();
      };
      return h('li', file.name, ' ', h('button.plain', { 'aria-label': `Remove ${file.name}`, onclick: remove }, '×'));
    }));
  }

  function add(chosen, stays = () => multiple) {
    if (!chosen.length) return;
    input.value = '';
    onBegin();
    uploading = uploading.then(async () => {
      for (const file of chosen) {
        status.textContent = `Uploading ${file.name} …`;
        const body = new FormData();
        body.append('file', file);
        const answer = await fetch('lab/upload', { method: 'POST', body }).then((sent) => sent.json())
          .catch(() => ({ error: LOST }));
        status.textContent = answer.error ?? '';
        if (answer.token) setFiles([...files.filter(stays), answer]);
      }
      onChange();
    });
  }
  /** Upload a file in place of the one of its name. */
  const put = (file) => add([file], ({ name }) => name !== file.name);
  /** Remove the file of a name, if it is there, also while it is still uploaded. */
  function remove(name) {
    uploading = uploading.then(() => {
      const others = files.filter((file) => file.name !== name);
      if (others.length === files.length) return;
      setFiles(others);
      onChange();
    });
  }
  return { node, put, remove, ready: () => uploading, get tokens() { return files.map(({ token }) => token); },
    get files() { return files; }, set files(now) { setFiles(now); } };
}

/** Offer the models to start from again when there are others. */
export const followStarts = (panel, control) => panel.page.on('changed', async () => {
  const starts = await panel.ask('starts').catch(() => null);
  if (starts) control.setOptions(starts);
});

/** Where the examples of a `form` come from: radio buttons of its sources, and files of a person's own. `onChoose()` is
 * called when others are chosen: {nodes, chosen, sent(), put(file), remove(name), ready()}. */
export function makeSource(form, { id, label, accept }, onChoose) {
  const sources = makeField('radio', label, form.sources[0][0], () => onChoose(),
    { id: `${id}-source`, options: form.sources });
  const files = makeFiles({ id: `${id}-files`, label: form.upload, accept,
    onBegin: () => sources.set(form.own), // an upload chooses itself at once
    onChange() {
      if (files.tokens.length) sources.set(form.own);
      onChoose();
    } });
  return { nodes: [sources.node, files.node], ready: files.ready, put: files.put, remove: files.remove,
    get chosen() { return { source: sources.value, files: files.files }; },
    set chosen({ source, files: kept }) {
      sources.set(source);
      files.files = kept;
    },
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
    try {
      await ready();
      const body = sent();
      if (JSON.stringify(body) !== last) key = Math.random().toString(36).slice(2);
      last = JSON.stringify(body);
      panel.page.emit('starting', panel.view.id);
      const run = await panel.page.change(panel.view.id, 'start', { ...body, key });
      panel.page.start.awaited = run; // its first model is opened
      panel.page.emit('follow', run);
      const stage = document.getElementById(`${panel.view.id}-progress`);
      if (stage?.getBoundingClientRect().top > window.innerHeight / 2) stage.scrollIntoView({ block: 'start' });
    } catch (error) {
      fields.complain(error.message);
      setText(message, error.message);
      panel.page.emit('start'); // the run that was shown before is shown again
    }
    setTimeout(() => { button.disabled = false; }, PAUSE);
  }
  return [form.limits && h('p.quiet', { id: `${id}-limits` }, form.limits),
    form.training && h('div.start', button, message)].filter(Boolean);
}
