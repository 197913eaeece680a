// The table of runs: the settings in which they differ, then what came of them so far.

const STATUS = { waiting: 'queued', starting: 'starting', preparing: 'preparing', training: 'training', finished: 'finished',
  stopped: 'stopped', failed: 'failed', missing: 'no longer here' };

/** Rows of scores: [name, a value for each run, how it is written, whether more is better]. */
function scoreRows(runs, panels) {
  const last = (field) => runs.map(({ log }) => log.evals.at(-1)?.[field] ?? log.last?.[field] ?? null);
  const rows = [
    ...panels.filter((panel) => panel.held_out).map(({ id, title, unit, better }) =>
      [title, runs.map(({ log }) => log.evals.at(-1)?.[id] ?? null), (value) => written(unit, value), better]),
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

/** A table of runs in `host`: `show(runs, payload)` renews it, `rows()` are its rows for a file. */
function makeRunTable(host) {
  const node = h('table', {});
  const note = h('p', { class: 'quiet small' }, 'These runs were not evaluated on the same examples and tokens: their metrics are not comparable.');
  host.append(h('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'Table of runs' }, node), note);
  let rows = [];
  return {
    show(runs, { settings, comparable, panels }) {
      const scores = scoreRows(runs, panels);
      const states = runs.map(({ status }) => STATUS[status] ?? status);
      const line = (name, cells) => h('tr', {}, h('th', { scope: 'row' }, name), ...cells);
      const group = (text) => h('tr', { class: 'group' }, h('th', { scope: 'rowgroup', colspan: runs.length + 1 }, text));
      const scored = scores.map(([name, values, write, sign]) => {
        const best = comparable ? bestOf(values, sign) : -1;
        return line(name, values.map((value, place) => h('td', { class: 'number' },
          place === best ? h('b', {}, write(value), h('span', { class: 'hush' }, ' (best)')) : Number.isFinite(value) ? write(value) : '–')));
      });
      node.replaceChildren(h('caption', { class: 'quiet' }, settings.length ? 'Differing settings and held-out metrics'
        : runs.length > 1 ? 'Identical settings, as far as they are known' : 'Held-out metrics'),
      h('thead', {}, h('tr', {}, h('td', {}), ...runs.map((run) => h('th', { scope: 'col' }, h('span', { class: 'run-name' }, h('span', { style: `color: ${run.colour}`, 'aria-hidden': 'true' }, run.glyph), run.name))))),
      h('tbody', {}, ...(settings.length ? [group('Settings that differ'), ...settings.map(([name, values]) => line(name, values.map((value) => h('td', {}, value))))] : []),
        group('Latest held-out metrics'), ...scored, line('State', states.map((text) => h('td', {}, text)))));
      note.hidden = comparable || runs.length < 2;
      rows = [['', ...runs.map((run) => run.name)], ...settings.map(([name, values]) => [name, ...values]),
        ...scores.map(([name, values]) => [name, ...values]), ['State', ...states]];
    },
    rows: () => rows,
  };
}
