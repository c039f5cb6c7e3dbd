"use strict";
// The gallery: cards that match the filters, drawn as they come into view. The filters are kept in
// the address behind the #, so that a link can name them. All text is set as text, never as HTML.
(() => {
  const { cards, pictures } = JSON.parse(document.getElementById("data").textContent);
  const form = document.getElementById("filters");
  const found = document.getElementById("found");
  const shelf = document.getElementById("cards");
  const more = document.getElementById("more");
  const BATCH = 48;
  const CHOICES = ["status", "norm", "delta", "gamma", "border", "class", "method", "task"];
  const ORDERS = {
    "": ["as in the file", null],
    "margin": ["margin, lowest first", (c) => c.margin ?? -Infinity],
    "-margin": ["margin, highest first", (c) => -(c.margin ?? -Infinity)],
    "-seconds": ["seconds, longest first", (c) => -c.seconds],
    "seconds": ["seconds, shortest first", (c) => c.seconds],
  };
  const SVG = "http://www.w3.org/2000/svg";
  let shown = [];
  let drawn = 0;

  function make(name, attributes = {}, ...children) {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    element.append(...children);
    return element;
  }

  function makeSvg(name, attributes) {
    const element = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    return element;
  }

  const say = (value) => (value === "inf" ? "∞" : value);

  // ---------------------------------------------------------------------------------- filters

  function values(key) {
    const all = [...new Set(cards.map((card) => card[key]))];
    return all.sort((a, b) =>
      a === "inf" ? 1 : b === "inf" ? -1 : a.localeCompare(b, "en", { numeric: true }));
  }

  function addSelect(name, options, title = name) {
    const select = make("select", { name });
    for (const [value, text] of options) select.append(make("option", { value }, text));
    form.append(make("label", {}, title, select));
  }

  function addFilters() {
    for (const key of CHOICES) {
      const all = values(key);
      const said = all.map((value) => [value, say(value) || "–"]);
      if (all.length > 1) addSelect(key, [["", "all"], ...said]);
    }
    form.append(make("label", {}, "search",
      make("input", { name: "q", type: "search", placeholder: "image, class, reason" })));
    addSelect("sort", Object.entries(ORDERS).map(([value, [text]]) => [value, text]), "order");
    form.append(make("button", { type: "reset" }, "Reset"));
  }

  function readAddress() {
    const asked = new URLSearchParams(location.hash.slice(1));
    for (const field of form.elements) {
      if (!field.name) continue;
      field.value = asked.get(field.name) ?? "";
      if (field.selectedIndex === -1) field.value = "";
    }
    return [...asked.keys()].some((key) => CHOICES.includes(key));
  }

  function writeAddress() {
    const asked = new URLSearchParams();
    for (const field of form.elements) if (field.name && field.value) asked.set(field.name, field.value);
    // replaceState is refused for files in some browsers: then the address stays as it is.
    try { history.replaceState(null, "", `#${asked}`); } catch { /* the filters work all the same */ }
  }

  function matches(card) {
    for (const key of CHOICES) {
      const wanted = form.elements[key]?.value;
      if (wanted && card[key] !== wanted) return false;
    }
    const words = form.elements.q.value.toLowerCase().split(/\s+/).filter(Boolean);
    return words.every((word) => text(card).includes(word));
  }

  const texts = new WeakMap();
  function text(card) {
    if (!texts.has(card)) {
      const parts = [card.image, card.class, card.rival, card.status, card.method, card.reason, card.note];
      texts.set(card, parts.join("\n").toLowerCase());
    }
    return texts.get(card);
  }

  function show() {
    shown = cards.filter(matches);
    const by = ORDERS[form.elements.sort.value]?.[1];
    if (by) {
      const keys = new Map(shown.map((card) => [card, by(card)]));
      const compare = (a, b) => (a < b ? -1 : a > b ? 1 : 0); // two infinities are equal
      shown.sort((a, b) => compare(keys.get(a), keys.get(b)));
    }
    const count = (status) => shown.filter((card) => card.status === status).length;
    const correct = shown.length - count("misclassified");
    found.textContent = `Showing ${shown.length} of ${cards.length}: ` +
      `${count("certified")} certified / ${correct} correct / ${shown.length} all; ` +
      `${count("falsified")} falsified, ${count("unknown")} unknown.`;
    shelf.replaceChildren();
    drawn = 0;
    drawMore();
  }

  function drawMore() {
    const next = shown.slice(drawn, drawn + BATCH);
    shelf.append(...next.map(drawCard));
    drawn += next.length;
    more.hidden = drawn >= shown.length;
    more.textContent = `Show more (${shown.length - drawn} left)`;
  }

  // ------------------------------------------------------------------------------------ cards

  function drawCard(card) {
    const wide = card.arrows !== null;
    const article = make("article", { class: card.status + (wide ? " wide" : "") },
      make("header", {}, make("h3", {}, `${card.image} (${card.class})`),
        make("span", { class: "badge" }, card.status)));
    const seen = make("div", { class: "pictures" });
    if (card.original !== null) seen.append(frame(picture(card, card.original, "original"), "original"));
    if (card.warped !== null) seen.append(frame(picture(card, card.warped, "bent"), `bent: ${card.rival}`));
    if (wide) seen.append(frame(drawField(card), ...fieldKey(card)));
    if (seen.childElementCount) article.append(seen);
    article.append(drawFacts(card));
    for (const line of [card.reason, card.note]) if (line) article.append(make("p", { class: "quiet" }, line));
    return article;
  }

  const frame = (content, ...caption) => make("figure", {}, content, make("figcaption", {}, ...caption));

  // The pixels of a small image are seen one by one, those of a large one are smoothed.
  function picture(card, index, what) {
    const image = make("img", { src: pictures[index], alt: `${card.image}, class ${card.class}, ${what}` });
    image.onload = () => image.classList.toggle("sharp", image.naturalWidth <= 96);
    return image;
  }

  function drawFacts(card) {
    const threat = `T${say(card.norm)}, δ\u00a0${card.delta}, γ\u00a0${say(card.gamma)}` +
      (card.border === "clamp" ? "" : `, ${card.border}`);
    const facts = [
      ["threat", threat],
      ["margin", card.margin === null ? "–" : card.margin.toFixed(4).replace("-", "−")],
      ["against", card.rival || "–"],
      ["method", card.method || "–"],
      ["seconds", card.seconds.toFixed(3)],
    ];
    const list = make("dl");
    for (const [key, value] of facts) list.append(make("dt", {}, key), make("dd", {}, value));
    if (card.steps.length > 1) list.append(make("dt", {}, "steps"), make("dd", {}, card.steps.join(", ")));
    return list;
  }

  // ------------------------------------------------------------------------------------ arrows

  // An arrow from (x, y): its shaft and two barbs. A displacement too small to see is a dot.
  function arrow(x, y, dx, dy, barb) {
    const length = Math.hypot(dx, dy);
    const n = (value) => value.toFixed(2);
    if (length < barb / 3) return `M${n(x)} ${n(y)}h0`;
    const [ux, uy] = [dx / length, dy / length];
    const side = Math.min(barb, length * 0.6);
    const tip = [x + dx, y + dy];
    const ends = [1, -1].map((s) =>
      `${n(tip[0] - side * (ux + s * 0.6 * uy))} ${n(tip[1] - side * (uy - s * 0.6 * ux))}`);
    const point = `${n(tip[0])} ${n(tip[1])}`;
    return `M${n(x)} ${n(y)}L${point}M${ends[0]}L${point}L${ends[1]}`;
  }

  // The longest arrow just fits between two arrows, so that a plain shift stays readable.
  const magnify = ({ longest, step }) => (longest > 0 ? (0.95 * step) / longest : 1);

  function drawField(card) {
    const { h, w, step, first, across, v } = card.arrows;
    const by = magnify(card.arrows) / 100;
    let path = "";
    for (let k = 0; k < v.length; k += 2) {
      const row = Math.floor(k / 2 / across);
      const column = (k / 2) % across;
      const [x, y] = [first[1] + column * step + 0.5, first[0] + row * step + 0.5];
      path += arrow(x, y, v[k] * by, v[k + 1] * by, 0.34 * step);
    }
    const drawing = makeSvg("svg", { viewBox: `0 0 ${w} ${h}`, preserveAspectRatio: "none", "aria-hidden": "true" });
    drawing.append(makeSvg("path", { d: path, "stroke-width": 0.13 * step }));
    return make("div", { class: "field" },
      picture(card, card.original, "the field as arrows"), drawing);
  }

  // The key is as wide, in parts of the picture, as the longest arrow: it has the picture's scale.
  function fieldKey(card) {
    const { w, step, longest } = card.arrows;
    const length = magnify(card.arrows) * longest;
    const [width, height] = [length + 0.4 * step, step];
    const drawing = makeSvg("svg", {
      viewBox: `0 0 ${width} ${height}`, width: `${(100 * width) / w}%`, class: "key", "aria-hidden": "true",
    });
    const d = arrow(0.2 * step, height / 2, length, 0, 0.34 * step);
    drawing.append(makeSvg("path", { d, "stroke-width": 0.13 * step }));
    return [drawing, ` ${longest.toFixed(2)} px, the longest. Each pixel takes its value from the tip.`];
  }

  // ------------------------------------------------------------------------------------ events

  // An address that names filters is about the images.
  function follow() {
    const chosen = readAddress();
    show();
    if (!chosen) return;
    const heading = document.getElementById("gallery");
    heading.focus({ preventScroll: true });
    heading.scrollIntoView();
  }

  addFilters();
  follow();
  const changed = () => { writeAddress(); show(); };
  form.addEventListener("input", changed);
  form.addEventListener("reset", () => setTimeout(changed));
  form.addEventListener("submit", (event) => event.preventDefault());
  more.addEventListener("click", () => {
    const before = drawn;
    drawMore();
    if (more.hidden) { shelf.children[before].tabIndex = -1; shelf.children[before].focus(); }
  });
  new IntersectionObserver((entries) => {
    if (entries.some((entry) => entry.isIntersecting) && drawn < shown.length) drawMore();
  }, { rootMargin: "600px" }).observe(more);
  addEventListener("hashchange", follow);
})();
