// The first rows of a data file. The names of its columns are buttons: what a column is can be put right.

import { h, payloadView } from 'lab/client/dom.js';

export default function dataPreview(root, first, { label, events = {} } = {}) {
  const view = payloadView(root, label, 'Choose a file: its first rows appear here.', show);
  const heading = h('p', { class: 'heading' });
  const sentence = h('p', { class: 'quiet' });
  const names = h('div', { class: 'names line', role: 'group', 'aria-label': 'Columns of the file' });
  const rows = h('div', { class: 'rows card', tabindex: '0', role: 'region', 'aria-label': 'First rows' });
  view.content.append(heading, sentence, names, rows);

  const ROLES = {
    table: { a: 'text', b: 'second text', label: 'label' },
    pair: { a: 'text A', b: 'text B', label: 'label' },
    words: { a: 'words', b: '', label: 'labels' },
    questions: { a: 'question', b: 'passage', label: 'answer' },
  };

  function show(body) {
    heading.textContent = body.title;
    sentence.textContent = body.sentence;
    const paired = body.kind === 'table' && body.columns.some((column) => column.role === 'b');
    const roles = ROLES[paired ? 'pair' : body.kind];
    const buttons = body.kind === 'questions' ? [] : body.columns.map((column, place) => columnButton(column, place,
      roles));
    names.hidden = body.kind !== 'words' || buttons.length === 0;
    if (body.kind === 'words') {
      names.replaceChildren(...buttons);
      rows.replaceChildren(...body.sentences.map(drawSentence));
    } else rows.replaceChildren(drawTable(body, roles, buttons));
    rows.scrollTo(0, 0);
  }

  const roleChip = (column, roles) => (roles[column.role] ? h('span', { class: `role small role-${column.role}` },
    roles[column.role]) : null);

  function columnButton(column, place, roles) {
    const used = roles[column.role] ? `used as ${roles[column.role]}` : 'not used';
    return h('button', { type: 'button', class: 'column plain',
      'aria-label': `${column.name}, ${used}. Choose what this column is.`,
      title: `${column.name}: ${used}. Click to choose what this column is.`,
      onclick: () => events.column_select?.({ column: place, name: column.name }) },
    h('span', { class: 'cut' }, column.name), roleChip(column, roles));
  }

  function drawTable({ kind, columns, rows: lines }, roles, buttons) {
    const head = columns.map((column, place) => h('th', { scope: 'col', class: column.role ? `role-${column.role}`
      : '' },
      buttons[place] ?? h('span', { class: `role small role-${column.role}` }, column.name)));
    const body = lines.map((line) => h('tr', {}, ...columns.map((column, place) => {
      const text = line[place] ?? '';
      return h('td', { class: [column.role ? `role-${column.role}` : '', text.length > 24 ? 'long' : ''].join(' ') },
        h('div', { class: 'cell two-lines', dir: 'auto', title: text.length > 40 ? text : null }, text));
    })));
    return h('table', { 'data-kind': kind }, h('thead', {}, h('tr', {}, ...head)), h('tbody', {}, ...body));
  }

  /** A sentence, each word over its label. */
  function drawSentence(pairs) {
    return h('p', { class: 'words', dir: 'auto' }, ...pairs.flatMap(([word, tag]) => [
      h('span', { class: tag === 'O' ? 'word' : 'word tagged tinted' }, h('span', {}, word),
        h('span', { class: 'tag' }, tag)), ' ']));
  }

  return view.start(first);
}
