"use strict";
// Unpacks the charting library, draws every figure in the theme that is on, and makes buttons for what the mouse can do.
(() => {
  const figures = JSON.parse(document.getElementById("figures").textContent);
  const root = document.documentElement;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const colour = (name) => getComputedStyle(root).getPropertyValue(`--${name}`).trim();
  const DASHES = ["solid", "solid", "dash", "dot", "dashdot", "longdash", "longdashdot", "dot"];
  // Of the keys, in pixels.
  const STROKES = { solid: "none", dash: "5 3", dot: "2 2", dashdot: "5 2 2 2", longdash: "8 3", longdashdot: "8 2 2 2" };
  const SYMBOLS = ["circle", "square", "diamond", "triangle-up", "cross", "x", "star", "circle-open"];

  async function library() {
    const packed = document.getElementById("library").textContent.trim();
    const bytes = Uint8Array.from(atob(packed), (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    const script = document.createElement("script");
    script.textContent = await new Response(stream).text();
    document.head.append(script);
    if (!window.Plotly) throw new Error("the charting library did not start");
  }

  // Series that share a colour differ in dash and symbol.
  const style = ({ colour, turn }) => (colour + 3 * turn) % DASHES.length;

  function traces(figure) {
    return figure.data.map((trace) => {
      const place = style(trace.meta);
      const ink = colour(`colour-${trace.meta.colour}`);
      return {
        ...trace,
        visible: figure.hidden.has(trace.legendgroup) ? "legendonly" : true,
        // A marker at the end of an axis is whole.
        ...(trace.type !== "bar" && { cliponaxis: false }),
        marker: { color: ink, size: 8, symbol: SYMBOLS[place], line: { width: 0 } },
        line: { color: ink, width: 2, dash: DASHES[place] },
        error_x: trace.error_x && { ...trace.error_x, color: ink },
        error_y: trace.error_y && { ...trace.error_y, color: ink },
      };
    });
  }

  // On a phone, panels side by side have no room for their titles, so the script places them one below the other. Powers of ten
  // have no room between them, either.
  const NARROW = 600, PANEL = 260, BETWEEN = 90, AROUND = 84, FEW_MARKS = 3;
  // A4 without its margins, in CSS pixels. The window's size does not matter there.
  const PAPER_WIDTH = 680, PAPER_HEIGHTS = { chart: 280, tall: 400, tallest: 640 };
  const onPaper = () => root.classList.contains("print");
  const room = (figure) => onPaper() ? PAPER_WIDTH : figure.chart.clientWidth;
  const paper = (figure) => ({ width: PAPER_WIDTH, height: PAPER_HEIGHTS[Object.keys(PAPER_HEIGHTS).findLast((name) => figure.chart.classList.contains(name))] });

  // The library numbers all of 2 to 9 if its marks are less than 0.3 of a decade apart, and these lie on top of each other.
  const MARKS_IN_DECADE = 3, MOST_MARKS = 9;

  function marks(figure, key, axis) {
    if (axis.type !== "log" || axis.tickmode) return {};
    if (key[0] === "x" && room(figure) < NARROW) return { nticks: FEW_MARKS };
    const letter = key[0], name = key.replace("axis", "");
    const values = figure.data.filter((trace) => trace[`${letter}axis`] === name).flatMap((trace) => trace[letter]).filter((value) => value > 0);
    const decades = Math.log10(Math.max(...values) / Math.min(...values));
    return decades > 1 ? { nticks: Math.min(MOST_MARKS, Math.floor(decades * MARKS_IN_DECADE)) } : {};
  }

  function layout(figure, more) {
    const axes = {}, wanted = { ...figure.layout, ...more };
    for (const [key, value] of Object.entries(wanted)) {
      if (!/^[xy]axis/.test(key)) continue;
      axes[key] = {
        ...value, ...marks(figure, key, value), gridcolor: colour("grid"), linecolor: colour("line"), zerolinecolor: colour("line"),
      };
    }
    return {
      ...wanted, ...axes, showlegend: false, uirevision: figure.name, hovermode: "closest",
      paper_bgcolor: colour("ground"), plot_bgcolor: colour("ground"),
      font: { color: colour("ink"), family: getComputedStyle(document.body).fontFamily, size: 13 },
      hoverlabel: { bgcolor: colour("raised"), bordercolor: colour("line"), font: { color: colour("ink") } },
      margin: { l: 60, r: 20, t: 34, b: 50 },
    };
  }

  function stacked(figure) {
    const names = Object.keys(figure.layout).filter((key) => /^xaxis/.test(key));
    const count = names.length;
    if (count < 2 || room(figure) >= NARROW) return {};
    const height = count * PANEL + (count - 1) * BETWEEN;
    const more = { height: height + AROUND };
    names.sort((a, b) => Number(a.slice(5) || 1) - Number(b.slice(5) || 1)).forEach((name, place) => {
      const top = 1 - place * (PANEL + BETWEEN) / height;
      const upright = name.replace("x", "y");
      more[name] = { ...figure.layout[name], domain: [0, 1] };
      more[upright] = { ...figure.layout[upright], domain: [Math.max(0, top - PANEL / height), top] };
    });
    const titles = figure.layout.annotations;
    if (titles.length === count) {
      more.annotations = titles.map((title, place) => ({ ...title, x: 0.5, y: 1 - place * (PANEL + BETWEEN) / height }));
    }
    return more;
  }

  function draw(figure) {
    const narrow = { ...figure, layout: { ...figure.layout, ...(onPaper() && paper(figure)), ...stacked(figure) } };
    figure.chart.style.height = narrow.layout.height ? `${narrow.layout.height}px` : "";
    return Plotly.react(figure.chart, traces(figure), layout(narrow), { displayModeBar: false, responsive: true, scrollZoom: false, showTips: false });
  }

  // A picture to keep has its title and a legend, which the page itself says otherwise.
  async function save(figure, format) {
    const more = { showlegend: true, title: { text: figure.title, font: { size: 16 } }, margin: { l: 70, r: 30, t: 70, b: 60 } };
    const picture = { data: traces(figure), layout: layout(figure, more) };
    const url = await Plotly.toImage(picture, { format, width: 1000, height: 560, scale: format === "png" ? 2 : 1 });
    const link = document.createElement("a");
    link.href = url;
    link.download = `${figure.name}.${format}`;
    link.click();
  }

  function button(text, act) {
    const made = document.createElement("button");
    made.type = "button";
    made.append(text);
    made.addEventListener("click", () => act(made));
    return made;
  }

  // A line as the chart has it, or a square.
  function sample(trace) {
    const ink = `var(--colour-${trace.meta.colour})`, dashes = STROKES[DASHES[style(trace.meta)]];
    const [width, shape] = trace.mode?.includes("lines")
      ? [24, `<line y1="6" x2="24" y2="6" stroke-width="3" stroke-dasharray="${dashes}" style="stroke: ${ink}"/>`]
      : [12, `<rect width="12" height="12" rx="2" style="fill: ${ink}"/>`];
    const made = document.createElement("template");
    made.innerHTML = `<svg class="key" width="${width}" height="12">${shape}</svg>`;
    return made.content;
  }

  function tools(figure) {
    const box = figure.element.querySelector(".tools");
    const names = new Map(figure.data.map((trace) => [trace.legendgroup, trace]));
    for (const [name, trace] of names) {
      const toggle = button(name, () => {
        if (!figure.hidden.delete(name)) figure.hidden.add(name);
        toggle.setAttribute("aria-pressed", String(!figure.hidden.has(name)));
        draw(figure);
      });
      toggle.setAttribute("aria-pressed", "true");
      toggle.title = "Show or hide";
      toggle.prepend(sample(trace));
      box.append(toggle);
    }
    const gap = document.createElement("span");
    gap.className = "gap";
    const whole = () => {
      const axes = Object.keys(figure.layout).filter((key) => /^[xy]axis/.test(key));
      Plotly.relayout(figure.chart, Object.fromEntries(axes.map((axis) => [`${axis}.autorange`, true])));
    };
    box.append(gap, button("Whole range", whole), button("Save SVG", () => save(figure, "svg")), button("Save PNG", () => save(figure, "png")));
    box.hidden = false;
  }

  async function start() {
    await library();
    for (const figure of figures) {
      figure.element = document.getElementById(figure.name);
      figure.chart = figure.element.querySelector(".chart");
      figure.hidden = new Set();
      figure.chart.hidden = false;
      tools(figure);
      await draw(figure);
      figure.element.querySelector("details").open = false;
    }
    const again = () => figures.forEach(draw);
    // A phone that is turned.
    matchMedia(`(max-width: ${NARROW}px)`).addEventListener("change", again);
    dark.addEventListener("change", again);
    // On paper: light, at the paper's width, with the table of each figure; the buttons that hide series are the legend.
    addEventListener("beforeprint", () => {
      root.classList.add("print");
      document.querySelectorAll("figure details").forEach((one) => { one.dataset.was = one.open; one.open = true; });
      again();
    });
    addEventListener("afterprint", () => {
      root.classList.remove("print");
      document.querySelectorAll("figure details").forEach((one) => { one.open = one.dataset.was === "true"; });
      again();
    });
    root.dataset.charts = String(figures.length);
  }

  start().catch((problem) => {
    // The tables stay open and say everything.
    console.error(problem);
    document.querySelectorAll(".chart, .tools").forEach((one) => { one.hidden = true; });
  });
})();
