// The first rows of a data file. The names of its columns are buttons: what a column is can be put right.

import { elements, h, payloadView } from 'lab/client/dom.js';

export default payloadView('Choose a file: its first rows appear here.', (content, { events }) => {
  const [heading, sentence] = elements('p.heading', 'p.quiet');
  const names = h('div.names.line', { role: 'group', 'aria-label': 'Columns of the file' });
  const rows = h('div.rows.card.box', { tabindex: '0', role: 'region', 'aria-label': 'First rows' });
  content.append(heading, sentence, names, rows);

  const chip = (role, words) => h(`span.role.small.role-${role}`, words);

  function columnHead({ name, role, words }, place) {
    if (words === null) return chip(role, name); // what the columns of questions are is known
    const used = words ? `used as ${words}` : 'not used';
    return h('button.column.plain', { 'aria-label': `${name}, ${used}. Choose what this column is.`,
      title: `${name}: ${used}. Click to choose what this column is.`,
      onclick: () => events.column_select?.({ column: place, name }) },
    h('span.cut', name), words && chip(role, words));
  }

  function drawTable(kind, columns, heads, lines) {
    const classes = columns.map(({ role }) => (role ? `role-${role}` : ''));
    const cell = (text, at) => h('td', { class: `${classes[at]} ${text.length > 24 ? 'long' : ''}` },
      h('div.cell.two-lines', { dir: 'auto', title: text.length > 40 ? text : null }, text));
    return h('table', { 'data-kind': kind },
      h('thead', h('tr', ...heads.map((head, at) => h('th', { scope: 'col', class: classes[at] }, head)))),
      h('tbody', ...lines.map((line) => h('tr', ...columns.map((_, at) => cell(line[at] ?? '', at))))));
  }

  /** A sentence, each word over its label. */
  const drawSentence = (pairs) => h('p.words', { dir: 'auto' }, ...pairs.flatMap(([word, tag]) =>
    [h(tag === 'O' ? 'span.word' : 'span.word.tagged.tinted', h('span', word), h('span.tag', tag)), ' ']));

  return ({ title, sentence: about, kind, columns, rows: lines, sentences }) => {
    heading.textContent = title;
    sentence.textContent = about;
    const heads = columns.map(columnHead);
    names.hidden = !sentences;
    names.replaceChildren(...(sentences ? heads : []));
    rows.replaceChildren(...(sentences?.map(drawSentence) ?? [drawTable(kind, columns, heads, lines)]));
    rows.scrollTo(0, 0);
  };
});
