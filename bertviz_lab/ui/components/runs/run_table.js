// The table of runs: the settings in which they differ, then what came of them so far.

import { h, makeTable } from 'lab/client/dom.js';
import { STATUS, duration, whole } from 'lab/client/format.js';
import { written } from 'lab/components/charts/curve_figure.js';

/** Rows of scores: [name, a value for each run, how it is written, whether more is better]. */
function scoreRows(runs, panels) {
  const last = (field) => runs.map(({ log }) => log.evals.at(-1)?.[field] ?? log.last?.[field] ?? null);
  const rows = [
    ...panels.filter((panel) => panel.held_out).map(({ id, title, unit, better }) =>
      [title, runs.map(({ log }) => log.evals.at(-1)?.[id] ?? null), (value) => written(unit, value), better]),
    ['Parameters', runs.map(({ log }) => log.started?.parameters ?? null), whole, 0],
    ['Steps done', last('step'), whole, 0], ['Tokens seen', last('tokens'), whole, 0],
      ['Training time', last('seconds'), duration, 0],
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
export function makeRunTable(host) {
  const place = h('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'Table of runs' });
  const note = h('p', { class: 'quiet small' },
    'These runs were not evaluated on the same examples and tokens: their metrics are not comparable.');
  host.append(place, note);
  let rows = [];
  return {
    show(runs, { settings, comparable, panels }) {
      const scores = scoreRows(runs, panels);
      const states = ['State', ...runs.map(({ status }) => STATUS[status] ?? status)];
      const scored = scores.map(([name, values, write, sign]) => {
        const best = comparable ? bestOf(values, sign) : -1;
        return [name, ...values.map((value, at) => (at === best
          ? h('b', {}, write(value), h('span', { class: 'hush' }, ' (best)')) : Number.isFinite(value) ? write(value)
            : '–'))];
      });
      const title = settings.length ? 'Differing settings and held-out metrics'
        : runs.length > 1 ? 'Identical settings, as far as they are known' : 'Held-out metrics';
      const names = runs.map(({ name, glyph, colour: paint }) => h('span', {},
        h('span', { style: `color: ${paint}`, 'aria-hidden': 'true' }, `${glyph} `), name));
      const differing = settings.map(([name, values]) => [name, ...values]);
      place.replaceChildren(makeTable(['', ...names], [...differing, ...scored, states], title));
      note.hidden = comparable || runs.length < 2;
      rows = [['', ...runs.map((run) => run.name)], ...differing, ...scores.map(([name, values]) => [name, ...values]),
        states];
    },
    rows: () => rows,
  };
}
