/** Workouts: how much, each one, and all years month by month. */
import {getOrNone} from "./api.js";
import {behind, choices, empty, h, svg, table} from "./dom.js";
import {addDays, civilDay, dayOf, measure, moment, number, regional, unitText} from "./format.js";
import {byYear, lastDay, monthBars, monthName} from "./months.js";

const lengths = [30, 90, 365];
const all = "all";

async function load({query, signal}) {
    const month = /^\d{4}-\d\d$/.test(query.get("month") ?? "") ? query.get("month") : null;
    const asked = query.get("days");
    if (!month && asked === all) {
        const answer = await getOrNone("workouts", {by: "month"}, signal);
        return {chosen: all, months: answer?.rows ?? []};
    }
    const days = lengths.includes(Number(asked)) ? Number(asked) : 90;
    const span = month ? {since: `${month}-01`, until: lastDay(month)} : {since: `${days}d`};
    const answer = await getOrNone("workouts", span, signal);
    return {
        chosen: month ? null : days,
        month,
        since: answer?.since ?? null,
        until: answer?.until ?? null,
        workouts: answer?.rows ?? []
    };
}

function draw(data, place) {
    const options =
        [[30, "30 days"], [90, "90 days"], [365, "1 year"], [all, "All years"]];
    const open = {...place, setQuery: (changes) => place.setQuery({month: null, ...changes})};
    const heading = [
        h("h1", null, data.month ? `Workouts in ${monthName(data.month, "long")}` : "Workouts"),
        h("div", {class: "controls"}, choices("Days", "days", options, data.chosen, open)),
    ];
    if (data.chosen === all) return [heading, years(data.months, place)];
    const {workouts, since, until} = data;
    if (workouts.length === 0) return [heading, empty("No workout is recorded in these days.")];
    const total = workouts.reduce((sum, one) => sum + one.minutes, 0);
    const days = 1 + Math.round((Date.parse(until) - Date.parse(since)) / 86_400_000);
    const isOld = !data.month && addDays(until, 7) < dayOf(Date.now());
    return [
        heading,
        h("p", {class: "lead"},
            h("data", {value: workouts.length, id: "workouts"}, number(workouts.length)),
            workouts.length === 1 ? " workout, " : " workouts, ",
            measure(Math.round(total), "min"),
            ` in all, ${number(total / (days / 7), 0)} min a week`,
            isOld ? `, up to ${civilDay(until, {day: "numeric", month: "long", year: "numeric"})}.`
                  : "."),
        h("section", {class: "panel", "aria-labelledby": "weeks"},
            h("h2", {id: "weeks"}, "Minutes a week"), weeks(workouts, until, days)),
        h("section", {class: "plain", "aria-label": "Each workout"}, workoutsTable(workouts)),
    ];
}

/** A number of a workout with its unit. */
export function figure(value, unit) {
    if (value === null || value === undefined) return "";
    const shown = regional(value, unit);
    return h("data", {value}, number(shown.value), h("span", {class: "unit"}, ` ${unitText(shown.unit)}`));
}

/** The address of a workout's page: the second at which it begins. */
const address = (one) => `/workouts/${Math.round(Date.parse(one.start) / 1000)}`;

function workoutsTable(workouts) {
    return table("Workouts", ["Workout", "When", "#Length", "#Energy", "#Distance", "#Heart rate"],
        workouts.map((one) => [
            h("a", {href: address(one)}, one.title),
            moment(one.start),
            measure(Math.round(one.minutes), "min"),
            figure(one.energy, one.energy_unit),
            figure(one.distance, one.distance_unit),
            figure(one.heart_rate, one.heart_rate_unit),
        ]));
}

function weeks(workouts, until, days) {
    const count = Math.ceil(days / 7);
    const sums = Array.from({length: count}, (_, index) => {
        const last = addDays(until, -7 * (count - 1 - index));
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

function years(months, place) {
    if (months.length === 0) return empty("No workout is recorded.");
    const count = (rows) => rows.reduce((sum, row) => sum + row.workouts, 0);
    const minutes = (rows) => rows.reduce((sum, row) => sum + row.minutes, 0);
    const open = (month) => {
        place.setQuery({month, days: null});
        place.refresh();
    };
    const text = (row) => `${number(row.workouts)} workouts, ${number(row.minutes, 0)} min`;
    const year = (rows) => [number(count(rows)), measure(Math.round(minutes(rows)), "min")];
    return [
        h("p", {class: "lead"},
            h("data", {value: count(months), id: "all-workouts"}, number(count(months))),
            ` workouts since ${monthName(months[0].month, "long")}, `,
            measure(Math.round(minutes(months)), "min"), " in all."),
        h("section", {class: "panel", "aria-labelledby": "months"},
            h("h2", {id: "months"}, "Minutes, month by month"),
            monthBars(months, {
                value: (row) => row.minutes, text, open,
                label: `Minutes of ${months.length} months; the table has the numbers.`
            }),
            behind("Months as a table", () => table("Months",
                ["Month", "#Workouts", "#Time", "Mostly"],
                [...months].reverse().map((row) => [
                    h("a", {href: `/workouts?month=${row.month}`}, monthName(row.month)),
                    number(row.workouts), measure(Math.round(row.minutes), "min"), row.most
                ])))),
        h("section", {class: "plain", "aria-label": "Years"}, table("Years",
            ["Year", "#Workouts", "#Time"],
            byYear(months).map(([name, rows]) => [name, ...year(rows)]))),
    ];
}

export default {title: "Workouts", load, draw};
