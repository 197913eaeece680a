// What the model can do already, in words: a line for each kind of question that it is asked while it learns.

const CAN = 0.8;
const CHANCE = 0.5;
const RULE = 'Each line is about a dozen minimal pairs: two sentences, one correct and one wrong. A probe is passed when the model prefers at least '
  + `${percent(CAN, 0)} of the correct ones in the last two evaluations. Dashed: chance, ${percent(CHANCE, 0)}.`;
const SPARK = { width: 84, height: 24, edge: 3 };

/** The lines, as {kind, words, can, now, points} with points as [step, share], in the order in which they are asked. */
function abilitiesOf(log, titles) {
  const newest = log.probes.at(-1);
  return Object.keys(newest?.right ?? {}).map((kind) => {
    const points = log.probes.map((row) => [row.step, row.right?.[kind]]).filter(([, share]) => Number.isFinite(share));
    const can = points.length > 1 && points.slice(-2).every(([, share]) => share >= CAN);
    const title = titles?.[newest.probes]?.kinds?.[kind] ?? kind.replaceAll('_', ' ');
    return { kind, can, points, now: points.at(-1)?.[1], words: can ? `passes ${title}` : `not yet: ${title}` };
  });
}

/** How many of the lines say that it can, in a few words; "" where nothing was asked. */
function abilityWords(log) {
  const lines = abilitiesOf(log, {});
  return lines.length ? `; passes ${whole(lines.filter((line) => line.can).length)} of ${whole(lines.length)} probes` : '';
}

/** Where the points of a sparkline lie: steps by their logarithm, shares from 0 at the foot to 1 at the top. */
function sparkPlan(points, right) {
  const { width, height, edge } = SPARK;
  const x = (step) => edge + ((width - 2 * edge) * Math.log1p(step)) / Math.max(1e-9, Math.log1p(right));
  const y = (share) => height - edge - (height - 2 * edge) * share;
  return { dots: points.map(([step, share]) => [x(step), y(share)]), chance: y(CHANCE) };
}

function sparkline(points, right) {
  const { dots, chance } = sparkPlan(points, right);
  const [lastX, lastY] = dots.at(-1);
  return svg('svg', { class: 'spark', width: SPARK.width, height: SPARK.height, 'aria-hidden': 'true' },
    svg('line', { class: 'chance', x1: 0, x2: SPARK.width, y1: chance, y2: chance }),
    svg('polyline', { points: dots.map((dot) => dot.join(',')).join(' ') }),
    svg('circle', { cx: lastX, cy: lastY, r: 2.5 }));
}

/** The part of the page that holds the lines. `show(log, titles)` renews them when there is something new. */
function abilityList() {
  const when = h('span', { class: 'quiet' });
  const list = h('ul', { 'aria-label': 'Minimal-pair probes' });
  const node = h('div', { class: 'abilities' }, h('div', { class: 'bar' }, h('p', { class: 'heading' }, 'Minimal-pair probes'), when),
    list, h('p', { class: 'quiet rule' }, RULE));
  let drawn = null;
  const itemOf = ({ kind, can, points, now, words }, right) => {
    const [first, before] = points[0];
    const history = points.length > 1 ? `; ${percent(before, 0)} at step ${whole(first)}` : '';
    return h('li', { 'data-kind': kind, class: can ? 'can' : 'cannot', title: RULE }, sparkline(points, right),
      h('span', { class: 'share' }, percent(now, 0)),
      h('span', {}, words, h('span', { class: 'hush' }, `: ${percent(now, 0)} of the pairs correct${history}; chance is ${percent(CHANCE, 0)}`)));
  };
  const show = (log, titles) => {
    const newest = log.probes.at(-1);
    node.hidden = !newest;
    if (!newest || drawn === newest) return;
    drawn = newest;
    when.textContent = `at step ${whole(newest.step)}`;
    list.replaceChildren(...abilitiesOf(log, titles).map((line) => itemOf(line, newest.step)));
  };
  return { node, show };
}

const ABILITY_LINE = 30; // pixels in a picture

/** The height of the lines in a picture of so many columns. */
const abilitiesHeight = (lines, columns) => (lines.length ? 34 + ABILITY_LINE * Math.ceil(lines.length / columns) : 0);

/** The same lines on a canvas, in columns of this width. */
function paintAbilities(context, lines, columns, width, paints) {
  context.textAlign = 'left';
  context.textBaseline = 'middle';
  context.fillStyle = paints.text;
  context.font = `bold 13px ${paints.font}`;
  context.fillText('Minimal-pair probes', 4, 12);
  const right = Math.max(0, ...lines.map((line) => line.points.at(-1)[0]));
  const rows = Math.ceil(lines.length / columns);
  lines.forEach((line, place) => {
    context.save();
    context.translate(4 + width * Math.floor(place / rows), 30 + ABILITY_LINE * (place % rows));
    const { dots, chance } = sparkPlan(line.points, right);
    context.lineWidth = 1;
    context.setLineDash([3, 3]);
    context.strokeStyle = paints.quiet;
    strokePath(context, [[0, chance], [SPARK.width, chance]]);
    context.setLineDash([]);
    context.lineWidth = 1.6;
    context.strokeStyle = context.fillStyle = line.can ? paints['--lab-a'] : paints.quiet;
    strokePath(context, dots);
    context.beginPath();
    context.arc(...dots.at(-1), 2.5, 0, 2 * Math.PI);
    context.fill();
    context.fillStyle = line.can ? paints.text : paints.quiet;
    context.font = `12px ${paints.font}`;
    context.fillText(percent(line.now, 0), SPARK.width + 8, SPARK.height / 2);
    context.fillText(line.words, SPARK.width + 50, SPARK.height / 2, width - SPARK.width - 70);
    context.restore();
  });
}
