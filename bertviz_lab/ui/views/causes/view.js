// Causes: a clean text and a corrupted one, what of the one restores or breaks the other's prediction, and folded away
// what adds to the logit and which tokens reach it.

import { h, setOptions, setText } from 'lab/client/dom.js';
import { percent } from 'lab/client/format.js';
import { makeTarget } from 'lab/views/attribution/target.js';

const CORRUPTIONS = [['word', 'another token'], ['mask', '[MASK]'], ['noise', 'noise on the embedding'],
  ['text', 'a text of your own']];
const DIRECTIONS = [['denoising', 'denoising: clean into corrupted'], ['noising', 'noising: corrupted into clean']];
const COMPONENTS = [['residual', 'residual state by token'], ['attention', 'attention output by token'],
  ['feed_forward', 'feed-forward output by token'], ['head', 'attention heads']];
const THRESHOLDS = [0.01, 0.02, 0.05, 0.1, 0.2];
const METHODS = ['value zeroing', 'norm', 'ALTI', 'attention'].map((name) => [name, name]);

export function mount(panel) {
  const { page } = panel;
  const redraw = () => [main, ...folds].forEach((part) => part.redraw());
  const target = makeTarget(panel, redraw);
  const settings = panel.settings({ corruption: 'word', changed: '', replacement: '', direction: 'denoising' }, redraw);
  const look = panel.settings({ component: 'residual' }, () => main.redraw());
  const methods = panel.settings({ method: 'value zeroing', threshold: '0.05' }, () => folds[1].redraw());
  let tokens = []; // that can be changed, as Python last said
  let picked = null; // the cell that somebody clicked, and the question that it belongs to

  const corruption = settings.field('corruption', 'select', 'Corrupt by', { id: 'causes-corruption',
    options: CORRUPTIONS });
  const changed = settings.field('changed', 'select', 'Token to change', { id: 'causes-changed' });
  const replacement = settings.field('replacement', 'text', 'Replace by', { id: 'causes-replacement',
    placeholder: 'the model’s proposal' });
  const direction = settings.field('direction', 'select', 'Direction', { id: 'causes-direction', options: DIRECTIONS });
  const component = look.field('component', 'select', 'Patch', { id: 'causes-component', options: COMPONENTS });
  const facts = panel.drawing('facts', 'Clean and corrupted text', { id: 'causes-facts' });
  const map = panel.drawing('chart', 'Effect of each patch', { id: 'causes-map', events: { item_select: pick } });
  const cell = panel.drawing('chart', 'Prediction with a patch', { id: 'causes-cell' });
  cell.host.hidden = true;
  const choices = h('div.fields', corruption.node, changed.node, replacement.node, direction.node, component.node);

  const main = panel.part([...target.nodes, choices, facts.host, map.host, cell.host], async () => {
    const isText = settings.values.corruption === 'text';
    changed.node.hidden = isText;
    replacement.node.hidden = !['word', 'text'].includes(settings.values.corruption);
    setText(replacement.node.querySelector('.name'), isText ? 'Corrupted text A' : 'Replace by');
    const answer = await target.show('patching', { facts, map }, () => ({ ...question(), ...look.values }));
    cell.host.hidden = picked?.asked !== asked();
    if (!answer?.tokens) return;
    tokens = answer.tokens.map(([place]) => String(place));
    setOptions(changed.input, answer.tokens, tokens.includes(settings.values.changed) ? settings.values.changed : '');
  });
  const folds = [
    panel.foldOf('decomposition', 'Where the logit comes from: a sum of components',
      ['chart', 'Components of the logit', { id: 'causes-components' }], 'decomposition',
      { more: () => question() }),
    panel.fold('flow', 'Information flow: which tokens reach the prediction', (host) => {
      const method = methods.field('method', 'select', 'Method', { id: 'causes-method', options: METHODS });
      const all = panel.drawing('tokens', 'Contribution of each token', { id: 'causes-flow-methods', linked: true });
      const threshold = methods.field('threshold', 'select', 'Leave out edges under',
        { id: 'causes-threshold', options: THRESHOLDS.map((share) => [share, percent(share, 0)]) });
      const graph = panel.drawing('chart', 'Paths through the layers', { id: 'causes-flow-graph' });
      const layers = panel.drawing('tokens', 'Contributions by layer', { id: 'causes-flow-layers', linked: true });
      host.append(all.host, h('div.fields', method.node, threshold.node), graph.host, layers.host);
      return async () => {
        const { method: name, threshold: least } = methods.values;
        const answer = await panel.ask('flow', { ...question(), method: name, threshold: Number(least) });
        if (!answer) return;
        graph.show(answer.graph);
        all.show(answer.methods);
        layers.show(answer.layers);
      };
    }),
    panel.foldOf('findings', 'Findings report: five sentences, each with its picture',
      ['findings', 'Findings', { id: 'causes-report', events: { open: (to) => page.open(to) } }], 'findings',
      { more: () => question() }),
  ];

  /** What Python is asked about. */
  function question() {
    const { changed: place, ...others } = settings.values;
    const at = tokens.length && !tokens.includes(place) ? '' : place;
    return { ...target.question(), ...others, changed: at === '' ? null : Number(at) };
  }

  const asked = () => JSON.stringify([page.input, question(), look.values]);

  function pick({ row, column }) {
    picked = { asked: asked() };
    cell.host.hidden = false;
    panel.show(cell, 'patched', { ...question(), ...look.values, layer: row, index: column });
  }

  // Another text has other tokens, and what replaces one of them means nothing there.
  page.on('input', () => {
    tokens = [];
    settings.change({ changed: '', replacement: '' });
  });
  page.on('select', (selected) => {
    if (tokens.includes(String(selected))) settings.change({ changed: String(selected), replacement: '' });
  });
}
