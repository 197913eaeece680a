// Labels and sequence lengths of a data set, each folded away and drawn when it is opened.

import { h } from 'lab/client/dom.js';
import chart from 'lab/components/charts/chart.js';

const FOLDS = [['labels', 'Labels', 'Label distribution'],
  ['lengths', 'Sequence lengths', 'Distribution of sequence lengths']];

export default function dataCharts(root, first, { label } = {}) {
  let payload = null;
  root.classList.add('workspace');
  root.setAttribute('role', 'group');
  root.setAttribute('aria-label', label);
  const folds = FOLDS.map(([name, title, words]) => {
    const section = h('section', { class: 'lab lab-chart' });
    const show = chart(section, null, { label: words });
    const host = h('div', { class: 'lab-island lab-island-chart', id: `examples-${name}` }, section);
    const node = h('details', { class: 'fold', id: `examples-${name}-part` }, h('summary', {}, title), host);
    const draw = () => {
      if (node.open) show(payload?.[name] ?? { message: 'These are shown once the data set has been read.' });
    };
    node.addEventListener('toggle', draw);
    return { node, draw };
  });
  root.append(...folds.map(({ node }) => node));
  return function show(next) {
    payload = next;
    folds.forEach(({ draw }) => draw());
    return show;
  }(first);
}
