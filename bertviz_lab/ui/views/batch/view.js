// Batch inference: predictions for the texts of a file, as a table to download.

import { h } from 'lab/client/dom.js';
import { makeFiles } from 'lab/client/form.js';
import { saveText } from 'lab/client/saving.js';

const HELP = 'Without a query you get a prediction for each text; with one the texts ranked by the cosine of their '
  + "sentence embeddings and the query's: semantic search.";

export async function mount(panel) {
  const form = await panel.ask('form');
  const message = panel.drawing('facts', 'Message', { id: 'try-file-message' });
  const query = panel.field('text', 'Query (optional)', '', predict, { id: 'try-file-query' });
  const files = makeFiles({ id: 'try-file', label: form.upload, accept: form.accept, multiple: false,
    onChange: (early) => early || predict() });
  let table = null;
  const save = h('button.action', { id: 'try-file-table', hidden: true,
    onclick: () => saveText(table.name, 'text/csv', `\ufeff${table.table}`) }, 'Download the predictions');
  panel.body.append(query.node, h('p.quiet.small', HELP), files.node, message.host, save);

  async function predict() {
    panel.cancel('predict');
    save.hidden = true;
    message.show(null);
    if (!files.tokens.length) return;
    message.say('Reading the texts …');
    const { model } = panel.page.input;
    table = await panel.ask('predict', { model, file: files.tokens[0], query: query.value })
      .catch(({ message: note }) => message.show({ note, tone: 'error' }));
    if (!table) return;
    save.hidden = false;
    message.say(table.sentence);
  }
}
