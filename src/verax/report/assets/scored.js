/* Documents whose words are coloured by a score that the reader chooses. */

(() => {
  const root = document.getElementById("scored-root");
  if (!root) return;
  const { models } = JSON.parse(document.getElementById("scored-data").textContent);

  const chooser = (label, names) => {
    const select = make("select", {}, ...names.map((name, i) => make("option", { value: i }, name)));
    return { select, element: make("label", { class: "scored-choice" }, `${label} `, select) };
  };

  root.replaceChildren();
  const model = chooser("model", models.map(({ name }) => name));
  const score = chooser("score", []);
  const about = make("p", { class: "scored-about", "aria-live": "polite" });
  const lines = make("p", { class: "scored-lines" });
  const list = make("ol", { class: "scored-list" });
  if (models.length > 1) root.append(model.element);
  root.append(score.element, about, lines, list);
  let words = [];

  const colour = () => {
    const { scores, documents } = models[model.select.value];
    const chosen = Number(score.select.value);
    const { about: what, signed } = scores[chosen];
    about.textContent = `${what}${what ? ". " : ""}${signed ? "Blue words are for the decision, orange ones against it." : "The bluer, the more; it takes no side."}`;
    documents.forEach(({ values }, d) => {
      const strongest = Math.max(...values[chosen].map(Math.abs)) || 1;
      values[chosen].forEach((value, w) => {
        const share = Math.round((68 * Math.abs(value)) / strongest);
        const ink = value < 0 ? "var(--opposes)" : "var(--supports)";
        words[d][w].style.background = share ? `color-mix(in srgb, ${ink} ${share}%, transparent)` : "";
        words[d][w].title = `${scores[chosen].name} ${value}`;
      });
    });
  };

  const show = () => {
    const { scores, documents, marks } = models[model.select.value];
    lines.replaceChildren(...meaningOfLines(marks));
    score.select.replaceChildren(...scores.map(({ name }, i) => make("option", { value: i }, name)));
    words = documents.map(({ words: texts, marks: runs }) => {
      const shares = sharesOf(runs, texts.length);
      return texts.map((_, w) => make("span", { class: "scored-word" }, ...underlined(texts, w, w + 1, shares)));
    });
    list.replaceChildren(...documents.map((one, d) => {
      const label = one.label === null ? "" : one.label === one.decision ? ", rightly" : `, labelled ${one.label}`;
      const tau = one.tau === null ? "" : `; attention and leave-one-out agree by τ ${String(one.tau).replace("-", "−")}`;
      const unseen = marks && !one.marks ? "; nobody looked for marks here" : "";
      const head = make("p", {}, make("b", {}, `document ${one.id}`), `: ${one.decision} (${(100 * one.probability).toFixed(1)}%)${label}${tau}${unseen}`);
      const text = make("p", { class: "scored-text", dir: "auto" });
      words[d].forEach((word) => text.append(word, " "));
      return make("li", {}, head, text);
    }));
    colour();
  };

  model.select.addEventListener("change", show);
  score.select.addEventListener("change", colour);
  show();
})();
