//! Bodies that share a budget, and wait for it.

use tokio_util::sync::CancellationToken;

use super::*;

fn seat() -> Arc<Seat> {
    let seat = Arc::new(Seat::new(CancellationToken::new()));
    seat.begins_body();
    seat
}

async fn holding(budget: &BodyBudget, bytes: u64) -> Share {
    let mut share = budget.share();
    share.grow(bytes, &seat()).await.unwrap();
    share
}

#[tokio::test(start_paused = true)]
async fn a_share_comes_back_with_the_last_copy_of_its_bytes() {
    let budget = BodyBudget::of(1_000, 0);
    let bytes = holding(&budget, 1_000).await.hold(Bytes::from_static(b"body"));
    let copy = bytes.slice(1..2);
    drop(bytes);
    assert_eq!(budget.share().grow(1, &seat()).await, Err(Spent));
    drop(copy);
    assert_eq!(budget.share().grow(1_000, &seat()).await, Ok(()));
}

#[tokio::test(start_paused = true)]
async fn large_bodies_leave_the_small_reserve_alone_and_small_ones_may_use_both() {
    let budget = BodyBudget::of(1_000, 1_000_000);
    let large = holding(&budget, 1_000_000).await;
    assert_eq!(budget.share().grow(200_000, &seat()).await, Err(Spent));
    let small = holding(&budget, 1_000).await;
    assert_eq!(budget.share().grow(1, &seat()).await, Err(Spent));
    drop(large);
    assert_eq!(budget.share().grow(100_000, &seat()).await, Ok(()));
    drop(small);
}

#[tokio::test(start_paused = true)]
async fn a_budget_fits_the_largest_body_twice() {
    let budget = BodyBudget::of(0, 1_000_000);
    budget.fit(400_000);
    budget.fit(1_000_000);
    budget.fit(700_000);
    let _first = holding(&budget, 1_000_000).await;
    let _second = holding(&budget, 1_000_000).await;
    assert_eq!(budget.share().grow(1, &seat()).await, Err(Spent));
}

#[tokio::test(start_paused = true)]
async fn a_body_that_grows_large_gives_its_small_share_back() {
    let budget = BodyBudget::of(SMALL_BYTES as usize, 1_000_000);
    let mut share = holding(&budget, SMALL_BYTES).await;
    share.grow(SMALL_BYTES + 1, &seat()).await.unwrap();
    assert_eq!((permits(share.small.as_ref()), permits(share.large.as_ref())), (0, SMALL_BYTES + 1));
    assert_eq!(budget.share().grow(SMALL_BYTES, &seat()).await, Ok(()));
}

#[tokio::test(start_paused = true)]
async fn a_body_in_drops_makes_way_for_one_that_flows() {
    let budget = BodyBudget::of(0, 1_000_000);
    let slow = seat();
    let mut held = budget.share();
    held.grow(1_000_000, &slow).await.unwrap();
    held.goes_on(&slow);
    slow.has_of_body(1_000_000);
    tokio::time::advance(Duration::from_secs(100)).await;
    let giving_up = async {
        slow.told_to_give_up().await;
        drop(held);
    };
    let mut share = budget.share();
    let quick = seat();
    quick.has_of_body(400_000);
    tokio::select! {
        granted = async { tokio::join!(share.grow(500_000, &quick), giving_up).0 } => assert_eq!(granted, Ok(())),
        () = sleep(2 * PATIENCE) => panic!("nobody made way"),
    }
}

#[tokio::test(start_paused = true)]
async fn half_read_bodies_that_wait_for_each_other_are_not_all_refused() {
    let budget = BodyBudget::of(0, 1_000_000);
    let grow = |number: u64| {
        let (budget, seat) = (budget.clone(), seat());
        async move {
            let mut share = budget.share();
            share.goes_on(&seat);
            tokio::time::sleep(Duration::from_millis(number)).await;
            for bytes in [200_000, 600_000, 900_000] {
                share.grow(bytes, &seat).await?;
            }
            Ok::<_, Spent>(())
        }
    };
    let grown: [_; 5] = tokio::join!(grow(0), grow(1), grow(2), grow(3), grow(4)).into();
    assert!(grown.iter().any(Result::is_ok), "{grown:?}");
}

/// One that waited for memory did not hear that it was to go, and kept what it held until its patience ended.
#[tokio::test(start_paused = true)]
async fn a_body_that_waits_hears_that_it_is_to_give_up() {
    let budget = BodyBudget::of(0, 1_000_000);
    let _all = holding(&budget, 1_000_000).await;
    let me = seat();
    let mut share = budget.share();
    let started = Instant::now();
    let told = async {
        sleep(LOOK / 2).await;
        me.give_up_body();
    };
    assert_eq!(tokio::join!(share.grow(1, &me), told).0, Err(Spent));
    assert_eq!(started.elapsed(), LOOK / 2);
}
