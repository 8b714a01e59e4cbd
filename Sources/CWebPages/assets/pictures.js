/**
 * Small pictures of data, as SVG made by hand: a sparkline, a night's stages, an axis of hours.
 */
import {h, svg} from "./dom.js";
import {clockTime, dated} from "./format.js";

/** The stages from the lightest to the deepest, as Apple Health calls them. */
export const stages = [
    {id: "Awake", name: "Awake", style: "awake"},
    {id: "AsleepREM", name: "REM", style: "rem"},
    {id: "AsleepCore", name: "Core", style: "core"},
    {id: "AsleepDeep", name: "Deep", style: "deep"},
];

/** The stage of a part of a night; sleep without stages counts as core. */
export const stageOf = (id) => stages.find((stage) => stage.id === id) ?? stages[2];

/**
 * A line of values over equal steps. Missing values leave a gap.
 *
 * @param {(number | null)[]} values
 * @param {string} label what it shows, for those who do not see it
 */
export function sparkline(values, label) {
    const known = values.filter((value) => value !== null);
    if (known.length < 2) return null;
    const least = Math.min(...known);
    const most = Math.max(...known);
    const height = (value) => 34 - 28 * (most > least ? (value - least) / (most - least) : 0.5);
    const step = 200 / (values.length - 1);
    let path = "";
    values.forEach((value, index) => {
        if (value === null) return;
        const start = index === 0 || values[index - 1] === null;
        path += `${start ? "M" : "L"}${(index * step).toFixed(1)} ${height(value).toFixed(1)}`;
    });
    return svg("svg", {
        class: "sparkline",
        viewBox: "0 0 200 40",
        preserveAspectRatio: "none",
        role: "img",
        "aria-label": label
    },
        svg("path", {d: path, "vector-effect": "non-scaling-stroke"}));
}

/**
 * One night as stages over time: a lane for each stage, or all in one lane.
 *
 * @param {import("./nights.js").Night} night
 * @param {{from?: number, to?: number, lanes?: boolean}} options the instants at the edges
 */
export function nightPicture(night, options = {}) {
    const {from = night.start, to = night.end, lanes = true} = options;
    const place = (instant) => `${(100 * (instant - from) / (to - from)).toFixed(3)}%`;
    const width = (part) => `${(100 * (part.end - part.start) / (to - from)).toFixed(3)}%`;
    const height = lanes ? 26 : 18;
    const bars = night.parts.map((part) => {
        const stage = stageOf(part.stage);
        const lane = lanes ? stages.indexOf(stage) : 0;
        return svg("rect", {
            class: `stage-${stage.style}`,
            x: place(part.start),
            width: width(part),
            y: lane * 32,
            height,
            rx: 2
        });
    });
    const [start, end] = [clockTime(night.start), clockTime(night.end)];
    return svg("svg", {
        class: lanes ? "night lanes" : "night", width: "100%", height: lanes ? 122 : height,
        role: "img", "aria-label": `Asleep from ${start} to ${end}; the table has the stages`,
    }, bars);
}

/**
 * Hours under a picture of the same width.
 *
 * @param {number} from @param {number} to instants
 * @param {number} [every] hours between two marks
 */
export function hourAxis(from, to, every = 2) {
    const step = every * 3_600_000;
    const marks = [];
    for (let at = Math.ceil(from / step) * step; at <= to; at += step) marks.push(at);
    const axis = h("div", {class: "axis", "aria-hidden": "true"}, marks.map((at) => {
        const mark = h("span", null, dated(at, {hour: "numeric"}));
        const share = 100 * (at - from) / (to - from);
        mark.style.setProperty("left", `${share}%`);
        // The last one would stand beyond the edge.
        if (share > 94) mark.style.setProperty("transform", "translateX(-100%)");
        return mark;
    }));
    return axis;
}

/** What the colours of stages mean. */
export const stageKey = () => h("ul", {class: "key"},
    stages.map(
        (stage) => h("li", null,
            h("span", {class: `swatch back-${stage.style}`, "aria-hidden": "true"}), stage.name)));

/**
 * Bars of one number a month, from zero or, where zero says nothing, from below the least one.
 *
 * @param {(number | null)[]} values
 * @param {{label: string, isFromZero: boolean, text: (value: number, index: number) => string}} options
 */
export function bars(values, {label, isFromZero, text}) {
    const known = values.filter((value) => value !== null);
    if (known.length === 0) return null;
    const [least, most] = [Math.min(...known), Math.max(...known)];
    const floor = isFromZero ? Math.min(0, least) : least - (most - least) / 2;
    const height = (value) => 3 + 33 * (most > floor ? (value - floor) / (most - floor) : 1);
    const step = 200 / values.length;
    return svg("svg", {
        class: "bars small-bars", viewBox: "0 0 200 40", preserveAspectRatio: "none", role: "img",
        "aria-label": label,
    }, values.map((value, index) => value === null ? null : svg("rect", {
        x: (index * step + step * 0.15).toFixed(1), width: (step * 0.7).toFixed(1),
        y: (38 - height(value)).toFixed(1), height: height(value).toFixed(1),
    }, svg("title", null, text(value, index)))));
}

const ringParts = [
    {name: "Move", style: "move", value: "move", goal: "move_goal"},
    {name: "Exercise", style: "exercise", value: "exercise_minutes", goal: "exercise_minutes_goal"},
    {name: "Stand", style: "stand", value: "stand_hours", goal: "stand_hours_goal"},
];

/**
 * The three rings of a day; a ring without a goal stays empty.
 *
 * @param {Record<string, any>} day a row of `activity`
 */
export function rings(day) {
    const share = (part) => day[part.goal] ? (day[part.value] ?? 0) / day[part.goal] : 0;
    const words = ringParts.map((part) => `${part.name} ${Math.round(100 * share(part))} %`);
    return svg("svg", {
        class: "rings", viewBox: "0 0 100 100", role: "img", "aria-label": words.join(", "),
    }, ringParts.map((part, index) => {
        const radius = 44 - 13 * index;
        const round = 2 * Math.PI * radius;
        const arc = Math.min(1, share(part)) * round;
        return svg("g", {class: `ring-${part.style}`},
            svg("circle", {class: "rest", cx: 50, cy: 50, r: radius}),
            arc > 0 ? svg("circle", {
                cx: 50, cy: 50, r: radius, transform: "rotate(-90 50 50)",
                "stroke-dasharray": `${arc.toFixed(1)} ${(round - arc + 0.1).toFixed(1)}`,
            }) : null);
    }));
}

/** What the colours of rings mean. */
export const ringNames = () => h("ul", {class: "key"}, ringParts.map((part) => h("li", null,
    h("span", {class: `swatch back-ring-${part.style}`, "aria-hidden": "true"}), part.name)));
