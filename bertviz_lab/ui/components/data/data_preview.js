// The first rows of a data file. The names of its columns are buttons: what a column is can be put right.

import { elements, h, payloadView } from 'lab/client/dom.js';

const ROLES = {
  table: { a: 'text', b: 'second text', label: 'label' },
  pair: { a: 'text A', b: 'text B', label: 'label' },
  words: { a: 'words', b: '', label: 'labels' },
  questions: { a: 'question', b: 'passage', label: 'answer' },
};

export default payloadView('Choose a file: its first rows appear here.', (content, { events }) => {
  const [heading, sentence] = elements('p.heading', 'p.quiet');
  const names = h('div.names.line', { role: 'group', 'aria-label': 'Columns of the file' });
  const rows = h('div.rows.card', { tabindex: '0', role: 'region', 'aria-label': 'First rows' });
  content.append(heading, sentence, names, rows);

  const roleChip = (role, words) => h(`span.role.small.role-${role}`, words);

  function columnButton({ name, role }, place, roles) {
    const used = roles[role] ? `used as ${roles[role]}` : 'not used';
    return h('button.column.plain', { 'aria-label': `${name}, ${used}. Choose what this column is.`,
      title: `${name}: ${used}. Click to choose what this column is.`,
      onclick: () => events.column_select?.({ column: place, name }) }, h('span.cut', name),
      roles[role] ? roleChip(role, roles[role]) : null);
  }

  function drawTable({ kind, columns, rows: lines }, buttons) {
    const roleOf = ({ role }) => (role ? `role-${role}` : '');
    const head = columns.map((column, place) =>
      h('th', { scope: 'col', class: roleOf(column) }, buttons[place] ?? roleChip(column.role, column.name)));
    const cell = (text, column) => h('td', { class: `${roleOf(column)} ${text.length > 24 ? 'long' : ''}` },
      h('div.cell.two-lines', { dir: 'auto', title: text.length > 40 ? text : null }, text));
    const body = lines.map((line) => h('tr', ...columns.map((column, place) => cell(line[place] ?? '', column))));
    return h('table', { 'data-kind': kind }, h('thead', h('tr', ...head)), h('tbody', ...body));
  }

  /** A sentence, each word over its label. */
  const drawSentence = (pairs) => h('p.words', { dir: 'auto' }, ...pairs.flatMap(([word, tag]) =>
    [h(tag === 'O' ? 'span.word' : 'span.word.tagged.tinted', h('span', word), h('span.tag', tag)), ' ']));

  return (body) => {
    heading.textContent = body.title;
    sentence.textContent = body.sentence;
    const paired = body.kind === 'table' && body.columns.some((column) => column.role === 'b');
    const roles = ROLES[paired ? 'pair' : body.kind];
    const buttons = body.kind === 'questions' ? []
      : body.columns.map((column, place) => columnButton(column, place, roles));
    const isWords = body.kind === 'words';
    names.hidden = !isWords || buttons.length === 0;
    if (isWords) names.replaceChildren(...buttons);
    rows.replaceChildren(...(isWords ? body.sentences.map(drawSentence) : [drawTable(body, buttons)]));
    rows.scrollTo(0, 0);
  };
});
