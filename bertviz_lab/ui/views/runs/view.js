// Runs: a table of the visitor's runs and the shipped models. It is live while something trains; a name opens its run,
// ticked runs of pretraining are compared.

import { pause } from 'lab/client/ask.js';
import { elements, h, setText, walkWithKeys } from 'lab/client/dom.js';
import { compact, dateTime, stateWords } from 'lab/client/format.js';

export function mount(panel) {
  const { page } = panel;
  const [LIVE, IDLE] = [2000, 10000]; // milliseconds between two looks while something trains, and otherwise
  // Heading, the value that a column is sorted by, and how it is written; numbers begin with the largest.
  const COLUMNS = {
    name: ['Name', (row) => row.name.toLowerCase()],
    status: ['State', (row) => row.status, ({ queue, deleted_at: end, ...row }) =>
      stateWords({ ...row, message: end ? `Kept until ${dateTime(end)}` : queue })],
    task: ['Task', (row) => row.task, ({ task }) => task],
    score: ['Score', (row) => row.score ?? -Infinity, (row) => row.score_words],
    parameters: ['Parameters', (row) => row.parameters ?? -Infinity, ({ parameters: n }) => n && compact(n)],
    started: ['Started', (row) => row.started ?? -Infinity, ({ started: at }) => at && dateTime(at)],
  };
  const [, ...CELLS] = Object.entries(COLUMNS);
  const ABOUT_RUN = ['labels', 'evaluate', 'dynamics']; // views of the run that is chosen here
  const DOWNWARDS = ['score', 'parameters', 'started'];

  let list = [];
  let [sorted, order] = panel.kept('sort', 'started.down').split('.');
  const rows = new Map(); // id of a run -> {node, fill(row)}
  let opened = null; // the row with a form below some row

  const filter = panel.field('text', 'Filter by name, tag, task or note', '', show,
    { id: 'runs-filter', oninput: show });
  const heads = Object.entries(COLUMNS).map(([key, [title]]) => h('th', { scope: 'col', 'data-column': key },
    h('button', { onclick: () => sortBy(key) }, title)));
  const tbody = h('tbody');
  const table = h('table', { id: 'runs-table' },
    h('thead', h('tr', h('th', { scope: 'col' }, h('span.hush', 'Compare')), ...heads,
      h('th', { scope: 'col' }, h('span.hush', 'Actions')))), tbody);
  const names = () => [...tbody.querySelectorAll('.name')];
  const walk = walkWithKeys(tbody, { items: names, onMove: (place) => names()[place].click() });
  const nothing = h('p.empty', { hidden: true }, 'No run matches the filter.');
  const part = panel.part([h('div.fields', filter.node),
    h('div.scroller', { tabindex: '0', role: 'region', 'aria-label': 'Table of runs' }, table), nothing], draw);
  page.on('open', show); // which one is chosen
  page.on('compared', show);
  const compared = () => page.kept('compare.runs').split(',').filter(Boolean);

  let looks = 0;

  /** Ask again and again: runs are started, renamed and deleted in other tabs and on the command line, too. */
  async function draw() {
    try {
      list = (await panel.ask('table')) ?? list;
      show();
    } finally {
      const mine = ++looks;
      pause(list.some(({ active }) => active) ? LIVE : IDLE).then(() => mine === looks && part.redraw());
    }
  }

  function sortBy(key) {
    if (sorted === key) order = order === 'down' ? 'up' : 'down';
    else [sorted, order] = [key, DOWNWARDS.includes(key) ? 'down' : 'up'];
    panel.keep('sort', sorted === 'started' && order === 'down' ? '' : `${sorted}.${order}`);
    show();
  }

  /** The rows in their order; those that stay keep their nodes, and with them the focus. */
  function show() {
    const words = filter.value.trim().toLowerCase();
    const [, key] = COLUMNS[sorted] ?? COLUMNS.started;
    const sign = order === 'down' ? -1 : 1;
    const compare = (a, b) => (key(a) < key(b) ? -sign : key(a) > key(b) ? sign : 0);
    const shown = list.filter((row) => [row.name, row.task, row.note, ...row.tags]
      .join(' ').toLowerCase().includes(words)).sort(compare);
    const direction = order === 'down' ? 'descending' : 'ascending';
    for (const head of heads) head.setAttribute('aria-sort', head.dataset.column === sorted ? direction : 'none');
    for (const [id, { node }] of [...rows].filter(([id]) => !shown.some((row) => row.id === id))) {
      if (opened?.id === id) close(); // which leads the focus back to the row
      const next = node.nextElementSibling?.querySelector('.name') ?? filter.input;
      if (node.contains(document.activeElement)) next.focus();
      node.remove();
      rows.delete(id);
    }
    const nodes = shown.flatMap((row) => {
      if (!rows.has(row.id)) rows.set(row.id, makeRow());
      const { node, fill } = rows.get(row.id);
      fill(row);
      return opened?.id === row.id ? [node, opened.node] : [node];
    });
    nodes.forEach((node, at) => {
      if (tbody.children[at] !== node) tbody.insertBefore(node, tbody.children[at]);
    });
    walk.moveTo(Math.max(0, shown.findIndex(({ id }) => id === page.kept('run.id'))), false);
    nothing.hidden = !list.length || shown.length > 0; // the table is asked for, or some match
  }

  function makeRow() {
    let row = null;
    const button = (words, act, style = 'plain') => h('button', { class: style, onclick: act }, words);
    // What is shown of a run stays the same: its curves, its labels, its dynamics.
    const shown = () => ABOUT_RUN.find((id) => page.kept('runs.open').endsWith(id)) ?? 'run';
    const name = button('', () => page.open({ space: 'runs', settings: { 'run.id': row.id }, show: shown() }), 'name');
    const [tags, note] = elements('span.tags', 'p.quiet.small.note');
    const box = h('input', { type: 'checkbox', onchange: () => compare(row.id, box.checked) });
    const cells = CELLS.map(([key]) => h('td', { class: key }));
    const edit = button('Edit', () => open(row, editForm));
    const remove = button('Delete', () => open(row, deleteForm));
    const node = h('tr', h('td', box),
      h('th', { scope: 'row' }, name, tags, note), ...cells, h('td.actions', edit, remove));
    function fill(now) {
      if (JSON.stringify(now) !== JSON.stringify(row)) { // else what is marked for copying stays so
        row = now;
        name.textContent = row.name;
        setText(note, row.note);
        tags.replaceChildren(...row.tags.map((tag) => h('span.tag.card.small', tag)));
        CELLS.forEach(([, [, , words]], place) => { cells[place].textContent = words(row) || '–'; });
      }
      box.hidden = !row.pretraining;
      box.checked = compared().includes(row.id);
      box.ariaLabel = `Compare ${row.name}`;
      node.dataset.run = row.id;
      node.dataset.status = row.active ? 'active' : row.status;
      node.classList.toggle('chosen', page.kept('run.id') === row.id);
      edit.hidden = remove.hidden = !row.mine;
      edit.ariaLabel = `Edit ${row.name}`;
      remove.ariaLabel = `Delete ${row.name}`;
      remove.disabled = row.active;
      remove.title = row.active ? 'Stop it first' : '';
    }
    return { node, fill };
  }

  /** Two runs that are ticked open the comparison; those ticked later join it. */
  function compare(id, isTicked) {
    const names = [...compared().filter((name) => name !== id), ...(isTicked ? [id] : [])];
    const settings = { 'compare.runs': names.join(',') };
    const isOpen = page.kept('runs.open').endsWith('compare');
    if (isOpen) page.open({ space: 'runs', settings }); // the focus stays
    else if (names.length > 1) page.open({ space: 'runs', settings, show: 'compare' });
    else page.keep('compare.runs', names.join(','));
  }

  // ---- what can be done with a row: a form below it

  function open(row, makeForm) {
    close();
    const complaint = h('p.complaint', { role: 'alert', hidden: true });
    const { fields, words, change, style } = makeForm(row);
    const form = h('form', { class: style, onsubmit: async (event) => {
      event.preventDefault();
      try {
        const what = change();
        await page.change('runs', 'change', { run_id: row.id, ...what });
        if (what.action === 'delete' && page.kept('run.id') === row.id) page.keep('run.id', '');
        close();
        part.redraw();
      } catch (error) {
        setText(complaint, error.message);
      }
    }, onkeydown: ({ key }) => { if (key === 'Escape') close(); } }, ...fields,
    h('div.buttons.line', h('button.action', { type: 'submit' }, words), h('button.plain', { onclick: close },
      'Cancel')), complaint);
    opened = { id: row.id, node: h('tr.form', h('td', { colspan: heads.length + 2 }, form)) };
    show();
    form.querySelector('input, .plain').focus();
  }

  function close() {
    const last = opened;
    opened = null;
    last?.node.remove();
    if (document.activeElement?.closest('.lab') || !last) return;
    rows.get(last.id)?.node.querySelector('.actions button').focus();
  }

  function editForm(row) {
    const field = (kind, label, value, options) => panel.field(kind, label, value, () => {}, options);
    const name = field('text', 'Name', row.given_name, { placeholder: row.name, id: 'runs-name', maxlength: 60 });
    const tags = field('text', 'Tags, separated by commas', row.tags.join(', '), { id: 'runs-tags' });
    const note = field('textarea', 'Note', row.note, { rows: 2, id: 'runs-note', maxlength: 2000,
      spellcheck: 'true' });
    note.node.classList.add('wide');
    return { fields: [name.node, tags.node, note.node], words: 'Save', style: 'line', change: () =>
      ({ action: 'annotate', name: name.value, tags: tags.value.split(','), note: note.value }) };
  }

  const deleteForm = (row) => ({
    fields: [h('p', `Delete ${row.name} with its model, checkpoints and snapshots? This cannot be undone.`)],
    words: 'Delete for good', style: 'line danger', change: () => ({ action: 'delete' }) });
}
