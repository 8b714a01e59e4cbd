/** Workouts: how much, and each one. */
import {getOrNone} from "./api.js";
import {behind, choices, empty, h, svg, table} from "./dom.js";
import {addDays, civilDay, dayOf, measure, moment, number, unitText, words} from "./format.js";

const lengths = [[30, "30 days"], [90, "90 days"], [365, "1 year"]];

async function load({query, signal}) {
    const days = lengths.some(([length]) => length === Number(query.get("days")))
        ? Number(query.get("days"))
        : 90;
    const words = {type: "Workout", by: "raw", since: addDays(dayOf(Date.now()), 1 - days)};
    const answer = await getOrNone("records", words, signal);
    return {days, workouts: (answer?.rows ?? []).map(workoutOf).reverse()};
}

/** A workout of the archive: its sums are in its metadata, as its source wrote them. */
function workoutOf(row) {
    const written = row.metadata?.WorkoutStatistics;
    /** @type {any[]} */
    let statistics = [];
    try {
        statistics = written ? JSON.parse(written) : [];
    } catch {
        // A list that was written by another program is shown as not there.
    }
    const find = (type) => statistics.find((one) => one.type?.endsWith(type));
    const sum = (...types) => {
        const found = types.map(find).find((one) => one?.sum);
        return found ? {value: Number(found.sum), unit: found.unit} : null;
    };
    const heart = find("IdentifierHeartRate");
    return {
        start: row.start,
        end: row.end,
        kind: words(row.value),
        source: row.source,
        minutes: (Date.parse(row.end) - Date.parse(row.start)) / 60_000,
        energy: sum("ActiveEnergyBurned"),
        distance: sum("DistanceWalkingRunning", "DistanceCycling", "DistanceSwimming"),
        heart: heart?.average ? {value: Number(heart.average), unit: heart.unit} : null
    };
}

function draw({days, workouts}, place) {
    const heading = [
        h("h1", null, "Workouts"),
        h("div", {class: "controls"}, choices("Days", "days", lengths, days, place)),
    ];
    if (workouts.length === 0) return [heading, empty("No workout is recorded in these days.")];
    const total = workouts.reduce((sum, one) => sum + one.minutes, 0);
    return [
        heading,
        h("p", {class: "lead"},
            h("data", {value: workouts.length, id: "workouts"}, number(workouts.length)),
            workouts.length === 1 ? " workout, " : " workouts, ",
            measure(Math.round(total), "min"),
            ` in all, ${number(total / (days / 7), 0)} min a week.`),
        h("section", {class: "panel", "aria-labelledby": "weeks"},
            h("h2", {id: "weeks"}, "Minutes a week"), weeks(workouts, days)),
        h("section", {class: "plain", "aria-label": "Each workout"}, workoutsTable(workouts)),
    ];
}

function workoutsTable(workouts) {
    const figure = (part) => part === null ? ""
        : [number(part.value), h("span", {class: "unit"}, ` ${unitText(part.unit)}`)];
    return table("Workouts", ["Workout", "When", "#Length", "#Energy", "#Distance", "#Heart rate"],
        workouts.map((one) => [
            one.kind,
            moment(one.start),
            measure(Math.round(one.minutes), "min"),
            ...[one.energy, one.distance, one.heart].map(figure),
        ]));
}

function weeks(workouts, days) {
    const today = dayOf(Date.now());
    const count = Math.ceil(days / 7);
    const sums = Array.from({length: count}, (_, index) => {
        const last = addDays(today, -7 * (count - 1 - index));
        const first = addDays(last, -6);
        const own = workouts.filter((one) => dayOf(one.start) >= first && dayOf(one.start) <= last);
        return {
            first,
            last,
            number: own.length,
            minutes: own.reduce((sum, one) => sum + one.minutes, 0)
        };
    });
    const most = Math.max(60, ...sums.map((week) => week.minutes));
    const width = 100 / count;
    const label = `Minutes of ${count} weeks; the greatest is ${number(most, 0)}.`;
    const bar = (week, index) => svg("rect", {
        x: `${index * width + width * 0.14}%`, width: `${width * 0.72}%`, rx: 2,
        y: 139 - 132 * week.minutes / most, height: 132 * week.minutes / most,
    }, svg("title", null, `week to ${civilDay(week.last)}: ${number(week.minutes, 0)} min`));
    const row = (week) =>
        [civilDay(week.last), number(week.number), measure(Math.round(week.minutes), "min")];
    return h("div", null,
        svg("svg", {class: "bars", width: "100%", height: 140, role: "img", "aria-label": label},
            svg("line", {class: "rail", x1: 0, x2: "100%", y1: 139.5, y2: 139.5}),
            sums.map(bar)),
        h("div", {class: "ends small muted", "aria-hidden": "true"},
            h("span", null, civilDay(sums[0].first)), h("span", null, civilDay(sums.at(-1).last))),
        behind("Weeks as a table", () =>
            table("Weeks", ["Week to", "#Workouts", "#Time"], [...sums].reverse().map(row))));
}

export default {title: "Workouts", load, draw};
