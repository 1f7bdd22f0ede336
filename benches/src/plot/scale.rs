//! From figures to places on a picture, and the ticks between them.

/// A logarithmic scale onto a stretch of pixels, which may run either way.
#[derive(Debug, Clone, Copy)]
pub(super) struct LogScale {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

impl LogScale {
    /// A scale that shows all these figures, each above 0.
    pub(super) fn covering(figures: &[f64], (from, to): (f64, f64)) -> Self {
        let above = figures.iter().copied().filter(|figure| *figure > 0.0);
        let low = above.clone().fold(f64::INFINITY, f64::min);
        let high = above.fold(0.0, f64::max);
        let (low, high) = if low <= high {
            (low, high)
        } else {
            (1.0, 10.0)
        };
        // A little room on both sides, so that no mark sits on the frame.
        let (low, high) = (low / 1.25, high * 1.25);
        Self {
            low,
            high,
            from,
            to,
        }
    }

    /// Where the figure stands.
    pub(super) fn place(&self, figure: f64) -> f64 {
        let part = (figure / self.low).ln() / (self.high / self.low).ln();
        self.from + part * (self.to - self.from)
    }

    /// Round figures within the scale: decades, and 2 and 5 between them where there are few.
    pub(super) fn ticks(&self) -> Vec<f64> {
        let decades = (self.high / self.low).log10();
        let steps: &[f64] = if decades > 2.5 {
            &[1.0]
        } else {
            &[1.0, 2.0, 5.0]
        };
        let first = exponent(self.low);
        let all = (first..=exponent(self.high))
            .flat_map(|power| steps.iter().map(move |step| step * 10_f64.powi(power)));
        all.filter(|tick| (self.low..=self.high).contains(tick))
            .collect()
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "the exponent of a figure that people read"
)]
fn exponent(figure: f64) -> i32 {
    figure.log10().floor() as i32
}

/// A round figure in few letters: 0.5, 20, 3 k, 1.5 M.
#[must_use]
pub fn brief(figure: f64) -> String {
    let (figure, unit) = match figure {
        f if f >= 1e6 => (f / 1e6, " M"),
        f if f >= 1e3 => (f / 1e3, " k"),
        f => (f, ""),
    };
    let digits = match figure {
        f if f >= 100.0 => 0,
        f if f >= 10.0 => 1,
        _ => 2,
    };
    let text = format!("{figure:.digits$}");
    let text = match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.'),
        false => &text,
    };
    format!("{text}{unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_figure_lies_within_the_scale() {
        let figures = [0.3, 7.0, 420.0];
        let scale = LogScale::covering(&figures, (300.0, 20.0));
        for figure in figures {
            assert!((20.0..=300.0).contains(&scale.place(figure)), "{figure}");
        }
        assert!(scale.place(420.0) < scale.place(0.3), "upwards is more");
    }

    #[test]
    fn ticks_are_round_and_within_the_scale() {
        let ticks = |figures: &[f64]| LogScale::covering(figures, (0.0, 1.0)).ticks();
        assert_eq!(ticks(&[3.0, 4000.0]), [10.0, 100.0, 1000.0]);
        assert_eq!(ticks(&[1.9, 30.0]), [2.0, 5.0, 10.0, 20.0]);
        assert!(
            !ticks(&[7.0]).is_empty() || LogScale::covering(&[7.0], (0.0, 1.0)).place(7.0) > 0.0
        );
    }

    #[test]
    fn figures_are_brief() {
        let texts = [0.5, 1.0, 20.0, 3000.0, 1_500_000.0, 158_200.0].map(brief);
        assert_eq!(texts, ["0.5", "1", "20", "3 k", "1.5 M", "158 k"]);
    }
}
