// Batch inference: predictions for the texts of a file, as a table to download.

import { h } from 'lab/client/dom.js';
import { makeFiles } from 'lab/client/form.js';
import { saveText } from 'lab/client/saving.js';

const HELP = 'Without a query you get a prediction for each text; with one the texts ranked by the cosine of their '
  + "sentence embeddings and the query's: semantic search. Minimal pairs are scored under Runs, Evaluate.";

export async function mount(panel) {
  const { page } = panel; // its questions are not about the texts of the input bar
  const form = await page.ask('batch', 'form');
  const message = panel.drawing('facts', 'Message', { id: 'try-file-message' });
  const query = panel.field('text', 'Query (optional)', '', predict, { id: 'try-file-query' });
  const files = makeFiles({ id: 'try-file', label: form.upload, accept: form.accept, multiple: false,
    onChange: predict });
  let table = null;
  const save = h('button.action', { id: 'try-file-table', hidden: true,
    onclick: () => saveText(table.name, 'text/csv', `\ufeff${table.table}`) }, 'Download the predictions');
  panel.body.append(query.node, h('p.quiet.small', HELP), files.node, message.host, save);

  async function predict() {
    const [file = null] = files.tokens; // without one the answer is null, and takes the place of an older one
    save.hidden = true;
    message.say(file && 'Reading the texts …');
    table = await page.ask('batch', 'predict', { model: page.input.model, file, query: query.value })
      .catch(({ message: note }) => ({ note, tone: 'error' }));
    if (table === undefined) return;
    save.hidden = !table?.table;
    message.show(table && { note: table.sentence, ...table });
  }
}
