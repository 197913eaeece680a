// How the lessons' own texts become nodes: backticks mark code.

const marked = (text) => text.split('`').map((part, at) => (at % 2 ? h('code', {}, part) : part));

const paragraph = (text, attributes = {}) => h('p', attributes, ...marked(text));

/** What was measured, as bars. Shares that are all small are drawn against the largest of them. */
function drawBars(caption, bars) {
  const most = Math.max(...bars.map(([, share]) => share));
  const top = most < 0.2 ? most : 1;
  return h('figure', { class: 'bars card' }, h('figcaption', { class: 'quiet small' }, caption),
    h('dl', {}, ...bars.map(([name, share, words]) => h('div', { class: 'bar-row' }, h('dt', {}, name),
      h('dd', { class: 'track', 'aria-hidden': 'true' }, h('span', { class: 'fill', style: `width: ${(100 * share) / top}%` })),
      h('dd', { class: 'share' }, words)))));
}
