//! What was measured: points.

use crate::bench::Spread;
use serde::{Deserialize, Serialize};
use std::fmt::Write;

/// A figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// What series are compared in: a workload, a scene, a number of lanes.
    pub group: String,
    /// Who it belongs to: a queue, an engine.
    pub series: String,
    /// What it is, with its unit.
    pub quantity: String,
    /// Where along the series: lanes, lanes of a block; 0 where there is but one place.
    pub x: f64,
    /// Median, smallest and largest of the runs.
    pub y: Spread,
}

/// A part's figures.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Data {
    /// In the order in which tables show them.
    pub points: Vec<Point>,
    /// What a reader has to know of them.
    pub notes: Vec<String>,
    /// Commands that measure the same.
    pub commands: Vec<String>,
    /// How long it took to measure.
    pub seconds: f64,
    /// The measurement's own report.
    pub raw: serde_json::Value,
}

impl Data {
    /// Adds a point.
    pub fn push(&mut self, group: &str, series: &str, quantity: &str, x: f64, y: Spread) {
        let (group, series, quantity) = (group.into(), series.into(), quantity.into());
        self.points.push(Point { group, series, quantity, x, y });
    }

    /// Adds a figure that was measured once.
    pub fn push_one(&mut self, group: &str, series: &str, quantity: &str, x: f64, y: f64) {
        self.push(group, series, quantity, x, Spread { median: y, min: y, max: y });
    }

    /// A series by rising x: (x, median).
    pub fn curve(&self, group: &str, series: &str, quantity: &str) -> Vec<(f64, f64)> {
        let wanted = |p: &&Point| p.group == group && p.series == series && p.quantity == quantity;
        let mut points: Vec<_> = self.points.iter().filter(wanted).map(|p| (p.x, p.y.median)).collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        points
    }

    /// The highest point of a series.
    pub fn peak(&self, group: &str, series: &str, quantity: &str) -> Option<(f64, f64)> {
        self.curve(group, series, quantity).into_iter().max_by(|a, b| a.1.total_cmp(&b.1))
    }

    /// The point of a series with the largest x.
    pub fn last(&self, group: &str, series: &str, quantity: &str) -> Option<(f64, f64)> {
        self.curve(group, series, quantity).pop()
    }

    /// Groups in order of appearance.
    pub fn groups(&self) -> Vec<&str> {
        unique(self.points.iter().map(|p| p.group.as_str()))
    }

    /// Series of a group, in order of appearance.
    pub fn series(&self, group: &str) -> Vec<&str> {
        unique(self.points.iter().filter(|p| p.group == group).map(|p| p.series.as_str()))
    }

    /// Quantities of a group, in order of appearance.
    pub fn quantities(&self, group: &str) -> Vec<&str> {
        unique(self.points.iter().filter(|p| p.group == group).map(|p| p.quantity.as_str()))
    }

    /// A line a point.
    pub fn csv(&self) -> String {
        let mut text = String::from("group,series,quantity,x,median,min,max\n");
        for p in &self.points {
            let quoted = |s: &str| format!("\"{}\"", s.replace('"', "\"\""));
            let (group, series, quantity) = (quoted(&p.group), quoted(&p.series), quoted(&p.quantity));
            let _ =
                writeln!(text, "{group},{series},{quantity},{},{},{},{}", p.x, p.y.median, p.y.min, p.y.max);
        }
        text
    }
}

fn unique<'a>(all: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut found = vec![];
    for one in all {
        if !found.contains(&one) {
            found.push(one);
        }
    }
    found
}
