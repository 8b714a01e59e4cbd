extension HTML {
    /// The style sheet of a report: for screens in both themes, and for A4.
    ///
    /// The colours are those of the web pages.
    static var monthStyle: HTML {
        HTML(
            own: """
                :root {
                    color-scheme: light dark;
                    --ground: #fbfbfa; --surface: #ffffff; --ink: #1b1d1f; --muted: #5a6067;
                    --line: #d9dbdf; --accent: #0b6570; --band: #a9d3d7; --warn: #7d5300;
                    --awake: #b9bdc3; --rem: #8fc9cf; --core: #3f97a1; --deep: #0a4a53;
                }
                @media screen and (prefers-color-scheme: dark) {
                    :root {
                        --ground: #121416; --surface: #191c1f; --ink: #e9ebed; --muted: #a2a9b0;
                        --line: #2c3136; --accent: #6cc7d1; --band: #2b5b61; --warn: #e8bd6a;
                        --awake: #646b73; --rem: #a9e3ea; --core: #4fa9b4; --deep: #1e6570;
                    }
                }
                @page { size: A4; margin: 16mm 15mm; }
                * { box-sizing: border-box; }
                body {
                    margin: 0; background: var(--ground); color: var(--ink);
                    font: 400 1rem/1.5 system-ui, "Segoe UI", Roboto, "Noto Sans", sans-serif;
                    font-variant-numeric: tabular-nums;
                }
                main { max-width: 56rem; margin: 0 auto; padding: 2.5rem 1.25rem 4rem; }
                h1, h2, h3 { line-height: 1.25; margin: 0; font-weight: 620; }
                h1 { font-size: 1.9rem; letter-spacing: -0.018em; }
                h2 { font-size: 1.2rem; margin: 2.5rem 0 0.9rem; break-after: avoid; }
                h3 { font-size: 0.95rem; }
                p, ul, dl { margin: 0; padding: 0; }
                section > p { margin-bottom: 0.4rem; break-after: avoid; }
                .muted { color: var(--muted); }
                .small { font-size: 0.85rem; }
                .warn { color: var(--warn); font-weight: 620; }
                .unit { color: var(--muted); font-weight: 400; font-size: 0.8em; }
                .facts {
                    display: flex; flex-wrap: wrap; gap: 0.5rem 2rem; margin-top: 1rem;
                    padding: 0.9rem 0; border: solid var(--line); border-width: 1px 0;
                }
                .facts dt { color: var(--muted); font-size: 0.8rem; }
                .facts dd { margin: 0; }
                .cards {
                    display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); gap: 0.9rem;
                }
                .figures {
                    display: grid; grid-template-columns: repeat(4, minmax(0, 1fr)); gap: 0.9rem;
                    list-style: none; margin-bottom: 0.9rem;
                }
                .card {
                    background: var(--surface); border: 1px solid var(--line);
                    border-radius: 10px; padding: 0.9rem 1rem; break-inside: avoid;
                }
                .value { font-size: 1.45rem; font-weight: 620; line-height: 1.3; }
                svg { display: block; width: 100%; }
                .chart { margin: 0.5rem 0 0.3rem; height: auto; }
                svg text { fill: var(--muted); font-size: 9.5px; }
                .grid { stroke: var(--line); stroke-width: 1; }
                .band { fill: var(--band); }
                .bar { fill: var(--accent); }
                .mean { fill: none; stroke: var(--accent); stroke-width: 1.5; }
                .dot { fill: var(--accent); }
                .night {
                    display: grid; grid-template-columns: 4.2rem minmax(0, 1fr) 5.2rem;
                    gap: 0.6rem; align-items: center; font-size: 0.8rem; line-height: 1.35;
                    break-inside: avoid;
                }
                .night span:last-child { text-align: right; }
                .Awake { fill: var(--awake); background: var(--awake); }
                .AsleepREM { fill: var(--rem); background: var(--rem); }
                .AsleepCore { fill: var(--core); background: var(--core); }
                .AsleepDeep { fill: var(--deep); background: var(--deep); }
                .key { display: flex; gap: 1.1rem; list-style: none; margin-bottom: 0.6rem; }
                .key span {
                    display: inline-block; width: 0.8em; height: 0.8em; border-radius: 2px;
                    margin-right: 0.35em; print-color-adjust: exact;
                }
                svg, .card { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
                .scroll { overflow-x: auto; }
                table { border-collapse: collapse; width: 100%; font-size: 0.85rem; }
                th, td { padding: 0.28rem 0.6rem 0.28rem 0; text-align: left; }
                th { color: var(--muted); font-weight: 500; border-bottom: 1px solid var(--line); }
                tbody th { color: inherit; font-weight: 400; border: 0; }
                tr { break-inside: avoid; }
                .number { text-align: right; padding-right: 0; padding-left: 0.6rem; }
                summary { cursor: pointer; color: var(--accent); font-size: 0.85rem; }
                details[open] > summary { margin-bottom: 0.4rem; }
                .insight { margin-bottom: 1.5rem; max-width: 42rem; }
                .insight p { margin-top: 0.4rem; }
                .insight ul, .missing { padding-left: 1.2rem; }
                footer { margin-top: 3rem; }
                @media (max-width: 640px) {
                    .cards { grid-template-columns: minmax(0, 1fr); }
                    .figures { grid-template-columns: repeat(2, minmax(0, 1fr)); }
                    .night { grid-template-columns: 3.6rem minmax(0, 1fr) 4.4rem; }
                }
                @media print {
                    :root { --ground: #ffffff; }
                    html { font-size: 9.5pt; }
                    main { max-width: none; padding: 0; }
                    .scroll { overflow: visible; }
                    details:not([open]) { display: none; }
                    h2 { margin-top: 1.8rem; }
                }
                """)
    }
}
