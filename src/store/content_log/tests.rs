//! What lies in the content log, what of it is believed, and when it goes.

use std::collections::HashMap;
use std::fs;

use super::*;
use crate::store::record::DamagedRecord;

fn id(number: u8) -> EventId {
    EventId::from_bytes([number; 16])
}

/// Appends, syncs and holds one content a call.
struct Bench {
    store: tempfile::TempDir,
    log: ContentLog,
    segments: Arc<Segments>,
}

impl Bench {
    fn new() -> Self {
        let store = tempfile::tempdir().expect("a directory");
        let (log, segments) = ContentLog::open(store.path()).expect("nothing is there");
        Self { store, log, segments }
    }

    /// The run ends, and another one begins.
    fn restart(&mut self) {
        (self.log, self.segments) = ContentLog::open(self.store.path()).expect("it opens");
    }

    fn append(&mut self, number: u8, content: &[u8]) -> Span {
        let span = self.log.append(id(number), content);
        self.segments.hold(span);
        span
    }

    fn keep(&mut self, number: u8, content: &[u8]) -> Span {
        let span = self.append(number, content);
        self.log.sync().expect("written");
        span
    }

    /// Counts anew what is held: these.
    fn count(&self, spans: &[Span]) {
        let mut held_bytes = HashMap::new();
        for span in spans {
            *held_bytes.entry(span.segment).or_default() += u64::from(span.bytes);
        }
        self.segments.count_anew(&held_bytes);
    }

    fn path(&self, segment: u32) -> PathBuf {
        self.store.path().join(DIR).join(frame::file_name(segment))
    }

    /// The segments that are there.
    fn names(&self) -> Vec<u32> {
        let entries = fs::read_dir(self.store.path().join(DIR)).expect("a directory");
        let names = entries.map(|entry| entry.expect("readable").file_name().into_string().expect("text"));
        let mut numbers: Vec<_> = names.filter_map(|name| frame::segment_in(&name)).collect();
        numbers.sort_unstable();
        numbers
    }

    fn reads(&self, number: u8, span: Span) -> Option<Vec<u8>> {
        self.segments.read(id(number), span).ok()
    }
}

#[test]
fn contents_come_back_as_they_were_one_sync_a_group_now_and_after_a_restart() {
    let mut bench = Bench::new();
    bench.log.sync().expect("nothing to do");
    assert!(!bench.store.path().join(DIR).exists(), "a store without contents has no directory for them");
    let contents: [&[u8]; 4] = [b"", b"\0", b"one\xff", &[7; 40_000]];
    let mut spans = Vec::new();
    for group in contents.chunks(2) {
        for content in group {
            spans.push(bench.append(spans.len() as u8, content));
        }
        bench.log.sync().expect("written");
    }
    let whole = |bench: &Bench| {
        for (number, (span, content)) in spans.iter().zip(contents).enumerate() {
            assert_eq!(bench.reads(number as u8, *span).as_deref(), Some(content));
        }
    };
    whole(&bench);
    assert_eq!(fs::metadata(bench.path(1)).expect("there").len(), bench.segments.bytes());
    bench.restart();
    whole(&bench);
    assert_eq!(fs::metadata(bench.path(1)).expect("there").len(), bench.segments.bytes());
    assert_eq!(bench.names(), [1]);
}

#[test]
fn damage_at_any_place_of_a_frame_is_seen_and_another_events_frame_is_not_believed() {
    let mut bench = Bench::new();
    bench.keep(1, b"before");
    let span = bench.keep(2, b"a content");
    let whole = fs::read(bench.path(1)).expect("readable");
    let (begin, end) = (span.offset as usize, (span.offset + span.bytes) as usize);
    assert_eq!(end, whole.len());
    for length in begin..end {
        fs::write(bench.path(1), &whole[..length]).expect("writable");
        assert!(bench.reads(2, span).is_none(), "{length} bytes");
    }
    for bit in begin * 8..end * 8 {
        let mut damaged = whole.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        fs::write(bench.path(1), damaged).expect("writable");
        assert!(bench.reads(2, span).is_none(), "bit {bit}");
    }
    fs::write(bench.path(1), whole).expect("writable");
    assert!(bench.reads(2, span).is_some());
    assert!(matches!(bench.segments.read(id(1), span), Err(DamagedRecord::Stranger)));
    for crooked in [
        Span { bytes: span.bytes - 1, ..span },
        Span { bytes: span.bytes + 1, ..span },
        Span { bytes: 0, ..span },
        Span { offset: span.offset + 1, ..span },
        Span { offset: u32::MAX, ..span },
    ] {
        assert!(bench.reads(2, crooked).is_none(), "{crooked:?}");
    }
    let elsewhere = Span { segment: 9, ..span };
    assert!(matches!(bench.segments.read(id(2), elsewhere), Err(DamagedRecord::File(_))));
}

#[test]
fn a_start_adds_nothing_to_an_old_segment_so_a_torn_tail_stays_the_last_thing_in_it() {
    let mut bench = Bench::new();
    let whole = bench.keep(1, b"whole");
    let torn = bench.keep(2, b"torn");
    let bytes = fs::read(bench.path(1)).expect("readable");
    for length in torn.offset as usize..bytes.len() {
        for zeros in [0, 100] {
            let mut tail = bytes[..length].to_vec();
            tail.resize(length + zeros, 0);
            fs::write(bench.path(1), &tail).expect("writable");
            let found: Vec<_> = bench.segments.entries(1).expect("it opens").collect();
            assert_eq!(found, [(id(1), whole)], "{length} bytes and {zeros} zeros");
        }
    }
    bench.restart();
    bench.segments.hold(whole);
    let later = bench.keep(3, b"later");
    assert_eq!((later.segment, later.offset), (2, 0));
    assert_eq!((bench.reads(1, whole), bench.reads(2, torn)), (Some(b"whole".into()), None));
}

#[test]
fn what_is_in_a_segment_is_listed_but_for_what_is_damaged() {
    let mut bench = Bench::new();
    let spans = [1, 2, 3].map(|number| bench.keep(number, &[number; 100]));
    let listed = |bench: &Bench| bench.segments.entries(1).expect("it opens").collect::<Vec<_>>();
    assert_eq!(listed(&bench), [(id(1), spans[0]), (id(2), spans[1]), (id(3), spans[2])]);
    let mut bytes = fs::read(bench.path(1)).expect("readable");
    bytes[(spans[2].offset - 1) as usize] ^= 1;
    fs::write(bench.path(1), bytes).expect("writable");
    assert_eq!(listed(&bench), [(id(1), spans[0]), (id(3), spans[2])]);
    assert!(bench.segments.entries(7).is_err());
}

/// Fills the segment that is written, in groups of a mebibyte, and returns the spans.
fn fill(bench: &mut Bench, contents: usize) -> Vec<Span> {
    (0..contents).map(|_| bench.keep(1, &vec![1; 1 << 20])).collect()
}

#[test]
fn a_segment_goes_with_the_last_that_is_held_in_it_once_nothing_is_written_to_it() {
    let mut bench = Bench::new();
    let spans = fill(&mut bench, 33);
    let (first, second): (Vec<Span>, Vec<_>) = spans.into_iter().partition(|span| span.segment == 1);
    assert_eq!((first.len(), second.len(), bench.names()), (31, 2, vec![1, 2]));
    assert!(first.iter().all(|span| span.offset + span.bytes <= MAX_SEGMENT_BYTES));
    bench.log.sync().expect("nothing to write");
    let open = bench.segments.read(id(1), first[0]).expect("readable");
    for span in &first {
        assert!(bench.names().contains(&1));
        bench.segments.let_go(*span);
    }
    assert_eq!((bench.names(), open.len()), (vec![2], 1 << 20));
    assert!(matches!(bench.segments.read(id(1), first[0]), Err(DamagedRecord::File(_))));
    // The one that is written stays, and what comes next goes there.
    second.iter().for_each(|span| bench.segments.let_go(*span));
    bench.log.sync().expect("nothing to write");
    assert_eq!((bench.names(), bench.keep(1, b"next").segment), (vec![2], 2));
    assert_eq!(bench.segments.bytes(), fs::metadata(bench.path(2)).expect("there").len());
}

/// A record is written, and its content held, after the sync: a segment that was filled meanwhile looked empty and went.
#[test]
fn a_segment_that_fills_up_within_a_group_waits_for_what_the_group_holds() {
    let mut bench = Bench::new();
    let spans: Vec<_> = (0..32).map(|_| bench.log.append(id(1), &vec![1; 1 << 20])).collect();
    bench.log.sync().expect("written");
    assert_eq!(bench.names(), [1, 2]);
    spans.iter().for_each(|span| bench.segments.hold(*span));
    bench.log.sync().expect("nothing to write");
    assert!(spans.iter().all(|span| bench.reads(1, *span).is_some()));
    // And one of which nothing is held by then goes.
    let unheld: Vec<_> = (0..32).map(|_| bench.log.append(id(1), &vec![1; 1 << 20])).collect();
    assert_eq!((unheld[0].segment, unheld[31].segment), (2, 3));
    bench.log.sync().expect("written");
    spans.iter().filter(|span| span.segment == 2).for_each(|span| bench.segments.let_go(*span));
    bench.log.sync().expect("nothing to write");
    assert_eq!(bench.names(), [1, 3]);
}

/// After a backlog had gone, up to a whole segment stayed for nothing.
#[test]
fn the_last_segment_goes_too_when_much_of_it_is_dead_and_nothing_lives() {
    let mut bench = Bench::new();
    for (contents, names) in [(3, vec![1]), (2, vec![])] {
        let spans = fill(&mut bench, contents);
        bench.log.sync().expect("nothing to write");
        assert_eq!(bench.names(), [1], "what lives stays");
        spans.iter().for_each(|span| bench.segments.let_go(*span));
        bench.log.sync().expect("nothing to write");
        assert_eq!(bench.names(), names);
    }
    assert_eq!((bench.segments.bytes(), bench.keep(1, b"next").segment), (0, 2));
}

#[test]
fn a_sparse_segment_is_named_until_its_living_have_moved() {
    let mut bench = Bench::new();
    let spans: Vec<_> = fill(&mut bench, 32).into_iter().filter(|span| span.segment == 1).collect();
    bench.log.sync().expect("nothing to write");
    let (last, others) = spans.split_last().expect("some");
    for (gone, span) in others.iter().enumerate() {
        let more_than_half = gone * 2 > spans.len();
        assert_eq!(bench.segments.sparse(), more_than_half.then_some(1), "{gone} of {}", spans.len());
        assert_eq!(bench.segments.sparse(), None, "named once for what is gone");
        bench.segments.let_go(*span);
    }
    assert_eq!(bench.segments.sparse(), Some(1));
    let content = bench.reads(1, *last).expect("it lives");
    let moved = bench.keep(1, &content);
    bench.segments.let_go(*last);
    assert_eq!((bench.names(), bench.reads(1, moved)), (vec![2], Some(content)));
    assert_eq!(bench.segments.sparse(), None, "the one that is written is not");
}

#[test]
fn a_group_that_cannot_be_written_leaves_what_was_there_and_what_comes_later_alone() {
    let mut bench = Bench::new();
    let first = bench.keep(1, b"first");
    bench.log.give_up();
    // The segment that comes next cannot be made.
    fs::create_dir(bench.path(2)).expect("writable");
    let lost = bench.append(2, b"lost");
    assert_eq!(lost.segment, 2);
    bench.log.sync().expect_err("it is in the way");
    bench.segments.let_go(lost);
    assert!(bench.reads(2, lost).is_none());
    bench.log.sync().expect("nothing of it is tried again");
    let later = bench.keep(3, b"later");
    assert_eq!((later.segment, later.offset), (3, 0));
    assert_eq!((bench.reads(1, first), bench.reads(3, later)), (Some(b"first".into()), Some(b"later".into())));
    // Where the directory itself is gone, or cannot be.
    fs::remove_dir_all(bench.store.path().join(DIR)).expect("removable");
    fs::write(bench.store.path().join(DIR), "").expect("writable");
    bench.log.give_up();
    bench.append(4, b"lost too");
    bench.log.sync().expect_err("it is no directory");
    fs::remove_file(bench.store.path().join(DIR)).expect("removable");
    let last = bench.keep(5, b"last");
    assert_eq!((last.segment, bench.reads(5, last)), (5, Some(b"last".into())));
}

/// The commit of a group had failed after its sync, and a record of it was there when the database was opened again: its
/// content must be, too.
#[test]
fn a_group_that_fails_after_its_sync_goes_only_when_all_has_been_counted_anew() {
    let mut bench = Bench::new();
    let spans = [bench.log.append(id(1), b"there"), bench.log.append(id(2), b"not there")];
    bench.log.sync().expect("written");
    bench.log.give_up();
    let doubtful = bench.log.append(id(3), b"not there either");
    bench.log.sync().expect("written");
    bench.log.give_up();
    assert_eq!((bench.names(), doubtful.segment), (vec![1, 2], 2));
    bench.count(&spans[..1]);
    assert_eq!((bench.segments.remove_unheld(), bench.names()), (1, vec![1]));
    assert_eq!(bench.reads(1, spans[0]), Some(b"there".into()));
    bench.count(&[]);
    assert_eq!(bench.segments.remove_unheld(), 1);
}

#[test]
fn a_start_removes_what_nobody_names_and_nothing_that_was_not_made_here() {
    let mut bench = Bench::new();
    let spans = [1, 2, 3].map(|number| {
        let span = bench.keep(number, b"content");
        bench.log.give_up();
        span
    });
    let strange = bench.store.path().join(DIR).join("lost+found");
    fs::write(&strange, "").expect("writable");
    bench.restart();
    bench.segments.hold(spans[1]);
    assert_eq!((bench.segments.remove_unheld(), bench.names()), (2, vec![2]));
    assert!(strange.exists() && bench.reads(2, spans[1]).is_some());
}

#[test]
fn no_number_comes_twice_in_a_run_nor_while_a_record_may_name_it() {
    let mut bench = Bench::new();
    for number in 1..4 {
        let span = bench.keep(1, b"content");
        assert_eq!(span.segment, number);
        bench.segments.let_go(span);
        bench.log.give_up();
        bench.count(&[]);
        assert_eq!(bench.segments.remove_unheld(), 1);
    }
    // After a start: above what is there, and above what a record says was there.
    bench.keep(1, b"content");
    bench.restart();
    assert_eq!(bench.keep(1, b"content").segment, 5);
    bench.restart();
    bench.segments.hold(Span { segment: 8, offset: 0, bytes: 9 });
    assert_eq!(bench.keep(1, b"content").segment, 9);
}

/// Every file that a reader had once opened stayed open.
#[test]
fn readers_keep_a_bounded_number_of_files_open_and_none_of_what_is_gone() {
    let mut bench = Bench::new();
    let spans: Vec<_> = (0..40)
        .map(|number| {
            let span = bench.keep(number, b"content");
            bench.log.give_up();
            span
        })
        .collect();
    bench.count(&spans);
    let open = |bench: &Bench| {
        let links =
            fs::read_dir("/proc/self/fd").expect("there").filter_map(|entry| fs::read_link(entry.ok()?.path()).ok());
        links.filter(|to| to.starts_with(bench.store.path())).count()
    };
    for (number, span) in spans.iter().enumerate() {
        assert!(bench.reads(number as u8, *span).is_some());
    }
    assert_eq!(open(&bench), 16);
    spans.iter().for_each(|span| bench.segments.let_go(*span));
    assert_eq!((open(&bench), bench.segments.bytes()), (0, 0));
}
