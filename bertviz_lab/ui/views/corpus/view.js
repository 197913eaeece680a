// Corpus search: all heads by two metrics, one of them with its examples, and folded away which heads link two tokens,
// which neurons fire at one, and how the head came to do what it does.

import { h, setOptions } from 'lab/client/dom.js';
import { makeFiles } from 'lab/client/form.js';
import { CORPUS_METRICS } from 'lab/components/figures/corpus.js';

const EXTENTS = [['some', 'as many as take seconds'], ['all', 'all, up to 5,000']];
const OWN_FILE = 'file';
const NO_TOKENS = { query: '', key: '', neuron: '' };

export function mount(panel) {
  const { page } = panel;
  const redraw = () => [main, ...folds].forEach((part) => part.redraw());
  const settings = panel.settings({ corpus: '', extent: 'some' }, redraw);
  const axes = panel.settings({ x: 'position', y: 'content' }, () => main.redraw());
  const asked = panel.settings({ ...NO_TOKENS }, () => folds.slice(0, 2).forEach((part) => part.redraw()));
  // The head that the grid of Attention shows, too; null for the one that Python proposes.
  let chosen = page.kept('attention.layer') || page.kept('attention.head')
    ? ['layer', 'head'].map((name) => Number(page.kept(`attention.${name}`, '0'))) : [null, 0];
  let each = 1; // heads in a layer
  let next = 'query'; // what the next click on a token names

  const corpus = settings.field('corpus', 'select', 'Corpus');
  const extent = settings.field('extent', 'select', 'Texts', { options: EXTENTS });
  const files = makeFiles({ id: 'corpus-file', label: 'A text, or a table of texts', multiple: false,
    onChange: redraw });
  const [x, y] = ['x', 'y'].map((name) => axes.field(name, 'select', `${name}-axis`, { options: CORPUS_METRICS }));
  const parts = panel.drawings({ facts: ['facts', 'Indexed corpus'],
    map: ['chart', 'All heads by two metrics',
      { events: { item_select: ({ index }) => choose(Math.floor(index / each), index % each) } }],
    role: ['facts', 'The chosen head'], profile: ['chart', 'Mean weight by distance'],
    examples: ['contexts', 'Where the head attends', { events: { context_select: explore } }] });

  extent.node.hidden = page.start.published; // its corpora are indexed already
  const main = panel.part([h('div.fields', corpus.node, extent.node, x.node, y.node), files.node,
    ...Object.values(parts).map(({ host }) => host)], async () => {
    const corpora = await panel.ask('corpora', question());
    if (!corpora) return;
    setOptions(corpus.input, corpora, settings.values.corpus || corpora[0][0]);
    files.node.hidden = settings.values.corpus !== OWN_FILE;
    if (!parts.map.payload) parts.facts.say('Indexing the corpus …');
    const [layer, head] = chosen;
    const answer = await panel.showParts(parts,
      panel.ask('heads', { ...question(), ...axes.values, layer, head }));
    if (!answer) return;
    each = answer.heads ?? each;
    if (layer === null && answer.chosen) {
      chosen = answer.chosen;
      folds[2].redraw();
    }
  });

  const folds = [
    panel.fold('pairs', 'Which heads link two tokens? Search by an example', (host) => {
      const [query, key] = [['query', 'Attending token'], ['key', 'Token attended to']].map(([name, label]) =>
        asked.field(name, 'select', label));
      const linking = panel.drawing('chart', 'Heads that link such tokens', { id: 'corpus-found',
        events: { item_select: ({ row, column }) => choose(row, column) } });
      host.append(h('p.quiet.small', 'Click two tokens of the text above, the attending one first, or choose them '
        + 'here. A click on a head shows where else it attends.'), h('div.fields', query.node, key.node), linking.host);
      return async () => {
        linking.say('Searching the corpus …');
        const answer = await panel.showParts({ map: linking },
          panel.ask('pairs', { ...question(), query: place('query'), key: place('key') }));
        if (!answer?.tokens) return;
        setOptions(query.input, answer.tokens, answer.query);
        setOptions(key.input, answer.tokens, answer.key);
      };
    }),
    panel.fold('neurons', 'Which feed-forward neurons fire at a token?', (host) => {
      const neuron = asked.field('neuron', 'text', 'Neuron', { placeholder: 'layer.number' });
      const drawing = (name, kind, context_select) =>
        panel.drawing(kind, `Neurons: ${name}`, { id: `corpus-neuron-${name}`, events: { context_select } });
      const firing = drawing('firing', 'contexts', (pick) => asked.change({ neuron: pick }));
      const [texts, promoted] = [drawing('examples', 'contexts', explore), drawing('promoted', 'chart')];
      host.append(firing.host, h('div.fields', neuron.node), texts.host, promoted.host);
      return () => panel.showParts({ firing, examples: texts, promoted },
        panel.ask('neurons', { ...question(), position: page.selected, neuron: asked.values.neuron }));
    }),
    panel.fold('training', 'Over training: when did the head become what it is?', (host) => {
      const lines = panel.drawing('chart', 'The head over training', { id: 'corpus-training-lines' });
      host.append(lines.host);
      return () => chosen[0] !== null
        && panel.show(lines, 'training', { ...question(), layer: chosen[0], head: chosen[1] });
    }),
  ];

  const question = () => ({ ...settings.values, file: files.tokens[0] ?? null });
  const place = (name) => (asked.values[name] === '' ? null : Number(asked.values[name]));

  function choose(layer, head) {
    page.keep('attention.layer', layer);
    page.keep('attention.head', head);
    page.emit('head', panel.view.id, layer, head);
    take(layer, head);
  }

  function take(layer, head) {
    chosen = [layer, head];
    main.redraw();
    folds[2].redraw();
  }

  /** Take a text of the corpus over into the input, with its marked token selected. */
  function explore([text, position]) {
    page.set({ text_a: text, text_b: '' });
    page.select(position);
  }

  page.on('head', (from, layer, head) => { if (from !== panel.view.id) take(layer, head); });
  page.on('input', (names) => {
    asked.change(NO_TOKENS);
    next = 'query';
    if (names.includes('model')) {
      chosen = [null, 0];
      settings.change({ corpus: '' });
    }
  });
  page.on('select', (position) => {
    if (position === null) return;
    if (folds[0].isOpen()) {
      asked.change({ [next]: String(position) });
      next = next === 'query' ? 'key' : 'query';
    }
    folds[1].redraw();
  });
}
