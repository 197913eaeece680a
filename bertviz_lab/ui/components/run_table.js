// The table of runs: the settings in which they differ, then what came of them so far.

const STATUS = { waiting: 'queued', starting: 'starting', preparing: 'preparing', training: 'training', finished: 'finished',
  stopped: 'stopped', failed: 'failed', missing: 'no longer here' };

/** Rows of scores: [name, a value for each run, how it is written, whether more is better]. */
function scoreRows(runs) {
  const held = (field) => runs.map(({ log }) => log.evals.at(-1)?.[field] ?? null);
  const last = (field) => runs.map(({ log }) => log.evals.at(-1)?.[field] ?? log.last?.[field] ?? null);
  const rows = [
    ['MLM accuracy', held('mlm_accuracy'), percent, 1], ['MLM loss', held('mlm_loss'), short, -1],
    ['NSP accuracy', held('nsp_accuracy'), percent, 1], ['NSP loss', held('nsp_loss'), short, -1],
    ['Parameters', runs.map(({ log }) => log.started?.parameters ?? null), whole, 0],
    ['Steps', last('step'), whole, 0], ['Tokens seen', last('tokens'), whole, 0], ['Training time', last('seconds'), duration, 0],
  ];
  return rows.filter(([, values]) => values.some(Number.isFinite));
}

/** The place of the best value, -1 where there is none or nothing to choose from. */
function bestOf(values, sign) {
  const known = values.filter(Number.isFinite);
  if (!sign || known.length < 2 || known.every((value) => value === known[0])) return -1;
  return values.indexOf(sign > 0 ? Math.max(...known) : Math.min(...known));
}

function makeRunTable(host) {
  const caption = (text) => h('caption', { class: 'quiet' }, text);
  const node = h('table', {});
  const note = h('p', { class: 'quiet small' });
  host.append(h('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'Table of runs' }, node), note);
  let rows = [];
  return {
    /** `comparable`: whether all are scored on the same text in the same tokens. */
    show(runs, settings, comparable) {
      const scores = scoreRows(runs);
      const head = h('tr', {}, h('td', {}), ...runs.map((run, place) => h('th', { scope: 'col' }, runName(run, place))));
      const group = (text) => h('tr', { class: 'group' }, h('th', { scope: 'rowgroup', colspan: runs.length + 1 }, text));
      const told = settings.map(([name, values]) => h('tr', {}, h('th', { scope: 'row' }, name), ...values.map((value) => h('td', {}, value))));
      const scored = scores.map(([name, values, write, sign]) => {
        const best = comparable ? bestOf(values, sign) : -1;
        return h('tr', {}, h('th', { scope: 'row' }, name), ...values.map((value, place) => h('td', { class: 'number' },
          place === best ? h('b', {}, write(value), h('span', { class: 'hush' }, ' (best)')) : Number.isFinite(value) ? write(value) : '–')));
      });
      const states = h('tr', {}, h('th', { scope: 'row' }, 'State'), ...runs.map(({ status }) => h('td', {}, STATUS[status] ?? status)));
      node.replaceChildren(caption(settings.length ? 'Differing settings and held-out metrics'
        : runs.length > 1 ? 'Identical settings, as far as they are known' : 'Held-out metrics'),
      h('thead', {}, head), h('tbody', {}, ...(told.length ? [group('Settings that differ'), ...told] : [])),
      h('tbody', {}, group('Latest held-out metrics'), ...scored, states));
      note.textContent = 'These runs were not evaluated on the same examples and tokens: their metrics are not comparable.';
      note.hidden = comparable || runs.length < 2;
      rows = [['', ...runs.map((run) => run.name)], ...settings.map(([name, values]) => [name, ...values]),
        ...scores.map(([name, values]) => [name, ...values]), ['State', ...runs.map(({ status }) => STATUS[status] ?? status)]];
    },
    rows: () => rows,
  };
}
