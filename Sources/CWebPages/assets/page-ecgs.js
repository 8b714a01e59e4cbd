/** Electrocardiograms: a list, and the curve of one as on paper. */
import {getOrNone, RequestError} from "./api.js";
import {behind, empty, facts, h, svg, table} from "./dom.js";
import {civilDay, clockTime, count, dayOf, measure, moment, number} from "./format.js";

async function load({query, signal}) {
    const at = query.get("at");
    if (!at) return {list: (await getOrNone("ecgs", {}, signal))?.rows ?? []};
    const answer = await getOrNone(`ecgs/${encodeURIComponent(at)}`, {}, signal);
    if (!answer) throw new RequestError(404, "No electrocardiogram begins at this time.");
    return {ones: answer.rows};
}

function draw({list, ones}) {
    if (ones) {
        return [
            h("p", {class: "small"}, h("a", {href: "/ecgs"}, "Electrocardiograms")),
            ones.map(one),
        ];
    }
    if (list.length === 0) {
        return [
            h("h1", null, "Electrocardiograms"),
            empty("No electrocardiogram is kept.",
                "An export has those of a watch, each in a file of its own.")
        ];
    }
    const classes = new Map();
    for (const {classification} of list)
        classes.set(classification, (classes.get(classification) ?? 0) + 1);
    return [
        h("h1", null, "Electrocardiograms"),
        h("p", {class: "lead"}, h("data", {value: list.length, id: "ecgs"},
            count(list.length, "electrocardiogram")), ": ",
            [...classes].map(([name, times]) => `${number(times)} ${name ?? "without a finding"}`)
                .join(", "), "."),
        h("section", {class: "plain", "aria-label": "Each electrocardiogram"},
            table("Electrocardiograms", ["Begun", "Finding", "#Heart rate", "Symptoms", "Source"],
                list.map((row) => [
                    h("a", {href: `/ecgs?at=${encodeURIComponent(row.start)}`}, moment(row.start)),
                    row.classification ?? "",
                    row.heart_rate === null ? "" : measure(row.heart_rate, "/min"),
                    row.symptoms ?? "", row.source ?? "",
                ]))),
    ];
}

function one(row) {
    return [
        h("h1", null, row.classification ?? "Electrocardiogram"),
        h("p", {class: "lead"}, civilDay(dayOf(row.start), {
            weekday: "long", day: "numeric", month: "long", year: "numeric"
        }), `, ${clockTime(row.start)}`),
        h("section", {class: "panel", "aria-labelledby": "facts"},
            h("h2", {id: "facts"}, "Facts"),
            facts([
                ["Heart rate, on average",
                    row.heart_rate === null ? null : measure(row.heart_rate, "/min")],
                ["Length", row.seconds === null ? null : `${number(row.seconds)} s`],
                ["Symptoms", row.symptoms], ["Lead", row.lead],
                ["Samples", h("data", {value: row.samples, id: "samples"}, number(row.samples))],
                ["Samples a second", row.hertz === null ? null : number(row.hertz)],
                ["Source", row.source],
            ]),
            h("p", {class: "muted small"}, "The finding is that of the watch. These pages draw the "
                + "curve and judge nothing.")),
        row.curve?.length > 1 && row.hertz ? paper(row) : null,
    ];
}

/** Seconds in a strip: a phone has room for fewer. */
const strip = matchMedia("(max-width: 600px)").matches ? 5 : 10;
/** As on paper: 25 mm a second, and 10 mm a millivolt; a unit of the drawing is 1 mm. */
const [speed, gain] = [25, 10];

/** Millivolts in a unit of the samples. */
function scaleOf(unit) {
    if (/^(µ|μ|u|mc)V$/i.test(unit ?? "")) return 0.001;
    return unit === "V" ? 1000 : 1;
}

function paper(row) {
    const scale = scaleOf(row.unit);
    const most = Math.round(strip * row.hertz);
    const strips = [];
    for (let at = 0; at < row.curve.length; at += most) strips.push(row.curve.slice(at, at + most));
    // The drift of a whole strip says nothing; its middle is the line of the paper.
    const edges = strips.map((values) => {
        const sorted = [...values].sort((a, b) => a - b);
        const middle = sorted[Math.floor(sorted.length / 2)];
        return {middle, least: sorted[0] - middle, most: sorted.at(-1) - middle};
    });
    const above = Math.max(10, Math.ceil(Math.max(...edges.map((edge) => edge.most)) * scale * gain / 5) * 5 + 5);
    const below = Math.max(5, Math.ceil(-Math.min(...edges.map((edge) => edge.least)) * scale * gain / 5) * 5);
    return h("section", {class: "panel", "aria-labelledby": "curve"},
        h("h2", {id: "curve"}, "Curve"),
        h("p", {class: "muted small"}, `${speed} mm a second, ${gain} mm a millivolt.`),
        strips.map((values, index) => drawn(values, edges[index].middle, index, {
            above, height: above + below, scale, hertz: row.hertz
        })),
        behind("Samples as text", () => h("pre", {class: "output", tabindex: 0},
            row.curve.map((value) => String(value)).join(" "))));
}

function drawn(values, middle, index, {above, height, scale, hertz}) {
    const width = strip * speed;
    const path = values.map((value, at) => {
        const x = (at / hertz * speed).toFixed(2);
        const y = (above - (value - middle) * scale * gain).toFixed(2);
        return `${at ? "L" : "M"}${x} ${y}`;
    });
    const lines = [];
    for (let x = 0; x <= width; x += 5) lines.push(`M${x} 0V${height}`);
    for (let y = 0; y <= height; y += 5) lines.push(`M0 ${y}H${width}`);
    const last = index * strip + values.length / hertz;
    return svg("svg", {
        class: "paper", viewBox: `0 0 ${width} ${height}`, role: "img",
        "aria-label": `Curve from second ${index * strip} to ${number(last, 0)}`,
    },
        svg("path", {class: "grid", d: lines.join("")}),
        svg("path", {class: "trace", d: path.join(""), "vector-effect": "non-scaling-stroke"}));
}

export default {title: "Electrocardiograms", load, draw};
