/** Explore: any type of records, from all years down to single ones. */
import {timeChart} from "./charts.js";
import {csvText} from "./csv.js";
import {announce, behind, button, noData, h, table} from "./dom.js";
import {addDays, civilDay, dated, dayOf, dayTime, number, startOfDay} from "./format.js";
import {attachGestures, panned, within, zoomed} from "./gestures.js";
import {
    loadKinds,
    loadSeries,
    resolutionFor,
    seriesUnit,
    totals
} from "./series.js";

const day = 86_400_000;
/** @type {[string, number][]} */
const spans = [["1 day", 1], ["7 days", 7], ["30 days", 30], ["1 year", 365], ["All", Infinity]];
const resolutions = {
    raw: "single records",
    hour: "by the hour",
    day: "by the day",
    month: "by the month"
};

/** What is shown now, and the chart that shows it. */
let view = null;

async function load(place) {
    const kinds = await loadKinds(place.signal);
    const {query} = place;
    const find = (name) => kinds.find((kind) => kind.type === query.get(name));
    const kind = find("type") ?? kinds.find((one) => one.type === "HeartRate") ?? kinds[0];
    if (!kind) return {kinds, series: []};
    const other = find("with") !== kind ? find("with") ?? null : null;
    const limits = limitsOf(kind, other);
    const [from, to] = [Date.parse(query.get("from") ?? ""), Date.parse(query.get("to") ?? "")];
    const range =
        within(from < to ? {from, to} : {from: limits.to - 365 * day, to: limits.to}, limits);
    return {kinds, series: await loadAll([kind, other], range, place.signal), range, limits};
}

/** From the first record to the end of the day of the last one. */
function limitsOf(...kinds) {
    const known = kinds.filter(Boolean);
    return {
        from: startOfDay(dayOf(Math.min(...known.map((kind) => kind.first)))),
        to: startOfDay(addDays(dayOf(Math.max(...known.map((kind) => kind.last))), 1))
    };
}

/** Half a screen more on each side, so that panning meets no empty edge. */
function loadAll(kinds, {from, to}, signal) {
    const margin = (to - from) / 2;
    const load = (kind) => loadSeries(kind, from - margin, to + margin,
        resolutionFor(to - from, kind), signal);
    return Promise.all(kinds.filter(Boolean).map(load));
}

function draw({kinds, series, range, limits}, place) {
    view?.chart?.close();
    if (series.length === 0) return [h("h1", null, "Explore"), noData()];
    const canvas = h("canvas", {"aria-hidden": "true"});
    const help = "Chart. Arrow left and right move it, plus and minus zoom, Home shows everything."
        + " The table below has the numbers.";
    const frame = h("div", {
        class: "chart", tabindex: 0, role: "application", "data-key": "chart",
        "aria-label": help, "aria-describedby": "shown",
    }, canvas);
    view = {
        place,
        kinds,
        series,
        range,
        limits,
        chart: null,
        frame,
        waiting: null,
        shown: h("p", {id: "shown", class: "shown"}),
        behind: h("div"),
        days: daysForm(),
        spans: null,
    };
    const last = (days) => ({
        from: Math.max(view.limits.from, view.limits.to - days * day), to: view.limits.to,
    });
    view.spans = h("div", {class: "buttons", role: "group", "aria-label": "Range"},
        spans.map(([text, days]) => button(text, `span ${days}`, () => move(last(days)))));
    attachGestures(frame, {
        range: () => view.range,
        area: () => view.chart?.area() ?? {left: 0, right: frame.clientWidth},
        set: move,
        all: () => move({...view.limits})
    });
    place.signal.addEventListener("abort", close, {once: true});
    begin(canvas);
    return [
        h("h1", null, "Explore"),
        h("div", {class: "controls"}, choice("Show", "type", series[0].kind, null),
            choice("Compare with", "with", series[1]?.kind, "nothing"), view.spans),
        h("section", {class: "panel", "aria-label": "Chart"}, view.shown, frame,
            h("div", {class: "section-head under"},
                h("div", {class: "buttons"},
                    button("Earlier", "earlier", () => move(panned(view.range, -0.5))),
                    button("Later", "later", () => move(panned(view.range, 0.5))),
                    button("Zoom in", "in", () => move(zoomed(view.range, 0.5))),
                    button("Zoom out", "out", () => move(zoomed(view.range, 2)))),
                button("Save as CSV", "csv", saveCSV)),
            view.behind),
        view.days,
        h("p", {class: "muted small"},
            "Drag to move. Pinch, double-click, or click and turn the wheel to zoom."),
    ];
}

async function begin(canvas) {
    const own = view;
    own.chart = await timeChart(canvas);
    if (own !== view) return own.chart.close();
    own.chart.show(own.series, own.range.from, own.range.to);
    describe();
}

function close() {
    clearTimeout(view?.waiting);
    view?.chart?.close();
    view = null;
}

/** A choice of a type. Another type is another address, with the same range. */
function choice(label, name, chosen, none) {
    const options = view.kinds.map(
        (kind) =>
            h("option", {value: kind.type, selected: kind === chosen || kind.type === chosen?.type},
                kind.title));
    return h("label", null, label,
        h("select", {
            "data-key": name,
            onchange: (event) => {
                view.place.setQuery({[name]: event.target.value});
                view.place.refresh();
            }
        },
            none === null ? null : h("option", {value: ""}, none), options));
}

function daysForm() {
    const field = (text, name) => h("label", null, text,
        h("input", {type: "date", name, required: true, "data-key": `day ${name}`}));
    return h("form", {
        class: "controls days",
        onsubmit: (event) => {
            event.preventDefault();
            const values = new FormData(event.target);
            const [from, to] = [
                startOfDay(String(values.get("from"))),
                startOfDay(addDays(String(values.get("to")), 1))
            ];
            if (from < to)
                move({from, to});
            else
                announce("The last day is before the first one.");
        }
    },
        field("First day", "from"), field("Last day", "to"),
        h("button", {"data-key": "days"}, "Show these days"));
}

/** Shows another range at once with what is there, and loads what fits it soon after. */
function move(range) {
    view.range = within(range, view.limits);
    view.chart?.move(view.range.from, view.range.to);
    describe();
    clearTimeout(view.waiting);
    view.waiting = setTimeout(settle, 180);
}

async function settle() {
    const own = view;
    const {from, to} = own.range;
    own.place.setQuery({from: new Date(from).toISOString(), to: new Date(to).toISOString()});
    const wanted = (one) => resolutionFor(to - from, one.kind);
    const fits = own.series.every(
        (one) => (one.resolution === wanted(one) || one.dense && wanted(one) === "raw")
            && one.from <= Math.max(from, one.kind.first) && one.to >= Math.min(to, one.kind.last));
    if (!fits) {
        own.frame.setAttribute("aria-busy", "true");
        try {
            const series =
                await loadAll(own.series.map((one) => one.kind), own.range, own.place.signal);
            if (own !== view || own.range.from !== from || own.range.to !== to) return;
            for (const one of series) one.dense = one.resolution !== wanted(one);
            own.series = series;
            own.chart?.show(series, from, to);
        } catch (error) {
            if (own === view && error.name !== "AbortError")
                own.shown.textContent = `This range could not be loaded: ${error.message}.`;
            return;
        } finally {
            own.frame.removeAttribute("aria-busy");
        }
    }
    describe();
    announce(own.shown.textContent);
}

/** What is shown, in words, and the table behind it. */
function describe() {
    const {series, range, limits} = view;
    const [first, last] = [dayOf(range.from), dayOf(range.to - 1)];
    const days = (name) => civilDay(name, {day: "numeric", month: "short", year: "numeric"});
    const isShort = range.to - range.from < 2 * day;
    const when = isShort ? [range.from, range.to].map(dayTime) : [first, last].map(days);
    view.shown.replaceChildren(h("strong", null, when.join(" to ")),
        `, ${resolutions[series[0].resolution]}`, ...series.map(figures));
    if (series.some((one) => one.kind.isSum && !one.merged)) {
        const note = "Sums by the hour include every source.";
        view.shown.append(h("span", {class: "figure muted"}, note));
    }
    for (const [, length] of spans) {
        const from = Math.max(limits.from, limits.to - length * day);
        const isShown = Math.abs(range.from - from) < 1000 && Math.abs(range.to - limits.to) < 1000;
        view.spans.querySelector(`[data-key="span ${length}"]`)
            .setAttribute("aria-pressed", String(isShown));
    }
    const fields = view.days.elements;
    fields.namedItem("from").value = first;
    fields.namedItem("to").value = last;
    const details = behind("The numbers as a table", numbers);
    details.open = view.behind.querySelector("details")?.open ?? false;
    view.behind.replaceChildren(details);
}

/** The mean of a series, its least and its greatest value within the range. */
function figures(one) {
    const sum = totals(one, view.range.from, view.range.to);
    const unit = seriesUnit(one.kind) ? ` ${seriesUnit(one.kind)}` : "";
    const same = one.resolution === view.series[0].resolution;
    const name = one.kind.title + (same ? "" : ` ${resolutions[one.resolution]}`);
    if (!sum) return h("span", {class: "figure"}, `${name}: no records`);
    const figure = (value, part, decimals) =>
        h("data", {value, class: part}, number(value, decimals));
    return h("span", {class: "figure"}, `${name}: `,
        figure(sum.mean, "mean", sum.mean >= 1000 ? 0 : 1), `${unit} on average, from `,
        figure(sum.min, "min", 1), " to ", figure(sum.max, "max", 1));
}

const shownPoints = (series) =>
    series.points.filter((point) => point.x >= view.range.from && point.x <= view.range.to);

function numbers() {
    const names = {
        day: (point) => civilDay(point.key, {dateStyle: "medium"}),
        month: (point) => dated(point.x, {month: "long", year: "numeric"}),
    };
    const row = (one) => (point) => [
        (names[one.resolution] ?? (({key}) => dayTime(key)))(point),
        ...[point.min, point.mean, point.max].map((value) => number(value, 2)),
        number(point.count),
    ];
    return h("div", null, view.series.map((one) =>
        table(`${one.kind.title}, ${resolutions[one.resolution]}`,
            ["When", "#Least", "#Mean", "#Greatest", "#Records"], shownPoints(one).map(row(one)))));
}

/** Saves what is shown, as the reader sees it and with times in UTC. */
function saveCSV() {
    const records = [
        ["type", "resolution", "start", "least", "mean", "greatest", "records", "unit"]
    ];
    for (const one of view.series) {
        for (const point of shownPoints(one)) {
            records.push([
                one.kind.type, one.resolution, point.key, point.min, point.mean, point.max,
                point.count, seriesUnit(one.kind)
            ]);
        }
    }
    const url = URL.createObjectURL(new Blob([csvText(records)], {type: "text/csv"}));
    const days = [dayOf(view.range.from), dayOf(view.range.to - 1)];
    const download = `${[...view.series.map((one) => one.kind.type), ...days].join("-")}.csv`;
    h("a", {href: url, download}).click();
    setTimeout(() => URL.revokeObjectURL(url), 1000);
}

/** New data in the same view: the chart stays, and so does the range. */
function update({series, limits}) {
    const same = view && series.length === view.series.length
        && series.every((one, index) => one.kind.type === view.series[index].kind.type);
    if (!same || series.length === 0) return false;
    view.limits = limits;
    view.series = series;
    view.chart?.show(series, view.range.from, view.range.to);
    describe();
    return true;
}

export default {title: "Explore", load, draw, update};
