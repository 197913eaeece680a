// Fine-tune: labeled examples, how they were read, the options of a run, and Fine-tune.

import { h } from 'lab/client/dom.js';
import { makeTypedExamples } from 'lab/components/data/typed_examples.js';
import { followStarts, keepForm, makeFields, makeFiles, makeSource, makeStart } from 'lab/client/form.js';

export async function mount(panel) {
  const form = await panel.ask('form');
  const source = makeSource(form, { id: 'examples', label: 'Data set' }, advise);
  const scored = makeFiles({ id: 'examples-scored', label: 'Validation file (optional)',
    onChange: () => read.redraw() });
  const about = h('p.quiet', { id: 'examples-about' });
  const preview = panel.drawing('preview', 'First rows of the data',
    { id: 'examples-preview', events: { column_select: takeColumn } });
  const typed = makeTypedExamples('examples-typed', source);
  const confirm = h('div', { id: 'examples-confirm' });
  const facts = panel.drawing('facts', 'Data set statistics', { id: 'examples-facts' });
  const charts = {
    labels: panel.drawing('chart', 'Label distribution', { id: 'examples-labels' }),
    lengths: panel.drawing('chart', 'Distribution of sequence lengths', { id: 'examples-lengths' }),
  };
  const folds = Object.entries({ labels: 'Labels', lengths: 'Sequence lengths' }).map(([name, title]) =>
    h('details.fold', { id: `examples-${name}-part` }, h('summary', title), charts[name].host));
  const fields = makeFields(form.groups, 'tuning', changed);
  const parsing = fields.folds.get('Parsing options');
  fields.folds.delete('Parsing options');

  let unanswered = {}; // option -> its value before a question about this data set was answered

  const sent = () => {
    const chosen = source.sent();
    return { ...chosen, scored: chosen.source === form.own ? scored.tokens : [], values: fields.values() };
  };
  const isFilledIn = keepForm('finetune', source, fields, [scored]);
  changed('grid'); // which disables what it sets
  const read = panel.part([h('h2', '2. Check the data'), confirm, preview.host, facts.host, ...folds, parsing], check);
  read.node.before(h('h2', '1. Choose a labeled data set'), h('div.fields', ...source.nodes, scored.node), typed,
    about);
  panel.body.append(h('h2', '3. Fine-tune'), fields.main, fields.drawer(),
    ...makeStart(panel, form, { id: 'tune', label: 'Fine-tune', fields, sent,
      ready: () => Promise.all([source.ready(), scored.ready()]) }));

  /** What suits the data set. Settings of another one replace those recommended before, its columns are inferred
   * again, and what was answered about the one before is taken back. */
  async function advise(isOther = true) {
    const advice = await panel.ask('advise', { source: source.sent().source, start: fields.get('model').value });
    if (!advice) return;
    about.textContent = advice.about;
    if (isOther) {
      fields.set(unanswered);
      unanswered = {};
    }
    fields.recommend(advice.values, isOther ? form.suited : []);
    if (!isOther) return;
    fields.set({ model: advice.start, ...Object.fromEntries(form.columns.map((name) => [name, ''])) });
    await read.redraw();
  }

  function changed(name) {
    if (name === 'grid') {
      const taken = form.grids[fields.get('grid').value] ?? [];
      fields.disable(Object.fromEntries(taken.map((each) => [each, 'The hyperparameter search sets it.'])));
    }
    if (form.reading.includes(name)) read.redraw();
  }

  /** A column's name was pressed: it becomes the label, or the text where it was the label. */
  function takeColumn({ name }) {
    fields.set(fields.get('label').value === name ? { text_a: name, label: '' } : { label: name });
    read.redraw();
  }

  /** What is not sure about the file: the person chooses how it is read, here or in the parsing options. */
  const drawQuestion = ({ option, sentence, choices }) => h('fieldset.field.card', h('legend', sentence),
    h('div.line', ...choices.map(([value, words]) => h('button.action', { onclick: () => {
      unanswered[option] ??= fields.get(option).value;
      fields.set({ [option]: value });
      read.redraw();
    } }, words))));

  async function check() {
    const answer = await panel.showParts({ preview, facts }, panel.ask('check', sent()));
    if (!answer) return;
    confirm.replaceChildren(...(answer.confirm ?? []).map(drawQuestion));
    const unread = { message: 'These are shown once the data set has been read.' };
    for (const [name, chart] of Object.entries(charts)) chart.show(answer.charts?.[name] ?? unread);
    for (const [name, columns] of Object.entries(answer.columns ?? {})) fields.get(name).setOptions(columns);
  }

  followStarts(panel, fields.get('model'));
  await advise(!isFilledIn);
}
