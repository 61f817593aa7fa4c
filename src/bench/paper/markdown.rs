//! The report as Markdown, with its figures as files beside it.

use super::section::{Section, Table};
use super::{Head, published};
use std::fmt::Write;

/// The whole report. Figures are expected as `figures/ID.svg`.
pub fn page(head: &Head, sections: &[Section]) -> String {
    let mut text = format!("# The queues' study on {}\n\n", cell(&head.device.name));
    for (name, value) in about(head) {
        let _ = writeln!(text, "- {name}: {}", cell(&value));
    }
    for section in sections {
        let _ = write!(text, "\n## {}\n\n{}\n", section.part.title(), section.lead);
        for verdict in &section.verdicts {
            let _ = write!(
                text,
                "\n- The paper: {}\n  **{}:** {} (Agrees if {}.)\n",
                verdict.claim,
                verdict.word(),
                verdict.found,
                verdict.rule
            );
        }
        for figure in &section.figures {
            let _ = write!(text, "\n![{}](figures/{}.svg)\n", figure.caption, figure.id);
        }
        for table in &section.tables {
            text += &table_text(table);
        }
        for note in &section.notes {
            let _ = write!(text, "\n{note}\n");
        }
        let _ = write!(
            text,
            "\nData: [data/{0}.csv](data/{0}.csv), [data/{0}.json](data/{0}.json)",
            section.part.id()
        );
        let _ = match section.commands.is_empty() {
            true => writeln!(text),
            false => writeln!(
                text,
                "; measured in {:.0} s, as by\n\n```sh\n{}\n```",
                section.seconds,
                section.commands.join("\n")
            ),
        };
    }
    let _ = write!(text, "\n{}\n", published::SOURCE);
    text
}

/// Device, versions: name and value.
pub(super) fn about(head: &Head) -> Vec<(&'static str, String)> {
    let device = &head.device;
    let clock = match device.clock_mhz {
        0 => String::new(),
        mhz => format!(", up to {mhz} MHz"),
    };
    let mut all = vec![
        (
            "device",
            format!(
                "{} ({}), {} compute units of waves of {} lanes{clock}",
                device.name, device.arch, device.compute_units, device.wave_size
            ),
        ),
        ("driver", device.driver.clone()),
        ("compiler", device.compiler.clone()),
        ("rayq", format!("{}, commit {}", head.version, head.commit)),
    ];
    all.retain(|(_, value)| !value.is_empty());
    all
}

fn table_text(table: &Table) -> String {
    let line =
        |cells: &[String]| format!("| {} |\n", cells.iter().map(|c| cell(c)).collect::<Vec<_>>().join(" | "));
    let rule = format!("|{}\n", "---|".repeat(table.head.len()));
    let rows: String = table.rows.iter().map(|row| line(row)).collect();
    format!("\n{}\n\n{}{rule}{rows}", table.caption, line(&table.head))
}

/// Text that stays within its cell.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}
