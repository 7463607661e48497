// Draws the figures of a study from the data in the page's element `data`. Names in the data come from outside: they reach the page as
// text only, through esc() where a tooltip wants HTML.
"use strict";
(() => {
  const { PAPER_WIDTH, SYMBOLS, isPrinting, esc, short, narrow, theme, figures, base, start, keyOf, shaded, drawBy } = frame;
  const data = JSON.parse(document.getElementById("data").textContent);
  // Room for the title of a vertical axis and labels of a few digits.
  const LEFT = 40;
  // Between a label and its axis.
  const MARGIN = 8;
  // Panels or figures that stand beside each other on paper.
  const ABREAST = 2;
  // Pixels that a letter of a label takes.
  const LETTER = 7;

  // The panels of a figure have one scale, so that they can be compared.
  function range(drawing) {
    const values = drawing.panels.flatMap((panel) => panel.points.flat().map(({ y }) => y));
    if (drawing.log_y) {
      const above = values.filter((y) => y > 0);
      const [least, most] = above.length ? [Math.min(...above), Math.max(...above)] : [1, 1];
      // Below the least value, so that every bar can be seen; bars begin at 1 unless told otherwise.
      const min = 10 ** (Math.ceil(Math.log10(least)) - 1);
      return { min, max: 10 ** Math.ceil(Math.log10(most * 1.0001)), startValue: min };
    }
    const [least, most] = [Math.min(0, ...values), Math.max(0, ...values)];
    if (drawing.panels.length === 1) return least < 0 ? {} : { min: 0 };
    const step = pace((most - least) / 4 || 1);
    return { min: Math.floor(least / step) * step, max: Math.ceil(most / step) * step, interval: step };
  }

  // The round figure that is not below this.
  function pace(step) {
    const ten = 10 ** Math.floor(Math.log10(step));
    return [1, 2, 2.5, 5, 10].map((digit) => digit * ten).find((round) => round >= step * 0.9999);
  }

  // Room for the labels of a vertical axis.
  function labelled(drawing) {
    const { min, max } = range(drawing);
    const ends = drawing.log_y ? [min, max] : drawing.panels.flatMap((panel) => panel.points.flat().map(({ y }) => Math.round(y)));
    const digits = Math.max(...ends.map((end) => end.toLocaleString("en", { maximumSignificantDigits: 1 }).length));
    return Math.max(LEFT, MARGIN + digits * LETTER);
  }

  const style = (series) => ({ color: shaded(series), symbol: SYMBOLS[series % SYMBOLS.length] });

  // A value of which a logarithm is not to be had has no bar: it is written where the bar would begin.
  function written(y, foot, sideways) {
    const { ink } = theme();
    return { value: foot, y, label: { show: true, position: sideways ? "right" : "top", distance: 1, formatter: figures(y), color: ink, fontSize: 10 } };
  }

  function seriesOf(drawing, panel, sideways) {
    const { ink } = theme();
    const { startValue: foot } = range(drawing);
    const bar = (y) => (y === undefined ? null : drawing.log_y && y <= 0 ? written(y, foot, sideways) : y);
    return drawing.series.map((name, number) => {
      const points = panel.points[number];
      const { color, symbol } = style(number);
      if (drawing.shape === "lines" || drawing.shape === "points") {
        const few = panel.points.flat().length <= 14;
        return {
          type: drawing.shape === "lines" ? "line" : "scatter",
          name,
          symbol,
          symbolSize: drawing.shape === "lines" ? (points.length > 40 ? 3 : 7) : 9,
          showAllSymbol: true,
          itemStyle: { color, opacity: drawing.shape === "lines" ? 1 : 0.85 },
          lineStyle: { color, width: 2 },
          label: { show: drawing.shape === "points" && few && !narrow(), formatter: ({ data: at }) => short(at.name, 16), position: "right", color: ink, fontSize: 11 },
          labelLayout: { hideOverlap: true },
          data: points.map(({ x, y, name: called }) => ({ value: [x, y], name: called })),
        };
      }
      return {
        type: "bar",
        name,
        barMaxWidth: 30,
        barGap: "6%",
        barCategoryGap: "22%",
        itemStyle: { color },
        data: panel.names.map((_, place) => bar(points.find(({ x }) => x === place)?.y)),
      };
    });
  }

  function draw(element) {
    const drawing = data.figures[element.dataset.figure];
    const panel = drawing.panels[element.dataset.panel];
    const paper = element.closest(".whole .wide") ? PAPER_WIDTH : Math.floor(PAPER_WIDTH / ABREAST) - 10;
    const width = isPrinting() ? paper : element.clientWidth;
    const { axis, ...options } = base();
    const bars = drawing.shape === "bars";
    const abreast = bars ? drawing.series.length : 1;
    const letters = panel.names ? Math.max(...panel.names.map((name) => Math.min(name.length, 18))) : 0;
    // Bars lie where their names would stand in each other's way.
    const sideways = bars && (panel.names.length * (letters + 1) * LETTER > width - LEFT || panel.names.length * abreast * 7 > width - LEFT);
    const names = panel.names && {
      ...axis,
      type: "category",
      data: panel.names.map((name) => short(name, narrow() ? 16 : 26)),
      inverse: sideways,
      splitLine: { show: false },
      axisLabel: { ...axis.axisLabel, interval: bars ? 0 : "auto", hideOverlap: !bars },
    };
    const numbers = { ...axis, type: "value", scale: true, splitLine: { show: false }, axisTick: { show: true } };
    const along = { ...(names ?? numbers), name: sideways ? "" : drawing.x_title, nameLocation: "middle", nameGap: 26 };
    const up = {
      ...axis,
      ...range(drawing),
      type: drawing.log_y ? "log" : "value",
      name: drawing.y_title,
      nameLocation: "middle",
      nameGap: sideways ? 26 : labelled(drawing),
    };
    const height = sideways ? 54 + panel.names.length * (abreast * (isPrinting() ? 7 : 9) + 9) : isPrinting() ? 190 : width > 700 ? 300 : 250;
    start(element, height, "svg", paper).setOption({
      ...options,
      grid: sideways ? { left: 4, right: 18, top: 6, bottom: 28, containLabel: true } : { left: LEFT + 4, right: 14, top: 12, bottom: 26, containLabel: true },
      xAxis: sideways ? up : along,
      yAxis: sideways ? along : up,
      tooltip: {
        ...options.tooltip,
        ...(drawing.shape === "points" ? {} : { trigger: "axis", axisPointer: { type: bars ? "shadow" : "line" } }),
        formatter: (hit) => tip(drawing, panel, hit),
      },
      series: seriesOf(drawing, panel, sideways),
    });
  }

  function tip(drawing, panel, hit) {
    const y = ({ value, data: at }) => (Array.isArray(value) ? value[1] : (at?.y ?? value));
    const many = (of) => (drawing.series.length > 1 ? `${esc(of.seriesName)}: ` : "");
    const at = (x) => (panel.names ? esc(panel.names[x]) : `${esc(drawing.x_title)} ${Number.isInteger(x) ? x : figures(x)}`);
    if (Array.isArray(hit)) {
      const rows = hit.filter((of) => y(of) != null).map((of) => `${of.marker}${many(of)}<b>${figures(y(of))}</b>`);
      return [`<b>${at(Array.isArray(hit[0].value) ? hit[0].value[0] : hit[0].dataIndex)}</b>`, ...rows].join("<br>");
    }
    const called = hit.data.name ? `<b>${esc(hit.data.name)}</b><br>` : "";
    return `${called}${hit.marker}${many(hit)}${at(hit.value[0])}, ${esc(drawing.y_title)} <b>${figures(hit.value[1])}</b>`;
  }

  drawBy(() => {
    for (const element of document.querySelectorAll("[data-plot]")) draw(element);
    for (const place of document.querySelectorAll("[data-key]")) {
      const key = keyOf(data.figures[place.dataset.key].series.map((label, series) => ({ label, style: `background:${style(series).color}` })), 40);
      place.replaceChildren(...key.childNodes);
    }
  });
})();
