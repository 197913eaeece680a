// What each run can do: for every kind of probe a bar for each run, with guessing drawn.

/** Draw into `host` and return the rows for a file; null where no run was asked. */
function drawProbes(host, runs, kinds) {
  const asked = runs.map((run, place) => ({ run, place, row: run.probes.at(-1) })).filter(({ row }) => row);
  const sets = [...new Set(asked.map(({ row }) => row.probes))];
  const width = Math.max(260, host.clientWidth);
  const rows = [['probes', 'kind', ...runs.map((run) => run.name)]];
  host.replaceChildren(...sets.map((set) => {
    const members = asked.filter(({ row }) => row.probes === set);
    const names = [...new Set(members.flatMap(({ row }) => Object.keys(row.right)))];
    const words = (kind) => kinds[set]?.[kind] ?? kind;
    for (const kind of names) rows.push([set, words(kind), ...runs.map((run) => (run.probes.at(-1)?.probes === set ? run.probes.at(-1).right[kind] ?? null : null))]);
    return probeChart(members, names, words, width, sets.length > 1 ? set : '');
  }));
  return asked.length ? rows : null;
}

/** The step of the last probe evaluation, where training has continued for long since. */
const asOf = (run, row) => ((run.log.last?.step ?? 0) > 1.2 * row.step + 5 ? ` at step ${whole(row.step)}` : '');

function probeChart(members, names, words, width, title) {
  const above = width < 560;
  const left = above ? 2 : Math.min(width * 0.42, 14 + longest(names.map(words)));
  const room = width - left - (members.some(({ run, row }) => asOf(run, row)) ? 140 : 58);
  const [bar, head] = [12, above ? 20 : 0];
  const step = head + bar * members.length + 12;
  const shapes = [];
  names.forEach((kind, index) => {
    const top = index * step;
    shapes.push(above ? label(cut(words(kind), width - 4), { x: left, y: top + 9 })
      : label(cut(words(kind), left - 12), { x: left - 10, y: top + (step - 12) / 2, 'text-anchor': 'end' }));
    members.forEach(({ run, place, row }, line) => {
      const share = row.right[kind];
      if (!Number.isFinite(share)) return;
      const y = top + head + line * bar;
      shapes.push(svg('g', {}, svg('title', {}, `${run.name}: ${percent(share, 0)}`),
        svg('rect', { x: left, y: y + 1, width: Math.max(1, share * room), height: bar - 2, rx: 2, style: `fill: ${runColour(place)}`, 'fill-opacity': 0.8 }),
        runMark(place, left + share * room + 9, y + bar / 2, 3),
        label(percent(share, 0) + asOf(run, row), { x: left + share * room + 17, y: y + bar / 2, 'font-size': 11, class: 'quiet' })));
    });
  });
  const height = names.length * step;
  shapes.push(svg('line', { class: 'chance', x1: left + room / 2, x2: left + room / 2, y1: 0, y2: height - 4, 'stroke-dasharray': '4 4' }),
    label('chance', { x: left + room / 2, y: height + 6, 'text-anchor': 'middle', 'font-size': 11, class: 'quiet' }));
  const told = names.map((kind) => `${words(kind)}: ${members.map(({ run, row }) => `${run.name} ${percent(row.right[kind] ?? NaN, 0)}`).join(', ')}`);
  return h('div', { class: 'probes' }, title ? h('p', { class: 'quiet' }, title) : null,
    svg('svg', { width, height: height + 16, role: 'img', 'aria-label': `${told.join('. ')}. Chance is 50%.` }, ...shapes));
}
