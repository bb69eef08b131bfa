"use strict";
(() => {
  const root = document.documentElement;
  const prefersDark = matchMedia("(prefers-color-scheme: dark)");
  const toggle = document.getElementById("theme");
  const isDark = () => (root.dataset.theme || (prefersDark.matches ? "dark" : "light")) === "dark";
  const name = () => { toggle.textContent = isDark() ? "Light" : "Dark"; };
  toggle.hidden = false;
  toggle.addEventListener("click", () => { root.dataset.theme = isDark() ? "light" : "dark"; name(); });
  prefersDark.addEventListener("change", name);
  name();

  // on a phone the contents would push the verdict off the first screen
  const contents = document.querySelector("nav details");
  const narrow = matchMedia("(max-width: 52rem)");
  const fold = () => { contents.open = !narrow.matches; };
  fold();
  narrow.addEventListener("change", fold);
  const links = [...contents.querySelectorAll("a")];
  contents.addEventListener("click", (event) => {
    if (event.target.closest("a") && narrow.matches) contents.open = false;
  });
  const parts = links.map((link) => document.getElementById(link.hash.slice(1)));
  let asked = false;
  const mark = () => {
    asked = false;
    const line = innerHeight / 3;
    const end = innerHeight + scrollY >= root.scrollHeight - 2;
    let here = end ? parts.length - 1 : 0;
    if (!end) parts.forEach((part, k) => { if (part.getBoundingClientRect().top <= line) here = k; });
    links.forEach((link, k) => {
      if (k === here) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    });
  };
  const ask = () => { if (!asked) { asked = true; requestAnimationFrame(mark); } };
  addEventListener("scroll", ask, { passive: true });
  addEventListener("resize", ask);
  mark();

  let opened = [];
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("main details:not([open])")];
    opened.forEach((one) => { one.open = true; });
  });
  addEventListener("afterprint", () => opened.forEach((one) => { one.open = false; }));

  // A drawing wider than its place fades where it goes on.
  const edges = (drawing) => {
    const beyond = drawing.scrollWidth - drawing.clientWidth;
    const more = [];
    if (drawing.scrollLeft > 2) more.push("left");
    if (drawing.scrollLeft < beyond - 2) more.push("right");
    if (more.length) drawing.dataset.more = more.join(" ");
    else delete drawing.dataset.more;
  };
  const placed = new ResizeObserver((seen) => seen.forEach((one) => edges(one.target)));
  for (const drawing of document.querySelectorAll(".drawing")) {
    edges(drawing);
    placed.observe(drawing);
    drawing.addEventListener("scroll", () => edges(drawing), { passive: true });
  }

  // A drawing that stands alone: variables of the page become the colours they are now.
  const alone = (svg) => {
    const probe = document.createElement("span");
    document.body.append(probe);
    const copy = svg.cloneNode(true);
    const { width, height } = svg.viewBox.baseVal;
    copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
    copy.setAttribute("width", width);
    copy.setAttribute("height", height);
    for (const one of [copy, ...copy.querySelectorAll("*")]) {
      for (const part of ["fill", "stroke", "stop-color", "color"]) {
        const given = one.getAttribute(part);
        if (given && given.includes("var(")) {
          probe.style.color = given;
          one.setAttribute(part, getComputedStyle(probe).color);
        }
      }
    }
    probe.remove();
    return { text: new XMLSerializer().serializeToString(copy), width, height };
  };
  const offer = (blob, file) => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = file;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  };
  const saveSvg = (svg, file) => offer(new Blob([alone(svg).text], { type: "image/svg+xml" }), file);
  const savePng = (svg, file) => {
    const { text, width, height } = alone(svg);
    const scale = 3;
    const image = new Image();
    image.onload = () => {
      const canvas = document.createElement("canvas");
      canvas.width = Math.round(width * scale);
      canvas.height = Math.round(height * scale);
      const pen = canvas.getContext("2d");
      pen.fillStyle = getComputedStyle(document.body).backgroundColor;
      pen.fillRect(0, 0, canvas.width, canvas.height);
      pen.drawImage(image, 0, 0, canvas.width, canvas.height);
      canvas.toBlob((blob) => offer(blob, file), "image/png");
    };
    image.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(text);
  };
  for (const button of document.querySelectorAll("button[data-save]")) {
    button.hidden = false;
    button.addEventListener("click", () => {
      const figure = button.closest("figure");
      const kind = button.dataset.save;
      const file = `${figure.dataset.chart}.${kind}`;
      (kind === "svg" ? saveSvg : savePng)(figure.querySelector("svg"), file);
    });
  }

  // A box is a stop of the keyboard only where there is something to scroll.
  const reach = (box) => {
    if (box.scrollWidth > box.clientWidth || box.scrollHeight > box.clientHeight) box.tabIndex = 0;
    else if (box !== document.activeElement) box.removeAttribute("tabindex");
  };
  const sized = new ResizeObserver((seen) => seen.forEach((one) => reach(one.target)));
  document.querySelectorAll(".drawing, .scroll").forEach((box) => sized.observe(box));
})();
