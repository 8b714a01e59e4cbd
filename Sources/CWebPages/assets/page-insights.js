/** Insights: each with its full text, and the weeks that were analysed. */
import {getOrNone} from "./api.js";
import {empty, h, table} from "./dom.js";
import {age, civilDay, count, dated, moment, number, words} from "./format.js";

/** How many insights are shown at first, and added by each press. */
const portion = 50;

async function load({query, signal}) {
    const shown = Math.min(Math.max(Math.trunc(Number(query.get("shown"))) || portion, 1), 999);
    const [insights, analyses] = await Promise.all([
        // One more, to know whether there is one.
        getOrNone("insights", {limit: shown + 1}, signal),
        getOrNone("analyses", {}, signal),
    ]);
    return {insights: (insights ?? []).slice(0, shown), more: (insights ?? []).length > shown,
        analyses: analyses ?? []};
}

function draw({insights, more, analyses}) {
    return [
        h("h1", null, "Insights"),
        insights.length === 0 ? noInsight() : [
            h("p", {class: "lead"},
                `${more ? "The last " : ""}${count(insights.length, "insight")}, fetched `,
                age(insights[0].synced_at), "."),
            h("ol", {class: "insights"}, insights.map(insightItem)),
            more ? h("p", null, h("a",
                {href: `/insights?shown=${insights.length + portion}`, "data-key": "earlier"},
                "Show earlier insights")) : null,
        ],
        h("section", {class: "plain below", "aria-labelledby": "analyses"},
            h("h2", {id: "analyses", class: "spaced"}, "Analyses"),
            analyses.length === 0 ? noAnalysis() : analysesTable(analyses)),
    ];
}

const noInsight = () => empty("The backend has made no insight yet.",
    "It makes them from what was uploaded; a job of kind ", h("code", null, "insight-history"),
    " fetches them.");

const noAnalysis = () => h("p", {class: "muted"},
    "No week was sent to be analysed. A job of kind ", h("code", null, "pat-analysis"),
    " does it.");

const analysesTable = (analyses) => table("Analyses",
    ["Week", "State", "#Known minutes", "Sent as", "Result"],
    analyses.map((one) => [
        `${civilDay(one.first_day)} to ${civilDay(one.last_day)}`,
        words(one.state),
        number(one.known_minutes),
        one.form,
        one.reason ?? Object.entries(one.numbers ?? {})
            .map(([name, value]) => `${words(name)} ${number(value, 3)}`).join(", "),
    ]));

/** The newest is open; the others show their first key point. */
function insightItem(insight, index) {
    const confidence = insight.confidence_score ?? null;
    const point = sentence(insight.key_insights[0] ?? insight.narrative);
    const details = h("details",
        {class: "panel", "data-key": `insight ${insight.id}`, "data-insight": insight.id},
        h("summary", null,
            h("span", {class: "when"}, dated(insight.generated_at, {dateStyle: "medium"})),
            h("span", {class: "point"}, point)),
        h("div", {class: "body"},
            h("p", {class: "prose narrative"}, insight.narrative),
            list("Key points", insight.key_insights),
            list("Recommendations", insight.recommendations),
            h("p", {class: "muted small"}, "Made ", moment(insight.generated_at),
                confidence === null ? null : [
                    ", confidence ",
                    h("data", {value: confidence}, `${number(confidence * 100, 0)} %`),
                ])));
    details.open = index === 0;
    return h("li", null, details);
}

const sentence = (text) => text.charAt(0).toUpperCase() + text.slice(1);

const list = (title, points) => points.length === 0 ? null
    : h("div", {class: "points"}, h("h3", null, title),
        h("ul", null, points.map((point) => h("li", null, sentence(point)))));

export default {title: "Insights", load, draw};
