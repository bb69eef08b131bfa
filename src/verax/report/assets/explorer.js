/* The document explorer: a gallery of documents, and those opened in it, under one model or several. */

const ROW = 62; // height of a row of the gallery in pixels, as in explorer.css
const SURPRISES = [ // what it is by, in words, which way; the first is the order given, by the best of three
  [null, "most surprising", 0],
  ["excess", "largest excess", -1],
  ["jsd", "most divergent adversary", -1],
  ["tau", "attention far from gradient", 1],
];
const SIGNS = { excess: "excess", jsd: "JSD", tau: "τ" };

/** How surprising a document is by a measure, and why where it has no number. */
function surprise(d, key) {
  const value = d.surprise[key];
  if (value !== null) return `${SIGNS[key]} ${short(value)}`;
  if (key !== "excess") return `no ${SIGNS[key]}`;
  return d.flips ? "attention: never" : "nothing flips it";
}

class Explorer {
  constructor(root, models) {
    Object.assign(this, { root, models, model: models[0], made: 0, readings: [], heat: "attention", beside: false });
    this.ordering = SURPRISES[0];
    this.build();
    this.list();
  }

  unique(word) {
    this.made += 1;
    return `explorer-${word}-${this.made}`;
  }

  build() {
    this.tabs = this.models.map((model, m) => button(model.name, { "data-model": m }));
    const together = make("input", { type: "checkbox", "data-beside": "" });
    const tabs = make("div", { class: "explorer-models", role: "group", "aria-label": "model" }, ...this.tabs);
    tabs.append(make("label", {}, together, " side by side"));
    this.search = make("input", { type: "search", placeholder: "word, number or class", "aria-label": "search documents" });
    this.sort = make("select", { "aria-label": "order of documents" });
    this.sort.append(...SURPRISES.map(([key, text]) => make("option", { value: key || "" }, text)));
    this.found = make("p", { class: "explorer-found", role: "status" });
    this.tall = make("div", { class: "explorer-tall" });
    this.rows = make("div", { class: "explorer-rows", role: "listbox", tabindex: "0", "aria-label": "documents" }, this.tall);
    this.heatButtons = make("div", { class: "explorer-heats", role: "group", "aria-label": "heat" });
    this.legend = make("p", { class: "explorer-legend" });
    this.readingsRoot = make("div", { class: "explorer-readings" });
    const gallery = make("div", { class: "explorer-gallery" }, this.search, this.sort, this.found, this.rows);
    this.view = make("div", { class: "explorer-view" }, make("div", { class: "explorer-heading" }, this.heatButtons, this.legend), this.readingsRoot);
    this.root.classList.add("explorer");
    if (this.models.length > 1) this.root.append(tabs);
    this.root.append(make("div", { class: "explorer-columns" }, gallery, this.view));

    tabs.addEventListener("click", (event) => {
      const pressed = event.target.closest("button");
      if (!pressed) return;
      this.model = this.models[Number(pressed.dataset.model)];
      this.list();
    });
    together.addEventListener("change", () => {
      this.beside = together.checked;
      this.open(this.document);
    });
    this.search.addEventListener("input", () => this.list());
    this.sort.addEventListener("change", () => {
      this.ordering = SURPRISES[this.sort.selectedIndex];
      this.list();
    });
    this.heatButtons.addEventListener("click", (event) => {
      const pressed = event.target.closest("button");
      if (!pressed) return;
      this.heat = pressed.dataset.heat;
      this.paint();
    });
    this.rows.addEventListener("scroll", () => this.window());
    this.rows.addEventListener("click", (event) => {
      const row = event.target.closest("[data-document]");
      if (row) this.open(this.listed[Number(row.dataset.place)]);
    });
    this.rows.addEventListener("keydown", (event) => {
      const at = this.listed.indexOf(this.document);
      const last = this.listed.length - 1;
      const to = { ArrowUp: at - 1, ArrowDown: at + 1, PageUp: at - 5, PageDown: at + 5, Home: 0, End: last }[event.key];
      if (to === undefined || last < 0) return;
      event.preventDefault();
      this.open(this.listed[Math.min(Math.max(to, 0), last)]);
      this.reveal();
    });
  }

  /** Each search term must be in a word, be the number, or be in a class decided for or labelled. */
  matching() {
    const terms = this.search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const classes = this.model.classes.map((c) => `${c} ${classed(c)}`.toLowerCase());
    return this.model.documents.filter((d) => {
      if (terms.length === 0) return true;
      const words = d.tokens.join(" ").toLowerCase();
      const named = [classes[d.decision], d.label === null ? "" : classes[d.label]];
      return terms.every((t) => t.replace(/^#/, "") === String(d.id) || words.includes(t) || named.some((n) => n.includes(t)));
    });
  }

  list() {
    const [key, , way] = this.ordering;
    const worth = (d) => d.surprise[key];
    this.listed = this.matching();
    // among equals the order given stands
    if (way) this.listed.sort((a, b) => {
      if (worth(a) === null || worth(b) === null) return (worth(a) === null) - (worth(b) === null);
      return way * (worth(a) - worth(b));
    });
    this.tabs.forEach((tab, m) => press(tab, this.models[m] === this.model));
    const all = this.model.documents.length;
    const many = `${all} document${all === 1 ? "" : "s"}`;
    const none = this.listed.length === 0;
    if (none) this.found.textContent = `None of ${many} has “${visible(this.search.value.trim())}” in its words, number or class.`;
    else this.found.textContent = this.listed.length === all ? many : `${this.listed.length} of ${many}`;
    // what was open does not match either: it comes back with its row
    this.rows.hidden = this.view.hidden = none;
    this.rows.style.setProperty("--rows", `${Math.max(this.listed.length, 1) * ROW}px`);
    const same = this.document && this.listed.find((d) => d.id === this.document.id);
    const next = same || this.listed[0];
    if (next && next !== this.document) this.open(next);
    this.reveal();
  }

  reveal() {
    const top = Math.max(this.listed.indexOf(this.document), 0) * ROW;
    const height = this.rows.clientHeight;
    if (top < this.rows.scrollTop) this.rows.scrollTop = top;
    else if (top + ROW > this.rows.scrollTop + height) this.rows.scrollTop = top + ROW - height;
    this.window();
  }

  /** Only the rows in sight are in the page. */
  window() {
    const first = Math.max(Math.floor(this.rows.scrollTop / ROW) - 2, 0);
    const last = Math.min(first + Math.ceil(this.rows.clientHeight / ROW) + 5, this.listed.length);
    const [key] = this.ordering;
    this.rows.removeAttribute("aria-activedescendant");
    const shown = [];
    for (let place = first; place < last; place++) {
      const d = this.listed[place];
      const chosen = d === this.document;
      const row = make("div", {
        role: "option", id: `explorer-option-${place}`, class: "explorer-row", "data-document": d.id, "data-place": place,
        "aria-selected": String(chosen), "aria-posinset": place + 1, "aria-setsize": this.listed.length,
      });
      row.style.top = `${place * ROW}px`;
      const classes = this.model.classes;
      const wrong = d.label !== null && d.label !== d.decision ? ` ≠ ${classed(classes[d.label])}` : "";
      row.append(
        make("span", { class: "explorer-row-head" },
          make("bdi", {}, `${d.id} · ${classed(classes[d.decision])}${wrong}`),
          make("span", {}, surprise(d, key || d.ranked_by || "excess"))),
        make("span", { class: "explorer-row-text", dir: "auto" }, visible(d.tokens.slice(0, 24).join(" ").slice(0, 120))),
      );
      if (chosen) this.rows.setAttribute("aria-activedescendant", row.id);
      shown.push(row);
    }
    this.tall.replaceChildren(...shown);
  }

  /** The same document under every model: numbers alone could be those of another corpus. */
  twins(about) {
    return this.models.flatMap((model) =>
      model.documents.filter((d) => d.id === about.id && d.text === about.text).map((d) => [model, d]));
  }

  open(about) {
    if (!about) return;
    const twins = this.twins(about);
    const left = this.readings.find((reading) => reading.about === this.document);
    this.document = about;
    const shown = this.beside ? twins : twins.filter(([, d]) => d === about);
    this.readings = shown.map(([model, d]) => new Reading(model, d, this));
    // under another model the same words stay erased
    if (left && twins.some(([, d]) => d === left.about)) this.readings.forEach((reading) => reading.carry(left));
    // models not shown count for the scale, so that turning from one to another compares them
    this.scaled = twins;
    this.readingsRoot.replaceChildren(...this.readings.map((reading) => reading.element));
    const heats = Object.entries(this.model.heats);
    this.heatButtons.replaceChildren(...heats.map(([heat, { label }]) => button(label, { "data-heat": heat })));
    this.paint();
    this.window();
  }

  /** One scale for all models of a document; an adversary is put on it too, and may go beyond. */
  paint() {
    const held = () => this.scaled.map(([model, d]) => largest(heated(this.heat, d, model.classes.length)));
    const top = this.heat === "alone" ? 1 : Math.max(...held());
    for (const reading of this.readings) reading.paint(this.heat, top);
    for (const b of this.heatButtons.children) press(b, b.dataset.heat === this.heat);
    const { sides, about } = this.model.heats[this.heat];
    const beyond = this.heat === "attention" && this.readings.some((reading) => largest(reading.used.attention.weights) > top);
    const ramp = make("span", { class: sides ? "explorer-ramp explorer-two" : "explorer-ramp", "aria-hidden": "true" });
    const end = short(top) + (beyond ? " and more" : "");
    const ends = sides ? [`${sides[0]} ${short(-top)}`, ramp, `${end} ${sides[1]}`] : ["0", ramp, end];
    this.legend.replaceChildren(...ends, make("span", { class: "explorer-about" }, about), ...meaningOfLines(this.model.marks));
  }
}

/** Places in the shared texts and numbers become the tokens and numbers themselves. */
async function models(found) {
  const numbers = await unpacked(found.numbers);
  const at = ([first, last]) => Float64Array.from(numbers.subarray(first, last));
  const whole = (d) => {
    for (const name of ["weights", "logits", "gradient", "deleted"]) d[name] = at(d[name]);
    if (d.adversary) d.adversary.weights = at(d.adversary.weights);
    d.orders.gradient = [...at(d.orders.gradient)];
    d.tokens = found.texts[d.text];
  };
  for (const model of found.models) model.documents.forEach(whole);
  return found.models.filter((model) => model.documents.length);
}

async function explore() {
  const source = document.getElementById("explorer-data");
  const root = document.getElementById("explorer-root");
  if (!source || !root) return;
  if (!("DecompressionStream" in window)) {
    root.textContent = "The document explorer needs a newer browser, one that can unpack deflated data.";
    return;
  }
  root.setAttribute("aria-busy", "true");
  const shown = await models(JSON.parse(source.textContent));
  if (shown.length) new Explorer(root, shown);
  else root.textContent = "No documents were kept to look at.";
  root.removeAttribute("aria-busy");
}

explore();
