//! What the paper says, and whether it holds here: each claim with the rule that decides it.
//!
//! A rule looks at the points alone. What was not measured is said to be open, never taken for agreement.

use super::measure::{MOPS, MRAYS, MRAYS_TRACE, MS};
use super::section::{BASELINE, digits};
use super::{Data, Part};

/// A claim and what was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// What the paper says.
    pub claim: String,
    /// When it counts as true here.
    pub rule: String,
    /// What was found, with the figures.
    pub found: String,
    /// Whether that agrees; open if something was not measured.
    pub agrees: Option<bool>,
}

impl Verdict {
    /// In a word.
    pub fn word(&self) -> &'static str {
        match self.agrees {
            Some(true) => "Agrees",
            Some(false) => "Differs",
            None => "Open",
        }
    }
}

/// How a finding reads, and whether it agrees.
type Finding = Option<(String, bool)>;

fn verdict(claim: &str, rule: &str, finding: Finding) -> Verdict {
    let (found, agrees) = match finding {
        Some((found, agrees)) => (found, Some(agrees)),
        None => ("not measured here.".into(), None),
    };
    Verdict { claim: claim.into(), rule: rule.into(), found, agrees }
}

/// The paper's claims on a part.
pub fn verdicts(part: Part, data: &Data) -> Vec<Verdict> {
    match part {
        Part::Balanced => vec![glfq_leads(data), ymc_serves_as_reference(data)],
        Part::Split => vec![lopsided_splits_are_slow(data), gwfq_declines_less(data), sfq_collapses(data)],
        Part::Blocks => vec![blocks_of_256(data)],
        Part::Bfs => data.groups().into_iter().flat_map(|group| searches_of(data, group)).collect(),
        Part::Rays => data.groups().into_iter().map(|group| faster_than_compaction(data, group)).collect(),
        Part::Costs => data.groups().into_iter().flat_map(|group| costs_of(data, group)).collect(),
    }
}

/// The highest throughput of any of `names` in a group, and who has it at how many lanes.
fn best<'a>(data: &Data, group: &str, names: &[&'a str]) -> Option<(&'a str, f64, f64)> {
    let peaks = names.iter().filter_map(|name| data.peak(group, name, MOPS).map(|(x, y)| (*name, x, y)));
    peaks.max_by(|a, b| a.2.total_cmp(&b.2))
}

fn glfq_leads(data: &Data) -> Verdict {
    let find = || {
        let glfq = best(data, "balanced", &["glfq"])?;
        let other = best(data, "balanced", &["gwfq", "gwfq-ymc", "sfq", "sfq-waiting"])?;
        let found = format!(
            "G-LFQ peaks at {} M ops/s with {} lanes, the best other ({}) at {}, {:.2} of it.",
            digits(glfq.2),
            glfq.1,
            other.0,
            digits(other.2),
            other.2 / glfq.2
        );
        Some((found, glfq.2 >= other.2))
    };
    verdict(
        "G-LFQ has the highest balanced throughput of the paper's queues.",
        "its peak over all lanes is no lower than that of G-WFQ, G-WFQ-YMC and SFQ in either form",
        find(),
    )
}

fn ymc_serves_as_reference(data: &Data) -> Verdict {
    let find = || {
        let (gwfq, ymc) = (best(data, "balanced", &["gwfq"])?, best(data, "balanced", &["gwfq-ymc"])?);
        let found = format!(
            "G-WFQ peaks at {} M ops/s, G-WFQ-YMC at {}: {:.2} times as much.",
            digits(gwfq.2),
            digits(ymc.2),
            gwfq.2 / ymc.2
        );
        Some((found, gwfq.2 > ymc.2))
    };
    verdict(
        "Of the wait-free queues the bounded ring is faster than the segment-based reference.",
        "G-WFQ's balanced peak is above G-WFQ-YMC's",
        find(),
    )
}

fn lopsided_splits_are_slow(data: &Data) -> Verdict {
    let find = || {
        let even = best(data, "50% producers", &["glfq"])?.2;
        let few = best(data, "25% producers", &["glfq"])?.2;
        let many = best(data, "75% producers", &["glfq"])?.2;
        let found = format!(
            "G-LFQ peaks at {} M ops/s with 25% producers, {} with 50% and {} with 75%: {:.2} and {:.2} of the even \
             split.",
            digits(few),
            digits(even),
            digits(many),
            few / even,
            many / even
        );
        Some((found, few < 0.25 * even && many < 0.25 * even))
    };
    verdict(
        "G-LFQ loses most of its throughput where the queue is nearly empty or nearly full (published: 0.06 of the even \
         split on MI210, 0.04 on MI300A).",
        "its peaks with 25% and 75% producers are below a quarter of the peak with 50%",
        find(),
    )
}

fn gwfq_declines_less(data: &Data) -> Verdict {
    let find = || {
        // Throughput at the most lanes, as a share of the peak.
        let kept = |group: &str, queue: &str| {
            let (last, peak) = (data.last(group, queue, MOPS)?, data.peak(group, queue, MOPS)?);
            (peak.1 > 0.0).then_some(last.1 / peak.1)
        };
        let mut parts = vec![];
        let mut agrees = true;
        for group in ["25% producers", "75% producers"] {
            let (glfq, gwfq) = (kept(group, "glfq")?, kept(group, "gwfq")?);
            agrees &= gwfq >= glfq;
            parts.push(format!("with {group} G-WFQ keeps {gwfq:.2} of its peak and G-LFQ {glfq:.2}"));
        }
        Some((format!("At the most lanes, {}.", parts.join(", ")), agrees))
    };
    verdict(
        "G-WFQ's throughput falls less rapidly than G-LFQ's at the highest thread counts and in asymmetric splits.",
        "at the most lanes it keeps no smaller share of its own peak than G-LFQ, with 25% and with 75% producers",
        find(),
    )
}

fn sfq_collapses(data: &Data) -> Verdict {
    let find = || {
        let mut parts = vec![];
        let mut agrees = true;
        for group in ["25% producers", "50% producers", "75% producers"] {
            let (sfq, glfq) = (data.last(group, "sfq", MOPS)?, data.last(group, "glfq", MOPS)?);
            agrees &= sfq.1 < 0.01 * glfq.1;
            parts.push(format!("{} against {} M ops/s with {group}", digits(sfq.1), digits(glfq.1)));
        }
        Some((format!("At the most lanes SFQ makes {}.", parts.join(", ")), agrees))
    };
    verdict(
        "SFQ collapses under split workloads.",
        "at the most lanes it has less than a hundredth of G-LFQ's throughput in every split",
        find(),
    )
}

fn blocks_of_256(data: &Data) -> Verdict {
    let find = || {
        let group = *data.groups().first()?;
        let mut parts = vec![];
        let mut agrees = true;
        for queue in ["glfq", "gwfq"] {
            let (best, most) = data.peak(group, queue, MOPS)?;
            let at = data.curve(group, queue, MOPS).into_iter().find(|p| p.0 == 256.0)?.1;
            agrees &= at >= 0.98 * most;
            parts.push(format!(
                "{queue} is fastest in blocks of {best}, and makes {:.3} of that in blocks of 256",
                at / most
            ));
        }
        Some((format!("{}.", parts.join("; ")), agrees))
    };
    verdict(
        "Blocks of 256 threads gave optimal results (blocks of 64 to 512 were tried).",
        "G-LFQ and G-WFQ reach 98% of their best block size's throughput in blocks of 256",
        find(),
    )
}

/// The shortest time of a series.
fn shortest(data: &Data, group: &str, series: &str) -> Option<f64> {
    data.curve(group, series, MS).into_iter().map(|p| p.1).min_by(f64::total_cmp)
}

fn searches_of(data: &Data, group: &str) -> Vec<Verdict> {
    let of = |series: &str| shortest(data, group, series);
    let rings = || {
        let (glfq, gwfq, ymc) = (of("glfq")?, of("gwfq")?, of("gwfq-ymc")?);
        let found = format!(
            "{group}: at their best lanes G-LFQ takes {} ms, G-WFQ {}, G-WFQ-YMC {}.",
            digits(glfq),
            digits(gwfq),
            digits(ymc)
        );
        Some((found, glfq < ymc && gwfq < ymc))
    };
    let sfq = || {
        let (glfq, sfq) = (of("glfq")?, of("sfq")?);
        let found = format!(
            "{group}: non-waiting SFQ takes {} ms, {} times as long.",
            digits(sfq),
            digits(sfq / glfq)
        );
        Some((found, sfq > 10.0 * glfq))
    };
    vec![
        verdict(
            "The bounded rings search faster than G-WFQ-YMC (published: on MI210 on every graph; on MI300A's road network \
             G-WFQ alone).",
            "the shortest times of G-LFQ and of G-WFQ are below G-WFQ-YMC's",
            rings(),
        ),
        verdict(
            "With SFQ searches take far longer (published: 26 to 95 times as long as with G-LFQ).",
            "its shortest time is above ten times G-LFQ's",
            sfq(),
        ),
    ]
}

fn faster_than_compaction(data: &Data, group: &str) -> Verdict {
    let find = || {
        let base = data.last(group, BASELINE, MRAYS)?.1;
        let of = |name: &str, quantity: &str| data.last(group, name, quantity).map(|p| p.1 / base);
        let paper = of("tile-queue paper glfq", MRAYS)?;
        let traced = of("tile-queue paper glfq", MRAYS_TRACE)?;
        let adaptive = of("tile-queue adaptive glfq", MRAYS)?;
        let found = format!(
            "{group}: G-LFQ under the paper's policy makes {paper:.2} of compaction's rays ({traced:.2} without its ray \
             generation, as published), under the adaptive policy {adaptive:.2}."
        );
        Some((found, paper > 1.0))
    };
    verdict(
        "Tiles with G-LFQ trace more rays a second than stream compaction (published: 1.7 to 2.2 times as many on MI210; \
         on MI300A 1.0 to 1.1 on Complex, and half as many on Cornell).",
        "under the paper's policy and with ray generation, the ratio is above 1",
        find(),
    )
}

/// The queues of the paper's table of costs.
const PAPERS: [&str; 4] = ["glfq", "gwfq", "gwfq-ymc", "sfq"];

fn costs_of(data: &Data, group: &str) -> Vec<Verdict> {
    // Without a profiler cycles inside calls stand for WAIT, and nothing for VALU.
    let wait = if data.quantities(group).contains(&"WAIT/op") { "WAIT/op" } else { "cycles/op" };
    let cost = |queue: &str, quantity: &str| data.last(group, queue, quantity).map(|p| p.1);
    let line = |quantity: &str| {
        let each = PAPERS.iter().map(|queue| Some(format!("{queue} {}", digits(cost(queue, quantity)?))));
        Some(format!("{quantity} {}", each.collect::<Option<Vec<_>>>()?.join(", ")))
    };
    let least = |quantity: &str| {
        let all = PAPERS.iter().map(|queue| Some((*queue, cost(queue, quantity)?)));
        all.collect::<Option<Vec<_>>>()?.into_iter().min_by(|a, b| a.1.total_cmp(&b.1)).map(|best| best.0)
    };
    let lowest = || {
        let (w, v) = (least(wait)?, least("VALU/op")?);
        let found =
            format!("{group}: {}; {}. {w} waits least, {v} computes least.", line(wait)?, line("VALU/op")?);
        Some((found, w == "glfq" && v == "glfq"))
    };
    let close = || {
        let ratio = |quantity: &str| Some(cost("gwfq", quantity)? / cost("glfq", quantity)?);
        let (w, v) = (ratio(wait)?, ratio("VALU/op"));
        let valu = v.map_or(String::new(), |v| format!(" and {v:.2} times its VALU/op"));
        let near = |r: f64| r < 1.5;
        Some((
            format!("{group}: G-WFQ has {w:.2} times G-LFQ's {wait}{valu}."),
            near(w) && v.is_none_or(near),
        ))
    };
    let dearer = || {
        let ring = cost("glfq", "VALU/op")?.max(cost("gwfq", "VALU/op")?);
        let ymc = cost("gwfq-ymc", "VALU/op")?;
        let found =
            format!("{group}: {} VALU/op, against at most {} of the rings.", digits(ymc), digits(ring));
        Some((found, ymc > ring))
    };
    let dominated = || {
        let far = |quantity: &str| Some(cost("sfq", quantity)? / cost("glfq", quantity)?);
        let (w, v) = (far(wait)?, far("VALU/op"));
        let valu = v.map_or(String::new(), |v| format!(" and {} times its VALU/op", digits(v)));
        let above = |r: f64| r > 3.0;
        Some((
            format!("{group}: non-waiting SFQ has {} times G-LFQ's {wait}{valu}.", digits(w)),
            above(w) && v.is_none_or(above),
        ))
    };
    vec![
        verdict(
            "G-LFQ has the lowest cost of an operation (on MI210).",
            "of G-LFQ, G-WFQ, G-WFQ-YMC and non-waiting SFQ it has the lowest WAIT/op and the lowest VALU/op",
            lowest(),
        ),
        verdict(
            "G-WFQ remains close to G-LFQ in costs.",
            "its costs are below one and a half times G-LFQ's",
            close(),
        ),
        verdict(
            "G-WFQ-YMC executes more instructions for an operation than the bounded rings.",
            "its VALU/op is above G-LFQ's and G-WFQ's",
            dearer(),
        ),
        verdict(
            "SFQ's costs are dominated by its dequeue side and lie well above the bounded rings'.",
            "the non-waiting form's costs are above three times G-LFQ's",
            dominated(),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn balanced(glfq: [f64; 2], sfq: [f64; 2]) -> Data {
        let mut data = Data::default();
        for (queue, y) in
            [("glfq", glfq), ("sfq-waiting", sfq), ("gwfq", [1.0, 2.0]), ("gwfq-ymc", [1.0, 3.0])]
        {
            data.push_one("balanced", queue, MOPS, 512.0, y[0]);
            data.push_one("balanced", queue, MOPS, 1024.0, y[1]);
        }
        data
    }

    #[test]
    fn the_data_decide() {
        let led = |data: &Data| glfq_leads(data).agrees;
        assert_eq!(led(&balanced([10.0, 30.0], [20.0, 29.0])), Some(true));
        assert_eq!(led(&balanced([10.0, 30.0], [31.0, 9.0])), Some(false), "peaks count, wherever they are");
        assert_eq!(led(&Data::default()), None, "what was not measured is open");
        let verdicts = verdicts(Part::Balanced, &balanced([10.0, 30.0], [20.0, 29.0]));
        assert!(verdicts[0].found.contains("30.0") && verdicts[0].found.contains("sfq-waiting"));
        assert_eq!(verdicts[1].agrees, Some(false), "2.0 is not above 3.0");
    }

    fn splits(glfq: [f64; 3], gwfq: [f64; 3], sfq: f64) -> Data {
        let mut data = Data::default();
        for (share, at) in ["25% producers", "50% producers", "75% producers"].into_iter().zip(0..) {
            for (queue, y) in [("glfq", glfq[at]), ("gwfq", gwfq[at]), ("sfq", sfq)] {
                data.push_one(share, queue, MOPS, 512.0, 100.0);
                data.push_one(share, queue, MOPS, 1024.0, y);
            }
        }
        data
    }

    #[test]
    fn splits_are_judged_by_their_most_lanes_and_their_peaks() {
        let like_the_paper = verdicts(Part::Split, &splits([50.0, 900.0, 60.0], [80.0, 400.0, 90.0], 0.3));
        assert_eq!(like_the_paper.iter().map(|v| v.agrees).collect::<Vec<_>>(), [Some(true); 3]);
        let unlike = verdicts(Part::Split, &splits([450.0, 900.0, 500.0], [80.0, 400.0, 90.0], 70.0));
        assert_eq!(unlike.iter().map(|v| v.agrees).collect::<Vec<_>>(), [Some(false); 3]);
    }

    #[test]
    fn rays_and_costs() {
        let mut rays = Data::default();
        for (name, y) in
            [(BASELINE, 100.0), ("tile-queue paper glfq", 90.0), ("tile-queue adaptive glfq", 130.0)]
        {
            rays.push_one("cornell", name, MRAYS, 0.0, y);
            rays.push_one("cornell", name, MRAYS_TRACE, 0.0, y + 20.0);
        }
        let found = verdicts(Part::Rays, &rays);
        assert_eq!(found[0].agrees, Some(false));
        assert!(
            found[0].found.contains("0.90")
                && found[0].found.contains("1.10")
                && found[0].found.contains("1.30")
        );

        let mut costs = Data::default();
        for (queue, wait, valu) in
            [("glfq", 30.0, 2.0), ("gwfq", 40.0, 2.5), ("gwfq-ymc", 60.0, 4.0), ("sfq", 9000.0, 800.0)]
        {
            costs.push_one("g", queue, "WAIT/op", 0.0, wait);
            costs.push_one("g", queue, "VALU/op", 0.0, valu);
        }
        let all = |data: &Data| verdicts(Part::Costs, data).iter().map(|v| v.agrees).collect::<Vec<_>>();
        assert_eq!(all(&costs), [Some(true); 4]);
        // Without a profiler: what rests on cycles is decided, what needs instructions is open.
        costs.points.retain(|p| p.quantity == "WAIT/op");
        costs.points.iter_mut().for_each(|p| p.quantity = "cycles/op".into());
        assert_eq!(all(&costs), [None, Some(true), None, Some(true)]);
    }

    #[test]
    fn searches_are_judged_by_their_best_lanes() {
        let mut data = Data::default();
        for (queue, ms) in
            [("glfq", [9.0, 2.0]), ("gwfq", [9.0, 3.0]), ("gwfq-ymc", [4.0, 7.0]), ("sfq", [30.0, 19.0])]
        {
            data.push_one("grid", queue, MS, 512.0, ms[0]);
            data.push_one("grid", queue, MS, 1024.0, ms[1]);
        }
        let agrees = verdicts(Part::Bfs, &data).into_iter().map(|v| v.agrees).collect::<Vec<_>>();
        assert_eq!(agrees, [Some(true), Some(false)], "19 is not above ten times 2");
    }

    #[test]
    fn blocks_are_near_their_best() {
        let sweep = |at_256: f64| {
            let mut data = Data::default();
            for queue in ["glfq", "gwfq"] {
                for (block, y) in [(64.0, 90.0), (256.0, at_256), (512.0, 100.0)] {
                    data.push_one("32768 lanes", queue, MOPS, block, y);
                }
            }
            verdicts(Part::Blocks, &data)[0].agrees
        };
        assert_eq!((sweep(99.0), sweep(97.0)), (Some(true), Some(false)));
    }
}
