// A part of the view: its heading, what can be chosen, its picture, and the ways to save it.

/** With `bare` the heading stands in pictures that are saved only: on the page something else says it. */
function sectionOf({ heading, picture, file, rows, bare = false }, ...knobs) {
  const saves = saveButtons('this picture', {
    PNG: () => savePng(`learning-${file()}.png`, pictureOf(picture, caption(heading))),
    SVG: () => saveSvg(`learning-${file()}.svg`, pictureOf(picture, caption(heading))),
    CSV: () => saveCsv(`learning-${file()}.csv`, rows()),
  });
  return h('div', { class: 'part' }, h('div', { class: 'bar' }, bare ? null : heading, ...knobs, saves), picture);
}

/** A part that is folded away; it is drawn when it is opened. */
function foldOf(name, title, inside, onOpen) {
  const node = h('details', { class: 'fold', 'data-part': name }, h('summary', {}, title), inside);
  node.addEventListener('toggle', () => { if (node.open) onOpen(); });
  return node;
}
