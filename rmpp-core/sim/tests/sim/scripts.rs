//! The text of a script.

use rmpp_core::Rng;
use rmpp_sim::{Choices, Script};

#[test]
fn a_script_is_read_as_it_was_written() {
    for seed in 0..1_000 {
        let script = Script::draw(&mut Choices::of_seed(Rng::new(seed)), &[]);
        assert_eq!(Script::parse(&format!("{script}")), Ok(script));
    }
}
