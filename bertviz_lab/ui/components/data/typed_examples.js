// A small table to type or paste labeled examples into. What is in it is uploaded as a CSV file.

import { h, makeField, makeTable, setText } from 'lab/client/dom.js';
import { recall, remember } from 'lab/client/saving.js';

const PAUSE = 800; // milliseconds after a change until it is uploaded
const FILE = 'typed-examples.csv';
const NAMES = { text_a: 'Text', text_b: 'Second text', label: 'Label' };

/** The table; its examples are a CSV file among the files of `source`, as of `makeSource`. */
export function makeTypedExamples(id, source) {
  const rows = []; // of inputs, one for each of NAMES
  const known = h('datalist', { id: `${id}-labels` });
  const status = h('p.quiet.small', { role: 'status', hidden: true });
  const pairs = makeField('checkbox', 'Pairs of texts', false, changed, { inline: true });
  const table = makeTable(Object.values(NAMES), []);
  let timer = 0;

  /** The columns that are shown, as [name, place]. */
  const columns = () => Object.keys(NAMES).map((name, place) => [name, place])
    .filter(([name]) => name !== 'text_b' || pairs.value);

  function addRow() {
    const row = Object.entries(NAMES).map(([name, words], place) => h('input', { type: 'text', autocomplete: 'off',
      spellcheck: 'false', dir: 'auto', list: name === 'label' ? known.id : null,
      'aria-label': `${words} of example ${rows.length + 1}`, oninput: changed,
      onpaste: (event) => paste(event, row, place), onkeydown: (event) => event.key === 'Enter' && next(event) }));
    rows.push(row);
    table.tBodies[0].append(h('tr', ...row.map((input) => h('td', input))));
  }

  /** Enter leads to the next cell, and from the last of a row to the next row. */
  function next(event) {
    event.preventDefault();
    const cells = rows.flatMap((row) => columns().map(([, place]) => row[place]));
    cells[cells.indexOf(event.target) + 1]?.focus();
  }

  /** Lines become rows and tabs separate cells, as spreadsheets copy them; a single cell is pasted as usual. */
  function paste(event, row, place) {
    const lines = event.clipboardData.getData('text').trimEnd().split(/\r?\n/).map((line) => line.split('\t'));
    if (lines.flat().length === 1) return;
    event.preventDefault();
    const first = rows.indexOf(row);
    const places = columns().map(([, at]) => at).filter((at) => at >= place);
    lines.forEach((cells, down) => {
      if (first + down === rows.length) addRow();
      places.forEach((at, across) => { rows[first + down][at].value = cells[across] ?? ''; });
    });
    changed();
  }

  function changed() {
    table.classList.toggle('pairs', pairs.value);
    if (rows.at(-1).some(({ value }) => value)) addRow();
    clearTimeout(timer);
    timer = setTimeout(send, PAUSE);
  }

  function send() {
    const typed = rows.map((row) => row.map(({ value }) => value.trim()));
    remember(id, { rows: typed.filter((row) => row.some(Boolean)) });
    const examples = typed.map((row) => columns().map(([, place]) => row[place])).filter((row) => row.every(Boolean));
    const labels = [...new Set(examples.map((row) => row.at(-1)))];
    known.replaceChildren(...labels.map((value) => h('option', { value })));
    setText(status, examples.length && `${examples.length} examples, ${labels.length} labels.`);
    if (labels.length < 2) {
      source.remove(FILE);
      return;
    }
    const lines = [columns().map(([name]) => name), ...examples]
      .map((cells) => cells.map((cell) => `"${cell.replaceAll('"', '""')}"`).join(','));
    source.put(new File([lines.join('\n')], FILE, { type: 'text/csv' }));
  }

  addRow();
  recall(id).rows?.forEach((values) => {
    values.forEach((value, place) => { rows.at(-1)[place].value = value; });
    addRow();
  });
  return h('details.fold', { id }, h('summary', 'Type or paste examples'),
    h('p.quiet', 'A text and its label in each row; Enter leads to the next cell, and rows can be pasted from a '
      + 'spreadsheet. Thirty are enough for a first try.'), pairs.node, h('div.rows.card', table), known, status);
}
