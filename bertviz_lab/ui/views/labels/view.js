// Label check: doubted labels, decided with keys or buttons, the dataset map, and texts that occur twice.

import { elements, h, whileBusy } from 'lab/client/dom.js';
import { decodeBase64, saveBlob } from 'lab/client/saving.js';

export function mount(panel) {
  const { page } = panel;
  const id = (name) => `labels-${name}`;
  let run = ''; // whose labels are on show
  let turn = Promise.resolve(); // decisions are sent in their order
  let state = {}; // of the decisions, see `_progress` in view.py
  const ofRun = (more = {}) => ({ run_id: run, ...more });

  const facts = panel.drawing('facts', 'Label check in numbers', { id: id('facts') });
  const list = panel.drawing('examples', 'Doubted labels', { id: id('list') });
  const compared = panel.drawing('chart', 'Trained again', { id: id('compared') });
  const [progress, said] = elements('p.quiet.small', 'p.small');
  said.setAttribute('role', 'status');
  const say = (words) => { said.textContent = words; };
  const names = h('datalist', { id: id('names') });
  const other = h('input', { type: 'text', id: id('other'), list: names.id, autocomplete: 'off',
    'aria-label': 'Other label', placeholder: 'other label',
    onkeydown: (event) => { if (event.key === 'Enter') decide('label'); } });
  const KEYS = { // action, words, what the key does
    a: ['accept', 'Accept suggestion', () => decide('accept')],
    k: ['keep', 'Keep', () => decide('keep')],
    d: ['drop', 'Leave out', () => decide('drop')],
    o: ['label', 'Other label', () => other.focus()],
    u: ['undo', 'Undo', undo],
  };
  const buttons = Object.fromEntries(Object.entries(KEYS).map(([key, [name, words, act]]) => [name,
    h('button.plain', { id: id(name), 'aria-keyshortcuts': key,
      onclick: () => (name === 'label' && other.value ? decide(name) : act()) }, `${words} `, h('kbd', key))]));
  const all = h('button.plain', { id: id('all'), hidden: true, onclick: () => show([]) }, 'Show all doubts');
  const { accept, keep, drop, label, undo: back } = buttons;
  const tools = h('div.tools.line', { role: 'toolbar', 'aria-label': 'Decide about the chosen example' }, accept, keep,
    drop, label, other, names, back, all);
  const download = h('button.action', { id: id('download'), onclick: () => act(download, save) },
    'Download the corrected file');
  const again = h('button.action', { id: id('again'), onclick: () => act(again, train) },
    'Train again with the corrections');
  const outcome = h('div', progress, h('div.line', download, again));
  const content = h('div', facts.host, tools, list.host, outcome, said, compared.host);
  content.hidden = true;
  const main = panel.part([content], draw);
  const open = () => { if (page.kept('run.id') && page.kept('run.id') !== run) main.redraw(); };
  page.on('open', open);

  list.host.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !KEYS[event.key] || !event.target.closest('.item')) return;
    event.preventDefault();
    KEYS[event.key][2]();
  });

  async function draw() {
    const chosen = page.kept('run.id') || await page.ask('run', 'current', { kind: '' });
    if (chosen !== run || content.hidden) {
      content.hidden = true;
      run = chosen;
      for (const fold of folds) fold.node.hidden = true;
      main.say('Checking the labels …');
      const answer = await panel.ask('check', ofRun());
      if (!answer) return;
      main.say('');
      content.hidden = false;
      facts.show(answer.facts);
      names.replaceChildren(...answer.labels.map((value) => h('option', { value })));
      other.placeholder = answer.multiple ? 'labels, with | between them' : 'other label';
      state = answer;
      await show([]);
      for (const fold of folds) {
        fold.node.hidden = false;
        fold.redraw();
      }
    }
    await panel.showAny(compared, 'compared', ofRun());
  }

  /** Show the doubted examples, or those at some places of the training examples. */
  async function show(places) {
    all.hidden = !places.length;
    await panel.show(list, 'examples', ofRun({ places }));
    tell(state);
    if (places.length) list.host.scrollIntoView({ block: 'nearest' });
  }

  function tell(now) {
    state = now;
    tools.hidden = outcome.hidden = !list.payload.items?.length && !now.undoable; // there is nothing to decide
    progress.textContent = now.progress;
    back.disabled = !now.undoable;
    download.disabled = again.disabled = !now.changed;
  }

  // ---- decisions

  const nodes = () => [...list.host.querySelectorAll('.item')]; // of the items, in their order

  function send(question, more, words) {
    turn = turn.then(async () => {
      mark(await panel.ask(question, ofRun(more)));
      say(words);
    }).catch(({ message }) => say(message));
  }

  function decide(action) {
    const item = nodes().find((node) => node.tabIndex === 0); // where the arrow keys, or a click, have led
    if (!item) return;
    const { index, texts } = list.payload.items[nodes().indexOf(item)];
    const [, words] = Object.values(KEYS).find(([name]) => name === action);
    send('decide', { place: index, action, label: action === 'label' ? other.value.trim() : '' },
      `${words}: ${texts[0].slice(0, 60)}`);
    other.value = '';
    item.focus();
    for (const key of ['ArrowDown', 'Enter']) { // on to the next one, which is chosen
      document.activeElement.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));
    }
  }

  function undo() {
    if (!back.disabled) send('undo', {}, 'The last decision was taken back.');
  }

  function mark(answer) {
    if (!answer) return;
    tell(answer);
    const item = nodes()[list.payload.items.findIndex(({ index }) => index === answer.place)];
    if (!item) return;
    const isDecision = (node) => node.textContent.startsWith('decided');
    [...item.querySelectorAll('.named')].filter(isDecision).forEach((node) => node.remove());
    if (answer.decided)
      item.querySelector('.verdict').append(h('span.named', h('span.quiet', 'decided '), h('b', answer.decided)));
  }

  // ---- what comes of them

  async function act(button, what) {
    say('');
    await whileBusy(button, () => turn.then(what).then(say), say);
    tell(state);
  }

  async function save() {
    const files = await panel.ask('corrected', ofRun());
    for (const { name, base64 } of files) saveBlob(name, new Blob([decodeBase64(base64)]));
    return files.map(({ name, note }) => `${name} was saved. ${note}`).join(' ');
  }

  async function train() {
    const started = await panel.ask('train_again', ofRun({ key: `${run} ${state.progress}` }));
    page.emit('follow', started);
    page.emit('start');
    return 'It is training: both are compared here and in the table of runs when it has ended.';
  }

  // ---- the dataset map and near-duplicates, which open their examples in the list

  const folds = [
    panel.foldOf('map', 'Dataset map', ['chart', 'Dataset map', { id: id('map-chart'),
      events: { item_select: ({ index }) => show([index]) } }], 'dataset_map', { more: ofRun }),
    ...Object.entries({ conflicts: 'Near-duplicates with other labels', leaks: 'Leakage between splits' })
      .map(([kind, title]) => panel.fold(kind, title, (host) => {
        const groups = panel.drawing('examples', title, { id: id(`${kind}-list`),
          events: { example_select: ({ index }) => show(groups.payload.members[index]) } });
        host.append(groups.host);
        return () => panel.show(groups, 'duplicates', ofRun({ kind }), kind);
      })),
  ];
}
