//! The report as one HTML file: no script, nothing fetched, figures within.

use super::markdown::about;
use super::section::{Section, Table};
use super::{Head, published};
use std::fmt::Write;

/// Light or dark as the reader's system is; tables and figures scroll by themselves on narrow screens. Figures are black
/// on white, so the dark form turns them inside out and their hues back.
const STYLE: &str = "
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; background: #fff; color: #1b1d21; }
body { margin: 0 auto; max-width: 60rem; padding: 1rem; overflow-wrap: anywhere; }
h1, h2 { line-height: 1.2; } h2 { margin-top: 2.5rem; }
a { color: #0059b3; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; overflow-wrap: normal; }
caption { text-align: left; padding: .8rem 0 .3rem; font-weight: 600; }
th, td { padding: .2rem .6rem; border-bottom: 1px solid #8886; text-align: right; white-space: nowrap; }
th:first-child { text-align: left; } dt { font-weight: 600; } dd { margin: 0 0 .4rem; }
figure { margin: 1rem 0; } figure svg { display: block; width: 100%; min-width: 34rem; height: auto; }
figcaption { font-size: .9rem; opacity: .8; }
.verdict { border-left: .3rem solid #888; padding: .1rem .8rem; margin: .8rem 0; }
.verdict p { margin: .2rem 0; } .agrees { border-color: #009e73; } .differs { border-color: #d55e00; }
.rule, details { font-size: .9rem; opacity: .85; }
pre { overflow-x: auto; background: #8882; padding: .6rem; }
@media (prefers-color-scheme: dark) {
  :root { background: #14161a; color: #e8eaed; } a { color: #8ab8ff; }
  figure svg { filter: invert(1) hue-rotate(180deg); }
}
";

/// The whole report.
pub fn page(head: &Head, sections: &[Section]) -> String {
    let title = escape(&format!("The queues' study on {}", head.device.name));
    let mut text = format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" \
         content=\"width=device-width, initial-scale=1\">\n<title>{title}</title>\n<link rel=\"icon\" href=\"data:,\">\n\
         <style>{STYLE}</style>\n<h1>{title}</h1>\n<dl>\n"
    );
    for (name, value) in about(head) {
        let _ = writeln!(text, "<dt>{name}</dt><dd>{}</dd>", escape(&value));
    }
    text += "</dl>\n<nav><ul>\n";
    for section in sections {
        let _ = writeln!(text, "<li><a href=\"#{}\">{}</a></li>", section.part.id(), section.part.title());
    }
    text += "</ul></nav>\n";
    sections.iter().for_each(|section| text += &section_text(section));
    let _ = writeln!(text, "<p>{}</p>\n</html>", escape(published::SOURCE));
    text
}

fn section_text(section: &Section) -> String {
    let (id, title) = (section.part.id(), section.part.title());
    let mut text = format!("<section id=\"{id}\">\n<h2>{title}</h2>\n<p>{}</p>\n", escape(&section.lead));
    for verdict in &section.verdicts {
        let word = verdict.word();
        let _ = writeln!(
            text,
            "<div class=\"verdict {}\"><p>The paper: {}</p><p><b>{word}:</b> {}</p><p class=\"rule\">Agrees if {}.</p></div>",
            word.to_lowercase(),
            escape(&verdict.claim),
            escape(&verdict.found),
            escape(&verdict.rule)
        );
    }
    for figure in &section.figures {
        let caption = escape(&figure.caption);
        let _ = writeln!(
            text,
            "<figure><div class=\"wide\" tabindex=\"0\" role=\"img\" aria-label=\"{caption}\">{}</div>\
             <figcaption>{caption}</figcaption></figure>",
            figure.svg.trim()
        );
    }
    section.tables.iter().for_each(|table| text += &table_text(table));
    for note in &section.notes {
        let _ = writeln!(text, "<p>{}</p>", escape(note));
    }
    let commands = match section.commands.is_empty() {
        true => "</p>".to_owned(),
        false => format!(
            "; measured in {:.0} s, as by</p>\n<pre>{}</pre>",
            section.seconds,
            escape(&section.commands.join("\n"))
        ),
    };
    let _ = writeln!(
        text,
        "<p>Data: <a href=\"data/{id}.csv\">data/{id}.csv</a>, <a href=\"data/{id}.json\">data/{id}.json</a>{commands}\n\
         </section>"
    );
    text
}

fn table_text(table: &Table) -> String {
    let cells = |tag: &str, row: &[String]| {
        let rest = row.iter().skip(1).map(|cell| format!("<{tag}>{}</{tag}>", escape(cell)));
        let first = row.first().map(|cell| format!("<th>{}</th>", escape(cell)));
        format!("<tr>{}</tr>\n", first.into_iter().chain(rest).collect::<String>())
    };
    let rows: String = table.rows.iter().map(|row| cells("td", row)).collect();
    format!(
        "<div class=\"wide\" tabindex=\"0\"><table><caption>{}</caption>\n<thead>{}</thead><tbody>\n{rows}</tbody></table></div>\n",
        escape(&table.caption),
        cells("th", &table.head)
    )
}

/// Text as XML has it.
fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
