//! A sequence diagram of the first packets of a job, as SVG: one vertical line per rank, time
//! downwards, an arrow per packet from where it was sent to where it was received.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::ops::Range;

use mpi_boot::packets::{Flags, Header, Kind, Preamble, RMPP, Record, Way, packets};

use crate::records::ends;

/// Sizes in pixels: a row, the part above the first row, the part left of the first line.
const ROW: usize = 20;
const TOP: usize = 112;
const LEFT: usize = 150;
/// Between two lines, and right of the last one.
const LANE: usize = 250;
const RIGHT: usize = 60;
/// Below the last row.
const BELOW: usize = 36;
/// The least width: room for the heading.
const WIDTH_LEAST: usize = 570;

/// The beginning of each diagram: its looks, title and legend.
const HEADING: &str = include_str!("heading.template");

/// One packet.
#[derive(Debug)]
struct Arrow {
    from: u32,
    to: u32,
    words: Words,
    sent: usize,
    received: Option<usize>,
}

/// A datagram that has not come yet.
#[derive(Debug)]
struct Pending {
    from: u32,
    record: Record,
    arrows: Range<usize>,
}

/// A diagram that grows with the records it hears, which come in order of time.
#[derive(Debug)]
pub(crate) struct Diagram {
    most: usize,
    recorded: BTreeSet<u32>,
    /// The time of each row, in nanoseconds.
    rows: Vec<u64>,
    arrows: Vec<Arrow>,
    pending: Vec<Pending>,
    has_more: bool,
}

impl Diagram {
    /// A diagram of at most this many packets. These ranks are recorded.
    pub(crate) fn new(most: usize, recorded: &BTreeSet<u32>) -> Diagram {
        Diagram {
            most,
            recorded: recorded.clone(),
            rows: Vec::new(),
            arrows: Vec::new(),
            pending: Vec::new(),
            has_more: false,
        }
    }

    /// Takes note of a record.
    pub(crate) fn hear(&mut self, preamble: &Preamble, record: &Record) {
        let (from, _) = ends(preamble.rank, record);
        match record.way {
            Way::Limit => {}
            Way::Received if self.receive(preamble.rank, record) => {}
            // The other end is not recorded.
            Way::Received if !self.recorded.contains(&from) => {
                let arrows = self.enter(preamble, record);
                for arrow in &mut self.arrows[arrows] {
                    arrow.received = Some(arrow.sent);
                }
            }
            // It is beyond the diagram, or a copy that the network made.
            Way::Received => {}
            Way::Sent => {
                let arrows = self.enter(preamble, record);
                if !arrows.is_empty() {
                    self.pending.push(Pending {
                        from,
                        record: record.clone(),
                        arrows,
                    });
                }
            }
        }
    }

    /// Adds an arrow for each packet of a datagram, as far as there is room. Returns which.
    fn enter(&mut self, preamble: &Preamble, record: &Record) -> Range<usize> {
        let first = self.arrows.len();
        let (from, to) = ends(preamble.rank, record);
        let found = packets(&record.kept, record.bytes as usize, preamble.packet_bytes);
        let mut known: Vec<_> = found
            .filter(|_| record.protocol == RMPP)
            .map(|packet| Words::of(&packet.header))
            .collect();
        if known.is_empty() {
            known.push(Words::of_others(record.bytes));
        }
        for words in known {
            if self.arrows.len() == self.most {
                self.has_more = true;
                break;
            }
            self.arrows.push(Arrow {
                from,
                to,
                words,
                sent: self.rows.len(),
                received: None,
            });
            self.rows.push(record.time);
        }
        first..self.arrows.len()
    }

    /// A datagram has come. Returns false if none like it is on its way. Of several that are alike
    /// it is the one that was sent last: an earlier one is more likely lost.
    fn receive(&mut self, rank: u32, record: &Record) -> bool {
        let is_it = |pending: &Pending| {
            let sent = &pending.record;
            let both = sent.kept.len().min(record.kept.len());
            (pending.from, sent.peer) == (record.peer, rank)
                && sent.bytes == record.bytes
                && sent.kept[..both] == record.kept[..both]
        };
        let Some(place) = self.pending.iter().rposition(is_it) else {
            return false;
        };
        for arrow in &mut self.arrows[self.pending.remove(place).arrows] {
            arrow.received = Some(self.rows.len());
            self.rows.push(record.time);
        }
        true
    }

    /// The diagram as the text of an SVG file.
    pub(crate) fn to_svg(&self) -> String {
        let mut ranks = self.recorded.clone();
        ranks.extend(self.arrows.iter().flat_map(|arrow| [arrow.from, arrow.to]));
        let width = (LEFT + LANE * ranks.len().saturating_sub(1) + RIGHT).max(WIDTH_LEAST);
        let height = TOP + ROW * self.rows.len() + BELOW;
        let all = if self.has_more { "the first " } else { "" };
        let mut svg = HEADING.replace("{shown}", &format!("{all}{}", self.arrows.len()));
        for (name, pixels) in [
            ("{width}", width),
            ("{height}", height),
            ("{inner_width}", width - 1),
            ("{inner_height}", height - 1),
        ] {
            svg = svg.replace(name, &pixels.to_string());
        }
        let x_of = |rank: u32| LEFT + LANE * ranks.range(..rank).count();
        for rank in &ranks {
            let x = x_of(*rank);
            let _ = write!(
                svg,
                "<line class=\"lane\" x1=\"{x}\" y1=\"{}\" x2=\"{x}\" y2=\"{}\"/>\n\
                 <text class=\"rank\" x=\"{x}\" y=\"{}\">rank {rank}</text>\n",
                TOP - 18,
                height - 20,
                TOP - 26,
            );
        }
        self.draw_times(&mut svg);
        let ends = |arrow: &Arrow| (x_of(arrow.from), x_of(arrow.to));
        for arrow in &self.arrows {
            self.draw_arrow(&mut svg, arrow, ends(arrow));
        }
        for arrow in &self.arrows {
            Self::draw_label(&mut svg, arrow, ends(arrow));
        }
        svg + "</svg>\n"
    }

    /// Microseconds since the first row, once for rows of the same time.
    fn draw_times(&self, svg: &mut String) {
        let first = self.rows.first().copied().unwrap_or(0);
        let mut last = String::new();
        for (row, time) in self.rows.iter().enumerate() {
            let time = time_in_words(time.saturating_sub(first));
            if time != last {
                let y = y_of(row) + 4;
                let _ = writeln!(svg, "<text class=\"time\" x=\"92\" y=\"{y}\">{time}</text>");
                last = time;
            }
        }
    }

    fn draw_arrow(&self, svg: &mut String, arrow: &Arrow, (from, to): (usize, usize)) {
        let Words {
            class,
            kind,
            label,
            about,
        } = &arrow.words;
        let y = y_of(arrow.sent);
        let (fate, end) = match arrow.received {
            Some(row) => ("received", (to, y_of(row))),
            None if self.recorded.contains(&arrow.to) => {
                ("lost", (usize::midpoint(from, to), y + 8))
            }
            None => ("unknown", (to, y + 8)),
        };
        let _ = write!(
            svg,
            "<g class=\"packet {class}\" data-from=\"{}\" data-to=\"{}\" data-kind=\"{kind}\" \
             data-fate=\"{fate}\" data-label=\"{label}\"><title>{about}, {fate}</title>\
             <line x1=\"{from}\" y1=\"{y}\" x2=\"{}\" y2=\"{}\"/>",
            arrow.from, arrow.to, end.0, end.1,
        );
        match fate {
            "received" => {
                let points = head((from as f64, y as f64), (end.0 as f64, end.1 as f64));
                let _ = write!(svg, "<polygon points=\"{points}\"/>");
            }
            "lost" => {
                let _ = write!(svg, "<path class=\"lost\" d=\"{}\"/>", cross(end.0, end.1));
            }
            _ => {}
        }
        svg.push_str("</g>\n");
    }

    /// Labels stand at the senders, over all arrows.
    fn draw_label(svg: &mut String, arrow: &Arrow, (from, to): (usize, usize)) {
        let (x, side) = if from <= to {
            (from + 10, "start")
        } else {
            (from - 10, "end")
        };
        let (y, class, label) = (y_of(arrow.sent) - 3, arrow.words.class, &arrow.words.label);
        let _ = writeln!(
            svg,
            "<text class=\"label {class}\" x=\"{x}\" y=\"{y}\" \
             text-anchor=\"{side}\">{label}</text>"
        );
    }
}

/// What is said about a packet. All of it is text without marks of XML.
#[derive(Debug)]
struct Words {
    kind: &'static str,
    class: &'static str,
    label: String,
    about: String,
}

impl Words {
    fn of(header: &Header) -> Words {
        let Header {
            kind,
            len,
            seq,
            info1,
            info2,
            msg_id,
            msg_num,
            src,
            ack,
            flags,
            ..
        } = *header;
        let name = kind.name();
        let again = if info2 > 0 { " again" } else { "" };
        let label = match kind {
            Kind::Rts | Kind::LastRts => format!("{name} {len} B{again}"),
            Kind::Cts => format!("{name} n={info1} from #{seq}"),
            Kind::Data | Kind::StopData | Kind::LastData => format!("{name} #{seq}"),
            Kind::MsgEnd if flags.has(Flags::PURE) => format!("{name} all before {ack}"),
            Kind::MsgEnd | Kind::MsgDrop | Kind::Gch | Kind::Null => name.to_owned(),
        };
        let class = match kind {
            Kind::Rts | Kind::LastRts => "request",
            Kind::Cts => "grant",
            Kind::Data | Kind::StopData | Kind::LastData => "data",
            Kind::MsgEnd | Kind::MsgDrop | Kind::Gch | Kind::Null => "end",
        };
        let about = format!(
            "{name} of message {msg_num} (id {msg_id} of rank {src}, {len} B): seq {seq}, info1 \
             {info1}, info2 {info2}, ack {ack}"
        );
        Words {
            kind: name,
            class,
            label,
            about,
        }
    }

    /// A datagram of another protocol.
    fn of_others(bytes: u32) -> Words {
        Words {
            kind: "DATAGRAM",
            class: "data",
            label: format!("{bytes} B"),
            about: format!("a datagram of {bytes} B"),
        }
    }
}

fn y_of(row: usize) -> usize {
    TOP + ROW * row
}

/// "0", "12.3 µs", "4.56 ms", "7.89 s".
fn time_in_words(nanos: u64) -> String {
    match nanos as f64 {
        0.0 => "0".into(),
        time if time < 1e6 => decimal(time / 1e3, 1) + " µs",
        time if time < 1e9 => decimal(time / 1e6, 3) + " ms",
        time => decimal(time / 1e9, 4) + " s",
    }
}

/// A number that is not negative, with these decimal places. The standard library's own way has 12
/// kB in an installed program.
fn decimal(number: f64, places: usize) -> String {
    let one = 10_u64.pow(places as u32);
    let rounded = (number * one as f64).round() as u64;
    format!("{}.{:0places$}", rounded / one, rounded % one)
}

/// The points of an arrow's head.
fn head(from: (f64, f64), to: (f64, f64)) -> String {
    let (dx, dy) = (to.0 - from.0, to.1 - from.1);
    let len = (dx * dx + dy * dy).sqrt().max(1.0);
    let (dx, dy) = (dx / len, dy / len);
    let wing = |side: f64| (to.0 - 8.0 * dx - side * dy, to.1 - 8.0 * dy + side * dx);
    let points = [to, wing(3.5), wing(-3.5)];
    let points = points.map(|(x, y)| [decimal(x, 1), decimal(y, 1)].join(","));
    points.join(" ")
}

/// The path of a cross.
fn cross(x: usize, y: usize) -> String {
    let (left, right, top, bottom) = (x - 5, x + 5, y - 5, y + 5);
    format!("M{left} {top}L{right} {bottom}M{left} {bottom}L{right} {top}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn preamble(rank: u32) -> Preamble {
        Preamble {
            has_loss: false,
            rank,
            packet_bytes: 100,
            addresses: ["10.0.0.1:1", "10.0.0.2:1"]
                .map(|it| it.parse().unwrap())
                .to_vec(),
        }
    }

    fn header(kind: Kind, seq: u32) -> Vec<u8> {
        let header = Header {
            kind,
            version: 1,
            src: 0,
            msg_id: 1,
            len: 350,
            seq,
            info1: 16,
            info2: 0,
            msg_num: 1,
            ack: 0,
            flags: Flags::NONE,
        };
        header.encode().to_vec()
    }

    fn record(time: u64, way: Way, peer: u32, kept: Vec<u8>) -> Record {
        Record {
            time,
            way,
            protocol: RMPP,
            peer,
            bytes: kept.len() as u32,
            kept,
        }
    }

    /// RTS arrives, CTS comes back with another one in its datagram, DATA is lost.
    fn diagram(most: usize, recorded: &[u32]) -> Diagram {
        let mut rts = header(Kind::Rts, 0);
        rts.resize(rts.len() + 100, 7);
        let answer = [header(Kind::Cts, 1), header(Kind::MsgEnd, 0)].concat();
        let mut data = header(Kind::Data, 1);
        data.resize(data.len() + 100, 7);
        let mut diagram = Diagram::new(most, &recorded.iter().copied().collect());
        for (rank, record) in [
            (0, record(1000, Way::Sent, 1, rts.clone())),
            (1, record(2000, Way::Received, 0, rts)),
            (1, record(3000, Way::Sent, 0, answer.clone())),
            (0, record(4000, Way::Received, 1, answer)),
            (0, record(5000, Way::Sent, 1, data)),
        ] {
            if recorded.contains(&rank) {
                diagram.hear(&preamble(rank), &record);
            }
        }
        diagram
    }

    fn count(svg: &str, text: &str) -> usize {
        svg.matches(text).count()
    }

    #[test]
    fn each_packet_has_an_arrow_and_what_is_lost_a_cross() {
        let svg = diagram(200, &[0, 1]).to_svg();
        assert_eq!(count(&svg, "<g class=\"packet "), 4);
        assert_eq!(count(&svg, "data-fate=\"received\""), 3);
        assert_eq!(count(&svg, "<path class=\"lost\""), 1 + 1, "{svg}");
        for label in [
            "RTS 350 B",
            "CTS n=16 from #1",
            "DATA #1",
            ">MSGEND<",
            "1.0 µs",
        ] {
            assert!(svg.contains(label), "{label}: {svg}");
        }
    }

    #[test]
    fn the_first_packets_are_shown_with_their_ends() {
        let svg = diagram(2, &[0, 1]).to_svg();
        assert_eq!(count(&svg, "<g class=\"packet "), 2);
        assert_eq!(count(&svg, "data-fate=\"received\""), 2);
        assert!(svg.contains("the first 2"));
    }

    #[test]
    fn what_a_rank_does_that_is_not_recorded_is_unknown() {
        let svg = diagram(200, &[0]).to_svg();
        assert_eq!(count(&svg, "data-fate=\"unknown\""), 2, "{svg}");
        assert_eq!(count(&svg, "data-fate=\"received\""), 2, "{svg}");
        assert!(svg.contains("rank 1"));
    }

    #[test]
    fn of_datagrams_that_are_alike_the_last_one_has_come() {
        let mut diagram = Diagram::new(9, &BTreeSet::from([0, 1]));
        let gch = header(Kind::Gch, 0);
        for (rank, time, way) in [(0, 1, Way::Sent), (0, 2, Way::Sent), (1, 3, Way::Received)] {
            diagram.hear(&preamble(rank), &record(time, way, 1 - rank, gch.clone()));
        }
        let received: Vec<_> = diagram.arrows.iter().map(|arrow| arrow.received).collect();
        assert_eq!(received, [None, Some(2)]);
    }

    #[test]
    fn the_picture_is_well_formed() {
        let svg = diagram(200, &[0, 1]).to_svg();
        let mut open = Vec::new();
        for tag in svg.split('<').skip(1) {
            let (tag, text) = tag.split_once('>').expect("each tag ends");
            assert!(
                !text.contains('&') && tag.matches('"').count() % 2 == 0,
                "{tag}"
            );
            let name = tag.split([' ', '\n']).next().expect("a name");
            match name.strip_prefix('/') {
                Some(name) => assert_eq!(open.pop(), Some(name)),
                None if tag.ends_with('/') => {}
                None => open.push(name),
            }
        }
        assert!(open.is_empty(), "{open:?}");
    }
}
