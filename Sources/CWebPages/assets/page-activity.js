/** Activity: the rings of each day beside the goals, and all years month by month. */
import {getOrNone} from "./api.js";
import {behind, choices, empty, h, table} from "./dom.js";
import {addDays, civilDay, dayOf, measure, number} from "./format.js";
import {byYear, lastDay, monthBars, monthName} from "./months.js";
import {ringNames, rings} from "./pictures.js";

const lengths = [28, 90];
const all = "all";

async function load({query, signal}) {
    const month = /^\d{4}-\d\d$/.test(query.get("month") ?? "") ? query.get("month") : null;
    const asked = query.get("days");
    if (!month && asked === all) {
        const answer = await getOrNone("activity", {by: "month"}, signal);
        return {chosen: all, months: answer?.rows ?? []};
    }
    const days = lengths.includes(Number(asked)) ? Number(asked) : lengths[0];
    const span = month ? {since: `${month}-01`, until: lastDay(month)} : {since: `${days}d`};
    const answer = await getOrNone("activity", span, signal);
    return {chosen: month ? null : days, month, days: answer?.rows ?? []};
}

function draw(data, place) {
    const options = [...lengths.map((length) => [length, `${length} days`]), [all, "All years"]];
    const open = {...place, setQuery: (changes) => place.setQuery({month: null, ...changes})};
    const heading = [
        h("h1", null, data.month ? `Activity in ${monthName(data.month, "long")}` : "Activity"),
        h("div", {class: "controls"}, choices("Days", "days", options, data.chosen, open)),
    ];
    if (data.chosen === all) return [heading, years(data.months, place)];
    if (data.days.length === 0) {
        return [
            heading,
            empty("No goals are recorded in these days.", "A watch keeps them, once for each day.")
        ];
    }
    const {days} = data;
    const whole = days.filter((day) => day.all_closed).length;
    const isOld = !data.month && addDays(days[0].day, 7) < dayOf(Date.now());
    return [
        heading,
        h("p", {class: "lead"}, "Every goal was met on ",
            h("data", {value: whole, id: "closed"}, number(whole)), ` of ${number(days.length)} days`,
            isOld ? `, up to ${civilDay(days[0].day, {
                day: "numeric", month: "long", year: "numeric"
            })}.` : "."),
        h("section", {class: "panel", "aria-labelledby": "rings"},
            h("div", {class: "section-head"}, h("h2", {id: "rings"}, "Days"), ringNames()),
            h("ul", {class: "ring-days"}, [...days].reverse().map((day) => h("li", null,
                rings(day), h("span", {class: "small"},
                    civilDay(day.day, {day: "numeric", month: "short"}))))),
            behind("Days as a table", () => daysTable(days))),
    ];
}

/** What was done, and the goal behind it. */
const aim = (value, goal, unit) => value === null ? ""
    : [measure(value, unit), goal === null ? null : h("span", {class: "muted"}, ` of ${number(goal, 0)}`)];

function daysTable(days) {
    return table("Days", ["Day", "#Move", "#Exercise", "#Stand", "Every goal"],
        days.map((day) => [
            civilDay(day.day, {weekday: "short", day: "numeric", month: "short", year: "numeric"}),
            aim(day.move, day.move_goal, day.move_unit),
            aim(day.exercise_minutes, day.exercise_minutes_goal, "min"),
            aim(day.stand_hours, day.stand_hours_goal, "h"), day.all_closed ? "met" : "not met",
        ]));
}

function years(months, place) {
    if (months.length === 0) return empty("No goals are recorded.");
    const sum = (rows, name) => rows.reduce((sum, row) => sum + row[name], 0);
    const open = (month) => {
        place.setQuery({month, days: null});
        place.refresh();
    };
    const share = (row) => 100 * row.all_closed / row.days;
    const row = (rows) => [
        number(sum(rows, "days")), number(sum(rows, "move_closed")),
        number(sum(rows, "exercise_closed")), number(sum(rows, "stand_closed")),
        number(sum(rows, "all_closed")),
    ];
    const heads = ["#Days", "#Move", "#Exercise", "#Stand", "#Every goal"];
    return [
        h("p", {class: "lead"}, "Every goal was met on ",
            h("data", {value: sum(months, "all_closed"), id: "all-closed"},
                number(sum(months, "all_closed"))),
            ` of ${number(sum(months, "days"))} days since ${monthName(months[0].month, "long")}.`),
        h("section", {class: "panel", "aria-labelledby": "months"},
            h("h2", {id: "months"}, "Share of each month's days that met every goal"),
            monthBars(months, {
                value: share, open,
                text: (one) => `${number(one.all_closed)} of ${number(one.days)} days`,
                label: `Days of ${months.length} months; the table has the numbers.`
            }),
            behind("Months as a table", () => table("Months", ["Month", ...heads],
                [...months].reverse().map((one) => [
                    h("a", {href: `/activity?month=${one.month}`}, monthName(one.month)),
                    ...row([one])
                ])))),
        h("section", {class: "plain", "aria-label": "Years"}, table("Years", ["Year", ...heads],
            byYear(months).map(([name, rows]) => [name, ...row(rows)]))),
    ];
}

export default {title: "Activity", load, draw};
