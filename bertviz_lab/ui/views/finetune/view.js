// Fine-tune: labeled examples, how they were read, the options of a run, and Fine-tune.

import { h } from 'lab/client/dom.js';
import { followStarts, makeFields, makeFiles, makeSources, makeStart } from 'lab/client/form.js';

export async function mount(panel) {
  const form = await panel.ask('form');
  const source = makeSources('examples-source', 'Data set', form.sources, () => chooseData());
  const files = makeFiles({ id: 'examples-files', label: form.upload, onChange: uploaded });
  const scored = makeFiles({ id: 'examples-scored', label: 'Validation file (optional)',
    onChange: (early) => early || read.redraw() });
  const about = h('p', { class: 'quiet', id: 'examples-about' });
  const preview = panel.drawing('preview', 'First rows of the data',
    { id: 'examples-preview', events: { column_select: takeColumn } });
  const facts = panel.drawing('facts', 'Data set statistics', { id: 'examples-facts' });
  const charts = { labels: ['Labels', 'Label distribution'],
    lengths: ['Sequence lengths', 'Distribution of sequence lengths'] };
  for (const [name, [title, label]] of Object.entries(charts)) {
    const drawing = panel.drawing('chart', label, { id: `examples-${name}` });
    charts[name] = { show: drawing.show, node: h('details', { class: 'fold', id: `examples-${name}-part` },
      h('summary', {}, title), drawing.host) };
  }
  const fields = makeFields(form.groups, 'tuning', changed);
  let advised = {}; // what was recommended last

  const own = () => source.value === form.own;
  const sent = () => ({ source: source.value, files: own() ? files.tokens : [], scored: own() ? scored.tokens : [],
    values: fields.values() });
  const parsing = fields.folds.get('Parsing options');
  fields.folds.delete('Parsing options');
  const read = panel.part([h('h2', {}, '2. Check the data'), preview.host, facts.host,
    ...Object.values(charts).map(({ node }) => node), parsing], check);
  const start = makeStart(panel, { id: 'tune', label: 'Fine-tune', fields, async sent() {
    await Promise.all([files.ready(), scored.ready()]);
    return sent();
  } });
  const sources = h('div', { class: 'fields' }, source.node, files.node, scored.node);
  read.node.before(h('h2', {}, '1. Choose a labeled data set'), sources, about);
  panel.body.append(h('h2', {}, '3. Choose a model and fine-tune it'), fields.main, ...fields.folds.values(),
    ...(form.limits ? [h('p', { class: 'quiet', id: 'tune-limits' }, form.limits)] : []),
    ...(form.training ? [start] : []));

  /** Another data set: its settings replace those recommended before, and the columns are inferred again. */
  async function chooseData() {
    const advice = await panel.ask('advise', { source: source.value, start: fields.get('model').value });
    if (!advice) return;
    about.textContent = advice.about;
    const now = fields.values();
    const untouched = form.suited.filter((name) => String(now[name]) === String(advised[name] ?? ''));
    fields.set(Object.fromEntries(untouched.map((name) => [name, advice.values[name]])));
    fields.set({ model: advice.start, ...Object.fromEntries(form.columns.map((name) => [name, ''])) });
    advised = advice.values;
    await read.redraw();
  }

  function changed(name) {
    if (name === 'grid') {
      const taken = form.grids[fields.get('grid').value] ?? [];
      fields.disable(Object.fromEntries(taken.map((each) => [each, 'The hyperparameter search sets it.'])));
    }
    if (form.reading.includes(name)) read.redraw();
  }

  function uploaded(early = false) {
    source.set(files.tokens.length || early ? form.own : source.value);
    if (!early) chooseData();
  }

  /** A column's name was pressed: it becomes the label, or the text where it was the label. */
  function takeColumn({ name }) {
    fields.set(fields.get('label').value === name ? { text_a: name, label: '' } : { label: name });
    read.redraw();
  }

  async function check() {
    const refused = (error) => ({ preview: { message: error.message } });
    const answer = await panel.ask('check', sent()).catch(refused);
    if (answer === undefined) return;
    preview.show(answer.preview);
    facts.show(answer.facts ?? null);
    const unread = { message: 'These are shown once the data set has been read.' };
    for (const [name, chart] of Object.entries(charts)) chart.show(answer.charts?.[name] ?? unread);
    for (const [name, columns] of Object.entries(answer.columns ?? {})) fields.get(name).setOptions(columns);
  }

  followStarts(panel, fields.get('model'));
  await chooseData();
}
